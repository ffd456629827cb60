/* SPDX-License-Identifier: MIT
 * Loops of the ops codes_dots and signs_dots of the vector tiers. Four rows are multiplied at the same time, so that
 * each part of the query is loaded once for four rows and the sums do not wait for each other. Include kernels.h and
 * tier.h first, and define these functions. The first two store the dot products of one query and the rows x[4] of K
 * elements; the third returns by how much the results of codes_4 are too large:
 * - codes_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K)
 * - signs_4(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K)
 * - codes_excess(const int8_t *query, size_t K)
 */

/* Rows are loaded into the cache this number of bytes before they are multiplied. The address may be after the end of
 * the rows, where the instruction has no effect; in most scans, the next call continues there. */
enum { AHEAD = 2048, CACHE_LINE = 64 };

/* Calls four_rows for n rows. The last call repeats the last row if n is not a multiple of 4. */
static AOEI_ALWAYS_INLINE void
each_four(void (*four_rows)(int32_t *dots, const int8_t *query, const unsigned char *const *x, size_t K), int32_t *dots,
          const int8_t *query, const unsigned char *rows, size_t stride, size_t n, size_t K, int32_t excess) {
    for (size_t r = 0; r < n; r += 4) {
        const unsigned char *first = rows + r * stride, *last = rows + (n - 1) * stride;
        const unsigned char *const x[4] = {first, n - r > 1 ? first + stride : last,
                                           n - r > 2 ? first + 2 * stride : last,
                                           n - r > 3 ? first + 3 * stride : last};
        int32_t part[4];
        for (size_t i = 0; i < 4 * stride && n >= 4; i += CACHE_LINE)
            AOEI_PREFETCH_L1(first + AHEAD + i);
        four_rows(part, query, x, K);
        for (size_t i = 0; i < 4 && r + i < n; i++)
            dots[r + i] = (int32_t)((uint32_t)part[i] - (uint32_t)excess);
    }
}

void AOEI_SIMD(codes_dots)(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                           size_t K) {
    each_four(codes_4, dots, query, rows, stride, n, K, codes_excess(query, K));
}

void AOEI_SIMD(signs_dots)(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                           size_t K) {
    each_four(signs_4, dots, query, rows, stride, n, K, 0);
}
