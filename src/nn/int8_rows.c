/* SPDX-License-Identifier: MIT
 * Quantization of activations to int8. A workspace contains the scales of the rows, then the rows.
 */
#include "nn/int8_rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "kernels/kernel_table.h"

#define ROWS ((size_t)32) /* rows per task */

/* Arguments of the tasks, each of which quantizes ROWS rows. */
typedef struct quantize_job {
    const aoe_context *ctx;
    aoei_tensor x;                /* [N, cols] input, float32 or bf16 */
    aoei_tensor values;           /* [N, cols or cols + split->n] output, int8 */
    const aoei_int8_split *split; /* split channels; NULL: none */
    float *scales;                /* [N] output */
} quantize_job;

/* Returns the size in bytes of n scales, rounded up so that the rows after them start at a cache line. */
static size_t scale_bytes(size_t n) {
    return (n * sizeof(float) + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN;
}

/* Returns floor((v + index) / n), where factor is 1 / n. The sum of these integers for the indices 0 to n - 1 is v. With |v| at
 * most 127 n and n at most 1000, the argument of lrintf is not close to the middle of two integers, so rounding errors have no
 * effect. */
static inline int8_t part_of(float v, float index, float factor) {
    return (int8_t)lrintf((v + index + 0.5F) * factor - 0.5F);
}

/* Sets the values of the columns of split channels in the row q, whose values before quantization are x and whose scale is
 * `scale`. cols: number of channels. The loop has no branches, because the CPU could not predict them. */
static void fill_split(int8_t *q, const float *x, const aoei_int8_split *split, float scale, size_t cols) {
    float index = 0;
    uint32_t previous = UINT32_MAX;
    if (!(scale > 0)) { /* all values are 0, or a component is NaN or infinite */
        memset(q + cols, 0, split->n);
        return;
    }
    for (size_t i = 0; i < split->n; i++) {
        const uint32_t channel = split->channels[i];
        const float v = (float)lrintf(x[channel] / scale), factor = split->factors[channel];
        index = channel == previous ? index + 1 : 1;
        previous = channel;
        q[channel] = part_of(v, 0, factor);
        q[cols + i] = part_of(v, index, factor);
    }
}

/* Quantizes row r with split channels. row: [2 cols] buffer. Returns the scale. */
static float quantize_split(const quantize_job *j, size_t r, float *row) {
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t cols = j->x.cols;
    int8_t *to = aoei_tensor_at(j->values, r, 0);
    const void *from = aoei_tensor_at(j->x, r, 0);
    if (j->x.type == AOEI_BF16)
        k->from_bf16(row, from, cols);
    else
        memcpy(row, from, cols * sizeof *row);
    k->mul_f32(row + cols, row, j->split->factors, cols);
    const float scale = k->quantize_f32(to, row + cols, cols);
    fill_split(to, row, j->split, scale, cols);
    return scale;
}

static void quantize_task(void *arg, size_t task, size_t worker) {
    const quantize_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * ROWS, end = j->x.rows - first < ROWS ? j->x.rows : first + ROWS;
    for (size_t r = first; r < end; r++) {
        int8_t *to = aoei_tensor_at(j->values, r, 0);
        const void *from = aoei_tensor_at(j->x, r, 0);
        if (j->split)
            j->scales[r] = quantize_split(j, r, aoei_worker_scratch(j->ctx, worker));
        else if (j->x.type == AOEI_BF16)
            j->scales[r] = k->quantize_bf16(to, from, j->x.cols);
        else
            j->scales[r] = k->quantize_f32(to, from, j->x.cols);
    }
}

size_t aoei_int8_rows_bytes(size_t n, size_t cols) {
    return scale_bytes(n) + n * cols;
}

aoei_tensor aoei_quantize_rows(const aoe_context *ctx, aoei_tensor x, const aoei_int8_split *split, aoei_tensor workspace) {
    float *scales = aoei_f32(workspace);
    assert(!split || 2 * x.cols <= AOEI_WORKER_SCRATCH);
    quantize_job j = {.ctx = ctx,
                      .x = x,
                      .values = aoei_tensor_wrap_typed(AOEI_I8, (unsigned char *)workspace.data + scale_bytes(x.rows), scales,
                                                       x.rows, x.cols + (split ? split->n : 0)),
                      .split = split,
                      .scales = scales};
    aoei_parallel_for(ctx->pool, (x.rows + ROWS - 1) / ROWS, quantize_task, &j);
    return j.values;
}
