/* SPDX-License-Identifier: MIT
 * libcurl and SQLite, started once a process and with the memory of
 * base/alloc.h. Where the program that uses aoe has started one of them itself, it keeps the memory it has.
 * libcurl is loaded when it is first needed: it brings some thirty libraries along, which would cost every command
 * 30 ms at its start (4 ms without it), network or not. Its functions are members of aoei_curl: aoei_curl.easy_init().
 */
#ifndef AOEI_NET_LIBRARIES_H
#define AOEI_NET_LIBRARIES_H

#include <time.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "aoe.h"
#include "base/compiler.h"

#define AOEI_CURL_FUNCTIONS(X)                                                                                                 \
    X(global_init_mem)                                                                                                         \
    X(easy_init)                                                                                                               \
    X(easy_cleanup)                                                                                                            \
    X(easy_reset)                                                                                                              \
    X(easy_setopt)                                                                                                             \
    X(easy_getinfo)                                                                                                            \
    X(easy_strerror)                                                                                                           \
    X(multi_init)                                                                                                              \
    X(multi_cleanup)                                                                                                           \
    X(multi_add_handle)                                                                                                        \
    X(multi_remove_handle)                                                                                                     \
    X(multi_perform)                                                                                                           \
    X(multi_poll)                                                                                                              \
    X(multi_info_read)                                                                                                         \
    X(slist_append)                                                                                                            \
    X(slist_free_all)                                                                                                          \
    X(url)                                                                                                                     \
    X(url_cleanup)                                                                                                             \
    X(url_get)                                                                                                                 \
    X(url_set)                                                                                                                 \
    X(getdate)                                                                                                                 \
    X(free)

typedef struct aoei_curl_functions {
#define AOEI_X(name) AOEI_TYPE_OF(curl_##name) * name;
    AOEI_CURL_FUNCTIONS(AOEI_X)
#undef AOEI_X
} aoei_curl_functions;

extern aoei_curl_functions aoei_curl; /* filled by aoei_start_curl; everything that uses it calls that before */

/* Any thread, any number of times; a failure may be tried again. Errors: AOE_ENOMEM, AOE_EIO (not installed, too old). */
int aoei_start_curl(aoe_error *err);
int aoei_start_sqlite(aoe_error *err);

/* 1 when this thread was refused memory within libcurl since this was last called: libcurl has other names for that. */
int aoei_curl_starved(void);

/* A date of HTTP, in any of its three forms, in seconds since 1970; -1: it is none. */
time_t aoei_curl_date(const char *text);

#endif
