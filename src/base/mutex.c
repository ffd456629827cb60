/* SPDX-License-Identifier: MIT
 * Implements the mutex. The functions of pthreads that are called here cannot fail for a mutex with default attributes.
 */
#include "base/mutex.h"

#include "base/fork.h"

static void renew(void *object) {
    aoei_mutex *m = object;
    (void)pthread_mutex_init(&m->m, NULL);
}

void aoei_mutex_init(aoei_mutex *m) {
    (void)aoei_fork_watch(); /* if it fails, which is reported by aoei_pool_create, only the mutex of a child is
                                affected */
    renew(m);
    m->generation = aoei_fork_generation();
}

void aoei_mutex_destroy(aoei_mutex *m) {
    (void)pthread_mutex_destroy(&m->m);
}

void aoei_mutex_lock(aoei_mutex *m) {
    aoei_fork_renew(&m->generation, renew, m);
    (void)pthread_mutex_lock(&m->m);
}

int aoei_mutex_try(aoei_mutex *m) {
    aoei_fork_renew(&m->generation, renew, m);
    return pthread_mutex_trylock(&m->m) == 0;
}

void aoei_mutex_unlock(aoei_mutex *m) {
    (void)pthread_mutex_unlock(&m->m);
}
