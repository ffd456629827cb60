/* SPDX-License-Identifier: MIT
 * Classification of pairs as in Sentence-BERT (Reimers and Gurevych 2019, section 3; SoftmaxLoss in sentence-transformers):
 * the cross entropy of a softmax over linear functions of u, v and |u - v|. The weights of the linear functions are trained
 * with the encoder and not saved. docs/objectives.md contains the formula and the gradients.
 */
#ifndef AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H
#define AOEI_LOSS_CLASSIFICATION_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

/* The linear classifier of pairs of vectors of D components. All pointers are borrowed. */
typedef struct aoei_classifier {
    size_t classes;       /* number of classes */
    const double *weight; /* [classes, 3 D] weights of u, of v and of |u - v| for each class */
    const double *bias;   /* [classes] biases */
    /* gradients of the loss with respect to `weight` and `bias`, in arrays of these shapes, overwritten; not used if the batch
     * has no gradient */
    double *d_weight, *d_bias;
} aoei_classifier;

/* Returns the bytes of workspace for batches of up to B pairs; 0 if the size overflows. The size never decreases when an
 * argument grows. */
size_t aoei_classification_objective_workspace(size_t B, size_t D, size_t classes);

/* Computes the mean cross entropy of a batch of arity 2 and its gradients. label: [B] class indices, integers from 0 to
 * c->classes - 1. If ctx is NULL, one thread is used. Errors: AOE_EARG (for example if the workspace is too small),
 * AOE_ENUMERIC with the index of the pair. */
int aoei_classification_objective(const aoei_classifier *c, const double *label, const aoei_example_batch *batch,
                                  void *workspace, size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                                  aoe_error *err);

#endif
