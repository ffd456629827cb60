/* SPDX-License-Identifier: MIT
 * Initializes libcurl and SQLite once per process. Their settings, such as their allocation functions, are those of the
 * program or the defaults. libcurl is loaded with dlopen on first use, because it depends on about thirty libraries.
 * Loading them would add 30 ms to the start of every command, which otherwise takes 4 ms. The functions of libcurl are
 * called through the members of aoei_curl, for example aoei_curl.easy_init() for curl_easy_init().
 */
#pragma once

#include <time.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "aoe.h"
#include "base/compiler.h"

/* The names of the libcurl functions that aoe calls, without the prefix curl_. */
#define AOEI_CURL_FUNCTIONS(X)                                                                                         \
    X(global_init)                                                                                                     \
    X(easy_init)                                                                                                       \
    X(easy_cleanup)                                                                                                    \
    X(easy_reset)                                                                                                      \
    X(easy_setopt)                                                                                                     \
    X(easy_getinfo)                                                                                                    \
    X(easy_strerror)                                                                                                   \
    X(multi_init)                                                                                                      \
    X(multi_cleanup)                                                                                                   \
    X(multi_add_handle)                                                                                                \
    X(multi_remove_handle)                                                                                             \
    X(multi_perform)                                                                                                   \
    X(multi_poll)                                                                                                      \
    X(multi_info_read)                                                                                                 \
    X(slist_append)                                                                                                    \
    X(slist_free_all)                                                                                                  \
    X(url)                                                                                                             \
    X(url_cleanup)                                                                                                     \
    X(url_get)                                                                                                         \
    X(url_set)                                                                                                         \
    X(getdate)                                                                                                         \
    X(free)

typedef struct aoei_curl_functions {
#define AOEI_X(name) AOEI_TYPE_OF(curl_##name) * name;
    AOEI_CURL_FUNCTIONS(AOEI_X)
#undef AOEI_X
} aoei_curl_functions;

extern aoei_curl_functions aoei_curl; /* filled by aoei_start_curl, which must be called first */

/* Loads and initializes libcurl. Thread-safe; may be called again, even after a failure. Errors: AOE_ENOMEM, AOE_EIO
 * (libcurl is not installed or too old). */
int aoei_start_curl(aoe_error *err);
/* Initializes SQLite. Thread-safe; may be called again, even after a failure. Errors: AOE_ENOMEM, AOE_EIO. */
int aoei_start_sqlite(aoe_error *err);

/* Parses a date in one of the three formats of HTTP. Returns seconds since 1970, or -1 if it is not a date. */
time_t aoei_curl_date(const char *text);
