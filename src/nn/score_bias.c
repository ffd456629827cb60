/* SPDX-License-Identifier: MIT
 * Biases of attention scores. The functions are not divided over threads, because their cost is linear in the number of
 * tokens.
 */
#include "nn/score_bias.h"

#include <assert.h>
#include <math.h>

#include "nn/tensor.h"

/* numbers of buckets for one sign of r: all buckets; buckets that contain one distance */
enum { SIDE = 16, EXACT = 8 };

size_t aoei_score_bucket(ptrdiff_t r) {
    const size_t first = r > 0 ? SIDE : 0, n = r > 0 ? (size_t)r : (size_t)-r;
    if (n < EXACT)
        return first + n;
    /* The bucket is EXACT + floor(8 ln(n / 8) / ln(16)), which is EXACT + floor(log2(n^2 / 64)). */
    size_t bucket = EXACT, square = n < 128 ? n * n / (EXACT * EXACT) : 256;
    for (; square > 1 && bucket < SIDE - 1; square /= 2)
        bucket++;
    return first + bucket;
}

void aoei_score_bias_expand(aoei_tensor values, aoei_tensor table, size_t longest) {
    const float *from = aoei_f32(table);
    for (ptrdiff_t r = 1 - (ptrdiff_t)longest; r < (ptrdiff_t)longest; r++) {
        const size_t bucket = aoei_score_bucket(r), column = (size_t)((ptrdiff_t)(values.cols / 2) + r);
        for (size_t h = 0; h < values.rows; h++)
            aoei_f32(values)[h * values.ld + column] = from[bucket * table.ld + h];
    }
}

/* Returns the slope of head `head` of `heads` heads. */
static double slope(size_t head, size_t heads) {
    size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8.0 * (double)(head + 1) / (double)power);
    return exp2(-8.0 * (double)(2 * (head - power) + 1) / (double)(2 * power));
}

void aoei_score_bias_slopes(aoei_tensor values, size_t longest) {
    for (size_t h = 0; h < values.rows; h++) {
        float *center = aoei_f32(values) + h * values.ld + values.cols / 2;
        const double m = slope(h, values.rows);
        for (ptrdiff_t r = 1 - (ptrdiff_t)longest; r < (ptrdiff_t)longest; r++)
            center[r] = (float)(-m * fabs((double)r));
    }
}

void aoei_score_bias_add(const aoei_score_bias *b, size_t row, const float *sums, size_t T, float scale) {
    float *to = aoei_f32(b->grads) + row * b->grads.ld;
    const float *center = sums + T - 1;
    for (ptrdiff_t r = 1 - (ptrdiff_t)T; r < (ptrdiff_t)T; r++)
        to[aoei_score_bucket(r)] += center[r] / scale;
}

void aoei_score_bias_reduce(aoei_tensor dtable, aoei_tensor grads) {
    assert(grads.cols == AOEI_SCORE_BUCKETS && dtable.rows == AOEI_SCORE_BUCKETS);
    for (size_t row = 0; row < grads.rows; row++) {
        const float *from = aoei_f32(grads) + row * grads.ld;
        float *to = aoei_f32(dtable) + row % dtable.cols;
        for (size_t bucket = 0; bucket < AOEI_SCORE_BUCKETS; bucket++)
            to[bucket * dtable.ld] += from[bucket];
    }
}
