/* SPDX-License-Identifier: MIT
 * Classification of pairs, as Sentence-BERT has it (Reimers and Gurevych 2019,
 * section 3): a softmax over linear functions of u, v and |u - v|, whose weights are
 * learned beside the encoder and of no use afterwards. docs/objectives.md has the
 * formula and the gradients.
 */
#ifndef AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H
#define AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* The linear functions of a pair of vectors of size D. All borrowed. */
typedef struct aoei_classifier {
    size_t classes;
    const double *weight;      /* [classes, 3 D] of u, v and |u - v| */
    const double *bias;        /* [classes] */
    double *d_weight, *d_bias; /* their gradients, overwritten; not looked at where the batch has none */
} aoei_classifier;

/* Bytes of workspace for batches of up to B pairs; 0 when the size overflows. Grows with all. */
size_t aoei_classification_objective_workspace(size_t B, size_t D, size_t classes);

/* Value and gradient for a batch of arity 2: the mean cross entropy. label: [B] whole numbers from 0 on, below c->classes.
 * ctx NULL: serial. Errors: AOE_EARG (also a workspace that is too small), AOE_ENUMERIC with the index of the pair. */
int aoei_classification_objective(const aoei_classifier *c, const double *label, const aoei_example_batch *batch,
                                  void *workspace, size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                                  aoe_error *err);

#endif
