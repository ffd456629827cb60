/* SPDX-License-Identifier: MIT
 * Classification of pairs as in Sentence-BERT (Reimers and Gurevych 2019, section 3; SoftmaxLoss in
 * sentence-transformers). Each pair of vectors (u, v) has a class. A linear classifier computes one logit per class
 * from the concatenation of several features of the pair, for example [u; v; |u - v|], and the loss is the cross
 * entropy of the softmax of the logits. The weights of the classifier are trained together with the encoder and are not
 * saved. docs/objectives.md contains the formula and the gradients.
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"
#include "base/context.h"

/* Returns the number of features in a set of aoe_pair_feature. Each feature has D components. */
size_t aoei_feature_count(unsigned features);

/* The linear classifier of pairs of vectors that have D components. F is aoei_feature_count(features). All pointers are
 * borrowed. */
typedef struct aoei_classifier {
    size_t classes;       /* number of classes */
    unsigned features;    /* set of aoe_pair_feature, not empty */
    const double *weight; /* [classes, F D] weights of each class: D weights for each feature, in the order of
                             aoe_pair_feature */
    const double *bias;   /* [classes] bias of each class */
    /* gradients of the loss with respect to `weight` ([classes, F D]) and `bias` ([classes]), overwritten; unused if
     * both `grad` and `grad64` of the batch are NULL */
    double *d_weight, *d_bias;
} aoei_classifier;

/* Returns the size in bytes of the workspace for batches of up to B pairs, or 0 if the size overflows. The size does
 * not decrease if an argument increases. */
size_t aoei_classification_objective_workspace(size_t B, size_t D, size_t classes);

/* Computes the mean cross entropy of a batch of pairs (arity 2) and its gradients. label[B] contains the class of each
 * pair, an integer from 0 to c->classes - 1. If ctx is NULL, one thread is used. Errors: AOE_EARG (for example, the
 * workspace is too small); AOE_ENUMERIC (a value is not finite; the message contains the index of the pair). */
int aoei_classification_objective(const aoei_classifier *c, const double *label, const aoei_example_batch *batch,
                                  void *workspace, size_t workspace_bytes, const aoe_context *ctx,
                                  aoe_objective_result *result, aoe_error *err);
