/* SPDX-License-Identifier: MIT
 * Cross entropy of rows of logits. Each row has one target class. The gradient overwrites the logits. Each row is a
 * task.
 */
#include "nn/cross_entropy.h"

#include <assert.h>
#include <math.h>

#include "kernels/kernel_table.h"

typedef struct entropy_job {
    const aoe_context *ctx;
    aoei_tensor logits, grad; /* [M, V] each: logits is float32 and is overwritten by its gradient; grad is either
                                 `logits`, or a bf16 tensor that receives the rounded gradient */
    const int32_t *target;    /* [M] target class of each row of logits */
    float scale;              /* factor of the gradient */
    double *loss;             /* [M] output: loss of each row, in nats */
    uint8_t *best; /* [M] output: 1 if no logit of the row is larger than the logit of the target, otherwise 0 */
} entropy_job;

/* Computes the loss of one row and overwrites the row's logits by their gradient. */
static void entropy_task(void *arg, size_t row, size_t worker) {
    const entropy_job *j = arg;
    const size_t V = j->logits.cols, target = (size_t)j->target[row];
    float *s = aoei_tensor_at(j->logits, row, 0), stats[2];
    const float at_target = s[target];
    (void)worker;
    aoei_kernels_of(j->ctx)->cross_entropy_f32(s, stats, s, j->scale, V);
    s[target] -= j->scale;
    j->loss[row] = log((double)stats[1]) + ((double)stats[0] - (double)at_target);
    j->best[row] = at_target >= stats[0];
    if (j->grad.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->to_bf16(aoei_tensor_at(j->grad, row, 0), s, V);
}

void aoei_cross_entropy(const aoe_context *ctx, aoei_tensor grad, aoei_tensor logits, const int32_t *target,
                        double scale, double *loss, uint8_t *best) {
    assert(logits.type == AOEI_F32 && (grad.type == AOEI_BF16 || grad.data == logits.data));
    entropy_job j = {ctx, logits, grad, target, (float)scale, loss, best};
    aoei_parallel_for(ctx->pool, logits.rows, entropy_task, &j);
}
