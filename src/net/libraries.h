/* SPDX-License-Identifier: MIT
 * libcurl and SQLite, started once a process and with the memory of
 * base/alloc.h. Where the program that uses aoe has started one of them itself, it keeps the memory it has.
 */
#ifndef AOEI_NET_LIBRARIES_H
#define AOEI_NET_LIBRARIES_H

#include "aoe.h"

/* Any thread, any number of times; a failure may be tried again. Errors: AOE_ENOMEM, AOE_EIO. */
int aoei_start_curl(aoe_error *err);
int aoei_start_sqlite(aoe_error *err);

/* 1 when this thread was refused memory within libcurl since this was last called: libcurl has other names for that. */
int aoei_curl_starved(void);

#endif
