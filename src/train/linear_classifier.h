/* SPDX-License-Identifier: MIT
 * A classifier of the features of a pair that consists of several linear layers without activation functions, as in
 * InferSent (Conneau et al. 2017). Its logits for the features f are W_n (... (W_1 f + b_1) ...) + b_n, so it computes
 * the same function as a single linear layer, but its weights are trained differently. The gradients are computed from
 * those of the single layer: with S_n = I and S_(i-1) = S_i W_i, the single layer has the weight S_0 and the bias g =
 * sum S_i b_i. If Q_0 and q are the gradients of its weight and bias, and Q_i = Q_(i-1) W_i^T + q b_i^T, then the
 * gradients of W_i and b_i are S_i^T Q_(i-1) and S_i^T q. All arithmetic is in double.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/context.h"
#include "nn/tensor.h"

enum { AOEI_MAX_CLASSIFIER_LAYERS = 5 };

/* Sizes of a classifier. */
typedef struct aoei_linear_shape {
    size_t n;                                     /* number of layers, at most AOEI_MAX_CLASSIFIER_LAYERS */
    size_t width[AOEI_MAX_CLASSIFIER_LAYERS + 1]; /* [n + 1] number of features, then number of outputs of each layer */
} aoei_linear_shape;

/* A classifier, and the buffers for its gradients. The number of outputs of the last layer is the number of classes,
 * C. */
typedef struct aoei_linear_classifier {
    aoei_linear_shape shape;
    aoei_tensor weight[AOEI_MAX_CLASSIFIER_LAYERS], bias[AOEI_MAX_CLASSIFIER_LAYERS];     /* [n] W_i [out, in], b_i [1,
                                                                                             out] */
    aoei_tensor d_weight[AOEI_MAX_CLASSIFIER_LAYERS], d_bias[AOEI_MAX_CLASSIFIER_LAYERS]; /* [n] their gradients */
    double *s[AOEI_MAX_CLASSIFIER_LAYERS + 1]; /* [n + 1] S_i [C, width[i]]; s[0] is the weight of the single layer */
    double *q[AOEI_MAX_CLASSIFIER_LAYERS];     /* [n] Q_i [C, width[i]]; the caller sets q[0] */
    double *sum;                               /* [C] bias of the single layer */
    double *d_sum;                             /* [C] q, which the caller sets */
    double *row;                               /* [largest width] a row of a gradient */
    float *host;                               /* [largest width] a row of a weight */
} aoei_linear_classifier;

/* Allocates the buffers of *c for c->shape in the arena. */
void aoei_linear_classifier_layout(aoei_linear_classifier *c, aoei_arena *arena);
/* Computes s and sum from the weights. */
void aoei_linear_classifier_multiply(aoei_linear_classifier *c, const aoe_context *ctx);
/* Adds scale times the gradients to d_weight and d_bias, after aoei_linear_classifier_multiply. */
void aoei_linear_classifier_gradient(aoei_linear_classifier *c, const aoe_context *ctx, double scale);
