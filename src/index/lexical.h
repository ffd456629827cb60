/* SPDX-License-Identifier: MIT
 * Search by words: the passages with the largest BM25 score. The postings (passages and numbers of occurrences) of each
 * word come from FTS5. The scores are computed here and not by the function bm25() of FTS5, which reads the length of
 * every matching passage from a table and is 20 times slower.
 *
 *     score(P) = sum over the words w of the query that P contains:
 *                idf(w) f (k1 + 1) / (f + k1 (1 - b + b |P| / average |P|))
 *     idf(w)   = ln(1 + (N - n(w) + 0.5) / (n(w) + 0.5))
 *
 * f: occurrences of w in P; |P|: number of words of P; N: number of passages; n(w): passages that contain w; k1 = 1.2
 * and b = 0.75. A filter does not change N, n(w) and the average, so it does not change scores.
 *
 * A word that occurs in more than AOEI_COMMON_SHARE of the passages is ignored, unless no other word of the query
 * occurs in the index. Words in at most AOEI_COMMON_LEAST passages are never ignored, so that small indexes find all
 * words. The share was chosen on the queries of cranfield with even numbers: with stems, of nine shares from 0.1 to 1,
 * it has the largest mean nDCG@10 of lexical search, and of hybrid search over aoe-small-en and all-MiniLM-L6-v2.
 */
#pragma once

#include "index/fusion.h"
#include "index/lengths.h"
#include "index/ranked.h"
#include "index/words.h"

#define AOEI_BM25_K1      1.2
#define AOEI_BM25_B       0.75
#define AOEI_COMMON_SHARE 0.4
#define AOEI_COMMON_LEAST 50

/* Result of a search. A zeroed struct is empty. */
typedef struct aoei_lexical {
    aoei_words words;  /* words of the query */
    size_t *found;     /* [words.n] passages that contain the word; 0: the word was ignored or does not occur; owned */
    size_t n_found;    /* number of words with `found` */
    size_t n_names;    /* the same without the parts of compounds */
    double *score;     /* [n] score of each passage id, 0 for passages without a word of the query; owned; NULL: none */
    uint8_t *matched;  /* [n] number of words of the query in each passage, without ignored ones; owned */
    size_t n;          /* aoei_lengths.n */
    aoei_ranked *best; /* [n_best] the best passages; owned */
    size_t n_best;
} aoei_lexical;

/* Adds the SQL functions that aoei_lexical_search and aoei_lengths_read use to a connection. */
int aoei_lexical_register(aoei_db *d, aoe_error *err);
/* Finds the k best passages for a query. lengths: of the same transaction. allowed: bitmap of the ids of passages
 * [(lengths->n + 63) / 64] that may be found; NULL: all. The caller calls aoei_lexical_free, also after a failure. */
int aoei_lexical_search(aoei_lexical *l, aoei_db *d, const aoei_lengths *lengths, aoe_text query,
                        const uint64_t *allowed, size_t k, aoei_locator *locator, aoe_error *err);
/* Returns the result as a list for aoei_fuse. */
aoei_fusion_list aoei_lexical_list(const aoei_lexical *l, double weight);
void aoei_lexical_free(aoei_lexical *l);
