/* SPDX-License-Identifier: MIT
 * The loss of replaced token detection (Clark et al. 2020; DiffCSE, Chuang et al. 2022): a classifier with two classes
 * predicts for each token whether it was replaced. With the token vectors v_t, the labels y_t (1: replaced), and the
 * weights w_c and biases b_c of the classifier:
 *
 *     z_tc = <w_c, v_t> + b_c,   p_t = softmax(z_t),   loss of token t = -log p_t,y_t
 *     dL/dz_tc = p_tc - [c = y_t],   dL/dv_t = sum_c dL/dz_tc w_c,   dL/dw_c = sum_t dL/dz_tc v_t,
 *     dL/db_c = sum_t dL/dz_tc
 *
 * The tokens of a batch can be processed in several calls, which add to the same sums.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/context.h"

enum {
    AOEI_DETECTION_CLASSES = 2, /* class 0: original token; class 1: replaced token */
    AOEI_DETECTION_WORK = 3     /* workspace per token in elements */
};

/* The classifier, and its gradients, to which the gradients of the sum of the losses are added. */
typedef struct aoei_detector {
    const double *weight; /* [2, D] */
    const double *bias;   /* [2] */
    double *d_weight;     /* [2, D] */
    double *d_bias;       /* [2] */
} aoei_detector;

/* The vectors and labels of n tokens. Either v and grad, or v64 and grad64, are used. */
typedef struct aoei_detection_batch {
    size_t n, D;          /* number of tokens, and of components of a vector */
    const float *v;       /* [n, D] token vectors */
    float *grad;          /* [n, D] receives `factor` times the gradient of the sum of the losses */
    const double *v64;    /* NULL: v is used */
    double *grad64;       /* [n, D] as grad */
    const uint8_t *label; /* [n] 1 for replaced tokens, 0 for other tokens */
    double factor;
    double *work; /* [AOEI_DETECTION_WORK n] workspace */
} aoei_detection_batch;

/* Adds the losses of the tokens to *loss, and their gradients to the gradients of the classifier, in the order of the
 * tokens. The result therefore depends neither on the number of threads, nor on how tokens are divided into calls.
 * Errors: AOE_ENUMERIC (a loss is not finite). */
int aoei_detection_objective(const aoei_detector *c, const aoei_detection_batch *b, double *loss,
                             const aoe_context *ctx, aoe_error *err);
