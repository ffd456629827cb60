/* SPDX-License-Identifier: MIT
 * Distillation from teacher embeddings, for a batch of texts. v_i is the vector of text i, t_i is the teacher embedding
 * for the same text, and y_i is v_i, or the output of a linear map of v_i that has the size of t_i. The loss is the
 * weighted sum of two terms:
 * - vectors: the mean of 1 - cos(y_i, t_i), or the mean squared difference of the components of y_i and t_i (MSELoss of
 *   sentence-transformers)
 * - similarities: the mean of (cos(v_i, v_j) - cos(t_i, t_j))^2 over all pairs of different texts of the batch
 * docs/objectives.md contains the formulas. train/teacher.h computes the teacher embeddings.
 */
#pragma once

#include "aoe_objective.h"
#include "base/context.h"
#include "loss/objective.h"

/* Teacher embeddings, and outputs of the linear map. All pointers are borrowed. */
typedef struct aoei_targets {
    size_t dims;                      /* size of the teacher embeddings */
    const float *const *teacher;      /* [B] teacher embeddings; all values are finite */
    const aoei_example_batch *mapped; /* [B, dims] outputs y_i of the linear map (arity 1) and their gradients, which
                                         are overwritten; NULL: y_i is v_i, and is compared with the first D components
                                         of t_i, where D is the number of components of v_i, at most `dims` unless
                                         o->w_vectors is 0 */
} aoei_targets;

/* Returns the size in bytes of the workspace for batches of up to B texts, or 0 if the size overflows. dims: size of
 * the teacher embeddings. The size does not decrease if an argument increases. */
size_t aoei_vector_objective_workspace(size_t B, size_t D, size_t dims);

/* Computes the loss of a batch (arity 1) and its gradients. Sets result->vectors and result->similarities to the terms,
 * and result->total to o->w_vectors times the first plus o->w_similarities times the second. A term whose weight is 0
 * is not computed. The similarities of a single text are 0. If ctx is NULL, one thread is used. Errors: AOE_EARG;
 * AOE_ENUMERIC (a value is not finite; the message contains the index of the text). */
int aoei_vector_objective(const aoe_objective_options *o, const aoei_targets *t, const aoei_example_batch *batch,
                          void *workspace, size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                          aoe_error *err);
