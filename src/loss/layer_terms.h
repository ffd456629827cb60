/* SPDX-License-Identifier: MIT
 * Terms that compare the pooled vectors u of a hidden state with target vectors t, which are constants:
 * - AdaptiveLayerLoss (sentence-transformers): T KL(softmax(t / T) || softmax(u / T)), the sum over the components and
 *   the mean over the rows
 * - Espresso sentence embeddings (ESE, Li et al. 2024): the mean of (u - t)^2 over all elements, plus the KL term
 */
#pragma once

#include <stddef.h>

#include "base/context.h"

/* Arguments of a term. All pointers are borrowed. */
typedef struct aoei_layer_term {
    size_t N, D;         /* number of rows and of components */
    const double *u, *t; /* [N, D] vectors and target vectors */
    double temperature;  /* T, above 0 */
    int with_squares;    /* 1: the mean of (u - t)^2 is added (ESE) */
    double weight;       /* factor of the gradient */
    double *grad; /* [N, D] weight times the gradient with respect to u is added; NULL: only the term is computed */
    double *row;  /* [N] workspace */
    const aoe_context *ctx; /* threads */
} aoei_layer_term;

/* Returns the term, without the factor `weight`. The rows are divided over threads and summed in ascending order. */
double aoei_layer_term_compute(const aoei_layer_term *p);
