/* SPDX-License-Identifier: MIT
 * Kernels: pure functions on raw pointers. An op is an operation such as gemm_f32; it has one kernel for each CPU tier (the
 * instruction set that is selected at run time) for which it is optimized. Kernels allocate no memory, start no threads and
 * report no errors. Their callers in nn/ divide the work over threads, provide scratch memory and check shapes. kernels.def
 * lists all kernels, this header declares them, and kernel_table.h selects them by tier. docs/kernels.md describes how to
 * add a kernel.
 * Accumulation order: an element of a matmul is one running sum over ascending k, sum = fma(a, b, sum) (tier c: sum + a *
 * b), starting from 0 or from the stored value. The tiers avx512bf16 and amx multiply bf16 natively: each step adds the sum
 * of 2 or 32 products, which one instruction computes. The instruction sequence of an output row depends only on the tier
 * and the length of the row, never on the number of rows. For this reason, an incomplete vector at the end of a row is
 * processed with the instructions of a complete one, in masked form if they access memory.
 */
#ifndef AOEI_KERNELS_KERNELS_H
#define AOEI_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/bf16.h"
#include "base/compiler.h"

/* Element types. */
typedef enum aoei_dtype {
    AOEI_F32,
    AOEI_BF16,
    AOEI_I8 /* weights that are not trained: each value is an int8 times the scale of its row */
} aoei_dtype;

static inline size_t aoei_dtype_size(aoei_dtype type) {
    static const size_t size[] = {sizeof(float), sizeof(aoei_bf16), sizeof(int8_t)};
    return size[type];
}

typedef enum aoei_activation {
    AOEI_IDENTITY,
    AOEI_GELU,      /* x Phi(x), exact erf */
    AOEI_GELU_TANH, /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
    AOEI_SILU       /* x / (1 + e^-x); only in gated linear units, not in a matmul's epilogue */
} aoei_activation;

/* C[M,N] = epilogue(A[M,K] B[K,N]) on one thread. Op gemm_f32: all matrices are float32. Op gemm_bf16: A and B are bf16,
 * sums are float32, and C, pre, gate and residual have one type, bf16 or float32. Strides are in elements. Rows of C, pre,
 * gate and residual are contiguous. C and pre overlap nothing, except that C may be gate or residual. If K is 0, sums are 0.
 *
 * With f = sum * scale + bias (each operation rounded to float32), and round() to C's type:
 *     plain:           C = round(f + residual)
 *     activation:      v = round(f), pre = v, C = round(activation(v) + residual)
 *     gate (backward): C = round(f * activation'(gate) + residual)
 * Operands that are NULL are omitted from the formulas. If accumulate is 1, scale must be 1, and bias, activation, pre,
 * gate and residual must be absent. */
typedef struct aoei_gemm_args {
    size_t M, N, K;             /* C is [M,N], A is [M,K], B is [K,N] */
    const void *a;              /* A[m][k] = a[m * a_row + k * a_col] */
    size_t a_row, a_col;        /* distances between rows and between columns of A */
    const void *b;              /* B[k][n] = b[k * b_row + n * b_col]; unused if packed is not NULL */
    size_t b_row, b_col;        /* distances between rows and between columns of B */
    const void *packed;         /* B packed for this op and tier; NULL: not packed */
    void *c;                    /* C[m][n] = c[m * c_row + n] */
    size_t c_row;               /* distance between rows of C */
    aoei_dtype c_type;          /* type of C, pre, gate and residual; AOEI_F32 for gemm_f32 */
    int accumulate;             /* 1: the sums start from the stored C, which must be float32 */
    float scale;                /* factor of the sums; 1: not scaled */
    const float *bias;          /* [N] added to every row; NULL: none */
    aoei_activation activation; /* applied after the bias */
    void *pre;                  /* output [M,N] of C's type: values before the activation; NULL: not stored */
    size_t pre_row;             /* distance between rows of pre */
    const void *gate;           /* [M,N] of C's type, input of the activation in the forward pass, for the backward pass of this
                                   activation; NULL: no activation */
    size_t gate_row;            /* distance between rows of gate */
    const void *residual;       /* [M,N] of C's type, added last; NULL: none */
    size_t residual_row;        /* distance between rows of residual */
} aoei_gemm_args;

/* Size of the scratch memory of a matmul in floats. The caller provides one scratch memory per thread, 64-byte aligned. */
#define AOEI_GEMM_SCRATCH ((size_t)512 * 1024)
typedef void aoei_gemm_fn(const aoei_gemm_args *g, float *scratch);
typedef aoei_gemm_fn aoei_gemm_f32_fn;
typedef aoei_gemm_fn aoei_gemm_bf16_fn;
/* B can be packed for fast access: its packed form is a sequence of panels of P columns, each with all K rows. The last panel
 * is padded. P depends on the tier and divides AOEI_GEMM_PANEL. If n is a multiple of AOEI_GEMM_PANEL, the packed form of B
 * without its first n columns starts at byte packed_size(K, n) of the packed form of B, and the bytes before it are the packed
 * form of the first n columns. */
#define AOEI_GEMM_PANEL ((size_t)32)
/* Size in bytes of the packed form of B[K,N]. */
typedef size_t aoei_gemm_packed_size_fn(size_t K, size_t N);
typedef aoei_gemm_packed_size_fn aoei_gemm_f32_packed_size_fn;
typedef aoei_gemm_packed_size_fn aoei_gemm_bf16_packed_size_fn;
/* Packs the columns [n0, n1) of B[K,N] into their position in `packed`. n0 is a multiple of AOEI_GEMM_PANEL; n1 is another
 * multiple, or N. `type` is the type of b: float32 for gemm_f32, float32 (which is rounded) or bf16 for gemm_bf16. packed is
 * 64-byte aligned. */
typedef void aoei_gemm_pack_fn(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K, size_t n0,
                               size_t n1);
typedef aoei_gemm_pack_fn aoei_gemm_f32_pack_fn;
typedef aoei_gemm_pack_fn aoei_gemm_bf16_pack_fn;

/* LayerNorm: computes y[rows,cols] = (x - mean) * rstd * gamma + beta for each row, where rstd is computed from the biased
 * variance. stats[rows][2] receives mean and rstd; NULL: not stored. y may be x. Row strides are in floats. */
typedef void aoei_layernorm_f32_fn(float *y, size_t y_row, float *stats, const float *x, size_t x_row, const float *gamma,
                                   const float *beta, float eps, size_t rows, size_t cols);
/* Computes dx, the gradient with respect to the input x, from dy and the stats of the forward pass. dx may be dy. */
typedef void aoei_layernorm_grad_f32_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const float *x, size_t x_row,
                                        const float *stats, const float *gamma, size_t rows, size_t cols);
/* Adds the sum of dy * xhat over all rows to dgamma[cols], where xhat = (x - mean) * rstd, and adds the sum of dy over all rows
 * to dbeta[cols]. Rows are added one by one to the stored values. To process a range of columns, the caller offsets the
 * pointers. */
typedef void aoei_layernorm_param_grad_f32_fn(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const float *x,
                                              size_t x_row, const float *stats, size_t rows, size_t cols);
/* LayerNorm with bf16 activations. x and y are bf16; gradients, stats, gamma and beta are float32. y is computed in float32 and
 * rounded once. */
typedef void aoei_layernorm_bf16_fn(aoei_bf16 *y, size_t y_row, float *stats, const aoei_bf16 *x, size_t x_row,
                                    const float *gamma, const float *beta, float eps, size_t rows, size_t cols);
typedef void aoei_layernorm_grad_bf16_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                         size_t x_row, const float *stats, const float *gamma, size_t rows, size_t cols);
typedef void aoei_layernorm_param_grad_bf16_fn(float *dgamma, float *dbeta, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                               size_t x_row, const float *stats, size_t rows, size_t cols);
/* RMSNorm (Zhang and Sennrich 2019): y = x * rstd * gamma with rstd = 1 / sqrt(mean(x^2) + eps). stats[rows] receives rstd;
 * NULL: not stored. The gradient functions are defined like those of LayerNorm. */
typedef void aoei_rmsnorm_f32_fn(float *y, size_t y_row, float *stats, const float *x, size_t x_row, const float *gamma,
                                 float eps, size_t rows, size_t cols);
typedef void aoei_rmsnorm_grad_f32_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const float *x, size_t x_row,
                                      const float *stats, const float *gamma, size_t rows, size_t cols);
typedef void aoei_rmsnorm_param_grad_f32_fn(float *dgamma, const float *dy, size_t dy_row, const float *x, size_t x_row,
                                            const float *stats, size_t rows, size_t cols);
typedef void aoei_rmsnorm_bf16_fn(aoei_bf16 *y, size_t y_row, float *stats, const aoei_bf16 *x, size_t x_row,
                                  const float *gamma, float eps, size_t rows, size_t cols);
typedef void aoei_rmsnorm_grad_bf16_fn(float *dx, size_t dx_row, const float *dy, size_t dy_row, const aoei_bf16 *x,
                                       size_t x_row, const float *stats, const float *gamma, size_t rows, size_t cols);
typedef void aoei_rmsnorm_param_grad_bf16_fn(float *dgamma, const float *dy, size_t dy_row, const aoei_bf16 *x, size_t x_row,
                                             const float *stats, size_t rows, size_t cols);
/* Adds all rows of x[rows, cols] to sum[cols], in ascending order of rows. */
typedef void aoei_column_sum_f32_fn(float *sum, const float *x, size_t x_row, size_t rows, size_t cols);
typedef void aoei_column_sum_bf16_fn(float *sum, const aoei_bf16 *x, size_t x_row, size_t rows, size_t cols);
/* Conversions. to_bf16 rounds x to bf16, and from_bf16 converts x to float32, which is exact. */
typedef void aoei_to_bf16_fn(aoei_bf16 *y, const float *x, size_t n);
typedef void aoei_from_bf16_fn(float *y, const aoei_bf16 *x, size_t n);
/* Computes y = x * scale, which converts a row of int8 to float32. */
typedef void aoei_from_int8_fn(float *y, const int8_t *x, float scale, size_t n);
/* GELU: computes y = x * Phi(x) with the exact erf. y may be x. */
typedef void aoei_gelu_f32_fn(float *y, const float *x, size_t n);
/* Computes dx = dy * gelu'(x), the gradient of GELU. dx may be dy or x. */
typedef void aoei_gelu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* Computes y = gelu(x) in float32 and rounds y to bf16. y may be x. */
typedef void aoei_gelu_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, size_t n);
/* The tanh approximation of GELU, with the arguments of the GELU functions above. */
typedef void aoei_gelu_tanh_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_gelu_tanh_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
typedef void aoei_gelu_tanh_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, size_t n);
/* The gated linear unit (Dauphin et al. 2017): y = t sigma(g), where sigma is the logistic function. y may be t or g. For t =
 * g, the result is swish, t sigma(t). */
typedef void aoei_glu_f32_fn(float *y, const float *t, const float *g, size_t n);
/* Computes the gradients of the gated linear unit: dt = dy sigma(g) and dg = dy t sigma'(g). dt or dg may be dy, t or g, but
 * not each other. */
typedef void aoei_glu_grad_f32_fn(float *dt, float *dg, const float *dy, const float *t, const float *g, size_t n);
/* SiLU, y = x / (1 + e^-x), and its gradient; y may be x, and dx may be dy or x. */
typedef void aoei_silu_f32_fn(float *y, const float *x, size_t n);
typedef void aoei_silu_grad_f32_fn(float *dx, const float *dy, const float *x, size_t n);
/* add computes y = a + b, and mul computes y = a * b for each element. y may be a or b. */
typedef void aoei_add_f32_fn(float *y, const float *a, const float *b, size_t n);
typedef void aoei_mul_f32_fn(float *y, const float *a, const float *b, size_t n);
/* Rotary positions of one token: x[heads, 2 half] is rotated in place. In every head, the pair (x[i], x[half + i]) becomes
 * (x[i] c - x[half + i] s, x[half + i] c + x[i] s) with c = angles[i] and s = direction * angles[half + i]. direction is 1, or
 * -1 for the inverse rotation. */
typedef void aoei_rope_f32_fn(float *x, const float *angles, float direction, size_t heads, size_t half);
typedef void aoei_rope_bf16_fn(aoei_bf16 *x, const float *angles, float direction, size_t heads, size_t half);

/* Dropout of one row (docs/numerics.md, "Masks"). Element c is kept if word(c) >= threshold, with word(c) =
 * Philox4x32-10(key, counter = (c0 + (c / 64) * 16 + c % 16, c1, c2, c3))[(c % 64) / 16]. y[c] = (residual ? residual[c] :
 * 0) + (kept ? x[c] * scale : 0); y may be x or residual. */
typedef struct aoei_dropout_row {
    uint32_t key[2];     /* aoei_dropout_key(seed, step) */
    uint32_t counter[4]; /* c0 = 0; c1 = token or query; c2 = text index; c3 = site << 16 | head */
    uint32_t threshold;  /* dropout probability p times 2^32 */
    float scale;         /* 1 / (1 - p) */
} aoei_dropout_row;
typedef void aoei_dropout_f32_fn(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n);

/* Dropout with the masks of dropout_f32. dropout_bf16: all arrays are bf16, and the sum is rounded once. dropout_to_bf16: x
 * is float32, y is bf16, and there is no residual. */
typedef void aoei_dropout_bf16_fn(aoei_bf16 *y, const aoei_bf16 *x, const aoei_bf16 *residual, const aoei_dropout_row *d,
                                  size_t n);
typedef void aoei_dropout_to_bf16_fn(aoei_bf16 *y, const float *x, const aoei_dropout_row *d, size_t n);

/* Computes p[n] = softmax(s[n]). p may be s. The maximum is subtracted first. The accumulation order of the sum depends only on
 * n. */
typedef void aoei_softmax_f32_fn(float *p, const float *s, size_t n);
/* Computes the gradient of softmax, ds = p * (dp - sum(p dp)) * scale, where p is the output of softmax. ds may be dp. */
typedef void aoei_softmax_grad_f32_fn(float *ds, const float *p, const float *dp, float scale, size_t n);
/* Softmax for a cross entropy: stats = {max s, sum exp(s - max)}, d[n] = scale * softmax(s[n]). For target index y, the loss is
 * log(stats[1]) + stats[0] - s[y], and scale times its gradient is d with `scale` subtracted from element y. d may be s. */
typedef void aoei_cross_entropy_f32_fn(float *d, float *stats, const float *s, float scale, size_t n);

/* AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", algorithm 2; PyTorch's order of operations):
 * g = grad * grad_scale; w -= lr * decay * w; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
 * w -= step_size * m / (sqrt(v) / sqrt_bias2 + eps) with step_size = lr / (1 - b1^t), sqrt_bias2 = sqrt(1 - b2^t). */
typedef struct aoei_adamw_f32 {
    float lr_decay; /* lr * weight decay */
    float beta1, beta2, eps, step_size, sqrt_bias2, grad_scale;
    float one_minus_beta1, one_minus_beta2; /* computed in double, because 1 - 0.999f has an error of 1e-5 */
} aoei_adamw_f32;
/* Updates w, m and v, and sets grad to 0 for the next step while it is in the cache. */
typedef void aoei_adamw_f32_fn(float *w, float *grad, float *m, float *v, const aoei_adamw_f32 *a, size_t n);
/* Returns the sum of x^2, computed in double. The accumulation order depends only on n. */
typedef double aoei_sum_squares_f32_fn(const float *x, size_t n);

/* Float64 matrices are stored in panels of AOEI_PANEL_F64 columns. A panel is [rows][24], and panels start `panel` doubles
 * apart. Element (r, c) is at (c / 24) * panel + r * 24 + c % 24. Elements after the last column are undefined. */
#define AOEI_PANEL_F64 ((size_t)24)
/* C[M,N] = A B or A^T B, with all matrices in panels. Whole panels of C are written. C must not overlap A or B. */
typedef struct aoei_gemm_f64 {
    size_t M, N, K;
    const double *a; /* [M,K] matrix A, or [K,M] matrix whose transpose is A if transposed is 1 */
    size_t a_panel;  /* distance between the panels of a in doubles */
    const double *b; /* [K,N] */
    size_t b_panel;  /* distance between the panels of b in doubles */
    double *c;       /* [M,N] */
    size_t c_panel;  /* distance between the panels of c in doubles */
    int transposed;  /* 1: C = a^T B */
    int accumulate;  /* 1: the sums start from the stored C */
} aoei_gemm_f64;
typedef void aoei_gemm_f64_fn(const aoei_gemm_f64 *g);
/* A block of scores s = x * scale, with x[rows,cols] in panels; rows and cols are at least 1. A score of -infinity has weight
 * exp(s) = 0. */
typedef struct aoei_scores_f64 {
    double *x;                /* [rows,cols] in panels, borrowed */
    size_t panel, rows, cols; /* distance between the panels of x in doubles; number of rows; number of columns */
    double scale;             /* positive factor of the scores */
} aoei_scores_f64;
/* For each row, sets max[rows] to the maximum of s, and sum[rows] to the sum of exp(s - max). Every row must have a finite
 * score. The accumulation order depends only on cols. */
typedef void aoei_row_sums_f64_fn(const aoei_scores_f64 *b, double *max, double *sum);
/* For each column, sets max[cols] to the maximum of s, and sum[cols] to the sum of exp(s - max) in ascending order of rows. */
typedef void aoei_column_sums_f64_fn(const aoei_scores_f64 *b, double *max, double *sum);
/* Replaces each element (r, c) of x by row_weight[r] * exp(s - row_log[r]) + column_weight[c] * exp(s - column_log[c]). */
typedef void aoei_score_weights_f64_fn(const aoei_scores_f64 *b, const double *row_weight, const double *row_log,
                                       const double *column_weight, const double *column_log);

/* Declarations of all kernels, for example aoei_gemm_f32_avx2. */
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix) aoei_##op##_fn aoei_##op##_##suffix;
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL

#endif
