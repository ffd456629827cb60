/* SPDX-License-Identifier: MIT
 * Quantizes vectors to 8 bits or 1 bit per component. The operations, their order and their rounding are the same as in
 * quantize_embeddings of sentence-transformers, so that equal vectors give equal bytes.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "aoe.h"
#include "base/check.h"
#include "base/error.h"

#define STEPS 255 /* number of steps of a range */

size_t aoe_precision_bytes(aoe_precision p, size_t dims) {
    switch (p) {
    case AOE_PRECISION_FLOAT32:
        return dims * sizeof(float);
    case AOE_PRECISION_INT8:
    case AOE_PRECISION_UINT8:
        return dims;
    case AOE_PRECISION_BINARY:
    case AOE_PRECISION_UBINARY:
        return dims / 8 + (dims % 8 > 0);
    }
    return 0;
}

/* Rejects vectors with a component that is not finite. */
static int check_vectors(const float *vectors, size_t n, size_t dims, aoe_error *err) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < dims; k++)
            if (!isfinite(vectors[i * dims + k]))
                return aoei_fail(err, AOE_ENUMERIC, "component %zu of vector %zu is not finite; remove this vector", k,
                                 i);
    return 0;
}

void aoe_ranges_init(float *ranges, size_t dims) {
    for (size_t k = 0; ranges && k < dims; k++) {
        ranges[k] = INFINITY;
        ranges[dims + k] = -INFINITY;
    }
}

int aoe_ranges_add(float *ranges, const float *vectors, size_t n, size_t dims, aoe_error *err) {
    AOEI_CHECK(err, ranges, vectors);
    const int code = check_vectors(vectors, n, dims, err);
    if (code)
        return code;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < dims; k++) {
            const float x = vectors[i * dims + k];
            if (x < ranges[k])
                ranges[k] = x;
            if (x > ranges[dims + k])
                ranges[dims + k] = x;
        }
    return 0;
}

/* Checks the ranges of all components. */
static int check_ranges(const float *ranges, size_t dims, aoe_error *err) {
    if (!ranges)
        return aoei_fail(
            err, AOE_EARG,
            "the precisions INT8 and UINT8 need the range of each component; pass ranges that aoe_ranges_add computed");
    for (size_t k = 0; k < dims; k++) {
        const float min = ranges[k], max = ranges[dims + k];
        if (min > max)
            return aoei_fail(
                err, AOE_EARG,
                "the minimum %.9g of component %zu is greater than its maximum %.9g; pass all minima and then all "
                "maxima, computed from at least one vector",
                (double)min, k, (double)max);
        if (!isfinite(min) || !isfinite(max) || !isfinite(max - min))
            return aoei_fail(err, AOE_ENUMERIC, "the range of component %zu, from %.9g to %.9g, is not finite", k,
                             (double)min, (double)max);
    }
    return 0;
}

/* Quantizes a vector with the given ranges. `offset` is subtracted from each value; negative values have the bytes of
 * an int8_t. */
static void quantize_to_bytes(uint8_t *out, const float *x, size_t dims, const float *ranges, int offset) {
    for (size_t k = 0; k < dims; k++) {
        const float min = ranges[k], step = (ranges[dims + k] - min) / STEPS;
        const float q = floorf((x[k] - min) / (step > 0 ? step : 1));
        out[k] = (uint8_t)((q < 0 ? 0 : q > STEPS ? STEPS : (int)q) - offset);
    }
}

/* Writes one bit per component. `offset` is subtracted from each byte. */
static void quantize_to_bits(uint8_t *out, const float *x, size_t dims, int offset) {
    for (size_t k = 0; k < dims; k += 8) {
        int byte = 0;
        for (size_t bit = 0; bit < 8 && k + bit < dims; bit++)
            byte |= (x[k + bit] > 0) << (7 - bit);
        *out++ = (uint8_t)(byte - offset);
    }
}

int aoe_quantize(aoe_precision p, const float *vectors, size_t n, size_t dims, const float *ranges, void *out,
                 aoe_error *err) {
    AOEI_CHECK(err, vectors, out);
    const int to_bytes = p == AOE_PRECISION_INT8 || p == AOE_PRECISION_UINT8;
    const int offset = p == AOE_PRECISION_INT8 || p == AOE_PRECISION_BINARY ? 128 : 0;
    const size_t bytes = aoe_precision_bytes(p, dims);
    if (!dims)
        return aoei_fail(err, AOE_EARG, "dims is 0; a vector has at least one component");
    if (!bytes)
        return aoei_fail(err, AOE_EARG, "unknown precision %d; use a value of aoe_precision", (int)p);
    int code = to_bytes ? check_ranges(ranges, dims, err) : 0;
    code = code ? code : check_vectors(vectors, n, dims, err);
    for (size_t i = 0; i < n && !code; i++) {
        const float *x = vectors + i * dims;
        uint8_t *to = (uint8_t *)out + i * bytes;
        if (p == AOE_PRECISION_FLOAT32)
            memcpy(to, x, bytes);
        else if (to_bytes)
            quantize_to_bytes(to, x, dims, ranges, offset);
        else
            quantize_to_bits(to, x, dims, offset);
    }
    return code;
}
