/* SPDX-License-Identifier: MIT
 * The functions of libmicrohttpd that aoe calls. The library is loaded with dlopen when a server is started, because it
 * depends on GnuTLS, whose loading would add 10 ms to every other command. Its functions are called through the members
 * of aoei_mhd, for example aoei_mhd.start_daemon() for MHD_start_daemon().
 */
#pragma once

#include <microhttpd.h>

#include "aoe.h"
#include "base/compiler.h"

/* The names without the prefix MHD_. */
#define AOEI_MHD_FUNCTIONS(X)                                                                                          \
    X(get_version)                                                                                                     \
    X(is_feature_supported)                                                                                            \
    X(start_daemon)                                                                                                    \
    X(stop_daemon)                                                                                                     \
    X(add_connection)                                                                                                  \
    X(suspend_connection)                                                                                              \
    X(resume_connection)                                                                                               \
    X(get_connection_info)                                                                                             \
    X(get_connection_values_n)                                                                                         \
    X(lookup_connection_value)                                                                                         \
    X(create_response_from_buffer_with_free_callback)                                                                  \
    X(add_response_header)                                                                                             \
    X(queue_response)                                                                                                  \
    X(destroy_response)

typedef struct aoei_mhd_functions {
#define AOEI_X(name) AOEI_TYPE_OF(MHD_##name) * name;
    AOEI_MHD_FUNCTIONS(AOEI_X)
#undef AOEI_X
} aoei_mhd_functions;

extern aoei_mhd_functions aoei_mhd; /* filled by aoei_mhd_start, which must be called first */

/* Loads the library. Thread-safe; may be called again, even after a failure. Errors: AOE_EIO (libmicrohttpd is not
 * installed or too old). */
int aoei_mhd_start(aoe_error *err);
/* Loads the functions of the library with this file name into *f. The library is never unloaded. Errors: AOE_EIO. */
int aoei_mhd_load(aoei_mhd_functions *f, const char *name, aoe_error *err);
