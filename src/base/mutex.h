/* SPDX-License-Identifier: MIT
 * A mutex for objects outside base/ that several threads use. A thread holds it only while it accesses memory or reads
 * a file. A thread never holds it while it waits for another thread or the network.
 */
#ifndef AOEI_BASE_MUTEX_H
#define AOEI_BASE_MUTEX_H

#include <pthread.h>

typedef struct aoei_mutex {
    pthread_mutex_t m;
} aoei_mutex;

/* clang-format off */
#define AOEI_MUTEX_INIT {PTHREAD_MUTEX_INITIALIZER}
/* clang-format on */

static inline void aoei_mutex_init(aoei_mutex *m) {
    (void)pthread_mutex_init(&m->m, NULL); /* a mutex with default attributes cannot fail */
}

static inline void aoei_mutex_destroy(aoei_mutex *m) {
    (void)pthread_mutex_destroy(&m->m);
}

static inline void aoei_mutex_lock(aoei_mutex *m) {
    (void)pthread_mutex_lock(&m->m);
}

static inline void aoei_mutex_unlock(aoei_mutex *m) {
    (void)pthread_mutex_unlock(&m->m);
}

#endif
