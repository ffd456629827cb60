/* SPDX-License-Identifier: MIT
 * Rotary positions (RoPE, Su et al. 2021). Component i of a head is paired with component i + d / 2, as in Hugging
 * Face's LLaMA. Angles, sines and cosines are computed once per batch, in double, and rounded to float32. The angles of
 * a text do not depend on other texts.
 */
#include "nn/rope.h"

#include <assert.h>
#include <math.h>

#include "kernels/kernel_table.h"

enum { ROWS = 32 /* tokens per task */ };

#define PI 3.14159265358979323846

typedef struct rope_job {
    const aoe_context *ctx;
    const aoei_rope *r;
    const aoei_batch *batch;
    aoei_tensor table; /* [N, d] cosines and sines of the angles of each token */
    aoei_tensor x;     /* [N, heads head_dim] rows that are rotated in place */
    size_t head_dim;   /* components per head, at least d */
    float direction;   /* 1 for the rotation, or -1 for its inverse */
} rope_job;

/* Returns the index of the pair, as a fraction, that makes `rotations` full rotations over r->positions tokens. d is
 * the number of components of a head. */
static double pair_with(const aoei_rope *r, double rotations, double d) {
    return d * log((double)r->positions / (rotations * 2 * PI)) / (2 * log(r->theta));
}

/* Returns the share of the unscaled angle of pair i in the interpolation of YaRN: 1 for fast pairs, 0 for slow pairs.
 * The rounding of the bounds is that of modeling_rope_utils.py in transformers. */
static double yarn_share(const aoei_rope *r, size_t i, size_t d) {
    double first = pair_with(r, r->high, (double)d), last = pair_with(r, r->low, (double)d);
    if (!r->fractional) {
        first = floor(first);
        last = ceil(last);
    }
    first = first > 0 ? first : 0;
    last = last < (double)d - 1 ? last : (double)d - 1;
    if (first == last)
        last += 0.001;
    const double ramp = ((double)i - first) / (last - first);
    return ramp < 0 ? 1 : ramp > 1 ? 0 : 1 - ramp;
}

/* Returns the angle in radians between two adjacent positions for pair i of a head with d components, in a text of T
 * tokens. */
static double frequency(const aoei_rope *r, size_t i, size_t d, size_t T) {
    const double share = 2 * (double)i / (double)d, n = (double)r->positions;
    double theta = r->theta;
    if (r->scaling == AOEI_ROPE_DYNAMIC && T > r->positions && d > 2)
        theta *= pow(r->factor * (double)T / n - (r->factor - 1), (double)d / (double)(d - 2));
    const double f = pow(theta, -share);
    if (r->scaling == AOEI_ROPE_LINEAR)
        return f / r->factor;
    if (r->scaling == AOEI_ROPE_LONG)
        return f / (double)(T > r->positions ? r->long_factor[i] : r->short_factor[i]);
    if (r->scaling == AOEI_ROPE_YARN) {
        const double mix = yarn_share(r, i, d);
        return (1 - mix) * f / r->factor + mix * f;
    }
    if (r->scaling != AOEI_ROPE_LLAMA3)
        return f;
    const double rotations = n * f / (2 * PI); /* number of full rotations of pair i over r->positions tokens */
    if (rotations < r->low)
        return f / r->factor;
    if (rotations > r->high)
        return f;
    const double mix = (rotations - r->low) / (r->high - r->low);
    return (1 - mix) * f / r->factor + mix * f;
}

/* Computes the rows of the table for the tokens of one text. */
static void table_task(void *arg, size_t task, size_t worker) {
    const rope_job *j = arg;
    const double magnitude = j->r->magnitude > 0 ? j->r->magnitude : 1;
    const size_t first = j->batch->offsets[task], T = j->batch->offsets[task + 1] - first, half = j->table.cols / 2;
    (void)worker;
    for (size_t i = 0; i < half; i++) {
        const double f = frequency(j->r, i, j->table.cols, T);
        for (size_t t = 0; t < T; t++) {
            float *row = aoei_tensor_at(j->table, first + t, 0);
            const double angle = (double)j->batch->positions[first + t] * f;
            row[i] = (float)(magnitude * cos(angle));
            row[half + i] = (float)(magnitude * sin(angle));
        }
    }
}

void aoei_rope_table(const aoe_context *ctx, aoei_tensor table, const aoei_rope *r, const aoei_batch *batch) {
    assert(table.type == AOEI_F32 && table.cols % 2 == 0);
    rope_job j = {.ctx = ctx, .r = r, .batch = batch, .table = table};
    aoei_parallel_for(ctx->pool, batch->n_texts, table_task, &j);
}

/* Rotates the first d components of `heads` heads of one token. The heads must be adjacent if there are several. x:
 * component 0 of the first head. */
static void rotate_heads(const rope_job *j, void *x, const float *angles, size_t heads, size_t d) {
    if (j->x.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->rope_bf16(x, angles, j->direction, heads, d / 2);
    else
        aoei_kernels_of(j->ctx)->rope_f32(x, angles, j->direction, heads, d / 2);
}

/* Rotates all heads of ROWS tokens. */
static void rotate_task(void *arg, size_t task, size_t worker) {
    const rope_job *j = arg;
    const size_t end = (task + 1) * ROWS < j->x.rows ? (task + 1) * ROWS : j->x.rows;
    const size_t d = j->table.cols, heads = j->x.cols / j->head_dim;
    (void)worker;
    for (size_t i = task * ROWS; i < end; i++) {
        const float *angles = aoei_tensor_at(j->table, i, 0);
        if (d == j->head_dim)
            rotate_heads(j, aoei_tensor_at(j->x, i, 0), angles, heads, d);
        for (size_t h = 0; h < heads && d < j->head_dim; h++)
            rotate_heads(j, aoei_tensor_at(j->x, i, h * j->head_dim), angles, 1, d);
    }
}

void aoei_rope_apply(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, size_t head_dim, int back) {
    rope_job j = {.ctx = ctx, .table = table, .x = x, .head_dim = head_dim, .direction = back ? -1.0f : 1.0f};
    aoei_parallel_for(ctx->pool, (x.rows + ROWS - 1) / ROWS, rotate_task, &j);
}
