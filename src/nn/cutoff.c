/* SPDX-License-Identifier: MIT
 * Applies cutoffs. Each task processes one text.
 */
#include "nn/cutoff.h"

#include <assert.h>
#include <string.h>

#include "base/pool.h"

typedef struct cut_job {
    aoei_tensor x; /* [N, D] */
    const aoei_batch *batch;
} cut_job;

/* Sets the columns or the tokens of one text to zero. */
static void text_task(void *arg, size_t task, size_t worker) {
    const cut_job *j = arg;
    const aoei_cutoff *cutoff = &j->batch->cutoffs[task];
    const size_t first = j->batch->offsets[task], end = j->batch->offsets[task + 1], width = aoei_dtype_size(j->x.type);
    (void)worker;
    if (cutoff->tokens)
        for (size_t i = 0; i < cutoff->n; i++)
            memset(aoei_tensor_at(j->x, first + cutoff->index[i], 0), 0, j->x.cols * width);
    else
        for (size_t row = first; row < end; row++)
            for (size_t i = 0; i < cutoff->n; i++)
                memset(aoei_tensor_at(j->x, row, cutoff->index[i]), 0, width);
}

void aoei_cutoff_apply(const aoe_context *ctx, aoei_tensor x, const aoei_batch *batch) {
    assert(batch->cutoffs && x.rows == batch->n_tokens);
    cut_job j = {.x = x, .batch = batch};
    aoei_parallel_for(ctx->pool, batch->n_texts, text_task, &j);
}
