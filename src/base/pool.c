/* SPDX-License-Identifier: MIT
 * Implements the thread pool. A job is one parallel loop; its tasks are assigned to threads by an atomic counter.
 * Workers join a job while it is open, and the caller waits only for the workers that joined. A worker that wakes up
 * late therefore does not delay the caller. Threads spin for a few tens of microseconds before they sleep, because
 * training starts many short jobs in a row. A pool with more threads than CPUs never spins. Invariant: the fields of a
 * job are written only while the job is closed and no worker has joined it, and they are read only by threads that have
 * joined the job. A child process that fork() created has none of the workers. Its first job in a pool starts them
 * again. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/cpu.h"
#include "base/error.h"

#define MAX_THREADS     1024
#define SPIN_SECONDS    40e-6
#define RELAX_PER_CHECK 32 /* pauses between two reads of the clock */

/* Bits of aoei_pool.state:
 *   INSIDE    bits 0 to 31: number of workers that have joined the job and not left it
 *   OPEN      bit 32: 1 if workers may join the job
 *   STOP      bit 33: 1 if the pool stops
 *   JOB_MASK  bits 34 to 63: job number; JOB_ONE is added to `state` to increment it */
#define INSIDE   UINT64_C(0xffffffff)
#define OPEN     (UINT64_C(1) << 32)
#define STOP     (UINT64_C(1) << 33)
#define JOB_ONE  (UINT64_C(1) << 34)
#define JOB_MASK (~(JOB_ONE - 1))

typedef struct worker {
    pthread_t thread;
    aoei_pool *pool; /* borrowed */
    size_t index;    /* worker index, 1 .. threads - 1; the thread that calls aoei_parallel_for has index 0 */
} worker;

struct aoei_pool {
    _Alignas(AOEI_ALIGN) _Atomic uint64_t state; /* see INSIDE, OPEN, STOP and JOB_MASK */
    _Alignas(AOEI_ALIGN) _Atomic size_t next;    /* first task not yet assigned; may exceed n_tasks */
    _Alignas(AOEI_ALIGN) aoei_task_fn fn;        /* function of the current job */
    void *arg;                                   /* argument of fn, borrowed */
    size_t n_tasks;                              /* number of tasks of the current job */
    size_t threads;                              /* number of threads, caller included */
    size_t started;                              /* number of workers that were started */
    worker **workers;                            /* [threads - 1] workers, owned; NULL: not yet allocated */
    _Atomic unsigned generation;                 /* value of `generation` when the workers were started */
    int may_spin;                                /* 1: threads spin before they sleep; 0: they sleep immediately */
    pthread_mutex_t submit;                      /* held by the thread whose call of aoei_parallel_for runs */
    pthread_mutex_t mutex;                       /* protects sleepers, wake and done */
    pthread_cond_t wake;                         /* signaled when a new job starts or the pool stops */
    pthread_cond_t done;                         /* signaled when the last worker has left a closed job */
    size_t sleepers;                             /* number of workers that wait on `wake` */
};

/* The pool that this thread works for, and its worker index in this pool. They are used to detect nested calls. */
static _Thread_local struct {
    const aoei_pool *pool; /* NULL if the thread is not a worker and runs no job */
    size_t worker;         /* worker index */
} current;

/* Number of calls of fork() that led to this process since the library was loaded. It changes only in a new child
 * process, which has one thread. */
static unsigned generation;
static pthread_mutex_t restart_lock = PTHREAD_MUTEX_INITIALIZER; /* held while a child process starts the workers of a
                                                                    pool */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_error; /* error number of the registration of after_fork */

static void after_fork(void) {
    generation++;
    pthread_mutex_init(&restart_lock, NULL);
}

static void watch_forks(void) {
    fork_error = pthread_atfork(NULL, NULL, after_fork);
}

static int is_new_job(uint64_t state, uint64_t seen) {
    return (state & (JOB_MASK | STOP)) != seen;
}

static int no_worker_inside(uint64_t state, uint64_t unused) {
    (void)unused;
    return (state & INSIDE) == 0;
}

/* Spins until ready(state, arg) is true or SPIN_SECONDS have passed. Returns the last state that was read. */
static inline uint64_t spin(const aoei_pool *p, int (*ready)(uint64_t, uint64_t), uint64_t arg) {
    uint64_t state = atomic_load_explicit(&p->state, memory_order_acquire);
    if (!p->may_spin || ready(state, arg))
        return state;
    double until = aoei_now() + SPIN_SECONDS;
    do {
        for (int i = 0; i < RELAX_PER_CHECK; i++) {
            aoei_cpu_relax();
            state = atomic_load_explicit(&p->state, memory_order_acquire);
            if (ready(state, arg))
                return state;
        }
    } while (aoei_now() < until);
    return state;
}

/* Runs tasks of the current job as worker `index` until none is left. */
static void run_tasks(aoei_pool *p, size_t index) {
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&p->next, 1, memory_order_relaxed);
        if (task >= p->n_tasks)
            return;
        p->fn(p->arg, task, index);
    }
}

/* Waits until the job number differs from that of state `seen`, or the pool stops. Returns the new state. */
static uint64_t wait_for_job(aoei_pool *p, uint64_t seen) {
    uint64_t state = spin(p, is_new_job, seen);
    if (is_new_job(state, seen))
        return state;
    pthread_mutex_lock(&p->mutex);
    p->sleepers++;
    for (;;) {
        state = atomic_load_explicit(&p->state, memory_order_acquire);
        if (is_new_job(state, seen))
            break;
        pthread_cond_wait(&p->wake, &p->mutex);
    }
    p->sleepers--;
    pthread_mutex_unlock(&p->mutex);
    return state;
}

/* Joins the job if it is still open. Returns 1 if the worker joined, otherwise 0. *state is set to the last state that
 * was read. */
static int join_job(aoei_pool *p, uint64_t *state) {
    while (*state & OPEN)
        if (atomic_compare_exchange_weak_explicit(&p->state, state, *state + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return 1;
    return 0;
}

/* Leaves the job. The last worker that leaves a closed job wakes the caller, which may be asleep. */
static void leave_job(aoei_pool *p) {
    uint64_t before = atomic_fetch_sub_explicit(&p->state, 1, memory_order_acq_rel);
    if ((before & OPEN) || (before & INSIDE) != 1)
        return;
    pthread_mutex_lock(&p->mutex); /* the caller checks the state and sleeps under this lock, so no wake-up is lost */
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->mutex);
}

static void *worker_main(void *arg) {
    worker *w = arg;
    aoei_pool *p = w->pool;
    uint64_t seen = 0;
    current.pool = p;
    current.worker = w->index;
    for (;;) {
        uint64_t state = wait_for_job(p, seen);
        if (state & STOP)
            return NULL;
        if (join_job(p, &state)) {
            run_tasks(p, w->index);
            leave_job(p);
        }
        if (state & STOP)
            return NULL;
        seen = state & JOB_MASK;
    }
}

/* Increments the job number, sets `flags` (OPEN or STOP) in the state and wakes sleeping workers, at most `helpers` of
 * them. */
static void announce(aoei_pool *p, uint64_t flags, size_t helpers) {
    uint64_t state = atomic_load_explicit(&p->state, memory_order_relaxed);
    atomic_store_explicit(&p->state, (state & JOB_MASK) + JOB_ONE + flags, memory_order_release);
    pthread_mutex_lock(&p->mutex);
    size_t sleepers = p->sleepers;
    pthread_mutex_unlock(&p->mutex);
    if (helpers >= sleepers && sleepers > 0)
        pthread_cond_broadcast(&p->wake);
    else
        for (size_t i = 0; i < helpers && i < sleepers; i++)
            pthread_cond_signal(&p->wake);
}

/* Closes the job and waits until every worker that joined it has left. */
static void finish_job(aoei_pool *p) {
    uint64_t state = atomic_fetch_and_explicit(&p->state, ~OPEN, memory_order_acq_rel);
    if (no_worker_inside(state, 0) || no_worker_inside(spin(p, no_worker_inside, 0), 0))
        return;
    pthread_mutex_lock(&p->mutex);
    while (!no_worker_inside(atomic_load_explicit(&p->state, memory_order_acquire), 0))
        pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

static void run_serial(size_t n_tasks, aoei_task_fn fn, void *arg, size_t index) {
    for (size_t task = 0; task < n_tasks; task++)
        fn(arg, task, index);
}

/* Runs a job on the calling thread, which is worker 0, and on the other threads of the pool. */
static void run_parallel(aoei_pool *p, size_t n_tasks, aoei_task_fn fn, void *arg) {
    p->fn = fn;
    p->arg = arg;
    p->n_tasks = n_tasks;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    announce(p, OPEN, n_tasks - 1);
    run_tasks(p, 0);
    finish_job(p);
}

static void init_locks(aoei_pool *p) {
    /* with default attributes these calls cannot fail on Linux */
    pthread_mutex_init(&p->submit, NULL);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
}

/* Starts all workers. All signals are blocked in them, so that signals are delivered to the program's own threads. */
static int start_workers(aoei_pool *p, aoe_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = 0;
    for (size_t i = 0; code == 0 && i < p->threads - 1; i++) {
        worker *w = p->workers[i] ? p->workers[i] : aoei_aligned(sizeof *w);
        if (!w) {
            code = aoei_fail_nomem(err, sizeof *w);
            break;
        }
        *w = (worker){.pool = p, .index = i + 1};
        p->workers[i] = w;
        const int errnum = pthread_create(&w->thread, NULL, worker_main, w);
        if (errnum)
            code = aoei_fail(err, AOE_ENOMEM, "cannot start thread %zu of %zu: %s; use fewer threads", i + 2,
                             p->threads, strerror(errnum));
        else
            p->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* Returns 1 if this process was forked after the workers were started, so that they do not exist. */
static int is_forked(const aoei_pool *p) {
    return atomic_load_explicit(&p->generation, memory_order_acquire) != generation;
}

/* Gives the pool of another process the state of a pool without workers and jobs. Its locks may be held by threads that
 * do not exist in this process. */
static void reset(aoei_pool *p) {
    init_locks(p);
    atomic_store_explicit(&p->state, 0, memory_order_relaxed);
    p->sleepers = p->started = 0;
}

/* Starts the workers in a child process. If a thread cannot be started, the other threads run its tasks. */
static void restart_workers(aoei_pool *p) {
    pthread_mutex_lock(&restart_lock);
    if (is_forked(p)) {
        reset(p);
        (void)start_workers(p, NULL);
        atomic_store_explicit(&p->generation, generation, memory_order_release);
    }
    pthread_mutex_unlock(&restart_lock);
}

void aoei_parallel_for(aoei_pool *pool, size_t n_tasks, aoei_task_fn fn, void *arg) {
    if (n_tasks == 0)
        return;
    if (!pool) {
        run_serial(n_tasks, fn, arg, 0);
        return;
    }
    if (current.pool == pool) {
        run_serial(n_tasks, fn, arg, current.worker);
        return;
    }
    const aoei_pool *outer = current.pool; /* pool of another context, if this call is nested in one of its tasks */
    size_t outer_worker = current.worker;
    if (is_forked(pool))
        restart_workers(pool);
    pthread_mutex_lock(&pool->submit);
    current.pool = pool;
    current.worker = 0;
    if (pool->threads == 1 || n_tasks == 1 || outer)
        run_serial(n_tasks, fn, arg, 0);
    else
        run_parallel(pool, n_tasks, fn, arg);
    current.pool = outer;
    current.worker = outer_worker;
    pthread_mutex_unlock(&pool->submit);
}

size_t aoei_pool_default_threads(void) {
    const size_t cpus = aoei_cpu_count();
    return cpus < MAX_THREADS ? cpus : MAX_THREADS;
}

int aoei_pool_create(aoei_pool **pool, size_t threads, aoe_error *err) {
    *pool = NULL;
    if (!threads || threads > MAX_THREADS)
        return aoei_fail(err, AOE_EARG, "options.threads is %zu, but must be 1 to %d", threads, MAX_THREADS);
    pthread_once(&fork_once, watch_forks);
    aoei_pool *p = fork_error ? NULL : aoei_aligned(sizeof *p);
    if (!p)
        return aoei_fail_nomem(err, sizeof *p);
    memset(p, 0, sizeof *p);
    p->generation = generation;
    p->threads = threads;
    p->may_spin = threads <= aoei_cpu_count();
    init_locks(p);
    int code = 0;
    p->workers = aoei_calloc(threads, sizeof(worker *));
    if (!p->workers)
        code = aoei_fail_nomem(err, threads * sizeof(worker *));
    else
        code = start_workers(p, err);
    if (code) {
        aoei_pool_destroy(p);
        return code;
    }
    *pool = p;
    return 0;
}

void aoei_pool_destroy(aoei_pool *pool) {
    if (!pool)
        return;
    if (is_forked(pool))
        reset(pool);
    if (pool->started)
        announce(pool, STOP, SIZE_MAX);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i]->thread, NULL);
    for (size_t i = 0; pool->workers && i < pool->threads - 1; i++)
        aoei_aligned_free(pool->workers[i]);
    aoei_free(pool->workers);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    pthread_mutex_destroy(&pool->submit);
    aoei_aligned_free(pool);
}

size_t aoei_pool_threads(const aoei_pool *pool) {
    return pool ? pool->threads : 1;
}
