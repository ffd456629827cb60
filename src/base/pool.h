/* SPDX-License-Identifier: MIT
 * One thread pool a context. A parallel_for runs a grid of tasks whose size
 * depends on shapes alone, so results cannot depend on the number of threads;
 * which thread runs a task is not fixed. Nested calls run serially in the caller.
 */
#ifndef AOEI_BASE_POOL_H
#define AOEI_BASE_POOL_H

#include <stddef.h>

#include "aoe.h"

typedef struct aoei_pool aoei_pool;

/* task index in [0, n_tasks); worker in [0, aoei_pool_threads): for per-worker scratch. */
typedef void (*aoei_task_fn)(void *arg, size_t task, size_t worker);

/* Errors: AOE_EARG (more than 1024 threads), AOE_ENOMEM (also when the system refuses a thread). */
int aoei_pool_create(aoei_pool **pool, size_t threads, aoe_error *err); /* threads 0: the CPUs this process may use */
void aoei_pool_destroy(aoei_pool *pool);                                /* NULL accepted; joins */
size_t aoei_pool_threads(const aoei_pool *pool);
/* Runs every task and returns when all are done; the caller works too. pool NULL: serial, worker 0.
 * Calls from several threads at once are serialised. A nested call of the same pool passes on the worker it runs in. */
void aoei_parallel_for(aoei_pool *pool, size_t n_tasks, aoei_task_fn fn, void *arg);

#endif
