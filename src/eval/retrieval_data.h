/* SPDX-License-Identifier: MIT
 * Data of a retrieval evaluation: texts to search, queries, and the relevant texts of each query.
 * The data is read from a table of groups (for example captions of images) or from a folder in
 * the layout of BEIR. It is immutable after reading.
 */
#ifndef AOEI_EVAL_RETRIEVAL_DATA_H
#define AOEI_EVAL_RETRIEVAL_DATA_H

#include "aoe.h"
#include "aoe_eval.h"
#include "table/examples.h"
#include "nn/nearest.h"

typedef struct aoei_relevant {
    uint32_t text; /* index of the text */
    double gain;   /* relevance, above 0 */
} aoei_relevant;

typedef struct aoei_query {
    uint32_t index; /* groups: index of a text; BEIR: index of a query */
    uint32_t own;   /* index of the query among the texts, or AOEI_NO_TEXT */
    size_t first;   /* index of its first relevant text in aoei_retrieval_data.relevant */
    size_t n;       /* number of relevant texts, at least 1; the query itself is included only with options.count_query */
} aoei_query;

typedef struct aoei_retrieval_data {
    char *name;            /* owned; name in results */
    int grouped;           /* 1: queries are texts of groups; 0: BEIR */
    aoei_examples texts;   /* texts per example: group or id, text */
    aoei_examples queries; /* BEIR: id, text; empty for groups */
    aoei_query *query;     /* [n_queries], owned */
    size_t n_queries;
    aoei_relevant *relevant; /* [n_relevant], owned; sorted by query, then by descending gain, then by text */
    size_t n_relevant;
    size_t largest; /* groups: texts of the largest group that has a query */
    size_t without; /* queries without relevant texts, which are not evaluated */
    size_t skipped; /* skipped bad rows, including judgements with unknown ids */
} aoei_retrieval_data;

/* Reads the i-th of n paths: a table, or a folder with corpus.jsonl. The caller frees *d, also on failure. Errors: AOE_EFORMAT
 * with file and line (no group of two texts, a duplicate id, a judgement with an unknown id without skip_bad_rows, no relevant
 * text); errors of reading. */
int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i, const aoe_retrieval_options *o,
                        aoe_error *err);
void aoei_retrieval_free(aoei_retrieval_data *d); /* accepts a zeroed struct */

/* The text to embed for text i and for query i. Borrowed from d. */
static inline aoe_text aoei_retrieval_text(const aoei_retrieval_data *d, size_t i) {
    return d->texts.text[d->texts.first[i * d->texts.roles + 1]];
}
static inline aoe_text aoei_retrieval_query(const aoei_retrieval_data *d, size_t i) {
    const aoei_examples *x = d->grouped ? &d->texts : &d->queries;
    return x->text[x->first[d->query[i].index * x->roles + 1]];
}

#endif
