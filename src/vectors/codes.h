/* SPDX-License-Identifier: MIT
 * Two short encodings of a vector x of D components, which the scans (scan.h) read instead of the vector.
 *
 * Codes: int8 values c[D] and a scale s. s c is the projection of x on c, so the residual x - s c is orthogonal to c.
 * A row contains the codes, zeros up to a multiple of AOEI_CODES_BLOCK bytes, the scale, and an upper bound of the L2
 * norm of the residual, both as float.
 *
 * Signs: one bit per component, which is set if the component is at least 0. A row consists of blocks of 16 bytes for
 * 128 components; bit j of byte b of a block belongs to component 16 j + b of the block, so that a vector instruction
 * separates the bits of adjacent components. The last block is filled with zeros.
 *
 * The bytes of both encodings depend only on the vector, not on the CPU, except for the byte order of the two floats.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define AOEI_CODES_BLOCK ((size_t)64)  /* bytes of codes that kernels read at once */
#define AOEI_SIGNS_BLOCK ((size_t)128) /* bits that kernels read at once */
/* Largest L2 norm of an encoded vector. Unit vectors are at most this long, also if they were rounded to bf16. */
#define AOEI_CODES_NORM 1.01

/* Number of codes in a row with zeros at its end; number of bytes per row of codes, a multiple of 8; number of bytes
 * per row of signs, a multiple of 16. D is at most AOEI_INT8_MAX_K. */
size_t aoei_codes_padded(size_t D);
size_t aoei_codes_stride(size_t D);
size_t aoei_signs_stride(size_t D);

/* Encodes the finite vector x[D], with a norm of at most AOEI_CODES_NORM. If values are stored as bf16, x contains the
 * rounded values. `row` has aoei_codes_stride(D) or aoei_signs_stride(D) bytes. */
void aoei_codes_encode(const float *x, size_t D, unsigned char *row);
void aoei_signs_encode(const float *x, size_t D, unsigned char *row);

/* Return the scale and the bound of a row of codes. `padded` is aoei_codes_padded(D). */
static inline float aoei_codes_scale(const unsigned char *row, size_t padded) {
    float scale;
    memcpy(&scale, row + padded, sizeof scale);
    return scale;
}

static inline float aoei_codes_error(const unsigned char *row, size_t padded) {
    float error;
    memcpy(&error, row + padded + sizeof error, sizeof error);
    return error;
}
