/* SPDX-License-Identifier: MIT
 * Reciprocal rank fusion of the passages that dense and lexical search found (Cormack, Clarke and Buettcher, SIGIR
 * 2009): a passage with rank r in a list with weight w gets w / (60 + r), and the scores of both lists are added.
 */
#pragma once

#include "index/ranked.h"

#define AOEI_FUSION_CONSTANT 60
#define AOEI_FUSION_DEPTH    100 /* the first passages of each list that are used; or k, if k is larger */

/* A passage that a search found. */
typedef struct aoei_found {
    aoei_ranked ranked;              /* score: of the mode of the search */
    size_t dense_rank, lexical_rank; /* counted from 1; 0: not in the list */
    double cosine, bm25;             /* scores in the lists; NaN: not in the list */
} aoei_found;

/* Copies list[n] from the best to the worst to found[n]. */
void aoei_found_dense(aoei_found *found, const aoei_ranked *list, size_t n);
void aoei_found_lexical(aoei_found *found, const aoei_ranked *list, size_t n);
/* Writes the fused list to found[n_dense + n_lexical], from the best to the worst. Passages with score 0, which only a
 * list of weight 0 contains, are left out. Returns the number of passages. */
size_t aoei_fuse(aoei_found *found, const aoei_ranked *dense, size_t n_dense, double dense_weight,
                 const aoei_ranked *lexical, size_t n_lexical, double lexical_weight);
