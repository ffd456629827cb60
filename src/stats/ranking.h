/* SPDX-License-Identifier: MIT
 * Measures of one query's ranked list: recall at k, reciprocal rank, nDCG. A list is the
 * gains of the texts found, nearest first: 0 where a text is not relevant.
 */
#ifndef AOEI_STATS_RANKING_H
#define AOEI_STATS_RANKING_H

#include <stddef.h>

/* Share of the `relevant` > 0 texts that are among the first k of gain[n]. */
double aoei_recall(const double *gain, size_t n, size_t k, size_t relevant);
/* 1 / the place, from 1, of the first relevant one of the first k; 0: none is. */
double aoei_reciprocal_rank(const double *gain, size_t n, size_t k);
/* DCG over the first k by that of the best list, DCG = sum gain / log2(place + 1) (Jarvelin and Kekalainen 2002, with the gain
 * itself, as trec_eval has it). ideal[relevant]: all gains above 0 in descending order; at least one. */
double aoei_ndcg(const double *gain, size_t n, size_t k, const double *ideal, size_t relevant);

#endif
