/* SPDX-License-Identifier: MIT
 * Quantization of activations to int8. A workspace contains the scales of the rows, then the rows.
 */
#include "nn/int8_rows.h"

#include "base/alloc.h"
#include "kernels/kernel_table.h"

#define ROWS ((size_t)32) /* rows per task */

/* Arguments of the tasks, each of which quantizes ROWS rows. */
typedef struct quantize_job {
    const aoe_context *ctx;
    aoei_tensor x;      /* [N, cols] input, float32 or bf16 */
    aoei_tensor values; /* [N, cols] output, int8 */
    float *scales;      /* [N] output */
} quantize_job;

/* Returns the size in bytes of n scales, rounded up so that the rows after them start at a cache line. */
static size_t scale_bytes(size_t n) {
    return (n * sizeof(float) + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN;
}

static void quantize_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const quantize_job *j = arg;
    const aoei_kernels *k = aoei_kernels_of(j->ctx);
    const size_t first = task * ROWS, end = j->x.rows - first < ROWS ? j->x.rows : first + ROWS;
    for (size_t r = first; r < end; r++) {
        int8_t *to = aoei_tensor_at(j->values, r, 0);
        const void *from = aoei_tensor_at(j->x, r, 0);
        j->scales[r] = j->x.type == AOEI_BF16 ? k->quantize_bf16(to, from, j->x.cols) : k->quantize_f32(to, from, j->x.cols);
    }
}

size_t aoei_int8_rows_bytes(size_t n, size_t cols) {
    return scale_bytes(n) + n * cols;
}

aoei_tensor aoei_quantize_rows(const aoe_context *ctx, aoei_tensor x, aoei_tensor workspace) {
    float *scales = aoei_f32(workspace);
    quantize_job j = {.ctx = ctx,
                      .x = x,
                      .values = aoei_tensor_wrap_typed(AOEI_I8, (unsigned char *)workspace.data + scale_bytes(x.rows), scales,
                                                       x.rows, x.cols),
                      .scales = scales};
    aoei_parallel_for(ctx->pool, (x.rows + ROWS - 1) / ROWS, quantize_task, &j);
    return j.values;
}
