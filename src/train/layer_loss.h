/* SPDX-License-Identifier: MIT
 * Losses on the hidden states of all layers. Hidden state i is the embedding output (i = 0) or the output of layer i;
 * the last one, n, is the input of the pooling. p_i is hidden state i after the pooling and the modules of the model.
 * - Adaptive layers (AdaptiveLayerLoss of sentence-transformers): the loss l of the method is also computed for some of
 *   the hidden states before the last one, which are drawn for each step, and their vectors learn the distribution of
 *   p_n.
 * - Espresso sentence embeddings (ESE, Li et al. 2024): l is computed for all hidden states except n - 1, from the
 *   first c components of their vectors, which also learn the principal components of the same vectors
 *   (loss/ese_target.h).
 * docs/objectives.md contains the formulas.
 */
#pragma once

#include <jansson.h>

#include "model/model.h"
#include "train/matryoshka.h"
#include "train/step_loss.h"

/* Buffers of a loss on hidden states. All memory is owned. */
typedef struct aoei_layer_loss {
    aoe_layer_options o;
    size_t layers;         /* n, index of the last hidden state */
    size_t max;            /* maximum number of hidden states before the last one in a step; 0: there is no such loss */
    size_t *state;         /* [n_states] hidden states of the current step, in ascending order */
    size_t n_states;       /* number of hidden states before the last one in the current step */
    uint64_t seed, step;   /* seed of the run and current step */
    float *vectors, *grad; /* [max, texts, D] vectors p_i of the hidden states of the step, and their gradients */
    size_t stride;         /* texts * D, number of elements between the vectors of two hidden states */
    float *part;           /* [texts, D] gradient of one loss */
    double *sum;           /* [texts, D] gradient of one hidden state */
    double *student, *target, *term_grad; /* [texts, D] vectors, targets and gradients of a term (loss/layer_terms.h) */
    double *row;                          /* [texts] workspace of a term */
    void *workspace;                      /* ESE: workspace of the targets */
    aoei_matryoshka prefix;               /* ESE: loss of the first c components */
} aoei_layer_loss;

/* Checks the options. Errors: AOE_EARG. */
int aoei_layer_loss_check(const aoe_train_options *o, aoe_error *err);
/* Checks the options against the model and its training head. Errors: AOE_EARG. */
int aoei_layer_loss_check_model(const aoe_train_options *o, const aoe_model *m, aoe_error *err);
/* Adds the options to the training record, if there is such a loss. Returns a nonzero value if out of memory. */
int aoei_layer_loss_describe(const aoe_train_options *o, json_t *record);
/* Returns the maximum number of hidden states before the last one in a step, or 0 if o is NULL or there is no such
 * loss. */
size_t aoei_layer_loss_states(const aoe_layer_options *o, size_t layers);
/* Allocates the buffers for batches of up to `texts` vectors with `dims` components. head_rows, head_cols: size of the
 * training head; 0: there is none. Errors: AOE_ENOMEM. */
int aoei_layer_loss_create(aoei_layer_loss *p, const aoe_layer_options *o, size_t layers, size_t texts, size_t dims,
                           size_t head_rows, size_t head_cols, aoe_error *err);
void aoei_layer_loss_destroy(aoei_layer_loss *p); /* accepts a zeroed struct */
/* Chooses the hidden states of a step, which are a function of (seed, step). Does nothing if there is no such loss. */
void aoei_layer_loss_choose(aoei_layer_loss *p, uint64_t seed, uint64_t step);
/* Returns the vectors of hidden state p->state[i], or their gradients. */
static inline float *aoei_layer_loss_vectors(const aoei_layer_loss *p, size_t i) {
    return p->vectors + i * p->stride;
}
static inline float *aoei_layer_loss_grad(const aoei_layer_loss *p, size_t i) {
    return p->grad + i * p->stride;
}
/* Computes the loss of the step from the vectors p_n in b->examples and from p->vectors. b->examples.grad and p->grad
 * receive the gradients, which are summed in float64 and rounded once. The method's loss is computed for vectors
 * truncated to the m sizes `prefix`, or of whole vectors if `prefix` is NULL. Errors: see aoei_step_loss_compute. */
int aoei_layer_loss_compute(aoei_layer_loss *p, aoei_matryoshka *m, const aoe_prefix *prefix,
                            const aoei_step_loss *loss, const aoei_loss_batch *b, aoe_objective_result *result,
                            aoe_error *err);
