/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests threads with blocked signals, and condition variables with and without a time limit.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread.h"

typedef struct counter {
    aoei_mutex lock;
    aoei_condition changed;
    int n, target;
    int blocked; /* 1: SIGTERM is blocked in the thread */
} counter;

static void count(void *arg) {
    counter *c = arg;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    aoei_mutex_lock(&c->lock);
    c->blocked = sigismember(&mask, SIGTERM);
    while (c->n < c->target)
        aoei_condition_wait(&c->changed, &c->lock);
    c->n++;
    aoei_condition_broadcast(&c->changed);
    aoei_mutex_unlock(&c->lock);
}

static void threads_wait_for_each_other(void **state) {
    (void)state;
    counter c = {.target = 1};
    aoei_thread t[3] = {0};
    aoe_error err;
    aoei_mutex_init(&c.lock);
    aoei_condition_init(&c.changed);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(aoei_thread_start(&t[i], count, &c, &err), 0);
    aoei_mutex_lock(&c.lock);
    c.n = 1;
    aoei_condition_signal(&c.changed);
    while (c.n < 4)
        assert_int_equal(aoei_condition_wait_until(&c.changed, &c.lock, aoei_now() + 60), 1);
    aoei_mutex_unlock(&c.lock);
    for (size_t i = 0; i < 3; i++)
        aoei_thread_join(&t[i]);
    aoei_thread_join(&t[0]); /* a joined thread is accepted */
    assert_int_equal(c.blocked, 1);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGTERM), 0);
    aoei_condition_destroy(&c.changed);
    aoei_mutex_destroy(&c.lock);
}

static void waiting_ends_at_the_given_time(void **state) {
    (void)state;
    aoei_mutex lock = AOEI_MUTEX_INIT;
    aoei_condition c;
    aoei_condition_init(&c);
    const double start = aoei_now();
    assert_true((double)aoei_now_ns() * 1e-9 - start < 10);
    aoei_mutex_lock(&lock);
    while (aoei_condition_wait_until(&c, &lock, start + 0.05))
        ;
    assert_true(aoei_now() >= start + 0.05);
    assert_int_equal(aoei_condition_wait_until(&c, &lock, -1), 0); /* a time in the past */
    aoei_mutex_unlock(&lock);
    aoei_condition_destroy(&c);
}

static void failures_are_reported(void **state) {
    (void)state;
    aoei_thread t = {.started = 1};
    aoe_error err;
    aoei_alloc_fail_at(1);
    assert_int_equal(aoei_thread_start(&t, count, NULL, &err), AOE_ENOMEM);
    aoei_alloc_fail_at(0);
    assert_int_equal(t.started, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_wait_for_each_other),
        cmocka_unit_test(waiting_ends_at_the_given_time),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
