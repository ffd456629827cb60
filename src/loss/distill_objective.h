/* SPDX-License-Identifier: MIT
 * Distillation: a term that trains the vectors of the student towards those of a teacher,
 * either through the cosines of the examples or through the softmax distributions over the
 * components. The term is added to the value and the gradient of another objective of the
 * batch. docs/objectives.md contains the formulas. train/teacher.h computes the teacher's
 * vectors.
 */
#ifndef AOEI_LOSS_DISTILL_OBJECTIVE_H
#define AOEI_LOSS_DISTILL_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

typedef struct aoei_distill {
    aoe_distill form;
    double weight;               /* weight of the term; 0: no teacher, the other fields are ignored */
    size_t dims;                 /* size of the teacher's vectors; equal to D for AOE_DISTILL_KL */
    const float *const *teacher; /* [arity B] teacher's vector [dims] of each text of the batch, finite; borrowed */
} aoei_distill;

/* Bytes of workspace for batches of up to B examples; 0 if the size overflows or the arity is neither 2 nor 3. Grows with
 * each argument. */
size_t aoei_distill_objective_workspace(size_t B, size_t D, size_t arity);

/* Sets result->teacher, adds weight * teacher to result->total and, if the batch has gradients, adds the gradient of the term.
 * ctx NULL: one thread. Errors: AOE_EARG, AOE_ENUMERIC with the index of the example. */
int aoei_distill_objective(const aoei_distill *d, const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                           const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
