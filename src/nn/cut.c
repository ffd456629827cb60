/* SPDX-License-Identifier: MIT
 * Applies cuts. Each task processes one text.
 */
#include "nn/cut.h"

#include <assert.h>
#include <string.h>

#include "base/pool.h"

typedef struct cut_job {
    aoei_tensor x; /* [N, D] */
    const aoei_batch *batch;
} cut_job;

static void text_task(void *arg, size_t task, size_t worker) {
    const cut_job *j = arg;
    const aoei_cut *cut = &j->batch->cuts[task];
    const size_t first = j->batch->offsets[task], end = j->batch->offsets[task + 1], width = aoei_dtype_size(j->x.type);
    (void)worker;
    if (cut->tokens)
        for (size_t i = 0; i < cut->n; i++)
            memset(aoei_tensor_at(j->x, first + cut->index[i], 0), 0, j->x.cols * width);
    else
        for (size_t row = first; row < end; row++)
            for (size_t i = 0; i < cut->n; i++)
                memset(aoei_tensor_at(j->x, row, cut->index[i]), 0, width);
}

void aoei_cut_apply(const aoe_context *ctx, aoei_tensor x, const aoei_batch *batch) {
    assert(batch->cuts && x.rows == batch->n_tokens);
    cut_job j = {.x = x, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, text_task, &j);
}
