/* SPDX-License-Identifier: MIT
 * Finds the largest element of each row. Each row is a task.
 */
#include "nn/argmax.h"

#include <assert.h>
#include <math.h>

#include "base/pool.h"

typedef struct argmax_job {
    aoei_tensor x;
    size_t cols;
    int32_t *best;
} argmax_job;

static void row_task(void *arg, size_t row, size_t worker) {
    const argmax_job *j = arg;
    const float *x = aoei_tensor_at(j->x, row, 0);
    float most = -INFINITY;
    size_t best = 0;
    (void)worker;
    for (size_t c = 0; c < j->cols; c++)
        if (x[c] > most) {
            most = x[c];
            best = c;
        }
    j->best[row] = (int32_t)best;
}

void aoei_argmax_rows(const aoe_context *ctx, aoei_tensor x, size_t cols, int32_t *best) {
    assert(x.type == AOEI_F32 && cols && cols <= x.cols);
    argmax_job j = {x, cols, best};
    aoei_parallel_for(ctx->pool, x.rows, row_task, &j);
}
