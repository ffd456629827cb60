/* SPDX-License-Identifier: MIT
 * What retrieval is judged on: texts to search, queries, and which texts are relevant to
 * which query. Read from a table of groups (captions of images) or from a folder in the
 * layout of BEIR. Knows nothing of vectors. Immutable once read.
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
    uint32_t index; /* of groups: among the texts; of BEIR: among the queries read */
    uint32_t own;   /* the query itself among the texts, or AOEI_NO_TEXT */
    size_t first;   /* its first relevant text */
    size_t n;       /* of them, at least 1; in groups without the query itself */
} aoei_query;

typedef struct aoei_retrieval_data {
    char *name;            /* owned; for results */
    int grouped;           /* 1: queries are texts of groups; 0: BEIR */
    aoei_examples texts;   /* roles: group or id, text */
    aoei_examples queries; /* BEIR: id, text; else empty */
    aoei_query *query;     /* owned [n_queries] */
    size_t n_queries;
    aoei_relevant *relevant; /* owned [n_relevant], query after query, gains descending, then by text */
    size_t n_relevant;
    size_t largest; /* of groups: texts of the largest one that has a query */
    size_t without; /* queries with nothing relevant, left out */
    size_t skipped; /* bad rows, and judgements of what is not there */
} aoei_retrieval_data;

/* The i-th of n paths: a table, or a folder with corpus.jsonl. *d is to be freed either way. Errors: AOE_EFORMAT with file and
 * line (no group of two, an id twice, a judgement of an unknown id without skip_bad_rows, no relevant text at all), those of
 * reading. */
int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i, const aoe_retrieval_options *o,
                        aoe_error *err);
void aoei_retrieval_free(aoei_retrieval_data *d); /* accepts a zeroed one */

/* Text i of what aoei_retrieval_read gave, and of query i. */
static inline aoe_text aoei_retrieval_text(const aoei_retrieval_data *d, size_t i) {
    return d->texts.text[d->texts.first[i * d->texts.roles + 1]];
}
static inline aoe_text aoei_retrieval_query(const aoei_retrieval_data *d, size_t i) {
    const aoei_examples *x = d->grouped ? &d->texts : &d->queries;
    return x->text[x->first[d->query[i].index * x->roles + 1]];
}

#endif
