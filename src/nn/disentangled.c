/* SPDX-License-Identifier: MIT
 * Maps distances to the rows of relative positions.
 */
#include "nn/disentangled.h"

#include <math.h>

/* Returns the bucket of distance n > 0. The computation is in float32, as in transformers. */
static ptrdiff_t bucket_of(ptrdiff_t n, size_t buckets, size_t max_distance) {
    const size_t half = buckets / 2;
    const float middle = (float)half;
    if ((float)n <= middle)
        return n;
    const float steps =
        logf((float)n / middle) / logf((float)((double)(max_distance - 1) / (double)middle)) * (middle - 1);
    return (ptrdiff_t)(ceilf(steps) + middle);
}

uint32_t aoei_disentangled_row(ptrdiff_t r, size_t span, size_t buckets, size_t max_distance) {
    const ptrdiff_t n = r < 0 ? -r : r, limit = (ptrdiff_t)span;
    const ptrdiff_t size = buckets ? bucket_of(n, buckets, max_distance) : n;
    const ptrdiff_t bucket = r < 0 ? -size : size;
    return (uint32_t)(bucket < -limit ? 0 : bucket >= limit ? 2 * limit - 1 : bucket + limit);
}
