/* SPDX-License-Identifier: MIT
 * Counts calls of fork() with pthread_atfork.
 */
#include "base/fork.h"

#include <pthread.h>
#include <stdatomic.h>

#include "aoe.h"

static unsigned forks;                                   /* changes only in a new child, which has one thread */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while an object is renewed */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int watch_error; /* error number of pthread_atfork */

static void after_fork(void) {
    forks++;
    pthread_mutex_init(&lock, NULL);
}

static void watch(void) {
    watch_error = pthread_atfork(NULL, NULL, after_fork);
}

int aoei_fork_watch(void) {
    pthread_once(&once, watch);
    return watch_error ? AOE_ENOMEM : 0;
}

unsigned aoei_fork_generation(void) {
    return forks;
}

void aoei_fork_renew(_Atomic unsigned *generation, void (*renew)(void *object), void *object) {
    if (atomic_load_explicit(generation, memory_order_acquire) == forks)
        return;
    pthread_mutex_lock(&lock);
    if (atomic_load_explicit(generation, memory_order_relaxed) != forks) {
        renew(object);
        atomic_store_explicit(generation, forks, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}
