/* SPDX-License-Identifier: MIT
 * Checks for matmul kernels in float32 and bf16. They check three properties of the products:
 * - The bits. Each element must have the bits of a loop with the accumulation order in docs/numerics.md. (For AMX,
 *   tests/kernels/gemm_bf16_amx_test.c checks the bits.)
 * - The error. It may be at most (K + 4) u sum |a||b| times the tolerance in kernels.def, where u is 2^-24. The exact
 *   sum is computed in double. K counts one rounding for each addition, and 4 counts all other roundings. The tolerance
 *   is larger for kernels that round each product and each sum.
 * - The options. The bits must not depend on the memory layouts of the operands, on packing, or on the number of calls.
 *   The epilogue (scale, bias, activation, gate and residual; see kernels.h) must give the bits of separate operations.
 */
#pragma once

#include "kernel_check.h"

/* A float32 or bf16 matrix with a random alignment and stride, surrounded by canaries like kernel_matrix. */
typedef struct product_matrix {
    aoei_dtype type;
    void *data; /* [rows, cols] */
    size_t rows, cols, ld;
    unsigned char *block; /* [bytes] owned */
    size_t bytes;         /* size of `block` */
} product_matrix;

product_matrix product_input(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols);  /* uniform numbers in [-1, 1),
                                                                                          rounded to the type */
product_matrix product_output(aoei_rng *r, aoei_dtype type, size_t rows, size_t cols); /* initially NaN */
float product_get(const product_matrix *m, size_t i, size_t j);
void product_set(product_matrix *m, size_t i, size_t j, float x);
void product_check_canaries(const product_matrix *m, const char *what, int written);
void product_free(product_matrix *m);

/* Memory layout of an operand. PRODUCT_ROWS: row-major; PRODUCT_COLUMNS: column-major; PRODUCT_STRIDED: row-major, with
 * gaps between the elements of a row. */
typedef enum product_layout { PRODUCT_ROWS, PRODUCT_COLUMNS, PRODUCT_STRIDED, PRODUCT_LAYOUTS } product_layout;
/* Where the gate or the residual of a product (aoei_gemm_args) is stored. PRODUCT_ABSENT: the product has none;
 * PRODUCT_SEPARATE: in a matrix of its own; PRODUCT_IS_C: in C, which the product then overwrites. */
typedef enum product_source { PRODUCT_ABSENT, PRODUCT_SEPARATE, PRODUCT_IS_C, PRODUCT_SOURCES } product_source;

typedef struct product_case {
    size_t M, N, K;
    product_layout a_layout, b_layout;
    int packed;        /* 0: B is not packed; 1: packed; 2: packed from float32 (bf16 only) */
    int accumulate;    /* 1: the product is added to C, which is float32; all options below are ignored */
    aoei_dtype c_type; /* data type of C; always float32 for gemm_f32 */
    int scale, bias, pre;
    aoei_activation activation;
    product_source gate, residual; /* at most one of them may be PRODUCT_IS_C */
} product_case;

/* Tests one product. `type` is the data type of A and B; it selects gemm_f32 or gemm_bf16. */
void product_check(const aoei_kernels *k, aoei_dtype type, aoei_rng *r, const product_case *p);
/* Returns a case with the given sizes, random layouts and random options. */
product_case product_random(aoei_rng *r, aoei_dtype type, size_t M, size_t N, size_t K);

/* Complete tests of the matmul kernels in k. They can be called by a test for kernel_each_tier. */
void product_test_shapes(const aoei_kernels *k, aoei_dtype type);  /* every M, N and K up to two blocks, and random
                                                                      sizes */
void product_test_options(const aoei_kernels *k, aoei_dtype type); /* every option and layout */
/* Products that are computed in several calls, for parts of the rows or of K, must have the bits of one call. */
void product_test_pieces(const aoei_kernels *k, aoei_dtype type);
/* A NaN in A may affect only its row of C, and an infinity in B only its column. Subnormal results must be exact, or 0
 * if the kernel uses bf16 instructions of the CPU. */
void product_test_specials(const aoei_kernels *k, aoei_dtype type);
