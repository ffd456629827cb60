/* SPDX-License-Identifier: MIT
 * Metrics of the ranked list of one query: recall at k, reciprocal rank and nDCG. The argument gain[n] contains the
 * relevance of the n retrieved texts in the order of their ranks. A gain of 0 means that the text is not relevant.
 */
#pragma once

#include <stddef.h>

/* Returns the fraction of the relevant texts that are among the first k of gain[n]. relevant: number of relevant texts;
 * if it is 0, the result is 0, as in trec_eval. */
double aoei_recall(const double *gain, size_t n, size_t k, size_t relevant);
/* Returns 1 / rank of the first relevant text among the first k, with ranks counted from 1. Returns 0 if none of them
 * is relevant. */
double aoei_reciprocal_rank(const double *gain, size_t n, size_t k);
/* Returns nDCG at k: the DCG of the first k texts divided by the DCG of the ideal list, where DCG = sum gain /
 * log2(rank + 1) (Jarvelin and Kekalainen 2002, with linear gain as in trec_eval). ideal[relevant]: all gains above 0,
 * in descending order.
 * If relevant is 0, the result is 0, as in trec_eval. */
double aoei_ndcg(const double *gain, size_t n, size_t k, const double *ideal, size_t relevant);
