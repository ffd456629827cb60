/* SPDX-License-Identifier: MIT
 * Data of a retrieval evaluation: texts to search, queries, and the texts that are relevant
 * to each query. They are read from a table of groups (captions of images) or from a folder
 * in the layout of BEIR. Immutable after reading.
 */
#ifndef AOEI_EVAL_RETRIEVAL_DATA_H
#define AOEI_EVAL_RETRIEVAL_DATA_H

#include "aoe.h"
#include "aoe_eval.h"
#include "table/examples.h"
#include "nn/nearest.h"

typedef struct aoei_relevant {
    uint32_t text;
    double gain; /* above 0 */
} aoei_relevant;

typedef struct aoei_query {
    uint32_t index; /* groups: index of a text; BEIR: index of a query */
    uint32_t own;   /* index of the query among the texts, or AOEI_NO_TEXT */
    size_t first;   /* its first relevant text */
    size_t n;       /* relevant texts, at least 1, the query itself not included */
} aoei_query;

typedef struct aoei_retrieval_data {
    char *name;            /* owned; name in results */
    int grouped;           /* 1: queries are texts of groups; 0: BEIR */
    aoei_examples texts;   /* roles: group or id, text */
    aoei_examples queries; /* BEIR: id, text; else empty */
    aoei_query *query;     /* owned [n_queries] */
    size_t n_queries;
    aoei_relevant *relevant; /* owned [n_relevant], query after query, gains descending, then by text */
    size_t n_relevant;
    size_t largest; /* groups: texts of the largest group that has a query */
    size_t without; /* queries without relevant texts, which are left out */
    size_t skipped; /* skipped bad rows and judgements of unknown ids */
} aoei_retrieval_data;

/* The i-th of n paths: a table, or a folder with corpus.jsonl. The caller frees *d, also on failure. Errors: AOE_EFORMAT with
 * file and line (no group of two, an id twice, a judgement of an unknown id without skip_bad_rows, no relevant text at all),
 * those of reading. */
int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i, const aoe_retrieval_options *o,
                        aoe_error *err);
void aoei_retrieval_free(aoei_retrieval_data *d); /* accepts a zeroed struct */

/* Text i, and the text of query i. */
static inline aoe_text aoei_retrieval_text(const aoei_retrieval_data *d, size_t i) {
    return d->texts.text[d->texts.first[i * d->texts.roles + 1]];
}
static inline aoe_text aoei_retrieval_query(const aoei_retrieval_data *d, size_t i) {
    const aoei_examples *x = d->grouped ? &d->texts : &d->queries;
    return x->text[x->first[d->query[i].index * x->roles + 1]];
}

#endif
