/* SPDX-License-Identifier: MIT
 * The layer normalization of langml; langml_layernorm.h contains the formula. The loops are portable C. They compute
 * sums in double and round each result once.
 */
#include "nn/langml_layernorm.h"

#include <math.h>

#include "kernels/kernel_table.h"
#include "nn/layernorm.h"

enum { ROWS = 16 /* rows per task */ };

typedef struct norm_job {
    const aoe_context *ctx;
    /* y is the output of the forward pass; in the backward pass, y is dx, the gradient of x */
    aoei_tensor y, stats, x, gamma, beta;
    aoei_tensor dy; /* gradient of the output; absent in the forward pass */
    double eps;
} norm_job;

/* Returns row `row` of x as float32. If x is float32, the result is a pointer into x; otherwise it points to a
 * converted copy in `buffer`. */
static const float *read_row(const norm_job *j, size_t row, float *buffer) {
    if (j->x.type == AOEI_F32)
        return aoei_tensor_at(j->x, row, 0);
    aoei_kernels_of(j->ctx)->from_bf16(buffer, aoei_tensor_at(j->x, row, 0), j->x.cols);
    return buffer;
}

/* Computes y = (x - mean(x)) scale gamma + beta for one row, where scale = 1 / sqrt(mean(x^2) + eps). Stores mean(x)
 * and scale in stats. */
static void forward_row(const norm_job *j, size_t row, float *buffer) {
    const size_t D = j->x.cols;
    const float *x = read_row(j, row, buffer), *gamma = aoei_f32(j->gamma), *beta = aoei_f32(j->beta);
    float *y = j->y.type == AOEI_F32 ? aoei_tensor_at(j->y, row, 0) : buffer;
    double mean = 0, square = 0;
    for (size_t i = 0; i < D; i++) {
        mean += (double)x[i];
        square += (double)x[i] * (double)x[i];
    }
    mean /= (double)D;
    const float centre = (float)mean, scale = (float)(1 / sqrt(square / (double)D + j->eps));
    for (size_t i = 0; i < D; i++)
        y[i] = (x[i] - centre) * scale * gamma[i] + beta[i];
    if (j->y.type == AOEI_BF16)
        aoei_kernels_of(j->ctx)->to_bf16(aoei_tensor_at(j->y, row, 0), y, D);
    if (j->stats.data) {
        float *stats = aoei_tensor_at(j->stats, row, 0);
        stats[0] = centre;
        stats[1] = scale;
    }
}

/* Computes dx = scale (d - mean(d) - x scale mean(d (x - mean) scale)) for one row, where d = dy gamma. */
static void backward_row(const norm_job *j, size_t row, float *buffer) {
    const size_t D = j->x.cols;
    const float *x = read_row(j, row, buffer), *gamma = aoei_f32(j->gamma), *dy = aoei_tensor_at(j->dy, row, 0),
                *stats = aoei_tensor_at(j->stats, row, 0);
    float *dx = aoei_tensor_at(j->y, row, 0);
    const double centre = (double)stats[0], scale = (double)stats[1];
    double mean = 0, dot = 0;
    for (size_t i = 0; i < D; i++) {
        const double d = (double)dy[i] * (double)gamma[i];
        mean += d;
        dot += d * ((double)x[i] - centre) * scale;
    }
    mean /= (double)D;
    dot /= (double)D;
    for (size_t i = 0; i < D; i++)
        dx[i] = (float)(scale * ((double)dy[i] * (double)gamma[i] - mean - (double)x[i] * scale * dot));
}

/* Computes ROWS rows of the forward pass, or of the backward pass if dy is present. */
static void norm_task(void *arg, size_t task, size_t worker) {
    const norm_job *j = arg;
    const size_t first = task * ROWS, end = first + ROWS < j->x.rows ? first + ROWS : j->x.rows;
    float *buffer = aoei_worker_scratch(j->ctx, worker);
    for (size_t row = first; row < end; row++)
        if (j->dy.data)
            backward_row(j, row, buffer);
        else
            forward_row(j, row, buffer);
}

static void run(norm_job *j) {
    aoei_parallel_for(j->ctx->pool, (j->x.rows + ROWS - 1) / ROWS, norm_task, j);
}

void aoei_langml_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x,
                                   aoei_tensor gamma, aoei_tensor beta, double eps) {
    norm_job j = {.ctx = ctx, .y = y, .stats = stats, .x = x, .gamma = gamma, .beta = beta, .eps = eps};
    run(&j);
}

void aoei_langml_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                                    aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma) {
    /* the formulas of dgamma and dbeta are those of LayerNorm, with the mean(x) and the scale that stats contains */
    if (dgamma.data)
        aoei_layernorm_backward(ctx, (aoei_tensor){0}, dgamma, dbeta, dy, x, stats, gamma);
    norm_job j = {.ctx = ctx, .y = dx, .stats = stats, .x = x, .gamma = gamma, .dy = dy};
    if (dx.data)
        run(&j);
}
