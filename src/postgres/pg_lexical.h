/* SPDX-License-Identifier: MIT
 * Search by words on a server, with the full-text search of PostgreSQL: a GIN index finds the passages, and ts_rank
 * gives the number of occurrences of each word, from which the same BM25 scores are computed as in the local index
 * (index/lexical.h). The words of a query are converted by the tokenizer of the local index.
 */
#pragma once

#include "index/words.h"
#include "postgres/pg_candidates.h"

/* Words of a query. A zeroed struct has none. */
typedef struct aoei_pg_words {
    aoei_words words; /* words of the query, owned */
    size_t *found;    /* [words.n] passages that contain the word; 0: the word was ignored or does not occur; owned */
    size_t n_found;   /* number of words with `found` */
    size_t n_names;   /* the same without the parts of compounds */
} aoei_pg_words;

/* Finds the q->k best passages. A transaction is open. The caller frees *w and *list, also after a failure. */
int aoei_pg_lexical(const aoei_pg_search *q, aoei_pg_lexer *lexer, aoe_text query, aoei_pg_words *w,
                    aoei_pg_candidates *list, aoe_error *err);
void aoei_pg_words_free(aoei_pg_words *w);
