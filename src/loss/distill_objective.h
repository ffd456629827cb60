/* SPDX-License-Identifier: MIT
 * Distillation: a loss term that moves the vectors of the trained model (the student) towards those of a teacher model. It
 * compares either the cosines of the texts of an example, or the softmax distributions over the components of each vector. The
 * term is added to the loss and the gradient of another objective of the batch. docs/objectives.md contains the formulas.
 * train/teacher.h computes the teacher's vectors.
 */
#ifndef AOEI_LOSS_DISTILL_OBJECTIVE_H
#define AOEI_LOSS_DISTILL_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

typedef struct aoei_distill {
    aoe_distill form;            /* what is compared: cosines or distributions */
    double weight;               /* weight of the term; 0: there is no teacher, and the remaining fields are ignored */
    size_t dims;                 /* components per teacher vector; must equal D for AOE_DISTILL_KL */
    const float *const *teacher; /* [arity B] teacher vector [dims] of each text of the batch; values are finite; borrowed */
} aoei_distill;

/* Returns the bytes of workspace for batches of up to B examples; 0 if the size overflows or the arity is neither 2 nor 3. The
 * size never decreases when an argument grows. */
size_t aoei_distill_objective_workspace(size_t B, size_t D, size_t arity);

/* Sets result->teacher to the loss of the term, adds weight * teacher to result->total and, if the batch has a gradient, adds
 * the gradient of the weighted term to it. If ctx is NULL, one thread is used. Errors: AOE_EARG, AOE_ENUMERIC with the index
 * of the example. */
int aoei_distill_objective(const aoei_distill *d, const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                           const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
