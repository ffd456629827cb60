/* SPDX-License-Identifier: MIT
 * A pool of threads that run the tasks of a parallel loop. Each context has one pool. Several pools can share their
 * threads, so that any number of callers compute at the same time without further threads. If tasks divide a sum,
 * callers of aoei_parallel_for choose the division from tensor shapes only, so results do not depend on the number of
 * threads. The assignment of tasks to threads is not deterministic. Nested calls run serially in the calling thread. A
 * child process that fork() created can use the pools of its parent, unless it was created in a task.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

typedef struct aoei_pool aoei_pool;

/* Runs one task. task: index in [0, n_tasks). worker: index of the thread in [0, aoei_pool_threads), which selects its
 * scratch buffer. */
typedef void (*aoei_task_fn)(void *arg, size_t task, size_t worker);

size_t aoei_pool_default_threads(void); /* returns the number of CPUs that this process may use, at most 1024 */
/* Creates a pool of 1 to 1024 threads, including the calling thread. Errors: AOE_EARG (`threads` is not in this range),
 * AOE_ENOMEM (out of memory, or the system cannot create a thread). */
int aoei_pool_create(aoei_pool **pool, size_t threads, aoe_error *err);
/* Creates a pool that shares the threads of `other`, which may be NULL (one thread). Errors: AOE_ENOMEM. */
int aoei_pool_share(aoei_pool **pool, const aoei_pool *other, aoe_error *err);
/* Destroys a pool. The threads are stopped and joined with the last pool that shares them. Accepts NULL. */
void aoei_pool_destroy(aoei_pool *pool);
size_t aoei_pool_threads(const aoei_pool *pool);
/* Runs fn for every task and returns when all tasks are done; the calling thread also runs tasks. If pool is NULL, the
 * calling thread runs all tasks with worker index 0. Concurrent calls with one pool are serialized. If the other
 * threads run the tasks of another pool that shares them, the calling thread also runs all tasks. In a nested call on
 * the same pool, tasks get the worker index of the enclosing task. Tasks of two pools must not call each other's pool,
 * because each call would wait for the other. */
void aoei_parallel_for(aoei_pool *pool, size_t n_tasks, aoei_task_fn fn, void *arg);
