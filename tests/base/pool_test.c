/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * covers: base/fork base/mutex
 * Tests the thread pool. For any number of threads, each task must run exactly once, and no two threads may use the
 * same worker index at the same time. Other tests cover nested jobs, short jobs, jobs that several threads start, pools
 * that share their threads, child processes that use the pool, and a pool whose creation fails after some workers have
 * started.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/cpu.h"
#include "base/pool.h"

enum { MAX_WORKERS = 16, MAX_TASKS = 2000 };

typedef struct job {
    aoei_pool *pool;
    size_t workers;
    size_t n_tasks;
    _Atomic int runs[MAX_TASKS];   /* number of times each task ran */
    _Atomic int busy[MAX_WORKERS]; /* 1 while a thread runs a task with this worker index */
    /* number of tasks that each worker ran; not atomic, because each worker writes only its own element */
    size_t scratch[MAX_WORKERS];
    _Atomic int wrong; /* 1 if a worker index was out of range or used twice at once */
} job;

static void count_task(void *arg, size_t task, size_t worker) {
    job *j = arg;
    if (task >= j->n_tasks || worker >= j->workers || atomic_exchange(&j->busy[worker], 1)) {
        atomic_store(&j->wrong, 1);
        return;
    }
    j->scratch[worker]++;
    atomic_fetch_add(&j->runs[task], 1);
    atomic_store(&j->busy[worker], 0);
}

static void run_and_check(aoei_pool *pool, size_t workers, size_t n_tasks) {
    job *j = calloc(1, sizeof *j);
    assert_non_null(j);
    j->workers = workers;
    j->n_tasks = n_tasks;
    aoei_parallel_for(pool, n_tasks, count_task, j);
    assert_int_equal(atomic_load(&j->wrong), 0);
    size_t sum = 0;
    for (size_t i = 0; i < MAX_WORKERS; i++)
        sum += j->scratch[i];
    assert_int_equal(sum, n_tasks);
    for (size_t i = 0; i < MAX_TASKS; i++)
        assert_int_equal(atomic_load(&j->runs[i]), i < n_tasks);
    free(j);
}

static void test_every_task_once(void **state) {
    (void)state;
    static const size_t threads[] = {1, 2, 3, 8};
    static const size_t tasks[] = {0, 1, 2, 3, 7, 8, 9, 100, MAX_TASKS};
    for (size_t t = 0; t < 4; t++) {
        aoei_pool *pool;
        assert_int_equal(aoei_pool_create(&pool, threads[t], NULL), 0);
        assert_int_equal(aoei_pool_threads(pool), threads[t]);
        for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
            run_and_check(pool, threads[t], tasks[i]);
        aoei_pool_destroy(pool);
    }
    run_and_check(NULL, 1, 50);
    assert_int_equal(aoei_pool_threads(NULL), 1);
    aoei_pool_destroy(NULL);
}

static void add_squares(void *arg, size_t task, size_t worker) {
    (void)worker;
    size_t *cell = (size_t *)arg + task;
    *cell += task * task;
}

/* Runs many short jobs. Each job reads values that the previous job wrote. The test detects missing memory
 * synchronization, lost wake-ups, and workers that still run an earlier job. */
static void test_many_small_jobs(void **state) {
    (void)state;
    enum { JOBS = 20000, CELLS = 5 };
    for (size_t threads = 1; threads <= 4; threads++) {
        aoei_pool *pool;
        size_t cell[CELLS] = {0};
        assert_int_equal(aoei_pool_create(&pool, threads, NULL), 0);
        for (size_t i = 0; i < JOBS; i++)
            aoei_parallel_for(pool, 1 + i % CELLS, add_squares, cell);
        for (size_t i = 0; i < CELLS; i++)
            assert_int_equal(cell[i], i * i * (JOBS - i * (JOBS / CELLS)));
        aoei_pool_destroy(pool);
    }
}

/* Tests that jobs wake sleeping workers. The pauses between the jobs are longer than the time for which workers spin
 * before they sleep. */
static void test_sleeping_workers(void **state) {
    (void)state;
    aoei_pool *pool;
    size_t cell[3] = {0};
    assert_int_equal(aoei_pool_create(&pool, 3, NULL), 0);
    for (size_t i = 0; i < 100; i++) {
        nanosleep(&(struct timespec){0, 500000}, NULL);
        aoei_parallel_for(pool, 3, add_squares, cell);
    }
    assert_int_equal(cell[2], 400);
    aoei_pool_destroy(pool);
}

typedef struct meeting {
    _Atomic size_t present; /* number of workers that have called `meet` */
    size_t workers;         /* workers of the pool */
} meeting;

/* A task that waits until every worker has called this function. It returns only if the tasks of one job run at the
 * same time. */
static void meet(void *arg, size_t task, size_t worker) {
    (void)task;
    (void)worker;
    meeting *m = arg;
    atomic_fetch_add(&m->present, 1);
    while (atomic_load(&m->present) < m->workers)
        nanosleep(&(struct timespec){0, 10000}, NULL);
}

static void test_workers_run_in_parallel(void **state) {
    (void)state;
    aoei_pool *pool;
    assert_int_equal(aoei_pool_create(&pool, 5, NULL), 0);
    for (int i = 0; i < 20; i++) {
        meeting m = {0, 5};
        aoei_parallel_for(pool, 5, meet, &m);
        assert_int_equal(atomic_load(&m.present), 5);
    }
    aoei_pool_destroy(pool);
}

typedef struct nested {
    aoei_pool *pool, *other; /* pool: runs the outer tasks. other: a second pool. */
    /* inner: number of inner tasks that ran in `pool`. foreign: number of inner tasks that ran in `other`. */
    _Atomic size_t inner, foreign;
    _Atomic int wrong; /* 1 if an inner task ran out of order or with the wrong worker index */
} nested;

typedef struct inner_arg {
    nested *n;
    size_t worker; /* worker index of the outer task */
    size_t next;   /* expected index of the next inner task; inner tasks run in order on one thread */
} inner_arg;

static void inner_task(void *arg, size_t task, size_t worker) {
    inner_arg *a = arg;
    if (worker != a->worker || task != a->next++)
        atomic_store(&a->n->wrong, 1);
    atomic_fetch_add(&a->n->inner, 1);
}

static void foreign_task(void *arg, size_t task, size_t worker) {
    inner_arg *a = arg;
    if (worker != 0 || task != a->next++)
        atomic_store(&a->n->wrong, 1);
    atomic_fetch_add(&a->n->foreign, 1);
}

static void outer_task(void *arg, size_t task, size_t worker) {
    (void)task;
    nested *n = arg;
    inner_arg inner = {n, worker, 0}, other = {n, worker, 0};
    aoei_parallel_for(n->pool, 7, inner_task, &inner);
    aoei_parallel_for(n->other, 3, foreign_task, &other);
    inner_arg again = {n, worker, 0};
    aoei_parallel_for(n->pool, 1, inner_task, &again); /* the job of the other pool must not affect this call */
}

static void test_nested(void **state) {
    (void)state;
    nested n = {0};
    assert_int_equal(aoei_pool_create(&n.pool, 3, NULL), 0);
    assert_int_equal(aoei_pool_create(&n.other, 2, NULL), 0);
    aoei_parallel_for(n.pool, 40, outer_task, &n);
    assert_int_equal(atomic_load(&n.wrong), 0);
    assert_int_equal(atomic_load(&n.inner), 40 * 8);
    assert_int_equal(atomic_load(&n.foreign), 40 * 3);
    run_and_check(n.pool, 3, 100);
    aoei_pool_destroy(n.other);
    aoei_pool_destroy(n.pool);
}

typedef struct caller {
    pthread_t thread;
    job *job;
} caller;

static void *call_often(void *arg) {
    caller *c = arg;
    for (size_t i = 0; i < 300; i++)
        aoei_parallel_for(c->job->pool, c->job->n_tasks, count_task, c->job);
    return NULL;
}

/* Tests that jobs that several threads start in one pool do not overlap. All threads use one job structure, in which
 * overlapping jobs would be detected. */
static void test_callers_are_serialized(void **state) {
    (void)state;
    static const size_t tasks[] = {1, 6};
    for (size_t k = 0; k < 2; k++) {
        job *j = calloc(1, sizeof *j);
        caller callers[3];
        assert_non_null(j);
        j->workers = 3;
        j->n_tasks = tasks[k];
        assert_int_equal(aoei_pool_create(&j->pool, 3, NULL), 0);
        for (size_t i = 0; i < 3; i++) {
            callers[i].job = j;
            assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
        }
        for (size_t i = 0; i < 3; i++)
            pthread_join(callers[i].thread, NULL);
        assert_int_equal(atomic_load(&j->wrong), 0);
        for (size_t i = 0; i < tasks[k]; i++)
            assert_int_equal(atomic_load(&j->runs[i]), 900);
        aoei_pool_destroy(j->pool);
        free(j);
    }
}

/* ---- pools that share their threads */

typedef struct blocked {
    aoei_pool *pool;
    _Atomic size_t running; /* number of tasks that run */
    _Atomic int released;   /* 1: the tasks return */
} blocked;

/* A task that returns when it is released, or after a minute. */
static void wait_for_release(void *arg, size_t task, size_t worker) {
    (void)task;
    (void)worker;
    blocked *b = arg;
    atomic_fetch_add(&b->running, 1);
    for (int i = 0; i < 6000 && !atomic_load(&b->released); i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static void *run_blocked(void *arg) {
    blocked *b = arg;
    aoei_parallel_for(b->pool, 3, wait_for_release, b);
    return NULL;
}

/* Tests that a job of a pool does not wait for a job of another pool that uses the shared threads. */
static void test_shared_threads(void **state) {
    (void)state;
    aoei_pool *pool, *other;
    pthread_t thread;
    assert_int_equal(aoei_pool_create(&pool, 3, NULL), 0);
    assert_int_equal(aoei_pool_share(&other, pool, NULL), 0);
    assert_int_equal(aoei_pool_threads(other), 3);
    blocked b = {.pool = pool};
    assert_int_equal(pthread_create(&thread, NULL, run_blocked, &b), 0);
    while (atomic_load(&b.running) < 3)
        nanosleep(&(struct timespec){0, 10000}, NULL);
    run_and_check(other, 1, 100);
    atomic_store(&b.released, 1);
    pthread_join(thread, NULL);
    aoei_pool_destroy(pool);
    meeting m = {0, 3};
    aoei_parallel_for(other, 3, meet, &m); /* the last pool still has the threads */
    run_and_check(other, 3, 100);
    aoei_pool_destroy(other);
    assert_int_equal(aoei_pool_share(&other, NULL, NULL), 0);
    run_and_check(other, 1, 100);
    aoei_pool_destroy(other);
}

/* Tests jobs that several threads start at the same time in pools that share their threads. */
static void test_callers_of_shared_threads(void **state) {
    (void)state;
    enum { CALLERS = 4 };
    aoei_pool *first;
    caller callers[CALLERS];
    assert_int_equal(aoei_pool_create(&first, 3, NULL), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        job *j = callers[i].job = calloc(1, sizeof *j);
        assert_non_null(j);
        j->workers = 3;
        j->n_tasks = 6;
        assert_int_equal(aoei_pool_share(&j->pool, first, NULL), 0);
    }
    aoei_pool_destroy(first);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    for (size_t i = 0; i < CALLERS; i++) {
        job *j = callers[i].job;
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(atomic_load(&j->wrong), 0);
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(atomic_load(&j->runs[k]), 300);
        aoei_pool_destroy(j->pool);
        free(j);
    }
}

static void test_create_and_destroy(void **state) {
    (void)state;
    aoei_pool *pool;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(aoei_pool_create(&pool, 1 + i % 8, NULL), 0);
        if (i % 2)
            run_and_check(pool, 1 + i % 8, 9);
        aoei_pool_destroy(pool);
    }
    assert_int_equal(aoei_pool_create(&pool, aoei_pool_default_threads(), NULL), 0);
    assert_int_equal(aoei_pool_threads(pool), aoei_cpu_count());
    aoei_pool_destroy(pool);
    aoe_error err = {0};
    assert_int_equal(aoei_pool_create(&pool, 0, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.threads is 0, but must be 1 to 1024"));
    assert_int_equal(aoei_pool_create(&pool, 5000, &err), AOE_EARG);
    assert_null(pool);
    assert_non_null(strstr(err.message, "options.threads is 5000, but must be 1 to 1024"));
}

static int create_pool(void *arg) {
    aoei_pool *pool;
    aoe_error err = {0};
    int code = aoei_pool_create(&pool, *(const size_t *)arg, &err);
    assert_int_equal(code, err.code);
    assert_true((pool == NULL) == (code != 0));
    aoei_pool_destroy(pool);
    return code;
}

/* Tests that the creation of a pool can fail at any point. Every allocation fails in turn. Each worker needs one
 * allocation, so the creation also fails after 0, 1, 2, ... workers have started. */
static void test_creation_fails_half_way(void **state) {
    (void)state;
    size_t threads = 5;
    assert_int_equal(test_alloc_failures(create_pool, &threads, 0), 3 + threads - 1);
}

/* ---- fork */

#ifndef __SANITIZE_THREAD__ /* the thread sanitizer does not support new threads after a fork of a process with        \
                               threads */

/* Runs fn(pool) in a child process, which must end within a minute. */
static void in_child(void (*fn)(aoei_pool *), aoei_pool *pool) {
    int status = 1;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        fn(pool);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void child_exits(aoei_pool *pool) {
    (void)pool;
}

/* Checks in a child that all workers run at the same time again. */
static void child_computes(aoei_pool *pool) {
    meeting m = {0, aoei_pool_threads(pool)};
    aoei_parallel_for(pool, m.workers, meet, &m);
    run_and_check(pool, m.workers, 100);
    run_and_check(pool, m.workers, 3);
}

static void child_computes_and_destroys(aoei_pool *pool) {
    child_computes(pool);
    aoei_pool_destroy(pool);
}

static void child_forks(aoei_pool *pool) {
    in_child(child_computes, pool);
    child_computes(pool);
    in_child(child_computes_and_destroys, pool);
}

static void test_fork(void **state) {
    (void)state;
    static void (*const children[])(aoei_pool *) = {child_exits, child_computes, aoei_pool_destroy,
                                                    child_computes_and_destroys, child_forks};
    for (size_t threads = 1; threads <= 4; threads++) {
        aoei_pool *pool;
        assert_int_equal(aoei_pool_create(&pool, threads, NULL), 0);
        for (size_t i = 0; i < 2 * sizeof children / sizeof *children; i++) {
            in_child(children[i / 2], pool);
            if (i % 2)
                run_and_check(pool, threads, 20);
        }
        aoei_pool_destroy(pool);
    }
}

static void *call_until_stopped(void *arg) {
    job *j = arg;
    while (!atomic_load(&j->wrong))
        aoei_parallel_for(j->pool, 50, count_task, j);
    return NULL;
}

/* Tests forks at moments at which another thread holds the locks of the pool and its workers run. */
static void test_fork_during_jobs(void **state) {
    (void)state;
    job *j = calloc(1, sizeof *j);
    pthread_t thread;
    assert_non_null(j);
    j->workers = 3;
    j->n_tasks = 50;
    assert_int_equal(aoei_pool_create(&j->pool, 3, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, call_until_stopped, j), 0);
    for (int i = 0; i < 60; i++)
        in_child(i % 3 ? child_computes : child_computes_and_destroys, j->pool);
    assert_int_equal(atomic_exchange(&j->wrong, 1), 0);
    pthread_join(thread, NULL);
    aoei_pool_destroy(j->pool);
    free(j);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_once),
        cmocka_unit_test(test_many_small_jobs),
        cmocka_unit_test(test_sleeping_workers),
        cmocka_unit_test(test_workers_run_in_parallel),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_callers_are_serialized),
        cmocka_unit_test(test_shared_threads),
        cmocka_unit_test(test_callers_of_shared_threads),
        cmocka_unit_test(test_create_and_destroy),
        cmocka_unit_test(test_creation_fails_half_way),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_fork_during_jobs),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
