/* SPDX-License-Identifier: MIT
 * Distillation: the student's vectors of a batch are to be like a teacher's, either in
 * the cosines of the examples' pairs or, component by component, in their softmax
 * distributions. The term comes on top of other objectives of the same vectors:
 * values and gradients are added to what these have left. docs/objectives.md has the
 * formulas. Not here: where the teacher's vectors come from (train/teacher.h).
 */
#ifndef AOEI_LOSS_DISTILL_OBJECTIVE_H
#define AOEI_LOSS_DISTILL_OBJECTIVE_H

#include "aoe_train.h"
#include "loss/objective.h"
#include "base/context.h"

typedef struct aoei_distill {
    aoe_distill form;
    double weight;               /* 0: no teacher, and the rest is not looked at */
    size_t dims;                 /* of the teacher's vectors; AOE_DISTILL_KL: D */
    const float *const *teacher; /* [arity B] the teacher's vector [dims], finite, of each text of the batch; borrowed */
} aoei_distill;

/* Bytes of workspace for batches of up to B examples; 0 when the size overflows or the arity is neither 2 nor 3. Grows with
 * all. */
size_t aoei_distill_objective_workspace(size_t B, size_t D, size_t arity);

/* Sets result->teacher, adds weight * teacher to result->total and, unless the batch has no gradients, its gradient to these.
 * ctx NULL: serial. Errors: AOE_EARG, AOE_ENUMERIC with the index of the example. */
int aoei_distill_objective(const aoei_distill *d, const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                           const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

#endif
