/* SPDX-License-Identifier: MIT
 * float64 matmul kernel in portable C. The tests compare the kernels for other instruction sets with this kernel. An
 * element of C is computed as sum = sum + a * b for ascending k, where the product and the sum are rounded separately.
 */
#include "kernels/gemm_f64_block.h"

enum { P = AOEI_PANEL_F64, ROWS = 4, SLICE = 4 };

/* Computes a tile of four rows and four columns. The sixteen sums are separate variables, because compilers keep
 * variables in registers, but not the elements of an array. row is the distance between adjacent rows of A, and col is
 * the distance between adjacent k. */
static void full_tile(const aoei_tile_f64 *t, size_t row, size_t col) {
    double *c = t->c;
    const double *group = t->a, *b = t->b;
    double s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    double s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
    if (!t->first) {
        s00 = c[0], s01 = c[1], s02 = c[2], s03 = c[3];
        s10 = c[P], s11 = c[P + 1], s12 = c[P + 2], s13 = c[P + 3];
        s20 = c[2 * P], s21 = c[2 * P + 1], s22 = c[2 * P + 2], s23 = c[2 * P + 3];
        s30 = c[3 * P], s31 = c[3 * P + 1], s32 = c[3 * P + 2], s33 = c[3 * P + 3];
    }
    for (size_t k = 0; k < t->K; k++, b += P) {
        const double *a = group + k % P * col;
        const double a0 = a[0], a1 = a[row], a2 = a[2 * row], a3 = a[3 * row];
        s00 += a0 * b[0], s01 += a0 * b[1], s02 += a0 * b[2], s03 += a0 * b[3];
        s10 += a1 * b[0], s11 += a1 * b[1], s12 += a1 * b[2], s13 += a1 * b[3];
        s20 += a2 * b[0], s21 += a2 * b[1], s22 += a2 * b[2], s23 += a2 * b[3];
        s30 += a3 * b[0], s31 += a3 * b[1], s32 += a3 * b[2], s33 += a3 * b[3];
        group += k % P == P - 1 ? t->a_panel : 0;
    }
    c[0] = s00, c[1] = s01, c[2] = s02, c[3] = s03;
    c[P] = s10, c[P + 1] = s11, c[P + 2] = s12, c[P + 3] = s13;
    c[2 * P] = s20, c[2 * P + 1] = s21, c[2 * P + 2] = s22, c[2 * P + 3] = s23;
    c[3 * P] = s30, c[3 * P + 1] = s31, c[3 * P + 2] = s32, c[3 * P + 3] = s33;
}

/* Computes a tile with fewer than ROWS rows. row is the distance between adjacent rows of A, and col is the distance
 * between adjacent k. */
static void part_tile(const aoei_tile_f64 *t, size_t rows, size_t row, size_t col) {
    for (size_t i = 0; i < rows; i++) {
        double *c = t->c + i * P, s[SLICE] = {0};
        for (size_t j = 0; j < SLICE && !t->first; j++)
            s[j] = c[j];
        for (size_t k = 0; k < t->K; k++)
            for (size_t j = 0; j < SLICE; j++)
                s[j] += t->a[k / P * t->a_panel + k % P * col + i * row] * t->b[k * P + j];
        for (size_t j = 0; j < SLICE; j++)
            c[j] = s[j];
    }
}

static void plain_1(const aoei_tile_f64 *t) {
    part_tile(t, 1, P, 1);
}

static void plain_2(const aoei_tile_f64 *t) {
    part_tile(t, 2, P, 1);
}

static void plain_3(const aoei_tile_f64 *t) {
    part_tile(t, 3, P, 1);
}

static void plain_4(const aoei_tile_f64 *t) {
    full_tile(t, P, 1);
}

static void transposed_1(const aoei_tile_f64 *t) {
    part_tile(t, 1, 1, P);
}

static void transposed_2(const aoei_tile_f64 *t) {
    part_tile(t, 2, 1, P);
}

static void transposed_3(const aoei_tile_f64 *t) {
    part_tile(t, 3, 1, P);
}

static void transposed_4(const aoei_tile_f64 *t) {
    full_tile(t, 1, P);
}

void aoei_gemm_f64_c(const aoei_gemm_f64 *g) {
    static aoei_tile_f64_fn *const plain[ROWS + 1] = {NULL, plain_1, plain_2, plain_3, plain_4};
    static aoei_tile_f64_fn *const transposed[ROWS + 1] = {NULL, transposed_1, transposed_2, transposed_3,
                                                           transposed_4};
    static const aoei_gemm_f64_tier tier = {.rows = ROWS, .columns = SLICE, .plain = plain, .transposed = transposed};
    aoei_gemm_f64_blocked(&tier, g);
}
