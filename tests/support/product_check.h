/* SPDX-License-Identifier: MIT
 * Checks of the product kernels, for both ops. Each element of a plain product is compared
 * twice: with the chain that kernels.h promises, bit for bit, where one instruction or the C
 * language gives its terms (all tiers but amx), and with the exact sum in double, within
 * (K + 4) u sum |a||b| times the tolerance of kernels.def: a rounding for each step of the chain, two in tier c
 * and in native bf16 whose second term is in the 4. What the epilogue, packing, layouts and blocks then make of
 * the same operands has to follow from those sums bit for bit.
 */
#ifndef AOE_TESTS_PRODUCT_CHECK_H
#define AOE_TESTS_PRODUCT_CHECK_H

#include "kernel_check.h"

/* A matrix of either type inside canaries, at any alignment of its elements. What kernel_matrix says holds here. */
typedef struct product_matrix {
    aoei_dtype type;
    void *data; /* [rows, cols] */
    size_t rows, cols, ld;
    unsigned char *block; /* owned */
    size_t bytes;         /* in block */
} product_matrix;

product_matrix product_input(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols);  /* uniform in [-1, 1), rounded to type */
product_matrix product_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols); /* poisoned */
float product_get(const product_matrix *m, size_t i, size_t j);
void product_set(product_matrix *m, size_t i, size_t j, float x);
void product_check_canaries(const product_matrix *m, const char *what, int written);
void product_free(product_matrix *m);

/* How an operand lies in memory. */
typedef enum product_layout { PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_STRIDED, PRODUCT_LAYOUTS } product_layout;
/* Where a matrix of the epilogue comes from. */
typedef enum product_source { PRODUCT_ABSENT, PRODUCT_APART, PRODUCT_IS_C, PRODUCT_SOURCES } product_source;

typedef struct product_case {
    size_t M, N, K;
    product_layout a_layout, b_layout;
    int packed;        /* 1: B packed; 2: packed from float32 (bf16 only) */
    int accumulate;    /* then nothing of what follows applies, and C is float32 */
    aoei_dtype c_type; /* float32 for gemm_f32 */
    int scale, bias, pre;
    aoei_activation activation;
    product_source gate, residual; /* not both PRODUCT_IS_C */
} product_case;

/* One product of op gemm_f32 or gemm_bf16, by the type of its operands. */
void product_check(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, const product_case *p);
/* Random layouts and options. */
product_case product_random(aoei_rng *r, aoei_dtype type, size_t M, size_t N, size_t K);

/* Whole tests of the kernels k of one tier, for kernel_each_tier or kernels of the caller's making. */
void product_test_shapes(const aoei_kernels *k, aoei_dtype type);  /* each dimension swept, random triples */
void product_test_options(const aoei_kernels *k, aoei_dtype type); /* every option and layout */
void product_test_pieces(const aoei_kernels *k, aoei_dtype type);  /* rows alone, K in parts, long K: always the same bits */
void product_test_specials(const aoei_kernels *k, aoei_dtype type);

#endif
