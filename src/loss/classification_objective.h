/* SPDX-License-Identifier: MIT
 * Classification of pairs as in Sentence-BERT (Reimers and Gurevych 2019, section 3): the
 * cross entropy of a softmax over linear functions of u, v and |u - v|, whose weights are
 * trained with the encoder and not saved. docs/objectives.md contains the formula and the
 * gradients.
 */
#ifndef AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H
#define AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* The linear functions of a pair of vectors of size D. All pointers are borrowed. */
typedef struct aoei_classifier {
    size_t classes;
    const double *weight;      /* [classes, 3 D] of u, v and |u - v| */
    const double *bias;        /* [classes] */
    double *d_weight, *d_bias; /* their gradients, overwritten; ignored if the batch has no gradients */
} aoei_classifier;

/* Bytes of workspace for batches of up to B pairs; 0 if the size overflows. Grows with each argument. */
size_t aoei_classification_objective_workspace(size_t B, size_t D, size_t classes);

/* Value and gradient for a batch of arity 2: the mean cross entropy. label: [B] integers from 0 to c->classes - 1.
 * ctx NULL: one thread. Errors: AOE_EARG (also if the workspace is too small), AOE_ENUMERIC with the index of the pair. */
int aoei_classification_objective(const aoei_classifier *c, const double *label, const aoei_example_batch *batch,
                                  void *workspace, size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                                  aoe_error *err);

#endif
