/* SPDX-License-Identifier: MIT
 * The thread that accepts connections, passes them to libmicrohttpd, and enforces the time limits of connections.
 * libmicrohttpd could accept connections itself, but waits in a busy loop if the process runs out of file descriptors.
 */
#pragma once

#include <stddef.h>

#include "base/log.h"
#include "base/thread.h"
#include "serve/connections.h"
#include "serve/listener.h"
#include "serve/mhd.h"

typedef struct aoei_acceptor {
    aoei_listener *listener;       /* borrowed; its socket is closed when the acceptor drains */
    struct MHD_Daemon *daemon;     /* borrowed */
    aoei_connections *connections; /* borrowed */
    size_t max_connections;        /* with so many open connections, further ones wait in the queue of the system */
    const aoei_log *log;           /* borrowed */
    _Atomic size_t open;           /* connections that were accepted and are not yet closed */
    _Atomic int drains, stops;
    int wake;            /* eventfd that wakes the thread */
    double paused_until; /* aoei_now() until which no connection is accepted, after an error */
    double warned;       /* aoei_now() of the last warning */
    aoei_thread thread;
} aoei_acceptor;

/* Starts the thread. The caller has set the first five members of a zeroed struct. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_acceptor_start(aoei_acceptor *a, aoe_error *err);
void aoei_acceptor_closed(aoei_acceptor *a); /* tells that a connection was closed */
void aoei_acceptor_drain(aoei_acceptor *a);  /* makes the thread close the listening socket */
void aoei_acceptor_stop(aoei_acceptor *a);   /* stops the thread; accepts a zeroed struct */
/* Raises the limit on open files of this process to the maximum that the system allows. Returns the limit. */
size_t aoei_raise_open_files(void);
