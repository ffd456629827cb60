/* SPDX-License-Identifier: MIT
 * The context behind the public aoe_context: thread pool, kernels, log, and a
 * fixed scratch a worker (only one parallel_for runs at a time, so it is shared safely).
 */
#ifndef AOEI_NN_CONTEXT_H
#define AOEI_NN_CONTEXT_H

#include "base/log.h"
#include "base/pool.h"
#include "kernels/kernels.h"

struct aoe_context {
    aoei_pool *pool;      /* owned */
    aoei_kernels kernels; /* of the tier in use */
    aoei_log log;
    float *scratch; /* owned, [threads, AOEI_WORKER_SCRATCH] */
};

/* Floats a worker: what a kernel needs, and a panel of a weight with up to 32768 inputs widened to float32 (nn/gemm.c). */
#define AOEI_WORKER_SCRATCH (2 * AOEI_GEMM_SCRATCH)

/* The type that products run in: the wanted one, or for AUTO bf16 where the tier multiplies it natively, else float32. */
aoei_dtype aoei_context_type(const aoe_context *ctx, aoe_dtype wanted);
static inline aoe_dtype aoei_public_dtype(aoei_dtype type) {
    return type == AOEI_BF16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
}
float *aoei_worker_scratch(const aoe_context *ctx, size_t worker); /* [AOEI_WORKER_SCRATCH] */

#endif
