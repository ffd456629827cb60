/* SPDX-License-Identifier: MIT
 * In-batch negatives in several directions, with or without a guide model. An example is a query with a positive text
 * and optionally a negative text. The positives and negatives are called documents.
 *
 * A direction compares every query or positive with the queries or documents of the batch. The losses of the directions
 * have one softmax each and are averaged (MultipleNegativesSymmetricRankingLoss in sentence-transformers), or all
 * directions share one softmax (the improved contrastive loss of GTE, Li et al. 2023). With a guide, a candidate that
 * the guide considers more similar to the anchor than the positive is excluded (GISTEmbed, Solatorio 2024).
 * docs/objectives.md contains the formulas.
 */
#pragma once

#include "aoe_objective.h"
#include "base/context.h"
#include "loss/objective.h"

/* A guide model: its vectors, and the rule that excludes candidates. With the cosine G of the guide's vectors of the
 * query and the positive of an example, the threshold of the example is G - margin, or G - |G| margin if the margin is
 * relative. A candidate is excluded if the cosine of the guide's vectors of the anchor and the candidate is above the
 * threshold. */
typedef struct aoei_guide {
    size_t dims;                 /* components per vector of the guide */
    const float *const *vectors; /* [arity B] vectors of the guide, in the order of the vectors of the batch;
                                    borrowed */
    double margin;               /* margin, at least 0 */
    int relative;                /* 1: the margin is relative to |G| */
} aoei_guide;

typedef struct aoei_direction_options {
    unsigned directions;     /* set of AOE_QUERY_TO_DOCUMENT etc.; must contain AOE_QUERY_TO_DOCUMENT */
    int joint;               /* 1: one softmax over all directions; 0: one softmax per direction, averaged */
    double weight;           /* weight of the loss, at least 0 */
    double tau;              /* temperature: cosines are divided by it; above 0 */
    const aoei_guide *guide; /* guide; NULL: no candidate is excluded; borrowed */
    double *d_log_scale; /* if the batch has a gradient: receives the derivative of the weighted loss with respect to
                            log(1 / tau); NULL: it is not computed; borrowed */
} aoei_direction_options;

/* Returns the size in bytes of the workspace for batches of up to B examples, with a guide whose vectors have up to
 * guide_dims components (0: no guide). Returns 0 if the size overflows, or if the arity is below 2. The size does not
 * decrease if an argument increases. */
size_t aoei_direction_objective_workspace(size_t B, size_t D, size_t arity, size_t guide_dims);

/* Computes the loss of the batch and its gradient. Sets result->contrastive to the loss and result->total to weight
 * times the loss; with a guide, also result->negatives and result->left_out. The workspace must be aligned to
 * AOEI_ALIGN. If ctx is NULL, one thread is used. Errors: AOE_EARG (for example, the directions query-to-query or
 * document-to-document without joint); AOE_ENUMERIC (a value is not finite; the message contains the index of the
 * example). */
int aoei_direction_objective(const aoei_direction_options *o, const aoei_example_batch *batch, void *workspace,
                             size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result,
                             aoe_error *err);
