/* SPDX-License-Identifier: MIT
 * Quantization of activations to int8. A workspace contains the scales of the rows, then the rows.
 */
#include "nn/int8_rows.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bf16.h"
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

/* Returns the number of bytes, rounded up so that the memory after them starts at a cache line. */
static size_t aligned(size_t bytes) {
    return (bytes + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN;
}

size_t aoei_int8_split_bytes(size_t n, size_t cols) {
    return n ? aligned(sizeof(aoei_int8_split)) + 3 * aligned(2 * n * sizeof(float)) + aligned(cols * sizeof(float))
             : 0;
}

aoei_int8_split *aoei_int8_split_create(void *memory, size_t n, size_t cols) {
    aoei_int8_split *split = memory;
    unsigned char *lists = (unsigned char *)memory + aligned(sizeof *split);
    const size_t size = aligned(2 * n * sizeof(float));
    *split = (aoei_int8_split){.n = n,
                               .channels = (uint32_t *)(void *)lists,
                               .indices = (float *)(void *)(lists + size),
                               .part_factors = (float *)(void *)(lists + 2 * size),
                               .factors = (float *)(void *)(lists + 3 * size)};
    for (size_t k = 0; k < cols; k++)
        split->factors[k] = 1;
    return split;
}

static void add_part(aoei_int8_split *split, size_t channel, float index) {
    split->channels[split->parts] = (uint32_t)channel;
    split->indices[split->parts] = index;
    split->part_factors[split->parts] = split->factors[channel];
    split->parts++;
}

void aoei_int8_split_complete(aoei_int8_split *split, size_t cols) {
    for (size_t k = 0; k < cols; k++) {
        const float columns = split->factors[k];
        split->factors[k] = 1 / columns;
        for (size_t index = 1; index < (size_t)columns; index++)
            add_part(split, k, (float)index);
    }
    assert(split->parts == split->n);
    for (size_t i = 0; i < split->n; i++)
        if (split->indices[i] == 1)
            add_part(split, split->channels[i], 0);
}

/* Sets the values of all columns of split channels in the row q, whose values before quantization are x[cols], of data
 * type `type`, and whose scale is `scale`. */
static void fill_split(const quantize_job *j, int8_t *q, const void *x, float scale) {
    const aoei_int8_split *split = j->split;
    const size_t cols = j->x.cols;
    float values[2 * AOEI_INT8_SPLIT_COLUMNS];
    int8_t parts[2 * AOEI_INT8_SPLIT_COLUMNS];
    if (!(scale > 0)) { /* all values are 0, or a component is NaN or infinite */
        memset(q + cols, 0, split->n);
        return;
    }
    if (j->x.type == AOEI_BF16)
        for (size_t i = 0; i < split->parts; i++)
            values[i] = aoei_bf16_to_f32(((const aoei_bf16 *)x)[split->channels[i]]);
    else
        for (size_t i = 0; i < split->parts; i++)
            values[i] = ((const float *)x)[split->channels[i]];
    aoei_kernels_of(j->ctx)->split_int8(parts, values, split->indices, split->part_factors, scale, split->parts);
    memcpy(q + cols, parts, split->n);
    for (size_t i = split->n; i < split->parts; i++)
        q[split->channels[i]] = parts[i];
}

static void quantize_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const quantize_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const float *factors = j->split ? j->split->factors : NULL;
    const size_t first = task * ROWS, end = j->x.rows - first < ROWS ? j->x.rows : first + ROWS;
    for (size_t r = first; r < end; r++) {
        int8_t *to = aoei_tensor_at(j->values, r, 0);
        const void *from = aoei_tensor_at(j->x, r, 0);
        j->scales[r] = j->x.type == AOEI_BF16 ? k->quantize_bf16(to, from, factors, j->x.cols)
                                              : k->quantize_f32(to, from, factors, j->x.cols);
        if (j->split)
            fill_split(j, to, from, j->scales[r]);
    }
}

size_t aoei_int8_rows_bytes(size_t n, size_t cols) {
    return aligned(n * sizeof(float)) + n * cols;
}

aoei_tensor aoei_quantize_rows(const aoe_context *ctx, aoei_tensor x, const aoei_int8_split *split,
                               aoei_tensor workspace) {
    float *scales = aoei_f32(workspace);
    assert(!split || (split->n <= AOEI_INT8_SPLIT_COLUMNS && split->parts <= 2 * split->n));
    quantize_job j = {
        .ctx = ctx,
        .x = x,
        .values = aoei_tensor_wrap_typed(AOEI_I8, (unsigned char *)workspace.data + aligned(x.rows * sizeof(float)),
                                         scales, x.rows, x.cols + (split ? split->n : 0)),
        .split = split,
        .scales = scales};
    aoei_parallel_for(ctx->pool, (x.rows + ROWS - 1) / ROWS, quantize_task, &j);
    return j.values;
}
