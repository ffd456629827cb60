/* SPDX-License-Identifier: MIT
 * Implements the thread pool. A job is one parallel loop; its tasks are assigned to threads by an atomic counter. The
 * workers, which several pools may share, help with one job at a time. If they help another caller, a caller runs its
 * tasks alone. Workers join a job while it is open, and the caller waits only for the workers that joined. A worker
 * that wakes up late therefore does not delay the caller. Threads spin for a few tens of microseconds before they
 * sleep, because training starts many short jobs in a row. They do not spin if more threads compute than there are
 * CPUs. Invariant: the fields of a job are written only while the job is closed and no worker has joined it, and they
 * are read only by threads that have joined the job. A child process that fork() created has no workers. Its first job
 * in a pool starts them again. */
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
#include "base/fork.h"
#include "base/mutex.h"

#define MAX_THREADS     1024
#define SPIN_SECONDS    40e-6
#define RELAX_PER_CHECK 32 /* pauses between two reads of the clock */

/* Bits of workers.state:
 *   INSIDE    bits 0 to 31: number of workers that have joined the job and not left it
 *   OPEN      bit 32: 1 if workers may join the job
 *   STOP      bit 33: 1 if the workers stop
 *   JOB_MASK  bits 34 to 63: job number; JOB_ONE is added to `state` to increment it */
#define INSIDE   UINT64_C(0xffffffff)
#define OPEN     (UINT64_C(1) << 32)
#define STOP     (UINT64_C(1) << 33)
#define JOB_ONE  (UINT64_C(1) << 34)
#define JOB_MASK (~(JOB_ONE - 1))

typedef struct workers workers;

typedef struct worker {
    pthread_t thread;
    workers *all; /* borrowed */
    size_t index; /* worker index, 1 .. threads - 1; the thread that calls aoei_parallel_for has index 0 */
} worker;

/* The workers of one or several pools, and the job that they run. The fields that change during a job are in cache
 * lines of their own, together with fields that do not. */
struct workers {
    _Alignas(AOEI_ALIGN) _Atomic uint64_t state; /* see INSIDE, OPEN, STOP and JOB_MASK */
    size_t threads;                              /* number of threads, caller included */
    size_t started;                              /* number of workers that were started */
    worker **list;                               /* [threads - 1] workers, owned; NULL: not yet allocated */
    size_t spin_limit;                           /* threads spin if fewer callers than this number run jobs */
    _Atomic size_t pools;                        /* number of pools that share the workers */
    _Atomic unsigned generation;                 /* value of aoei_fork_generation when the workers were started */
    _Alignas(AOEI_ALIGN) _Atomic size_t next;    /* first task not yet assigned; may exceed n_tasks */
    pthread_cond_t done;                         /* signaled when the last worker has left a closed job */
    _Alignas(AOEI_ALIGN) aoei_task_fn fn;        /* function of the current job */
    void *arg;                                   /* argument of fn, borrowed */
    size_t n_tasks;                              /* number of tasks of the current job */
    const aoei_pool *pool;                       /* pool of the current job, borrowed */
    aoei_mutex busy;                             /* held by the thread whose job the workers run */
    pthread_mutex_t mutex;                       /* protects sleepers, wake and done */
    pthread_cond_t wake;                         /* signaled when a new job starts or the workers stop */
    size_t sleepers;                             /* number of workers that wait on `wake` */
};

struct aoei_pool {
    workers *workers;  /* shared; NULL: a pool of one thread */
    aoei_mutex submit; /* held by the thread whose call of aoei_parallel_for runs */
};

/* The pool that this thread works for, and its worker index in this pool. They are used to detect nested calls. */
static _Thread_local struct {
    const aoei_pool *pool; /* NULL if the thread runs no job */
    size_t worker;         /* worker index */
} current;

static _Atomic size_t callers; /* number of threads of this process that run a job or wait for their turn */
static _Atomic unsigned callers_generation; /* value of aoei_fork_generation when `callers` was 0 */

static void reset_callers(void *unused) {
    (void)unused;
    atomic_store_explicit(&callers, 0, memory_order_relaxed);
}

static int is_new_job(uint64_t state, uint64_t seen) {
    return (state & (JOB_MASK | STOP)) != seen;
}

static int no_worker_inside(uint64_t state, uint64_t unused) {
    (void)unused;
    return (state & INSIDE) == 0;
}

/* Spins until ready(state, arg) is true or SPIN_SECONDS have passed. Returns the last state that was read. */
static inline uint64_t spin(const workers *w, int (*ready)(uint64_t, uint64_t), uint64_t arg) {
    uint64_t state = atomic_load_explicit(&w->state, memory_order_acquire);
    if (ready(state, arg) || atomic_load_explicit(&callers, memory_order_relaxed) >= w->spin_limit)
        return state;
    double until = aoei_now() + SPIN_SECONDS;
    do {
        for (int i = 0; i < RELAX_PER_CHECK; i++) {
            aoei_cpu_relax();
            state = atomic_load_explicit(&w->state, memory_order_acquire);
            if (ready(state, arg))
                return state;
        }
    } while (aoei_now() < until);
    return state;
}

/* Runs tasks of the current job as worker `index` until none is left. */
static void run_tasks(workers *w, size_t index) {
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed);
        if (task >= w->n_tasks)
            return;
        w->fn(w->arg, task, index);
    }
}

/* Waits until the job number differs from that of state `seen`, or the workers stop. Returns the new state. */
static uint64_t wait_for_job(workers *w, uint64_t seen) {
    uint64_t state = spin(w, is_new_job, seen);
    if (is_new_job(state, seen))
        return state;
    pthread_mutex_lock(&w->mutex);
    w->sleepers++;
    for (;;) {
        state = atomic_load_explicit(&w->state, memory_order_acquire);
        if (is_new_job(state, seen))
            break;
        pthread_cond_wait(&w->wake, &w->mutex);
    }
    w->sleepers--;
    pthread_mutex_unlock(&w->mutex);
    return state;
}

/* Joins the job if it is still open. Returns 1 if the worker joined, otherwise 0. *state is set to the last state that
 * was read. */
static int join_job(workers *w, uint64_t *state) {
    while (*state & OPEN)
        if (atomic_compare_exchange_weak_explicit(&w->state, state, *state + 1, memory_order_acquire,
                                                  memory_order_acquire))
            return 1;
    return 0;
}

/* Leaves the job. The last worker that leaves a closed job wakes the caller, which may be asleep. */
static void leave_job(workers *w) {
    uint64_t before = atomic_fetch_sub_explicit(&w->state, 1, memory_order_acq_rel);
    if ((before & OPEN) || (before & INSIDE) != 1)
        return;
    pthread_mutex_lock(&w->mutex); /* the caller checks the state and sleeps under this lock, so no wake-up is lost */
    pthread_cond_signal(&w->done);
    pthread_mutex_unlock(&w->mutex);
}

static void *worker_main(void *arg) {
    const worker *self = arg;
    workers *w = self->all;
    uint64_t seen = 0;
    current.worker = self->index;
    for (;;) {
        uint64_t state = wait_for_job(w, seen);
        if (state & STOP)
            return NULL;
        if (join_job(w, &state)) {
            current.pool = w->pool;
            run_tasks(w, self->index);
            leave_job(w);
        }
        if (state & STOP)
            return NULL;
        seen = state & JOB_MASK;
    }
}

/* Increments the job number, sets `flags` (OPEN or STOP) in the state and wakes sleeping workers, at most `helpers` of
 * them. */
static void announce(workers *w, uint64_t flags, size_t helpers) {
    uint64_t state = atomic_load_explicit(&w->state, memory_order_relaxed);
    atomic_store_explicit(&w->state, (state & JOB_MASK) + JOB_ONE + flags, memory_order_release);
    pthread_mutex_lock(&w->mutex);
    size_t sleepers = w->sleepers;
    pthread_mutex_unlock(&w->mutex);
    if (helpers >= sleepers && sleepers > 0)
        pthread_cond_broadcast(&w->wake);
    else
        for (size_t i = 0; i < helpers && i < sleepers; i++)
            pthread_cond_signal(&w->wake);
}

/* Closes the job and waits until every worker that joined it has left. */
static void finish_job(workers *w) {
    uint64_t state = atomic_fetch_and_explicit(&w->state, ~OPEN, memory_order_acq_rel);
    if (no_worker_inside(state, 0) || no_worker_inside(spin(w, no_worker_inside, 0), 0))
        return;
    pthread_mutex_lock(&w->mutex);
    while (!no_worker_inside(atomic_load_explicit(&w->state, memory_order_acquire), 0))
        pthread_cond_wait(&w->done, &w->mutex);
    pthread_mutex_unlock(&w->mutex);
}

static void init_locks(workers *w) {
    /* with default attributes these calls cannot fail on Linux */
    aoei_mutex_init(&w->busy);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->done, NULL);
}

/* Starts all workers. All signals are blocked in them, so that signals are delivered to the program's own threads. */
static int start_workers(workers *w, aoe_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->threads - 1; i++) {
        worker *one = w->list[i] ? w->list[i] : aoei_aligned(sizeof *one);
        if (!one) {
            code = aoei_fail_nomem(err, sizeof *one);
            break;
        }
        *one = (worker){.all = w, .index = i + 1};
        w->list[i] = one;
        const int errnum = pthread_create(&one->thread, NULL, worker_main, one);
        if (errnum)
            code = aoei_fail(err, AOE_ENOMEM, "cannot start thread %zu of %zu: %s; use fewer threads", i + 2,
                             w->threads, strerror(errnum));
        else
            w->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* Gives the workers of another process the state of workers that were not started. Their locks may be held by threads
 * that do not exist in this process. */
static void reset(void *object) {
    workers *w = object;
    init_locks(w);
    atomic_store_explicit(&w->state, 0, memory_order_relaxed);
    w->sleepers = w->started = 0;
}

/* Starts the workers in a child process. If a thread cannot be started, the other threads run its tasks. */
static void restart(void *object) {
    reset(object);
    (void)start_workers(object, NULL);
}

static void destroy_workers(workers *w) {
    if (!w || atomic_fetch_sub(&w->pools, 1) > 1)
        return;
    aoei_fork_renew(&w->generation, reset, w);
    if (w->started)
        announce(w, STOP, SIZE_MAX);
    for (size_t i = 0; i < w->started; i++)
        pthread_join(w->list[i]->thread, NULL);
    for (size_t i = 0; w->list && i < w->threads - 1; i++)
        aoei_aligned_free(w->list[i]);
    aoei_free(w->list);
    pthread_cond_destroy(&w->done);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->mutex);
    aoei_mutex_destroy(&w->busy);
    aoei_aligned_free(w);
}

static int create_workers(workers **created, size_t threads, aoe_error *err) {
    const size_t cpus = aoei_cpu_count();
    workers *w = aoei_fork_watch() ? NULL : aoei_aligned(sizeof *w);
    if (!w)
        return aoei_fail_nomem(err, sizeof *w);
    memset(w, 0, sizeof *w);
    w->generation = aoei_fork_generation();
    w->threads = threads;
    w->pools = 1;
    w->spin_limit = threads <= cpus ? cpus - threads + 2 : 0;
    init_locks(w);
    w->list = aoei_calloc(threads, sizeof *w->list);
    const int code = w->list ? start_workers(w, err) : aoei_fail_nomem(err, threads * sizeof *w->list);
    if (code)
        destroy_workers(w);
    else
        *created = w;
    return code;
}

static void run_serial(size_t n_tasks, aoei_task_fn fn, void *arg, size_t index) {
    for (size_t task = 0; task < n_tasks; task++)
        fn(arg, task, index);
}

/* Runs a job on the calling thread, which is worker 0, and on the workers. Returns 0 if the workers are busy. */
static int run_parallel(const aoei_pool *pool, size_t n_tasks, aoei_task_fn fn, void *arg) {
    workers *w = pool->workers;
    aoei_fork_renew(&w->generation, restart, w);
    if (!aoei_mutex_try(&w->busy))
        return 0;
    w->fn = fn;
    w->arg = arg;
    w->n_tasks = n_tasks;
    w->pool = pool;
    atomic_store_explicit(&w->next, 0, memory_order_relaxed);
    announce(w, OPEN, n_tasks - 1);
    run_tasks(w, 0);
    finish_job(w);
    aoei_mutex_unlock(&w->busy);
    return 1;
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
    const aoei_pool *outer = current.pool; /* another pool, if this call is nested in one of its tasks */
    size_t outer_worker = current.worker;
    aoei_fork_renew(&callers_generation, reset_callers, NULL);
    atomic_fetch_add_explicit(&callers, !outer, memory_order_relaxed);
    aoei_mutex_lock(&pool->submit);
    current.pool = pool;
    current.worker = 0;
    if (n_tasks == 1 || outer || !pool->workers || !run_parallel(pool, n_tasks, fn, arg))
        run_serial(n_tasks, fn, arg, 0);
    current.pool = outer;
    current.worker = outer_worker;
    aoei_mutex_unlock(&pool->submit);
    atomic_fetch_sub_explicit(&callers, !outer, memory_order_relaxed);
}

size_t aoei_pool_default_threads(void) {
    const size_t cpus = aoei_cpu_count();
    return cpus < MAX_THREADS ? cpus : MAX_THREADS;
}

/* Creates a pool without workers. */
static int create_pool(aoei_pool **pool, aoe_error *err) {
    *pool = aoei_calloc(1, sizeof **pool);
    if (!*pool)
        return aoei_fail_nomem(err, sizeof **pool);
    aoei_mutex_init(&(*pool)->submit);
    return 0;
}

int aoei_pool_create(aoei_pool **pool, size_t threads, aoe_error *err) {
    *pool = NULL;
    if (!threads || threads > MAX_THREADS)
        return aoei_fail(err, AOE_EARG, "options.threads is %zu, but must be 1 to %d", threads, MAX_THREADS);
    int code = create_pool(pool, err);
    if (!code && threads > 1 && (code = create_workers(&(*pool)->workers, threads, err))) {
        aoei_pool_destroy(*pool);
        *pool = NULL;
    }
    return code;
}

int aoei_pool_share(aoei_pool **pool, const aoei_pool *other, aoe_error *err) {
    const int code = create_pool(pool, err);
    if (!code && other && other->workers) {
        (*pool)->workers = other->workers;
        atomic_fetch_add(&other->workers->pools, 1);
    }
    return code;
}

void aoei_pool_destroy(aoei_pool *pool) {
    if (!pool)
        return;
    destroy_workers(pool->workers);
    aoei_mutex_destroy(&pool->submit);
    aoei_free(pool);
}

size_t aoei_pool_threads(const aoei_pool *pool) {
    return pool && pool->workers ? pool->workers->threads : 1;
}
