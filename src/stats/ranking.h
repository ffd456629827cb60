/* SPDX-License-Identifier: MIT
 * Metrics of the ranked list of one query: recall at k, reciprocal rank, nDCG. The list
 * contains the gains of the retrieved texts, nearest first; 0 means not relevant.
 */
#ifndef AOEI_STATS_RANKING_H
#define AOEI_STATS_RANKING_H

#include <stddef.h>

/* Fraction of the `relevant` (above 0) texts that are among the first k of gain[n]. */
double aoei_recall(const double *gain, size_t n, size_t k, size_t relevant);
/* 1 / rank (from 1) of the first relevant text among the first k; 0: there is none. */
double aoei_reciprocal_rank(const double *gain, size_t n, size_t k);
/* DCG over the first k divided by that of the best list, DCG = sum gain / log2(rank + 1) (Jarvelin and Kekalainen 2002, with
 * the gain itself, as in trec_eval). ideal[relevant]: all gains above 0 in descending order; at least one. */
double aoei_ndcg(const double *gain, size_t n, size_t k, const double *ideal, size_t relevant);

#endif
