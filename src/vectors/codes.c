/* SPDX-License-Identifier: MIT
 * Encoding of vectors as int8 codes and as signs. The codes are x * 127 / max|x|, rounded to integers. All sums are
 * computed in double, so their rounding errors are far below the factor by which the bound of the residual is
 * increased.
 */
#include "vectors/codes.h"

#include <math.h>
#include <string.h>

#define LARGEST  127.0F
#define ROUNDING 1e-9 /* relative error of a sum of up to 131,071 products in double is at most 2e-11 */

size_t aoei_codes_padded(size_t D) {
    return (D + AOEI_CODES_BLOCK - 1) / AOEI_CODES_BLOCK * AOEI_CODES_BLOCK;
}

size_t aoei_codes_stride(size_t D) {
    return aoei_codes_padded(D) + 2 * sizeof(float);
}

size_t aoei_signs_stride(size_t D) {
    return (D + AOEI_SIGNS_BLOCK - 1) / AOEI_SIGNS_BLOCK * (AOEI_SIGNS_BLOCK / 8);
}

/* Writes the codes of x and returns their scale. If all components are too small for a normal scale, the codes and the
 * scale are 0. */
static float encode(const float *x, size_t D, unsigned char *row) {
    float most = 0;
    double products = 0, squares = 0;
    for (size_t i = 0; i < D; i++)
        most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    if (most < 0x1p-100F)
        return 0;
    const float inverse = LARGEST / most;
    for (size_t i = 0; i < D; i++) {
        const float c = rintf(x[i] * inverse);
        row[i] = (unsigned char)(int8_t)c;
        products += (double)x[i] * (double)c;
        squares += (double)c * (double)c;
    }
    return (float)(products / squares);
}

void aoei_codes_encode(const float *x, size_t D, unsigned char *row) {
    const size_t padded = aoei_codes_padded(D);
    memset(row, 0, padded);
    const float scale = encode(x, D, row);
    double squares = 0;
    for (size_t i = 0; i < D; i++) {
        const double r = (double)x[i] - (double)scale * (int8_t)row[i];
        squares += r * r;
    }
    const double norm = sqrt(squares) * (1 + ROUNDING);
    const float error = norm > 0 ? nextafterf((float)norm, INFINITY) : 0;
    memcpy(row + padded, &scale, sizeof scale);
    memcpy(row + padded + sizeof scale, &error, sizeof error);
}

void aoei_signs_encode(const float *x, size_t D, unsigned char *row) {
    memset(row, 0, aoei_signs_stride(D));
    for (size_t i = 0; i < D; i++) {
        unsigned char *byte = row + i / AOEI_SIGNS_BLOCK * 16 + i % 16;
        *byte = (unsigned char)(*byte | (x[i] >= 0) << i / 16 % 8);
    }
}
