/* SPDX-License-Identifier: MIT
 * Dropout of a row in portable C. The masks of 64 columns are the outputs of Philox for 16 consecutive counters;
 * kernels.h defines their order.
 */
#include "base/random.h"
#include "kernels/kernels.h"

/* Mask generator of one row. It computes the masks in blocks of 64 columns. */
typedef struct row {
    const aoei_dropout_row *d; /* parameters of the row, borrowed */
    uint32_t word[16][4];      /* mask words of the current block: word[i][j] belongs to column 16 j + i of the block */
} row;

/* Computes the mask words of the 64 columns that start at column `block`. Each call of Philox computes four words. */
static void compute_masks(row *r, size_t block) {
    for (size_t lane = 0; lane < 16; lane++) {
        const uint32_t counter[4] = {r->d->counter[0] + (uint32_t)(block / 4 + lane), r->d->counter[1],
                                     r->d->counter[2], r->d->counter[3]};
        aoei_philox(r->word[lane], counter, r->d->key);
    }
}

/* Applies dropout to x, the element of column c, and returns the result. The caller must pass the columns 0, 1, 2, ...
 * in this order, because the masks are computed at the start of each block. */
static float drop(row *r, size_t c, float x) {
    if (c % 64 == 0)
        compute_masks(r, c);
    return r->word[c % 16][c % 64 / 16] >= r->d->threshold ? x * r->d->scale : 0.0f;
}

void aoei_dropout_f32_c(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n) {
    row r = {.d = d};
    for (size_t c = 0; c < n; c++) {
        const float v = drop(&r, c, x[c]);
        y[c] = residual ? residual[c] + v : v;
    }
}

void aoei_dropout_bf16_c(aoei_bf16 *y, const aoei_bf16 *x, const aoei_bf16 *residual, const aoei_dropout_row *d,
                         size_t n) {
    row r = {.d = d};
    for (size_t c = 0; c < n; c++) {
        const float v = drop(&r, c, aoei_bf16_to_f32(x[c]));
        y[c] = aoei_bf16_from_f32(residual ? aoei_bf16_to_f32(residual[c]) + v : v);
    }
}

void aoei_dropout_to_bf16_c(aoei_bf16 *y, const float *x, const aoei_dropout_row *d, size_t n) {
    row r = {.d = d};
    for (size_t c = 0; c < n; c++)
        y[c] = aoei_bf16_from_f32(drop(&r, c, x[c]));
}
