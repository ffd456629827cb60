/* SPDX-License-Identifier: MIT
 * Evaluates a cross-encoder on labeled pairs.
 */
#pragma once

#include "aoe_data.h"
#include "aoe_eval.h"

/* The result of a cross-encoder on labeled pairs. */
typedef struct aoei_pair_scores {
    double spearman, pearson; /* one output: correlations of the scores with the labels; otherwise NaN */
    double accuracy;          /* several outputs: fraction of the pairs whose largest output is that of their class */
    size_t truncated;         /* number of pairs that were truncated */
} aoei_pair_scores;

/* Evaluates the cross-encoder of the embedder `e` on the pairs p. Errors: AOE_EFORMAT (invalid UTF-8, with file and
 * line; a label is not the index of an output), AOE_ENUMERIC, AOE_ENOMEM. */
int aoei_pair_scores_evaluate(aoe_embedder *e, const aoe_pairs *p, aoei_pair_scores *result, aoe_error *err);
