/* SPDX-License-Identifier: MIT
 * Scales embeddings to unit length and encodes them. The norm is computed in double precision.
 */
#include "index/encode.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bf16.h"
#include "base/error.h"
#include "index/vector_file.h"
#include "vectors/codes.h"

int aoei_rows_reserve(aoei_rows *r, size_t n, size_t dims, aoe_index_store store, aoe_error *err) {
    const aoei_vector_type values = store == AOE_INDEX_BF16 ? AOEI_VECTORS_BF16 : AOEI_VECTORS_F32;
    r->dims = dims;
    r->store = store;
    r->stride[0] = aoei_vector_stride(AOEI_VECTORS_CODES, dims);
    r->stride[1] = aoei_vector_stride(AOEI_VECTORS_SIGNS, dims);
    r->stride[2] = store == AOE_INDEX_INT8 ? 0 : aoei_vector_stride(values, dims);
    if (!r->vector && !(r->vector = aoei_malloc_array(dims, sizeof *r->vector)))
        return aoei_fail_nomem(err, dims * sizeof *r->vector);
    if (n <= r->capacity)
        return 0;
    n = n < 2 * r->capacity ? 2 * r->capacity : n;
    for (int i = 0; i < 3; i++) {
        if (!r->stride[i])
            continue;
        unsigned char *p = aoei_realloc_array(r->file[i], n, r->stride[i]);
        if (!p)
            return aoei_fail_nomem(err, n * r->stride[i]);
        r->file[i] = p;
    }
    r->capacity = n;
    return 0;
}

void aoei_rows_free(aoei_rows *r) {
    for (int i = 0; i < 3; i++)
        aoei_free(r->file[i]);
    aoei_free(r->vector);
    *r = (aoei_rows){0};
}

size_t aoei_scale_to_unit(float *out, const float *x, size_t D) {
    double sum = 0;
    for (size_t i = 0; i < D; i++) {
        if (!isfinite(x[i]))
            return i;
        sum += (double)x[i] * (double)x[i];
    }
    const double scale = sum > 0 ? 1 / sqrt(sum) : 0;
    for (size_t i = 0; i < D; i++)
        out[i] = (float)((double)x[i] * scale);
    return D;
}

int aoei_rows_encode(aoei_rows *r, size_t i, const float *x, aoe_error *err) {
    const size_t finite = aoei_scale_to_unit(r->vector, x, r->dims);
    if (finite < r->dims)
        return aoei_fail(err, AOE_ENUMERIC, "component %zu of the vector is not finite", finite);
    if (r->store == AOE_INDEX_F32) {
        memcpy(r->file[2] + i * r->stride[2], r->vector, r->stride[2]);
    } else if (r->store == AOE_INDEX_BF16) {
        for (size_t k = 0; k < r->dims; k++) {
            const aoei_bf16 value = aoei_bf16_from_f32(r->vector[k]);
            memcpy(r->file[2] + i * r->stride[2] + k * sizeof value, &value, sizeof value);
            r->vector[k] = aoei_bf16_to_f32(value);
        }
    }
    aoei_codes_encode(r->vector, r->dims, r->file[0] + i * r->stride[0]);
    aoei_signs_encode(r->vector, r->dims, r->file[1] + i * r->stride[1]);
    return 0;
}

void aoei_rows_copy(aoei_rows *r, size_t to, size_t from) {
    for (int i = 0; i < 3; i++)
        if (r->stride[i])
            memcpy(r->file[i] + to * r->stride[i], r->file[i] + from * r->stride[i], r->stride[i]);
}
