/* SPDX-License-Identifier: MIT
 * The epilogue of the matmul kernels, vectorized for AVX2, AVX-512 and NEON. The epilogue consists of the operations
 * that are applied to the complete sum of an element before it is stored in C; aoei_gemm_args in kernels.h defines
 * them.
 */
#include "kernels/gemm_block.h"
#include "kernels/simd.h"
#include "kernels/simd_math.h"

/* Loads n floats into the first n lanes. If n is the compile-time constant VF_LANES, this compiles to an unmasked
 * load. */
static inline vf load_f32(const float *p, size_t n) {
    return n == VF_LANES ? vf_load(p) : vf_load_part(p, n);
}

static inline vf load_typed(const void *p, aoei_dtype type, size_t i, size_t n) {
    if (type == AOEI_F32)
        return load_f32((const float *)p + i, n);
    const aoei_bf16 *x = (const aoei_bf16 *)p + i;
    return n == VF_LANES ? vf_load_bf16(x) : vf_load_bf16_part(x, n);
}

static inline void store_typed(void *p, aoei_dtype type, size_t i, size_t n, vf x) {
    if (type == AOEI_BF16 && n == VF_LANES)
        vf_store_bf16((aoei_bf16 *)p + i, x);
    else if (type == AOEI_BF16)
        vf_store_bf16_part((aoei_bf16 *)p + i, n, x);
    else if (n == VF_LANES)
        vf_store((float *)p + i, x);
    else
        vf_store_part((float *)p + i, n, x);
}

/* The factor of x in the exponent of the activations that are x / (1 + e^(-factor x)). */
static inline float swish_scale(aoei_activation activation) {
    return activation == AOEI_SILU ? 1.0f : (float)AOEI_QUICK_GELU_SCALE;
}

static inline vf activate(aoei_activation activation, vf x) {
    return activation == AOEI_GELU        ? vf_gelu(x)
           : activation == AOEI_GELU_TANH ? vf_gelu_tanh(x)
           : activation == AOEI_IDENTITY  ? x
           : activation == AOEI_RELU      ? vf_relu(x)
                                          : vf_swish(x, swish_scale(activation));
}

static inline vf activation_derivative(aoei_activation activation, vf x) {
    return activation == AOEI_GELU        ? vf_gelu_derivative(x)
           : activation == AOEI_GELU_TANH ? vf_gelu_tanh_derivative(x)
           : activation == AOEI_IDENTITY  ? vf_set1(1.0f)
           : activation == AOEI_RELU      ? vf_relu_derivative(x)
                                          : vf_swish_derivative(x, swish_scale(activation));
}

/* If AOEI_GELU_TABLES is 1, GELU and its derivative for inputs that are bf16 values are read from tables, which contain
 * the results of vf_gelu and vf_gelu_derivative. GELU has about 68 operations per vector. Tables are faster if the
 * instruction set has a fast instruction that loads a vector of elements of a table. */
#ifdef __AVX512BF16__
#define AOEI_GELU_TABLES 1
#include "kernels/gelu_tables_avx512bf16.h"
#else
#define AOEI_GELU_TABLES 0
#endif

/* Returns activation(x), where x are values of `type` as float32. */
static AOEI_ALWAYS_INLINE vf activate_typed(aoei_dtype type, aoei_activation activation, vf x) {
#if AOEI_GELU_TABLES
    if (type == AOEI_BF16 && activation == AOEI_GELU)
        return vf_bf16_table(aoei_gelu_tables.gelu, x);
#else
    (void)type;
#endif
    return activate(activation, x);
}

/* Returns the derivative of the activation at x, where x are values of `type` as float32. */
static AOEI_ALWAYS_INLINE vf derivative_typed(aoei_dtype type, aoei_activation activation, vf x) {
#if AOEI_GELU_TABLES
    if (type == AOEI_BF16 && activation == AOEI_GELU)
        return vf_bf16_table(aoei_gelu_tables.derivative, x);
#else
    (void)type;
#endif
    return activation_derivative(activation, x);
}

/* The form of an epilogue: that of a forward pass, with a gate (backward pass), or of an int8 matmul. */
typedef enum form { FORWARD, GATED, DEQUANTIZE } form;

/* Returns n complete sums x of row i that start at column j, multiplied by g->scale or, in an int8 matmul,
 * dequantized. */
static AOEI_ALWAYS_INLINE vf scaled_sums(const aoei_gemm_args *g, form f, vf x, size_t i, size_t j, size_t n) {
    if (f == DEQUANTIZE)
        return vf_mul(vf_from_int32(x), vf_mul(vf_set1(g->a_scale[i]), load_f32(g->b_scale + j, n)));
    return vf_mul(x, vf_set1(g->scale));
}

/* Returns activation(x) in an epilogue of the form f, where C has the type `type`. In int8 matmuls, GELU has a smaller
 * accuracy. In the other forms, x are values of `type`. */
static AOEI_ALWAYS_INLINE vf activate_form(form f, aoei_dtype type, aoei_activation activation, vf x) {
    if (f == DEQUANTIZE)
        return activation == AOEI_GELU ? vf_gelu_short(x) : activate(activation, x);
    return activate_typed(type, activation, x);
}

/* Applies the epilogue to x, the complete sums of n elements of row i that start at column j, and stores the results in
 * C. */
static void finish_part(const aoei_gemm_args *g, vf x, size_t i, size_t j, size_t n) {
    const aoei_dtype type = g->c_type;
    x = scaled_sums(g, g->a_scale ? DEQUANTIZE : FORWARD, x, i, j, n);
    if (g->bias)
        x = vf_add(x, load_f32(g->bias + j, n));
    if (g->gate) {
        x = vf_mul(x, derivative_typed(type, g->activation, load_typed(g->gate, type, i * g->gate_row + j, n)));
    } else if (g->activation != AOEI_IDENTITY) {
        if (type == AOEI_BF16 && !g->a_scale)
            x = vf_round_bf16(x);
        if (g->pre)
            store_typed(g->pre, type, i * g->pre_row + j, n, x);
        x = activate_form(g->a_scale ? DEQUANTIZE : FORWARD, type, g->activation, x);
    }
    if (g->residual)
        x = vf_add(x, load_typed(g->residual, type, i * g->residual_row + j, n));
    store_typed(g->c, type, i * g->c_row + j, n, x);
}

/* Does the same as finish_part for two whole vectors: `left` contains the sums of the elements that start at column j,
 * and `right` contains the sums of the next VF_LANES elements. `type`, `activation` and `f` are the type of C,
 * g->activation and the form of the epilogue. They are compile-time constants. The activation of one vector is a long
 * sequence of dependent operations, so the operations of the two vectors are independent sequences that the CPU
 * executes at the same time. */
static AOEI_ALWAYS_INLINE void finish_pair(const aoei_gemm_args *g, aoei_dtype type, aoei_activation activation, form f,
                                           vf left, vf right, size_t i, size_t j) {
    enum { N = VF_LANES };
    left = scaled_sums(g, f, left, i, j, N);
    right = scaled_sums(g, f, right, i, j + N, N);
    if (g->bias) {
        left = vf_add(left, vf_load(g->bias + j));
        right = vf_add(right, vf_load(g->bias + j + N));
    }
    if (f == GATED) {
        const size_t at = i * g->gate_row + j;
        left = vf_mul(left, derivative_typed(type, activation, load_typed(g->gate, type, at, N)));
        right = vf_mul(right, derivative_typed(type, activation, load_typed(g->gate, type, at + N, N)));
    } else if (activation != AOEI_IDENTITY) {
        if (type == AOEI_BF16 && f != DEQUANTIZE) {
            left = vf_round_bf16(left);
            right = vf_round_bf16(right);
        }
        if (g->pre) {
            store_typed(g->pre, type, i * g->pre_row + j, N, left);
            store_typed(g->pre, type, i * g->pre_row + j + N, N, right);
        }
        left = activate_form(f, type, activation, left);
        right = activate_form(f, type, activation, right);
    }
    if (g->residual) {
        left = vf_add(left, load_typed(g->residual, type, i * g->residual_row + j, N));
        right = vf_add(right, load_typed(g->residual, type, i * g->residual_row + j + N, N));
    }
    store_typed(g->c, type, i * g->c_row + j, N, left);
    store_typed(g->c, type, i * g->c_row + j + N, N, right);
}

/* Applies the epilogue to the rows and columns that aoei_gemm_epilogue_fn describes. finish_pair describes `type`,
 * `activation` and `f`. */
static AOEI_ALWAYS_INLINE void finish_rows(const aoei_gemm_args *args, aoei_dtype type, aoei_activation activation,
                                           form f, const float *tile, size_t tile_row, size_t m, size_t n, size_t rows,
                                           size_t columns) {
    const aoei_gemm_args g = *args; /* a copy, so that the loop need not load its members again after each store */
    for (size_t i = 0; i < rows; i++) {
        const float *sums = tile + i * tile_row;
        size_t j = 0;
        for (; j + 2 * VF_LANES <= columns; j += 2 * VF_LANES)
            finish_pair(&g, type, activation, f, vf_load(sums + j), vf_load(sums + j + VF_LANES), m + i, n + j);
        for (size_t part; j < columns; j += part) {
            part = columns - j < VF_LANES ? columns - j : VF_LANES;
            finish_part(args, vf_load_part(sums + j, part), m + i, n + j, part);
        }
    }
}

void AOEI_SIMD(gemm_epilogue)(const aoei_gemm_args *g, const float *tile, size_t tile_row, size_t m, size_t n,
                              size_t rows, size_t columns) {
#if AOEI_GELU_TABLES
    if (g->activation == AOEI_GELU && g->c_type == AOEI_BF16 && !g->a_scale)
        aoei_gelu_tables_fill();
#endif
#define FINISH(type, activation, f) finish_rows(g, type, activation, f, tile, tile_row, m, n, rows, columns)
#define FINISH_FORM(activation, f)                                                                                     \
    do {                                                                                                               \
        if (g->c_type == AOEI_BF16)                                                                                    \
            FINISH(AOEI_BF16, activation, f);                                                                          \
        else                                                                                                           \
            FINISH(AOEI_F32, activation, f);                                                                           \
    } while (0)
#define FINISH_ACTIVATION(activation)                                                                                  \
    case activation:                                                                                                   \
        if (g->a_scale)                                                                                                \
            FINISH_FORM(activation, DEQUANTIZE);                                                                       \
        else if (g->gate)                                                                                              \
            FINISH_FORM(activation, GATED);                                                                            \
        else                                                                                                           \
            FINISH_FORM(activation, FORWARD);                                                                          \
        break;
    switch (g->activation) {
        FINISH_ACTIVATION(AOEI_IDENTITY)
        FINISH_ACTIVATION(AOEI_GELU)
        FINISH_ACTIVATION(AOEI_GELU_TANH)
        FINISH_ACTIVATION(AOEI_SILU)
        FINISH_ACTIVATION(AOEI_RELU)
        FINISH_ACTIVATION(AOEI_QUICK_GELU)
    }
#undef FINISH_ACTIVATION
#undef FINISH_FORM
#undef FINISH
}
