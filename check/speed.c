/* SPDX-License-Identifier: MIT
 * Measures the speed of kernels. For each op in kernels.def, a function call_OP calls the kernel once with operands of
 * a fixed size. If an op has no such function, this file does not compile.
 */
#include "speed.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { ROWS = 64, COLS = 768, N = ROWS * COLS, OUT = 512, RUNS = 11, TENSORS = 6, TEXTS = 192 };
#define RUN_SECONDS 0.002 /* minimum time of a run; the call is repeated until this time has passed */

typedef struct work {
    const aoei_kernels *k;
    float *f[TENSORS];     /* [OUT * COLS] float32 operands, owned; ops on rows use the first N elements */
    aoei_bf16 *h[TENSORS]; /* [OUT * COLS] bf16 operands, owned */
    float *stats;          /* [ROWS, 2] mean and inverse standard deviation of each row, owned */
    float *scratch;        /* [AOEI_GEMM_SCRATCH] scratch memory of matmuls, owned */
    void *packed;          /* packed weights of matmuls, owned */
    double *d[3];          /* [TEXTS * COLS] vectors of the objectives, their scores, and sums; in panels; owned */
    volatile double sink;  /* receives results, so that the compiler does not remove a call */
} work;

/* Number of floating-point operations of one call, or number of bytes that it reads and writes. The other field is 0.
 * If both are 0, the op is not measured. */
typedef struct amount {
    double flops, bytes;
} amount;
typedef amount call_fn(work *w);

static const double float_bytes = sizeof(float), half_bytes = sizeof(aoei_bf16);

static amount moved(double floats, double halves) {
    return (amount){0, (floats * float_bytes + halves * half_bytes) * N};
}

static amount product(void) {
    return (amount){2.0 * ROWS * COLS * OUT, 0};
}

static amount call_gemm_f32(work *w) {
    const aoei_gemm_args g = {.M = ROWS,
                              .N = OUT,
                              .K = COLS,
                              .a = w->f[0],
                              .a_row = COLS,
                              .a_col = 1,
                              .packed = w->packed,
                              .c = w->f[1],
                              .c_row = OUT,
                              .scale = 1};
    w->k->gemm_f32(&g, w->scratch);
    return product();
}

static amount call_gemm_f32_pack(work *w) {
    w->k->gemm_f32_pack(w->packed, w->f[2], AOEI_F32, 1, COLS, COLS, 0, OUT);
    return (amount){0, 2.0 * OUT * COLS * float_bytes};
}

static amount call_gemm_bf16(work *w) {
    const aoei_gemm_args g = {.M = ROWS,
                              .N = OUT,
                              .K = COLS,
                              .a = w->h[0],
                              .a_row = COLS,
                              .a_col = 1,
                              .packed = w->packed,
                              .c = w->h[1],
                              .c_row = OUT,
                              .c_type = AOEI_BF16,
                              .scale = 1};
    w->k->gemm_bf16(&g, w->scratch);
    return product();
}

static amount call_gemm_bf16_pack(work *w) {
    w->k->gemm_bf16_pack(w->packed, w->f[2], AOEI_F32, 1, COLS, COLS, 0, OUT);
    return (amount){0, (double)OUT * COLS * (float_bytes + half_bytes)};
}

/* A, the packed form of B and the scales are bytes of the operands of other calls; the speed does not depend on the
 * values. */
static amount call_gemm_int8(work *w) {
    const aoei_gemm_args g = {.M = ROWS,
                              .N = OUT,
                              .K = COLS,
                              .a = w->h[0],
                              .a_row = COLS,
                              .a_col = 1,
                              .packed = w->packed,
                              .c = w->h[1],
                              .c_row = OUT,
                              .c_type = AOEI_BF16,
                              .a_scale = w->f[3],
                              .b_scale = w->f[4],
                              .scale = 1};
    w->k->gemm_int8(&g, w->scratch);
    return product();
}

static amount call_gemm_int8_pack(work *w) {
    w->k->gemm_int8_pack(w->packed, w->f[2], AOEI_I8, 1, COLS, COLS, 0, OUT);
    return (amount){0, 2.0 * OUT * COLS};
}

static amount call_quantize_f32(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->stats[r] = w->k->quantize_f32((int8_t *)w->h[1] + r * COLS, w->f[0] + r * COLS, NULL, COLS);
    return (amount){0, (float_bytes + 1) * N};
}

static amount call_quantize_bf16(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->stats[r] = w->k->quantize_bf16((int8_t *)w->h[1] + r * COLS, w->h[0] + r * COLS, NULL, COLS);
    return (amount){0, (half_bytes + 1) * N};
}

static amount call_split_int8(work *w) {
    w->k->split_int8((int8_t *)w->h[1], w->f[0], w->f[1], w->f[2], 1, N);
    return (amount){0, (3 * float_bytes + 1) * N};
}

static amount call_codes_dots(work *w) {
    w->k->codes_dots((int32_t *)w->f[1], (const int8_t *)w->h[0], (const unsigned char *)w->h[1], COLS, ROWS, COLS);
    return (amount){0, N};
}

static amount call_signs_dots(work *w) {
    w->k->signs_dots((int32_t *)w->f[1], (const int8_t *)w->h[0], (const unsigned char *)w->h[1], COLS / 8, ROWS, COLS);
    return (amount){0, N / 8.0};
}

static amount call_layernorm_f32(work *w) {
    w->k->layernorm_f32(w->f[1], COLS, w->stats, w->f[0], COLS, w->f[2], w->f[3], 1e-12F, ROWS, COLS);
    return moved(2, 0);
}

static amount call_layernorm_grad_f32(work *w) {
    w->k->layernorm_grad_f32(w->f[1], COLS, w->f[4], COLS, w->f[0], COLS, w->stats, w->f[2], ROWS, COLS);
    return moved(3, 0);
}

static amount call_layernorm_param_grad_f32(work *w) {
    w->k->layernorm_param_grad_f32(w->f[1], w->f[3], w->f[4], COLS, w->f[0], COLS, w->stats, ROWS, COLS);
    return moved(2, 0);
}

static amount call_layernorm_bf16(work *w) {
    w->k->layernorm_bf16(w->h[1], COLS, w->stats, w->h[0], COLS, w->f[2], w->f[3], 1e-12F, ROWS, COLS);
    return moved(0, 2);
}

static amount call_layernorm_grad_bf16(work *w) {
    w->k->layernorm_grad_bf16(w->f[1], COLS, w->f[4], COLS, w->h[0], COLS, w->stats, w->f[2], ROWS, COLS);
    return moved(2, 1);
}

static amount call_layernorm_param_grad_bf16(work *w) {
    w->k->layernorm_param_grad_bf16(w->f[1], w->f[3], w->f[4], COLS, w->h[0], COLS, w->stats, ROWS, COLS);
    return moved(1, 1);
}

static amount call_rmsnorm_f32(work *w) {
    w->k->rmsnorm_f32(w->f[1], COLS, w->stats, w->f[0], COLS, w->f[2], 1e-6F, ROWS, COLS);
    return moved(2, 0);
}

static amount call_rmsnorm_grad_f32(work *w) {
    w->k->rmsnorm_grad_f32(w->f[1], COLS, w->f[4], COLS, w->f[0], COLS, w->stats, w->f[2], ROWS, COLS);
    return moved(3, 0);
}

static amount call_rmsnorm_param_grad_f32(work *w) {
    w->k->rmsnorm_param_grad_f32(w->f[1], w->f[4], COLS, w->f[0], COLS, w->stats, ROWS, COLS);
    return moved(2, 0);
}

static amount call_rmsnorm_bf16(work *w) {
    w->k->rmsnorm_bf16(w->h[1], COLS, w->stats, w->h[0], COLS, w->f[2], 1e-6F, ROWS, COLS);
    return moved(0, 2);
}

static amount call_rmsnorm_grad_bf16(work *w) {
    w->k->rmsnorm_grad_bf16(w->f[1], COLS, w->f[4], COLS, w->h[0], COLS, w->stats, w->f[2], ROWS, COLS);
    return moved(2, 1);
}

static amount call_rmsnorm_param_grad_bf16(work *w) {
    w->k->rmsnorm_param_grad_bf16(w->f[1], w->f[4], COLS, w->h[0], COLS, w->stats, ROWS, COLS);
    return moved(1, 1);
}

static amount call_column_sum_f32(work *w) {
    w->k->column_sum_f32(w->f[1], w->f[0], COLS, ROWS, COLS);
    return moved(1, 0);
}

static amount call_column_sum_bf16(work *w) {
    w->k->column_sum_bf16(w->f[1], w->h[0], COLS, ROWS, COLS);
    return moved(0, 1);
}

static amount call_to_bf16(work *w) {
    w->k->to_bf16(w->h[1], w->f[0], N);
    return moved(1, 1);
}

static amount call_from_bf16(work *w) {
    w->k->from_bf16(w->f[1], w->h[0], N);
    return moved(1, 1);
}

static amount call_from_int8(work *w) {
    w->k->from_int8(w->f[1], (const int8_t *)w->h[0], 0.5f, N);
    return moved(1, 0);
}

static amount call_gelu_f32(work *w) {
    w->k->gelu_f32(w->f[1], w->f[0], N);
    return moved(2, 0);
}

static amount call_gelu_grad_f32(work *w) {
    w->k->gelu_grad_f32(w->f[1], w->f[4], w->f[0], N);
    return moved(3, 0);
}

static amount call_gelu_bf16(work *w) {
    w->k->gelu_bf16(w->h[1], w->h[0], N);
    return moved(0, 2);
}

static amount call_gelu_tanh_f32(work *w) {
    w->k->gelu_tanh_f32(w->f[1], w->f[0], N);
    return moved(2, 0);
}

static amount call_gelu_tanh_grad_f32(work *w) {
    w->k->gelu_tanh_grad_f32(w->f[1], w->f[4], w->f[0], N);
    return moved(3, 0);
}

static amount call_gelu_tanh_bf16(work *w) {
    w->k->gelu_tanh_bf16(w->h[1], w->h[0], N);
    return moved(0, 2);
}

static amount call_glu_f32(work *w) {
    w->k->glu_f32(w->f[1], w->f[0], w->f[4], N);
    return moved(3, 0);
}

static amount call_glu_grad_f32(work *w) {
    w->k->glu_grad_f32(w->f[1], w->f[3], w->f[4], w->f[0], w->f[2], N);
    return moved(5, 0);
}

static amount call_silu_f32(work *w) {
    w->k->silu_f32(w->f[1], w->f[0], N);
    return moved(2, 0);
}

static amount call_silu_grad_f32(work *w) {
    w->k->silu_grad_f32(w->f[1], w->f[4], w->f[0], N);
    return moved(3, 0);
}

static amount call_quick_gelu_f32(work *w) {
    w->k->quick_gelu_f32(w->f[1], w->f[0], N);
    return moved(2, 0);
}

static amount call_quick_gelu_grad_f32(work *w) {
    w->k->quick_gelu_grad_f32(w->f[1], w->f[4], w->f[0], N);
    return moved(3, 0);
}

static amount call_relu_f32(work *w) {
    w->k->relu_f32(w->f[1], w->f[0], N);
    return moved(2, 0);
}

static amount call_relu_grad_f32(work *w) {
    w->k->relu_grad_f32(w->f[1], w->f[4], w->f[0], N);
    return moved(3, 0);
}

static amount call_mul_f32(work *w) {
    w->k->mul_f32(w->f[1], w->f[0], w->f[4], N);
    return moved(3, 0);
}

/* Rotates COLS / 64 heads of 64 components per row. The elements of f[0] are used as cosines and sines. */
static amount call_rope_f32(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->k->rope_f32(w->f[1] + r * COLS, w->f[0] + r * 64, 1, COLS / 64, 32);
    return moved(2, 0);
}

static amount call_rope_bf16(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->k->rope_bf16(w->h[1] + r * COLS, w->f[0] + r * 64, 1, COLS / 64, 32);
    return moved(0, 2);
}

static amount call_add_f32(work *w) {
    w->k->add_f32(w->f[1], w->f[0], w->f[4], N);
    return moved(3, 0);
}

static const aoei_dropout_row mask = {
    .key = {1, 2}, .counter = {0, 3, 4, 5}, .threshold = 0x19999999, .scale = 1.11111F};

static amount call_dropout_f32(work *w) {
    w->k->dropout_f32(w->f[1], w->f[0], w->f[4], &mask, N);
    return moved(3, 0);
}

static amount call_dropout_bf16(work *w) {
    w->k->dropout_bf16(w->h[1], w->h[0], w->h[4], &mask, N);
    return moved(0, 3);
}

static amount call_dropout_to_bf16(work *w) {
    w->k->dropout_to_bf16(w->h[1], w->f[0], &mask, N);
    return moved(1, 1);
}

static amount call_softmax_f32(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->k->softmax_f32(w->f[1] + r * COLS, w->f[0] + r * COLS, COLS);
    return moved(2, 0);
}

static amount call_softmax_bf16(work *w) {
    for (size_t r = 0; r < ROWS; r++) {
        memcpy(w->f[1] + r * COLS, w->f[0] + r * COLS, COLS * sizeof(float)); /* the kernel overwrites its input */
        w->k->softmax_bf16(w->h[1] + r * COLS, w->f[1] + r * COLS, COLS);
    }
    return moved(1, 1);
}

static amount call_softmax_grad_f32(work *w) {
    for (size_t r = 0; r < ROWS; r++)
        w->k->softmax_grad_f32(w->f[1] + r * COLS, w->f[0] + r * COLS, w->f[4] + r * COLS, 0.125F, COLS);
    return moved(3, 0);
}

static amount call_cross_entropy_f32(work *w) {
    float stats[2];
    for (size_t r = 0; r < ROWS; r++)
        w->k->cross_entropy_f32(w->f[1] + r * COLS, stats, w->f[0] + r * COLS, 0.125F, COLS);
    return moved(2, 0);
}

static amount call_adamw_f32(work *w) {
    const aoei_adamw_f32 a = {.beta1 = 0.9F,
                              .beta2 = 0.999F,
                              .eps = 1e-8F,
                              .step_size = 1e-5F,
                              .sqrt_bias2 = 1,
                              .grad_scale = 1,
                              .one_minus_beta1 = 0.1F,
                              .one_minus_beta2 = 0.001F};
    w->k->adamw_f32(w->f[1], w->f[3], w->f[4], w->f[5], &a, N);
    return moved(8, 0);
}

static const aoei_rmsprop_f32 rmsprop_options = {
    .rho = 0.9F, .one_minus_rho = 0.1F, .eps = 1e-8F, .lr = 1e-5F, .grad_scale = 1};

static amount call_rmsprop_f32(work *w) {
    w->k->rmsprop_f32(w->f[1], w->f[3], w->f[5], &rmsprop_options, N);
    return moved(6, 0);
}

static amount call_sgd_f32(work *w) {
    w->k->sgd_f32(w->f[1], w->f[3], &rmsprop_options, N);
    return moved(4, 0);
}

static amount call_lstm_f32(work *w) {
    w->k->lstm_f32(w->f[3], w->f[4], w->f[1], w->f[0], w->f[2], N);
    return moved(15, 0);
}

static amount call_lstm_grad_f32(work *w) {
    w->k->lstm_grad_f32(w->f[1], w->f[3], w->f[2], w->f[4], w->f[5], N);
    return moved(13, 0);
}

static amount call_sum_squares_f32(work *w) {
    w->sink = w->k->sum_squares_f32(w->f[0], N);
    return moved(1, 0);
}

/* Computes z z^T, the scores of TEXTS vectors with each other. d[0] contains z^T [COLS, TEXTS]. */
static amount call_gemm_f64(work *w) {
    const aoei_gemm_f64 g = {.M = TEXTS,
                             .N = TEXTS,
                             .K = COLS,
                             .a = w->d[0],
                             .a_panel = COLS * AOEI_PANEL_F64,
                             .b = w->d[0],
                             .b_panel = COLS * AOEI_PANEL_F64,
                             .c = w->d[1],
                             .c_panel = TEXTS * AOEI_PANEL_F64,
                             .transposed = 1};
    w->k->gemm_f64(&g);
    return (amount){2.0 * TEXTS * TEXTS * COLS, 0};
}

static aoei_scores_f64 scores(const work *w) {
    return (aoei_scores_f64){
        .x = w->d[1], .panel = TEXTS * AOEI_PANEL_F64, .rows = TEXTS, .cols = TEXTS, .scale = 1e-3};
}

static amount score_bytes(double passes) {
    return (amount){0, passes * TEXTS * TEXTS * sizeof(double)};
}

static amount call_row_sums_f64(work *w) {
    const aoei_scores_f64 s = scores(w);
    w->k->row_sums_f64(&s, w->d[2], w->d[2] + TEXTS);
    return score_bytes(1);
}

static amount call_column_sums_f64(work *w) {
    const aoei_scores_f64 s = scores(w);
    w->k->column_sums_f64(&s, w->d[2], w->d[2] + TEXTS);
    return score_bytes(1);
}

static amount call_score_weights_f64(work *w) {
    const aoei_scores_f64 s = scores(w);
    w->k->score_weights_f64(&s, w->d[2], w->d[2] + TEXTS, w->d[2], w->d[2] + TEXTS);
    return score_bytes(2);
}

static amount call_none(work *w) {
    (void)w;
    return (amount){0, 0};
}
#define call_gemm_f32_packed_size  call_none
#define call_gemm_bf16_packed_size call_none
#define call_gemm_int8_packed_size call_none

#define AOEI_OP(op, tolerance) #op,
#define AOEI_KERNEL(op, TIER, suffix)
const char *const check_ops[] = {
#include "kernels/kernel_table.h"
#include "kernels/kernels.def"
};
#undef AOEI_OP
const size_t check_n_ops = sizeof check_ops / sizeof *check_ops;

#define AOEI_OP(op, tolerance) call_##op,
static call_fn *const calls[] = {
#include "kernels/kernels.def"
};
#undef AOEI_OP
#undef AOEI_KERNEL

int check_op_in_tier(size_t i, aoei_tier tier) {
    const char *name = check_ops[i];
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix)                                                                                  \
    if (tier == AOEI_TIER_##TIER && strcmp(name, #op) == 0)                                                            \
        return 1;
#include "kernels/kernels.def"
#undef AOEI_OP
#undef AOEI_KERNEL
    return 0;
}

static int create(work *w, const aoei_kernels *k) {
    const size_t n = (size_t)OUT * COLS;
    int failed = 0;
    w->k = k;
    for (size_t i = 0; i < TENSORS; i++) {
        w->f[i] = aoei_aligned(n * sizeof(float));
        w->h[i] = aoei_aligned(n * sizeof(aoei_bf16));
        failed |= !w->f[i] || !w->h[i];
        for (size_t j = 0; j < n && !failed; j++) {
            w->f[i][j] = (float)((j * 7 + i) % 97) / 48 - 1;
            w->h[i][j] = aoei_bf16_from_f32(w->f[i][j]);
        }
    }
    for (size_t i = 0; i < 3; i++) {
        w->d[i] = aoei_aligned((size_t)TEXTS * COLS * sizeof(double));
        failed |= !w->d[i];
        for (size_t j = 0; j < (size_t)TEXTS * COLS && !failed; j++)
            w->d[i][j] = (double)((j * 5 + i) % 89) / 44 - 1;
    }
    w->stats = aoei_aligned(2 * ROWS * sizeof(float));
    w->scratch = aoei_aligned(AOEI_GEMM_SCRATCH * sizeof(float));
    const size_t f32 = k->gemm_f32_packed_size(COLS, OUT), bf16 = k->gemm_bf16_packed_size(COLS, OUT);
    const size_t int8 = k->gemm_int8_packed_size(COLS, OUT), floats = f32 > bf16 ? f32 : bf16;
    const size_t bytes = floats > int8 ? floats : int8;
    w->packed = aoei_aligned(bytes);
    if (failed || !w->stats || !w->scratch || !w->packed)
        return -1;
    memset(w->packed, 0, bytes);
    for (size_t r = 0; r < ROWS; r++) {
        w->stats[2 * r] = 0;
        w->stats[2 * r + 1] = 1;
    }
    return 0;
}

static void destroy(work *w) {
    for (size_t i = 0; i < TENSORS; i++) {
        aoei_aligned_free(w->f[i]);
        aoei_aligned_free(w->h[i]);
    }
    for (size_t i = 0; i < 3; i++)
        aoei_aligned_free(w->d[i]);
    aoei_aligned_free(w->stats);
    aoei_aligned_free(w->scratch);
    aoei_aligned_free(w->packed);
}

static int ascending(const void *pa, const void *pb) {
    const double a = *(const double *)pa, b = *(const double *)pb;
    return a < b ? -1 : a > b;
}

int check_speed_op(check_speed *s, const aoei_kernels *k, size_t i) {
    work w = {0};
    double rate[RUNS];
    *s = (check_speed){0};
    int code = create(&w, k);
    const amount one = code ? (amount){0, 0} : calls[i](&w);
    const double work_done = one.flops > 0 ? one.flops : one.bytes;
    for (size_t run = 0; run < RUNS && !code && work_done > 0; run++) {
        const double start = aoei_now();
        double seconds = 0;
        size_t n = 0;
        for (; seconds < RUN_SECONDS; n++) {
            calls[i](&w);
            seconds = aoei_now() - start;
        }
        rate[run] = work_done * (double)n / seconds / 1e9;
    }
    if (!code && work_done > 0) {
        qsort(rate, RUNS, sizeof *rate, ascending);
        *s = (check_speed){one.flops > 0 ? "GFLOP/s" : "GB/s", rate[RUNS - 1], rate[RUNS / 2]};
    }
    destroy(&w);
    return code;
}
