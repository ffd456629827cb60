/* SPDX-License-Identifier: MIT
 * Matryoshka representation learning (Kusupati et al. 2022; MatryoshkaLoss in sentence-transformers): a loss that is
 * computed for truncated vectors. A vector truncated to size d consists of its first d components. The loss is the sum
 * over the sizes d of w_d times the loss of the vectors truncated to size d. docs/objectives.md contains the formula.
 */
#pragma once

#include <jansson.h>

#include "base/log.h"
#include "model/model.h"
#include "train/step_loss.h"

/* Buffers for a loss of truncated vectors. All memory is owned. */
typedef struct aoei_matryoshka {
    float *vectors, *grad;          /* [max_vectors, max_dims] truncated vectors of a batch, and their gradients */
    double *sum;                    /* [max_vectors, max_dims] sum of the gradients over the sizes */
    float *head, *d_head;           /* [head_rows, head_cols] columns of the training head, and their gradients */
    size_t sizes[AOE_MAX_PREFIXES]; /* indices of the sizes of the current step, in ascending order */
    size_t n_sizes;
} aoei_matryoshka;

/* Checks the sizes and the weights in the options. Errors: AOE_EARG. */
int aoei_matryoshka_check(const aoe_train_options *o, aoe_error *err);
/* Checks the sizes against the model and its training head. Logs a warning if the loss does not train whole embeddings.
 * Errors: AOE_EARG. */
int aoei_matryoshka_check_model(const aoe_train_options *o, const aoe_model *m, const aoei_log *log, aoe_error *err);
/* Adds the sizes and the weights to the training record, if there are any. Returns a nonzero value if out of memory. */
int aoei_matryoshka_describe(const aoe_train_options *o, json_t *record);
/* Allocates the buffers for batches of up to `vectors` vectors with `dims` components, and for a training head with
 * head_rows rows and head_cols columns (0: no training head). Errors: AOE_ENOMEM. */
int aoei_matryoshka_create(aoei_matryoshka *p, size_t vectors, size_t dims, size_t head_rows, size_t head_cols,
                           aoe_error *err);
void aoei_matryoshka_destroy(aoei_matryoshka *p); /* accepts a zeroed struct */
/* Chooses the sizes of a step: `per_step` of the n sizes, or all of them if per_step is 0. The choice is a function of
 * (seed, step). */
void aoei_matryoshka_choose(aoei_matryoshka *p, size_t n, size_t per_step, uint64_t seed, uint64_t step);
/* Computes the loss of the chosen sizes and its gradient, as aoei_step_loss_compute does for whole vectors. prefix: [n]
 * sizes and weights. If the training head is a classifier, the loss of size d uses only the columns of the classifier
 * that belong to the first d components. Gradients of the vectors are added in float64 and rounded once. Errors: see
 * aoei_step_loss_compute. */
int aoei_matryoshka_compute(aoei_matryoshka *p, const aoe_prefix *prefix, const aoei_step_loss *loss,
                            const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err);
