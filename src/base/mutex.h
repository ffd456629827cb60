/* SPDX-License-Identifier: MIT
 * A mutex. A thread holds it only while it accesses memory, reads a file, or runs a parallel loop. A thread never holds
 * it while it waits for the network or for a thread that needs the same mutex. In a child process that fork() created,
 * a mutex that another thread held is free.
 */
#pragma once

#include <pthread.h>

typedef struct aoei_mutex {
    pthread_mutex_t m;
    _Atomic unsigned generation; /* value of aoei_fork_generation when `m` was initialized */
} aoei_mutex;

/* clang-format off */
#define AOEI_MUTEX_INIT {PTHREAD_MUTEX_INITIALIZER, 0}
/* clang-format on */

void aoei_mutex_init(aoei_mutex *m);
void aoei_mutex_destroy(aoei_mutex *m);
void aoei_mutex_lock(aoei_mutex *m);
int aoei_mutex_try(aoei_mutex *m); /* locks the mutex and returns 1, or returns 0 if a thread holds it */
void aoei_mutex_unlock(aoei_mutex *m);
