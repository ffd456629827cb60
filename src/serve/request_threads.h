/* SPDX-License-Identifier: MIT
 * Threads that handle requests with large bodies, whose parsing would delay all other connections in the thread of
 * libmicrohttpd. The requests wait in a bounded queue.
 */
#pragma once

#include <stddef.h>

#include "base/thread.h"
#include "serve/exchange.h"

typedef struct aoei_request_threads {
    void (*handle)(void *user, aoei_exchange *x);
    void *user;
    aoei_thread *thread; /* [n_threads], owned */
    size_t n_threads;
    aoei_exchange **queue; /* [capacity] ring of waiting requests */
    size_t capacity, first, n;
    int stops;           /* 1: the threads end when the queue is empty */
    aoei_mutex lock;     /* protects queue, first, n and stops */
    aoei_condition wake; /* signaled when a request is added or `stops` is set */
} aoei_request_threads;

/* Starts the threads. Errors: AOE_ENOMEM. */
int aoei_request_threads_start(aoei_request_threads *t, size_t n_threads, size_t capacity,
                               void (*handle)(void *user, aoei_exchange *x), void *user, aoe_error *err);
/* Adds a request. Returns 0, or 1 if the queue is full. */
int aoei_request_threads_add(aoei_request_threads *t, aoei_exchange *x);
/* Handles the waiting requests, then stops the threads. Accepts a zeroed struct. */
void aoei_request_threads_stop(aoei_request_threads *t);
