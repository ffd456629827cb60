/* SPDX-License-Identifier: MIT
 * Checks of the matrix product kernels for both types. In all tiers except amx, each element of a plain product must have the
 * bits of the accumulation chain that docs/numerics.md defines; tests/kernels/gemm_bf16_amx_test.c tests the chain of tier amx.
 * In all tiers, the error of an element may be at most (K + 4) u sum |a||b| times the tolerance of kernels.def, where the exact
 * sum is computed in double. This counts one rounding for each step of the chain and 4 for the remaining roundings (tier c and
 * native bf16 round a term twice). The results of products with an epilogue, with packed operands, with other layouts, or
 * computed in other blocks must follow from these sums bit for bit.
 */
#ifndef AOE_TESTS_PRODUCT_CHECK_H
#define AOE_TESTS_PRODUCT_CHECK_H

#include "kernel_check.h"

/* A matrix of either type surrounded by canaries, at any alignment; see kernel_matrix. */
typedef struct product_matrix {
    aoei_dtype type;
    void *data; /* [rows, cols] */
    size_t rows, cols, ld;
    unsigned char *block; /* owned memory */
    size_t bytes;         /* size of block */
} product_matrix;

product_matrix product_input(aoei_rng *r, aoei_dtype type, size_t rows,
                             size_t cols); /* uniform in [-1, 1), rounded to the type */
product_matrix product_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols); /* filled with NaN */
float product_get(const product_matrix *m, size_t i, size_t j);
void product_set(product_matrix *m, size_t i, size_t j, float x);
void product_check_canaries(const product_matrix *m, const char *what, int written);
void product_free(product_matrix *m);

/* Memory layout of an operand. */
typedef enum product_layout { PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_STRIDED, PRODUCT_LAYOUTS } product_layout;
/* Source of a matrix that the epilogue reads: absent, a separate matrix, or C itself. */
typedef enum product_source { PRODUCT_ABSENT, PRODUCT_SEPARATE, PRODUCT_IS_C, PRODUCT_SOURCES } product_source;

typedef struct product_case {
    size_t M, N, K;
    product_layout a_layout, b_layout;
    int packed;        /* 0: B is not packed; 1: packed; 2: packed from float32 (bf16 only) */
    int accumulate;    /* 1: the product is added to C, which is float32; the options below then do not apply */
    aoei_dtype c_type; /* type of C; float32 for gemm_f32 */
    int scale, bias, pre;
    aoei_activation activation;
    product_source gate, residual; /* sources of the gate and of the residual; at most one of them may be PRODUCT_IS_C */
} product_case;

/* Tests one product. Uses gemm_f32 or gemm_bf16, depending on the type of the operands. */
void product_check(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, const product_case *p);
/* Returns a case with random layouts and options. */
product_case product_random(aoei_rng *r, aoei_dtype type, size_t M, size_t N, size_t K);

/* Complete tests of the kernels k of one tier, for kernel_each_tier or for kernels that the caller provides. */
void product_test_shapes(const aoei_kernels *k, aoei_dtype type);  /* every size of each dimension, and random shapes */
void product_test_options(const aoei_kernels *k, aoei_dtype type); /* every option and layout */
void product_test_pieces(const aoei_kernels *k, aoei_dtype type); /* single rows, K in parts and long K: always the same bits */
void product_test_specials(const aoei_kernels *k, aoei_dtype type);

#endif
