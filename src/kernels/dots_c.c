/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of int8 codes or of signs, in portable C.
 */
#include "kernels/kernels.h"

void aoei_codes_dots_c(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                       size_t K) {
    for (size_t r = 0; r < n; r++) {
        const int8_t *x = (const int8_t *)rows + r * stride;
        int32_t sum = 0;
        for (size_t k = 0; k < K; k++)
            sum += query[k] * x[k];
        dots[r] = sum;
    }
}

void aoei_signs_dots_c(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                       size_t K) {
    for (size_t r = 0; r < n; r++) {
        const unsigned char *x = rows + r * stride;
        int32_t sum = 0;
        for (size_t k = 0; k < K; k++)
            sum += query[k] & -(x[k / 128 * 16 + k % 16] >> k / 16 % 8 & 1);
        dots[r] = sum;
    }
}
