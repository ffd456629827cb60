/* SPDX-License-Identifier: MIT
 * The loops of the float64 matmul kernels. The outer loop iterates over blocks of the k range. The next loop iterates
 * over the slices of B: a slice consists of tier->columns adjacent columns of one panel. The inner loop iterates over
 * tiles, which are groups of rows. A slice of B stays in the L1 cache while all tiles use it.
 */
#include "kernels/gemm_f64_block.h"

enum { P = AOEI_PANEL_F64, K_BLOCK = 4 * P /* a slice of B has at most 18 KB */ };

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Returns a pointer to element (m, k) of A. */
static const double *a_at(const aoei_gemm_f64 *g, size_t m, size_t k) {
    return g->transposed ? g->a + m / P * g->a_panel + k * P + m % P : g->a + k / P * g->a_panel + m * P;
}

/* Adds terms [k, k + K) of each sum to columns [n, n + tier->columns) of C, for all rows. */
static void multiply_slice(const aoei_gemm_f64_tier *tier, const aoei_gemm_f64 *g, size_t n, size_t k, size_t K) {
    aoei_tile_f64_fn *const *tiles = g->transposed ? tier->transposed : tier->plain;
    const double *b = g->b + n / P * g->b_panel + k * P + n % P;
    double *c = g->c + n / P * g->c_panel + n % P;
    aoei_tile_f64 t = {.a_panel = g->transposed ? (size_t)(P * P) : g->a_panel, .b = b, .K = K};
    t.first = k == 0 && !g->accumulate;
    for (size_t m = 0; m < g->M; m += tier->rows) {
        t.a = a_at(g, m, k);
        /* the tile kernel prefetches A itself, because the rows of a transposed A are too far apart for hardware
         * prefetchers */
        t.next = m + tier->rows < g->M ? a_at(g, m + tier->rows, k) : a_at(g, 0, k + K < g->K ? k + K : k);
        t.c = c + m * P;
        tiles[min_size(g->M - m, tier->rows)](&t);
    }
}

void aoei_gemm_f64_blocked(const aoei_gemm_f64_tier *tier, const aoei_gemm_f64 *g) {
    size_t k = 0;
    do {
        const size_t K = min_size(g->K - k, K_BLOCK);
        for (size_t panel = 0; panel < g->N; panel += P)
            for (size_t j = 0; j < P; j += tier->columns)
                multiply_slice(tier, g, panel + j, k, K);
        k += K;
    } while (k < g->K);
}
