/* SPDX-License-Identifier: MIT
 * The context: thread pool, CPU tier (the instruction set selected at run time, cpu.h), log callback, and one scratch
 * buffer per thread of the pool. Only one parallel loop (aoei_parallel_for) of a context runs at a time, so all
 * operations can share the scratch buffers. Callers that compute at the same time have their own contexts, which may
 * share threads.
 */
#pragma once

#include "base/cpu.h"
#include "base/log.h"
#include "base/pool.h"

struct aoe_context {
    aoei_pool *pool; /* owned thread pool; NULL: serial context */
    aoei_tier tier;  /* CPU tier in use */
    aoei_log log;    /* log callback of the caller */
    float *scratch;  /* [threads, AOEI_WORKER_SCRATCH] scratch buffers of the workers, owned; NULL for a serial
                        context */
};

/* Size of a worker's scratch buffer in floats. */
#define AOEI_WORKER_SCRATCH ((size_t)1024 * 1024)

/* Returns the scratch buffer of the thread with index `worker` in the pool (aoei_task_fn): [AOEI_WORKER_SCRATCH]
 * floats, 64-byte aligned, owned by the context. */
float *aoei_worker_scratch(const aoe_context *ctx, size_t worker);

/* Initializes *ctx with the CPU tier and the log callback of `other`, its own scratch buffers, and a pool that shares
 * the threads of `threads`. The caller releases it with aoei_context_release. Errors: AOE_ENOMEM. */
int aoei_context_init(aoe_context *ctx, const aoe_context *other, const aoei_pool *threads, aoe_error *err);
void aoei_context_release(aoe_context *ctx); /* frees the parts of *ctx; accepts a zeroed struct */

/* Fills `ctx`, which may be on the caller's stack, with a context that has a CPU tier but no threads and no scratch
 * buffers. The context owns nothing and needs no destruction. Errors: see aoei_cpu_tier. */
int aoei_context_serial(aoe_context *ctx, aoe_error *err);
