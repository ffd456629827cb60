/* SPDX-License-Identifier: MIT
 * A word index of numbered texts in memory, for evaluations of lexical and hybrid search. Words, scores and fusion are
 * those of aoe_index_search, but nothing is written to disk, and a text is not divided into passages.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "index/lexical.h"
#include "vectors/best.h"

/* A zeroed struct is empty. */
typedef struct aoei_word_index {
    aoei_db db;            /* database in memory */
    aoei_lengths *lengths; /* owned; NULL until aoei_word_index_finish */
    aoei_locator locator;
} aoei_word_index;

/* Creates an empty index. The caller calls aoei_word_index_free, also after a failure. */
int aoei_word_index_create(aoei_word_index *w, aoe_error *err);
/* Adds a text. Of texts with equal scores, the lower number ranks first. */
int aoei_word_index_add(aoei_word_index *w, uint32_t number, aoe_text text, aoe_error *err);
/* Ends the additions. */
int aoei_word_index_finish(aoei_word_index *w, aoe_error *err);
void aoei_word_index_free(aoei_word_index *w);

/* Weights of hybrid search. */
typedef struct aoei_weights {
    double dense, lexical;
} aoei_weights;

/* Finds the k best texts for a query and stores them in best[k]; missing ones are AOEI_NO_TEXT. A query without words
 * finds nothing. */
int aoei_word_index_search(aoei_word_index *w, aoe_text query, size_t k, aoei_neighbor *best, aoe_error *err);
/* Replaces best[k], which contains the dense list of the query, by the fusion of its first AOEI_FUSION_DEPTH texts (or
 * all of them, if k is larger) with the lexical list of the same length. */
int aoei_word_index_fuse(aoei_word_index *w, aoe_text query, aoei_weights weights, size_t k, aoei_neighbor *best,
                         aoe_error *err);
