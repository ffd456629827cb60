/* SPDX-License-Identifier: MIT
 * Declares the kernels, which are pure functions on raw pointers. An op is an operation such as gemm_f32. A CPU tier is
 * a set of instruction set extensions, such as AVX2; the tier is selected at run time. An op has one kernel for each
 * tier for which it is optimized. Kernels allocate no memory, start no threads and report no errors. Their callers in
 * nn/ divide the work over threads, provide scratch memory and check shapes. kernels.def lists all kernels, and
 * kernel_table.h selects them by tier. docs/kernels.md describes how to add a kernel. Accumulation order: an element of
 * the result of a matmul is one running sum over ascending k. The sum starts from 0 or, if the matmul accumulates, from
 * the stored element. Each step computes sum = fma(a, b, sum); in tier c, it computes sum = sum + a * b. The exception
 * is the bf16 matmul of the tiers avx512bf16 and amx: each step is one instruction, which adds 2 products (avx512bf16)
 * or 32 products (amx) to the sum. The instructions that compute a row of a result depend only on the tier and the
 * length of the row, never on the number of rows. For this reason, the last elements of a row, which do not fill a
 * vector, are computed with the instructions for a whole vector; only the loads and stores are masked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bf16.h"
#include "base/compiler.h"

/* Element types. */
typedef enum aoei_dtype {
    AOEI_F32,
    AOEI_BF16,
    AOEI_I8 /* weights without gradients, and operands of int8 matmuls: each value is an int8 number times the scale of
               its row */
} aoei_dtype;

static inline size_t aoei_dtype_size(aoei_dtype type) {
    static const size_t size[] = {sizeof(float), sizeof(aoei_bf16), sizeof(int8_t)};
    return size[type];
}

typedef enum aoei_activation {
    AOEI_IDENTITY,
    AOEI_GELU,      /* x Phi(x), where Phi is the normal distribution function, computed with erf */
    AOEI_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
    AOEI_SILU,      /* x / (1 + e^-x) */
    AOEI_RELU,      /* max(x, 0) */
    AOEI_QUICK_GELU /* x / (1 + e^(-1.702 x)) */
} aoei_activation;

#define AOEI_QUICK_GELU_SCALE 1.702

/* Arguments of a matmul, C[M,N] = epilogue(A[M,K] B[K,N]), which runs on one thread. For op gemm_f32, all matrices are
 * float32. For op gemm_bf16, A and B are bf16, sums are float32, and C, pre, gate and residual are all bf16 or all
 * float32. Strides are in elements. Rows of C, pre, gate and residual are contiguous. C and pre must not overlap other
 * matrices, except that C may be gate or residual. If K is 0, all sums are 0.
 *
 * For op gemm_int8, A and B are int8, with one scale for each row of A and one for each column of B. The sums of
 * products are int32 and exact, because K is at most AOEI_INT8_MAX_K, so they are equal in all tiers. The sum of the
 * epilogue is float32(int32 sum) * (a_scale[m] * b_scale[n]), with each operation rounded to float32. C, pre and
 * residual are all bf16 or all float32. a_col must be 1, B must be packed, scale must be 1, accumulate must be 0, and
 * gate must be NULL. The value v before the activation is not rounded to the type of C, and the vector tiers compute
 * AOEI_GELU with an absolute error of at most AOEI_INT8_GELU_ERROR.
 *
 * The epilogue computes f = sum * scale + bias, with each operation rounded to float32, and then one of the following.
 * round() rounds to the type of C. Operands that are NULL are omitted from the formulas.
 *     no activation:           C = round(f + residual)
 *     activation:              v = round(f), pre = v, C = round(activation(v) + residual)
 *     gate (backward pass):    C = round(f * activation'(gate) + residual)
 * If accumulate is 1, scale must be 1, activation must be AOEI_IDENTITY, and bias, pre, gate and residual must be
 * NULL. */
typedef struct aoei_gemm_args {
    size_t M, N, K;      /* shapes: C is [M,N], A is [M,K], B is [K,N] */
    const void *a;       /* A[m][k] = a[m * a_row + k * a_col] */
    size_t a_row, a_col; /* distances between rows and between columns of A */
    int a_padded;  /* 1: the memory of A has whole groups of 16 rows and of 64 bytes along k. The additional elements of
                      the rows of A are 0, and those of the additional rows are undefined. Only for a_col = 1 */
    const void *b; /* B[k][n] = b[k * b_row + n * b_col]; unused if packed is not NULL */
    size_t b_row, b_col; /* distances between rows and between columns of B */
    const void *packed; /* B as packed by the op gemm_f32_pack, gemm_bf16_pack or gemm_int8_pack of the same tier; NULL:
                           B is not packed */
    void *c;            /* C[m][n] = c[m * c_row + n] */
    size_t c_row;       /* distance between rows of C */
    aoei_dtype c_type;  /* type of C, pre, gate and residual; AOEI_F32 for gemm_f32 */
    const float *a_scale;       /* [M] scales of the rows of A; only for gemm_int8, otherwise NULL */
    const float *b_scale;       /* [N] scales of the columns of B; only for gemm_int8, otherwise NULL */
    int accumulate;             /* 1: the sums start from the stored C, which must be float32 */
    float scale;                /* factor of every sum; 1: no scaling */
    const float *bias;          /* [N] bias, added to every row; NULL: no bias */
    aoei_activation activation; /* activation function, applied after the bias */
    void *pre;                  /* output, [M,N] of the type of C: values before the activation; NULL: not stored */
    size_t pre_row;             /* distance between rows of pre */
    const void *gate; /* [M,N] of the type of C: arguments of the activation in the forward pass, for the backward pass;
                         NULL: this is not a backward pass of an activation */
    size_t gate_row;  /* distance between rows of gate */
    const void *residual; /* [M,N] of the type of C, added last; NULL: no residual */
    size_t residual_row;  /* distance between rows of residual */
} aoei_gemm_args;

/* Size of the scratch buffer of a matmul, as a number of floats. The caller provides a separate buffer for each thread,
 * aligned to 64 bytes. */
#define AOEI_GEMM_SCRATCH ((size_t)512 * 1024)
typedef void aoei_gemm_fn(const aoei_gemm_args *g, float *scratch);
typedef aoei_gemm_fn aoei_gemm_f32_fn;
typedef aoei_gemm_fn aoei_gemm_bf16_fn;
typedef aoei_gemm_fn aoei_gemm_int8_fn;
/* Largest K of gemm_int8. A product of two int8 values is at most 2^14, so a sum of 2^17 - 1 products fits an int32. */
#define AOEI_INT8_MAX_K      (((size_t)1 << 17) - 1)
#define AOEI_INT8_GELU_ERROR 1e-4
/* Packing B makes matmuls faster. The packed form of B is a sequence of panels of P columns; each panel contains all K
 * rows. The last panel is padded. P depends on the tier and divides AOEI_GEMM_PANEL. Let n be a multiple of
 * AOEI_GEMM_PANEL, and let size be packed_size(K, n). Then the first `size` bytes of the packed form of B are the
 * packed form of columns [0, n), and the following bytes are the packed form of columns [n, N). */
#define AOEI_GEMM_PANEL ((size_t)32)
/* Returns the size in bytes of the packed form of B[K,N]. */
typedef size_t aoei_gemm_packed_size_fn(size_t K, size_t N);
typedef aoei_gemm_packed_size_fn aoei_gemm_f32_packed_size_fn;
typedef aoei_gemm_packed_size_fn aoei_gemm_bf16_packed_size_fn;
typedef aoei_gemm_packed_size_fn aoei_gemm_int8_packed_size_fn;
/* Packs columns [n0, n1) of B[K,N] into their position in `packed`, the packed form of the whole B. n0 is a multiple of
 * AOEI_GEMM_PANEL; n1 is N or also a multiple of AOEI_GEMM_PANEL. `type` is the element type of b. For gemm_f32, it is
 * AOEI_F32. For gemm_bf16, it is AOEI_BF16 or AOEI_F32; float32 elements are rounded to bf16. For gemm_int8, it is
 * AOEI_I8, and b_row must be 1. `packed` is aligned to 64 bytes. */
typedef void aoei_gemm_pack_fn(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                               size_t n0, size_t n1);
typedef aoei_gemm_pack_fn aoei_gemm_f32_pack_fn;
typedef aoei_gemm_pack_fn aoei_gemm_bf16_pack_fn;
typedef aoei_gemm_pack_fn aoei_gemm_int8_pack_fn;

/* LayerNorm: computes y[rows,cols] = (x - mean) * rstd * gamma + beta for each row. rstd is 1 / sqrt(variance + eps)
 * with the biased variance. stats[rows][2] receives mean and rstd; if stats is NULL, they are not stored. y may be x.
 * Row strides are in elements. */
typedef void aoei_layernorm_f32_fn(float *y, size_t y_row, float *stats, const float *x, size_t x_row,
                                   const float *gamma, const float *beta, float eps, size_t rows, size_t cols);
/* Computes dx, the gradient of LayerNorm with respect to x, from dy and from the stats of the forward pass. dx may be
 * dy. */
typedef void aoei_layernorm_grad_f32_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const float *x,
                                        size_t x_row, const float *stats, const float *gamma, size_t rows, size_t cols);
/* Computes the gradients of the parameters of LayerNorm, with xhat = (x - mean) * rstd. Adds dy * xhat, summed over all
 * rows, to dgamma[cols], and dy, summed over all rows, to dbeta[cols]. Rows are added one by one to the stored values.
 * To process a range of columns, the caller offsets the pointers. */
typedef void aoei_layernorm_param_grad_f32_fn(float *dgamma, float *dbeta, const float *dy, size_t dy_row,
                                              const float *x, size_t x_row, const float *stats, size_t rows,
                                              size_t cols);
/* LayerNorm with bf16 activations: x and y are bf16; gradients, stats, gamma and beta are float32. y is computed in
 * float32 and rounded to bf16 once. */
typedef void aoei_layernorm_bf16_fn(aoei_bf16 *y, size_t y_row, float *stats, const aoei_bf16 *x, size_t x_row,
                                    const float *gamma, const float *beta, float eps, size_t rows, size_t cols);
typedef void aoei_layernorm_grad_bf16_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                         size_t x_row, const float *stats, const float *gamma, size_t rows,
                                         size_t cols);
typedef void aoei_layernorm_param_grad_bf16_fn(float *dgamma, float *dbeta, const float *dy, size_t dy_row,
                                               const aoei_bf16 *x, size_t x_row, const float *stats, size_t rows,
                                               size_t cols);
/* RMSNorm (Zhang and Sennrich 2019): y = x * rstd * gamma with rstd = 1 / sqrt(mean(x^2) + eps). stats[rows] receives
 * rstd; if stats is NULL, rstd is not stored. The gradient functions have the arguments of the gradient functions of
 * LayerNorm, without dbeta. */
typedef void aoei_rmsnorm_f32_fn(float *y, size_t y_row, float *stats, const float *x, size_t x_row, const float *gamma,
                                 float eps, size_t rows, size_t cols);
typedef void aoei_rmsnorm_grad_f32_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const float *x,
                                      size_t x_row, const float *stats, const float *gamma, size_t rows, size_t cols);
typedef void aoei_rmsnorm_param_grad_f32_fn(float *dgamma, const float *dy, size_t dy_row, const float *x, size_t x_row,
                                            const float *stats, size_t rows, size_t cols);
typedef void aoei_rmsnorm_bf16_fn(aoei_bf16 *y, size_t y_row, float *stats, const aoei_bf16 *x, size_t x_row,
                                  const float *gamma, float eps, size_t rows, size_t cols);
typedef void aoei_rmsnorm_grad_bf16_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                       size_t x_row, const float *stats, const float *gamma, size_t rows, size_t cols);
typedef void aoei_rmsnorm_param_grad_bf16_fn(float *dgamma, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                             size_t x_row, const float *stats, size_t rows, size_t cols);
/* Adds all rows of x[rows, cols] to sum[cols], in ascending order of rows. */
typedef void aoei_column_sum_f32_fn(float *sum, const float *x, size_t x_row, size_t rows, size_t cols);
typedef void aoei_column_sum_bf16_fn(float *sum, const aoei_bf16 *x, size_t x_row, size_t rows, size_t cols);
/* Conversions between float32 and bf16. to_bf16 rounds x to bf16. from_bf16 converts x to float32, which is exact. */
typedef void aoei_to_bf16_fn(aoei_bf16 *y, const float *x, size_t n);
typedef void aoei_from_bf16_fn(float *y, const aoei_bf16 *x, size_t n);
/* Converts a row of int8 weights to float32: y = x * scale. */
typedef void aoei_from_int8_fn(float *y, const int8_t *x, float scale, size_t n);
/* Quantizes the row v[n] to int8, with one scale: q = round(v * (127 / max|v|)), ties to even, and scale = max|v| /
 * 127, with each operation rounded to float32. v is x, or x * factors if factors is not NULL; factors are at most 1.
 * Returns the scale. If max|v| is less than AOEI_QUANTIZE_LEAST, the scale and all q are 0. If an element is NaN or
 * infinite, the scale is NaN, and all q are 0. */
#define AOEI_QUANTIZE_LEAST 0x1p-119f /* 127 / max|x| and max|x| / 127 are normal numbers down to this value */
typedef float aoei_quantize_f32_fn(int8_t *q, const float *x, const float *factors, size_t n);
typedef float aoei_quantize_bf16_fn(int8_t *q, const aoei_bf16 *x, const float *factors, size_t n);
/* Divides integers into parts: q[i] = floor((v + index[i]) * factor[i]) with v = round(x[i] / scale), ties to even.
 * factor[i] is the reciprocal of a number of parts, at most 1000, and index[i] is less than this number. |v| *
 * factor[i] is at most 127, and scale is positive. The parts with all indices of one x add up to v. */
typedef void aoei_split_int8_fn(int8_t *q, const float *x, const float *index, const float *factor, float scale,
                                size_t n);
/* Dot products of one query with n rows of `stride` bytes, which begin at `rows`. No element of the query is -128, and
 * the sums are exact, so they are equal in all tiers.
 * codes_dots: the first K bytes of a row are int8 codes, and dots[r] is the sum of query[k] * code[k]. K is a multiple
 * of 64 and at most AOEI_INT8_MAX_K.
 * signs_dots: the first K / 8 bytes of a row are bits, K is a multiple of 128, and dots[r] is the sum of query[k] over
 * all k whose bit is set. Each block of 128 bits has 16 bytes; bit j of byte b belongs to element 16 j + b of the
 * block. */
typedef void aoei_codes_dots_fn(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                                size_t K);
typedef void aoei_signs_dots_fn(int32_t *dots, const int8_t *query, const unsigned char *rows, size_t stride, size_t n,
                                size_t K);
/* GELU: computes y = x * Phi(x) with the exact erf. y may be x. */
typedef void aoei_gelu_f32_fn(float *y, const float *x, size_t n);
/* Computes dx = dy * gelu'(x), the gradient of GELU. dx may be dy or x. */
typedef void aoei_gelu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* GELU of bf16: computes gelu(x) in float32 and rounds the result to bf16. y may be x. */
typedef void aoei_gelu_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, size_t n);
/* The tanh approximation of GELU. The arguments are the same as in the three functions above: GELU, its gradient, and
 * GELU of bf16. */
typedef void aoei_gelu_tanh_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_gelu_tanh_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
typedef void aoei_gelu_tanh_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, size_t n);
/* The gated linear unit (Dauphin et al. 2017): computes y = t sigma(g), where sigma is the logistic function. y may be
 * t or g. If t and g are equal, the result is swish, t sigma(t). */
typedef void aoei_glu_f32_fn(float *y, const float *t, const float *g, size_t n);
/* Computes the gradients of the gated linear unit: dt = dy sigma(g) and dg = dy t sigma'(g). Each of dt and dg may be
 * dy, t or g, but dt and dg must be distinct. */
typedef void aoei_glu_grad_f32_fn(float *dt, float *dg, const float *dy, const float *t, const float *g, size_t n);
/* SiLU and its gradient. silu computes y = x / (1 + e^-x); y may be x. silu_grad computes dx = dy * silu'(x); dx may be
 * dy or x. */
typedef void aoei_silu_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_silu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* The approximation of GELU by x / (1 + e^(-AOEI_QUICK_GELU_SCALE x)), and its gradient. The arguments are the same as
 * in SiLU. */
typedef void aoei_quick_gelu_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_quick_gelu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* The cell of an LSTM (Hochreiter and Schmidhuber 1997) with n components. gates[4 n] contains the parts of the
 * arguments of the gates that come from the input, and recurrent[4 n] those that come from the previous output, both in
 * the order i, f, g, o. Computes i = sigma(gates_i + recurrent_i), f and o in the same way, g = tanh(gates_g +
 * recurrent_g), c = f before + i g and h = o tanh(c), where before[n] is the previous c. i, f, g and o replace
 * gates. */
typedef void aoei_lstm_f32_fn(float *h, float *c, float *gates, const float *recurrent, const float *before, size_t n);
/* Computes the gradients of a cell. dh[n] is the gradient of h. dc[n] is the part of the gradient of c that comes from
 * the next cell; the gradient of `before` replaces it. gates[4 n] contains i, f, g and o; the gradients of the
 * arguments of the gates replace them. */
typedef void aoei_lstm_grad_f32_fn(float *gates, float *dc, const float *dh, const float *c, const float *before,
                                   size_t n);
/* relu computes y = x if x > 0, otherwise 0; y may be x. relu_grad computes dx = dy if x > 0, otherwise 0; dx may be dy
 * or x. If x is NaN, the results are NaN. */
typedef void aoei_relu_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_relu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* Elementwise addition and multiplication. add computes y = a + b, and mul computes y = a * b. y may be a or b. */
typedef void aoei_add_f32_fn(float *y, const float *a, const float *b, size_t n);
typedef void aoei_mul_f32_fn(float *y, const float *a, const float *b, size_t n);
/* Applies rotary position embeddings to one token, in place; x is [heads, 2 half]. In every head, the pair (x[i],
 * x[half + i]) becomes (x[i] c - x[half + i] s, x[half + i] c + x[i] s) with c = angles[i] and s = direction *
 * angles[half + i]. angles[2 half] contains the cosines and then the sines. direction is 1 for the rotation, or -1 for
 * its inverse. */
typedef void aoei_rope_f32_fn(float *x, const float *angles, float direction, size_t heads, size_t half);
typedef void aoei_rope_bf16_fn(aoei_bf16 *x, const float *angles, float direction, size_t heads, size_t half);

/* Dropout of one row (docs/numerics.md, "Masks"). Element c is kept if word(c) >= threshold. The mask words are word(c)
 * = Philox4x32-10(key, counter = (c0 + (c / 64) * 16 + c % 16, c1, c2, c3))[(c % 64) / 16]. The result is y[c] =
 * (residual ? residual[c] : 0) + (kept ? x[c] * scale : 0). y may be x or residual. */
typedef struct aoei_dropout_row {
    uint32_t key[2];     /* Philox key, from aoei_dropout_key(seed, step) */
    uint32_t counter[4]; /* {c0, c1, c2, c3} = {0, index of the token or query, index of the text, site << 16 | head} */
    uint32_t threshold;  /* dropout probability p times 2^32 */
    float scale;         /* 1 / (1 - p) */
} aoei_dropout_row;
typedef void aoei_dropout_f32_fn(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n);

/* Dropout of bf16 rows, with the masks of dropout_f32. In dropout_bf16, x, residual and y are bf16, and y is rounded
 * once, after the residual is added. In dropout_to_bf16, x is float32, y is bf16, and there is no residual. */
typedef void aoei_dropout_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, const aoei_bf16 *residual,
                                  const aoei_dropout_row *d, size_t n);
typedef void aoei_dropout_to_bf16_fn(aoei_bf16 *y, const float *x, const aoei_dropout_row *d, size_t n);

/* Softmax: computes p[n] = softmax(s[n]). p may be s. The maximum of s is subtracted before exp. The accumulation order
 * of the sum depends only on n. */
typedef void aoei_softmax_f32_fn(float *p, const float *s, size_t n);
/* Computes p[n] = softmax(s[n]), rounded to bf16. The contents of s are undefined afterwards. For results of magnitude
 * less than 2^-126, the kernels for AVX512-BF16 return 0. The bf16 matmuls of these tiers read such values as 0. */
typedef void aoei_softmax_bf16_fn(aoei_bf16 *p, float *s, size_t n);
/* Computes the gradient of softmax, ds = p * (dp - sum(p dp)) * scale, where p is the output of softmax. ds may be
 * dp. */
typedef void aoei_softmax_grad_f32_fn(float *ds, const float *p, const float *dp, float scale, size_t n);
/* Computes the softmax for a cross-entropy loss: stats = {max s, sum exp(s - max s)} and d[n] = scale * softmax(s[n]).
 * d may be s.
 * For a target index t, the loss is log(stats[1]) + stats[0] - s[t]. To obtain the gradient of scale times the loss,
 * the caller subtracts `scale` from d[t]. */
typedef void aoei_cross_entropy_f32_fn(float *d, float *stats, const float *s, float scale, size_t n);

/* Arguments of AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2, in PyTorch's order
 * of operations). Step t computes:
 *     g = grad * grad_scale
 *     w = w - lr * decay * w
 *     m = beta1 m + (1 - beta1) g
 *     v = beta2 v + (1 - beta2) g^2
 *     w = w - step_size * m / (sqrt(v) / sqrt_bias2 + eps)
 * The bias corrections are step_size = lr / (1 - beta1^t) and sqrt_bias2 = sqrt(1 - beta2^t). */
typedef struct aoei_adamw_f32 {
    float lr_decay; /* learning rate * weight decay */
    float beta1, beta2, eps, step_size, sqrt_bias2, grad_scale;
    /* 1 - beta1 and 1 - beta2, computed in double, because 1 - 0.999f has a relative error of 1e-5 */
    float one_minus_beta1, one_minus_beta2;
} aoei_adamw_f32;
/* Updates w, m and v. Then sets grad to 0 for the next step, while grad is in the cache. */
typedef void aoei_adamw_f32_fn(float *w, float *grad, float *m, float *v, const aoei_adamw_f32 *a, size_t n);
/* Arguments of RMSprop and SGD. With g = grad * grad_scale, one step of RMSprop is:
 *     w = w - lr_decay * w
 *     v = rho v + (1 - rho) g^2
 *     w = w - lr * g / (sqrt(v) + eps)
 * One step of SGD is w = w - lr_decay * w - lr * g; rho, one_minus_rho and eps are not used. */
typedef struct aoei_rmsprop_f32 {
    float lr_decay; /* learning rate * weight decay */
    float rho, one_minus_rho, eps, lr, grad_scale;
} aoei_rmsprop_f32;
/* Updates w and v. Then sets grad to 0. */
typedef void aoei_rmsprop_f32_fn(float *w, float *grad, float *v, const aoei_rmsprop_f32 *a, size_t n);
/* Updates w. Then sets grad to 0. */
typedef void aoei_sgd_f32_fn(float *w, float *grad, const aoei_rmsprop_f32 *a, size_t n);
/* Returns the sum of x^2, computed in double. The accumulation order depends only on n. */
typedef double aoei_sum_squares_f32_fn(const float *x, size_t n);

/* A float64 matrix is stored in panels of AOEI_PANEL_F64 = 24 columns. A panel is [rows][24]. The distance between the
 * starts of two panels is `panel` doubles. Element (r, c) is at (c / 24) * panel + r * 24 + c % 24. If the number of
 * columns is not a multiple of 24, the elements of the last panel after the last column of the matrix are undefined. */
#define AOEI_PANEL_F64 ((size_t)24)
/* Arguments of a float64 matmul: C[M,N] = A B or A^T B. All matrices are stored in panels. Whole panels of C are
 * written. C must not overlap A or B. */
typedef struct aoei_gemm_f64 {
    size_t M, N, K;
    const double *a; /* the matrix A: [M,K], or [K,M] if transposed is 1 */
    size_t a_panel;  /* distance between the panels of a in doubles */
    const double *b; /* the matrix B: [K,N] */
    size_t b_panel;  /* distance between the panels of b in doubles */
    double *c;       /* the matrix C: [M,N] */
    size_t c_panel;  /* distance between the panels of c in doubles */
    int transposed;  /* 0: C = A B; 1: C = A^T B */
    int accumulate;  /* 1: the sums start from the stored C */
} aoei_gemm_f64;
typedef void aoei_gemm_f64_fn(const aoei_gemm_f64 *g);
/* A block of scores s = x * scale. x[rows,cols] is stored in panels; rows and cols are at least 1. A score of -infinity
 * contributes exp(s) = 0. */
typedef struct aoei_scores_f64 {
    double *x;                /* [rows,cols] in panels, borrowed */
    size_t panel, rows, cols; /* distance between the panels of x in doubles; number of rows of x; number of columns of
                                 x */
    double scale;             /* positive factor */
} aoei_scores_f64;
/* For each row r, sets max[r] to the maximum of the scores of the row, and sum[r] to the sum of exp(s - max[r]) over
 * the row. Every row must contain a finite score. The accumulation order depends only on cols. */
typedef void aoei_row_sums_f64_fn(const aoei_scores_f64 *b, double *max, double *sum);
/* For each column c, sets max[c] to the maximum of the scores of the column, and sum[c] to the sum of exp(s - max[c])
 * over the column. The sum is computed in ascending order of rows. */
typedef void aoei_column_sums_f64_fn(const aoei_scores_f64 *b, double *max, double *sum);
/* Replaces each element (r, c) of x by row_weight[r] * exp(s - row_log[r]) + column_weight[c] * exp(s -
 * column_log[c]). */
typedef void aoei_score_weights_f64_fn(const aoei_scores_f64 *b, const double *row_weight, const double *row_log,
                                       const double *column_weight, const double *column_log);

/* Declarations of all kernels, for example aoei_gemm_f32_avx2. */
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix) aoei_##op##_fn aoei_##op##_##suffix;
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
