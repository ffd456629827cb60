/* SPDX-License-Identifier: MIT
 * Forward and backward pass of the weighted mean of hidden states. The tokens are divided over threads; the weight
 * gradients are divided by weight.
 */
#include "nn/layer_mean.h"

typedef struct mean_job {
    aoei_tensor to, from; /* [N, D] tensor that is changed; tensor that is added to it */
    double factor;        /* factor of `from` */
    int accumulate;       /* 1: `to` keeps its previous value */
} mean_job;

/* Returns element c of a row of t. */
static double element(aoei_tensor t, size_t row, size_t c) {
    return (double)(t.type == AOEI_BF16 ? aoei_bf16_to_f32(aoei_b16(t)[row * t.ld + c]) : aoei_f32(t)[row * t.ld + c]);
}

static double sum_of(aoei_tensor w) {
    double sum = 0;
    for (size_t i = 0; i < w.cols; i++)
        sum += (double)aoei_f32(w)[i];
    return sum;
}

static void add_task(void *arg, size_t row, size_t worker) {
    const mean_job *j = arg;
    float *to = aoei_tensor_at(j->to, row, 0);
    (void)worker;
    for (size_t c = 0; c < j->to.cols; c++)
        to[c] = (float)((j->accumulate ? (double)to[c] : 0) + j->factor * element(j->from, row, c));
}

double aoei_layer_mean_factor(aoei_tensor w, size_t i) {
    return (double)aoei_f32(w)[i] / sum_of(w);
}

void aoei_layer_mean_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, double factor, int accumulate) {
    mean_job j = {.to = to, .from = from, .factor = factor, .accumulate = accumulate};
    aoei_parallel_for(ctx->pool, to.rows, add_task, &j);
}

typedef struct weights_job {
    aoei_tensor dw, dmean, mean;
    const aoei_tensor *h; /* [n] hidden states */
    double sum;           /* sum of the weights */
} weights_job;

/* Adds the gradient of weight i, the sum over the tokens of (h_i - m) dm / sum, to dw[i]. */
static void weight_task(void *arg, size_t i, size_t worker) {
    const weights_job *j = arg;
    float *dw = aoei_f32(j->dw) + i;
    (void)worker;
    for (size_t row = 0; row < j->dmean.rows; row++) {
        double dot = 0;
        for (size_t c = 0; c < j->dmean.cols; c++)
            dot += (element(j->h[i], row, c) - element(j->mean, row, c)) * element(j->dmean, row, c);
        *dw = (float)((double)*dw + dot / j->sum);
    }
}

void aoei_layer_mean_weights(const aoe_context *ctx, aoei_tensor dw, aoei_tensor dmean, aoei_tensor mean,
                             const aoei_tensor *h, aoei_tensor w) {
    weights_job j = {.dw = dw, .dmean = dmean, .mean = mean, .h = h, .sum = sum_of(w)};
    aoei_parallel_for(ctx->pool, w.cols, weight_task, &j);
}
