/* SPDX-License-Identifier: MIT
 * Distillation: a loss term that makes the vectors of the trained model (the student) similar to the vectors of another
 * model (the teacher). It compares the student with the teacher in one of two ways: by the cosines between the texts of
 * an example, or, for each text, by the probability distributions that softmax computes from the components of the two
 * vectors. The term is added to the loss and the gradient that another objective has computed for the batch.
 * docs/objectives.md contains the formulas. train/teacher.h computes the teacher embeddings.
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"
#include "base/context.h"

typedef struct aoei_distill {
    aoe_distill form; /* compared values: cosines or distributions */
    double weight;    /* weight of the term in the loss; 0: there is no teacher, and the following fields are ignored */
    /* size of the teacher embeddings; for AOE_DISTILL_KL, it must be equal to the D of the batch */
    size_t dims;
    const float *const *teacher; /* [arity B] pointers, one for each text of the batch, to the vector [dims] of the
                                    teacher; all values are finite; borrowed */
} aoei_distill;

/* Returns the size in bytes of the workspace for batches of up to B examples. Returns 0 if the size overflows, or if
 * the arity is below 2. The size does not decrease if an argument increases. */
size_t aoei_distill_objective_workspace(size_t B, size_t D, size_t arity);

/* Sets result->teacher to the loss of the term, and adds weight * result->teacher to result->total. If the batch has a
 * gradient, adds the gradient of the weighted term to it. If ctx is NULL, one thread is used. Errors: AOE_EARG;
 * AOE_ENUMERIC (a value is not finite; the message contains the index of the example). */
int aoei_distill_objective(const aoei_distill *d, const aoei_example_batch *batch, void *workspace,
                           size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                           aoe_error *err);
