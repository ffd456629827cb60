/* SPDX-License-Identifier: MIT
 * Reciprocal rank fusion of the passages that dense and lexical search found (Cormack, Clarke and Buettcher, SIGIR
 * 2009): a passage with rank r in a list with weight w gets w / (60 + r), and the scores of both lists are added.
 *
 * With the default weights, the first passage by words would follow 16 passages that only dense search found. A user
 * who searches for a name expects the passages with this name. So if a query has at most AOEI_EXACT_WORDS words, apart
 * from those that are ignored or do not occur in the index, a passage that contains all of them is an exact match. A
 * compound such as snake_case is one word. If the lexical list contains at most AOEI_EXACT_MOST exact matches, their
 * lexical weight is AOEI_EXACT_FACTOR times the dense weight, if this is more than the lexical weight. In questions of
 * more words, such a passage is often a long text on another subject.
 */
#pragma once

#include "index/ranked.h"

#define AOEI_FUSION_CONSTANT 60
/* Default weights. The lexical weight was chosen on the queries of cranfield with even numbers: with stems, of 6
 * weights from 0.4 to 1.5, it has the largest mean nDCG@10 over aoe-small-en and all-MiniLM-L6-v2. */
#define AOEI_DENSE_WEIGHT   1
#define AOEI_LEXICAL_WEIGHT 0.8
#define AOEI_EXACT_WORDS    3
#define AOEI_EXACT_MOST     10
#define AOEI_EXACT_FACTOR   2
#define AOEI_FUSION_DEPTH   100 /* the first passages of each list that are used; or k, if k is larger */

/* A passage that a search found. */
typedef struct aoei_found {
    aoei_ranked ranked;              /* score: of the mode of the search */
    size_t dense_rank, lexical_rank; /* counted from 1; 0: not in the list */
    double cosine, bm25;             /* scores in the lists; NaN: not in the list */
} aoei_found;

/* Copies list[n] from the best to the worst to found[n]. */
void aoei_found_dense(aoei_found *found, const aoei_ranked *list, size_t n);
void aoei_found_lexical(aoei_found *found, const aoei_ranked *list, size_t n);
/* A list of passages from the best to the worst, and its weight. */
typedef struct aoei_fusion_list {
    const aoei_ranked *best; /* [n], borrowed */
    size_t n;
    double weight;
    size_t words; /* lexical list: number of words of the query that are not ignored and occur in the index */
    size_t names; /* the same without the parts of compounds (aoei_word.is_part) */
} aoei_fusion_list;

/* Returns the largest score that a fused list can contain. */
double aoei_fusion_most(double dense_weight, double lexical_weight);
/* Writes the fused list to found[dense.n + lexical.n], from the best to the worst. Passages with score 0, which only a
 * list of weight 0 contains, are left out. Returns the number of passages. */
size_t aoei_fuse(aoei_found *found, aoei_fusion_list dense, aoei_fusion_list lexical);
