/* SPDX-License-Identifier: MIT
 * The tile kernels of the float64 matmul, vectorized for AVX2, AVX-512 and NEON. A tile has up to GEMM_ROWS rows and
 * three vectors of columns. A row is computed with the same instructions in all tiles, whatever their number of rows.
 */
#include "kernels/gemm_block.h"
#include "kernels/gemm_f64_block.h"
#include "kernels/simd.h"

/* The accumulators of a tile occupy 24 registers with AVX-512 and NEON, which has two registers per vector, and 12 with
 * AVX2.
 */
#define GEMM_ROWS (DV_LANES == 8 ? 8 : 4)

enum { P = AOEI_PANEL_F64, LINE = 8 /* doubles in a cache line */ };

#define ZERO(i) dv l##i = dv_zero(), m##i = dv_zero(), r##i = dv_zero();
#define LOAD(i)                                                                                                        \
    l##i = dv_load(t->c + i * P);                                                                                      \
    m##i = dv_load(t->c + i * P + DV_LANES);                                                                           \
    r##i = dv_load(t->c + i * P + 2 * DV_LANES);
#define STEP(i)                                                                                                        \
    x = dv_set1(a[i * row]);                                                                                           \
    l##i = dv_fma(x, bl, l##i);                                                                                        \
    m##i = dv_fma(x, bm, m##i);                                                                                        \
    r##i = dv_fma(x, br, r##i);
#define STORE(i)                                                                                                       \
    dv_store(t->c + i * P, l##i);                                                                                      \
    dv_store(t->c + i * P + DV_LANES, m##i);                                                                           \
    dv_store(t->c + i * P + 2 * DV_LANES, r##i);

/* Defines the tile kernel for R rows. The running sums of row i are in the vectors l##i, m##i and r##i (left, middle
 * and right columns). Each iteration of the outer loop reads one panel of A. ROW is the distance between adjacent rows
 * of A, and COL is the distance between adjacent k. */
#define TILE(R, NAME, ROW, COL)                                                                                        \
    static void NAME##_##R(const aoei_tile_f64 *t) {                                                                   \
        enum { row = ROW, col = COL };                                                                                 \
        const double *group = t->a, *next = t->next, *b = t->b;                                                        \
        dv x, bl, bm, br;                                                                                              \
        AOEI_ROWS_##R(ZERO);                                                                                           \
        if (!t->first) {                                                                                               \
            AOEI_ROWS_##R(LOAD);                                                                                       \
        }                                                                                                              \
        for (size_t left = t->K; left > 0; group += t->a_panel, next += t->a_panel) {                                  \
            const double *a = group, *fetch = next;                                                                    \
            size_t k = left < P ? left : P;                                                                            \
            for (left -= k; k > 0; k--) {                                                                              \
                bl = dv_load(b);                                                                                       \
                bm = dv_load(b + DV_LANES);                                                                            \
                br = dv_load(b + 2 * DV_LANES);                                                                        \
                AOEI_ROWS_##R(STEP);                                                                                   \
                AOEI_PREFETCH(fetch);                                                                                  \
                fetch += col == 1 ? LINE : col;                                                                        \
                a += col;                                                                                              \
                b += P;                                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        AOEI_ROWS_##R(STORE);                                                                                          \
    }
#define TILES(R)                                                                                                       \
    TILE(R, plain, P, 1)                                                                                               \
    TILE(R, transposed, 1, P)

TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if GEMM_ROWS > 4
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#endif

static aoei_tile_f64_fn *const plain[GEMM_ROWS + 1] = {
    NULL,    plain_1, plain_2, plain_3, plain_4,
#if GEMM_ROWS > 4
    plain_5, plain_6, plain_7, plain_8,
#endif
};
static aoei_tile_f64_fn *const transposed[GEMM_ROWS + 1] = {
    NULL,         transposed_1, transposed_2, transposed_3, transposed_4,
#if GEMM_ROWS > 4
    transposed_5, transposed_6, transposed_7, transposed_8,
#endif
};

void AOEI_SIMD(gemm_f64)(const aoei_gemm_f64 *g) {
    static const aoei_gemm_f64_tier tier = {
        .rows = GEMM_ROWS, .columns = 3 * DV_LANES, .plain = plain, .transposed = transposed};
    aoei_gemm_f64_blocked(&tier, g);
}
