/* SPDX-License-Identifier: MIT
 * Threads that run for a long time, such as those of a server, and condition variables. Loops over data use
 * base/pool.h. All signals are blocked in the threads, so that signals are delivered to the threads of the program.
 */
#pragma once

#include <signal.h>

#include "aoe.h"
#include "base/mutex.h"

typedef struct aoei_thread {
    pthread_t id;
    int started; /* 1: the thread runs or has ended, and was not joined */
} aoei_thread;

/* Starts a thread that calls run(arg). Errors: AOE_ENOMEM (the system cannot create a thread). */
int aoei_thread_start(aoei_thread *t, void (*run)(void *), void *arg, aoe_error *err);
void aoei_thread_join(aoei_thread *t); /* waits until run has returned; accepts a zeroed struct */

/* Blocks all signals in the calling thread and stores its former mask. Threads that another library creates before
 * aoei_signals_restore is called inherit the blocked signals. */
void aoei_signals_block(sigset_t *before);
void aoei_signals_restore(const sigset_t *before);

typedef struct aoei_condition {
    pthread_cond_t c;
} aoei_condition;

void aoei_condition_init(aoei_condition *c);
void aoei_condition_destroy(aoei_condition *c);
/* The caller holds m. aoei_condition_wait may return without a signal. aoei_condition_wait_until returns 0 if the time
 * `end`, a value of aoei_now(), has come; otherwise 1. */
void aoei_condition_wait(aoei_condition *c, aoei_mutex *m);
int aoei_condition_wait_until(aoei_condition *c, aoei_mutex *m, double end);
void aoei_condition_signal(aoei_condition *c);    /* wakes one thread */
void aoei_condition_broadcast(aoei_condition *c); /* wakes all threads */
