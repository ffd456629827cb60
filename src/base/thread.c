/* SPDX-License-Identifier: MIT
 * Starts threads with blocked signals. Condition variables use the monotonic clock, so that a change of the time of day
 * does not affect them. With valid arguments, the functions of pthreads that are called here cannot fail on Linux,
 * except pthread_create.
 */
#include "base/thread.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"

typedef struct start {
    void (*run)(void *);
    void *arg;
} start;

static void *thread_main(void *arg) {
    const start s = *(start *)arg;
    aoei_free(arg);
    s.run(s.arg);
    return NULL;
}

void aoei_signals_block(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

void aoei_signals_restore(const sigset_t *before) {
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

int aoei_thread_start(aoei_thread *t, void (*run)(void *), void *arg, aoe_error *err) {
    t->started = 0;
    start *s = aoei_malloc(sizeof *s);
    if (!s)
        return aoei_fail_nomem(err, sizeof *s);
    *s = (start){run, arg};
    sigset_t before;
    aoei_signals_block(&before);
    const int errnum = pthread_create(&t->id, NULL, thread_main, s);
    aoei_signals_restore(&before);
    if (errnum) {
        aoei_free(s);
        return aoei_fail(err, AOE_ENOMEM, "cannot start a thread: %s; use fewer threads", strerror(errnum));
    }
    t->started = 1;
    return 0;
}

void aoei_thread_join(aoei_thread *t) {
    if (t->started)
        (void)pthread_join(t->id, NULL);
    t->started = 0;
}

void aoei_condition_init(aoei_condition *c) {
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->c, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
}

void aoei_condition_destroy(aoei_condition *c) {
    (void)pthread_cond_destroy(&c->c);
}

void aoei_condition_wait(aoei_condition *c, aoei_mutex *m) {
    (void)pthread_cond_wait(&c->c, &m->m);
}

int aoei_condition_wait_until(aoei_condition *c, aoei_mutex *m, double end) {
    const double second = floor(fmax(end, 0));
    const struct timespec t = {.tv_sec = (time_t)second, .tv_nsec = (long)((fmax(end, 0) - second) * 1e9)};
    return pthread_cond_timedwait(&c->c, &m->m, &t) != ETIMEDOUT;
}

void aoei_condition_signal(aoei_condition *c) {
    (void)pthread_cond_signal(&c->c);
}

void aoei_condition_broadcast(aoei_condition *c) {
    (void)pthread_cond_broadcast(&c->c);
}
