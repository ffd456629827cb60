/* SPDX-License-Identifier: MIT
 * Data of a retrieval evaluation: texts to search, queries, and the relevant texts of each query. The data is read from a
 * table of groups (for example several captions per image) or from a folder in the layout of BEIR. It does not change after it
 * was read.
 */
#ifndef AOEI_EVAL_RETRIEVAL_DATA_H
#define AOEI_EVAL_RETRIEVAL_DATA_H

#include "aoe.h"
#include "aoe_eval.h"
#include "table/examples.h"
#include "nn/nearest.h"

/* A text that is relevant to a query. */
typedef struct aoei_relevant {
    uint32_t text; /* index of the text in aoei_retrieval_data.texts */
    double gain;   /* relevance (gain of nDCG), above 0 */
} aoei_relevant;

/* A query that is evaluated. */
typedef struct aoei_query {
    uint32_t index; /* for groups, index of the query in aoei_retrieval_data.texts; for BEIR, in aoei_retrieval_data.queries */
    uint32_t own;   /* index of the query among the texts; AOEI_NO_TEXT if it is not one of them */
    size_t first;   /* index of the query's first relevant text in aoei_retrieval_data.relevant */
    size_t n;       /* number of relevant texts, at least 1; the query itself counts only if options.count_query is set */
} aoei_query;

typedef struct aoei_retrieval_data {
    char *name;              /* name of the input in results; owned */
    int grouped;             /* 1: the queries are texts of groups; 0: the data is a BEIR folder */
    aoei_examples texts;     /* texts to search; each example has two texts: its group or id, and the text */
    aoei_examples queries;   /* BEIR: queries; each example has two texts: its id and the text; empty for groups */
    aoei_query *query;       /* [n_queries] queries that are evaluated; owned */
    size_t n_queries;        /* number of queries */
    aoei_relevant *relevant; /* [n_relevant] relevant texts, sorted by query, then by descending gain, then by text; owned */
    size_t n_relevant;       /* number of elements of relevant */
    size_t largest;          /* for groups, number of texts of the largest group that has a query */
    size_t without;          /* number of queries without relevant texts, which are not evaluated */
    size_t skipped;          /* number of bad rows that were skipped, judgments with unknown ids included */
} aoei_retrieval_data;

/* Reads input i of n paths: a table, or a folder with corpus.jsonl. The caller frees *d, even if the function fails. Errors:
 * AOE_EFORMAT with file and line if no group has two texts, if an id occurs twice, if a judgment has an unknown id (unless
 * o->table.skip_bad_rows is set), or if no query has a relevant text. Errors of reading tables are also returned. */
int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i, const aoe_retrieval_options *o,
                        aoe_error *err);
void aoei_retrieval_free(aoei_retrieval_data *d); /* accepts a zeroed struct */

/* Return the text to embed for text i and for query i; borrowed from d. */
static inline aoe_text aoei_retrieval_text(const aoei_retrieval_data *d, size_t i) {
    return d->texts.text[d->texts.first[i * d->texts.roles + 1]];
}
static inline aoe_text aoei_retrieval_query(const aoei_retrieval_data *d, size_t i) {
    const aoei_examples *x = d->grouped ? &d->texts : &d->queries;
    return x->text[x->first[d->query[i].index * x->roles + 1]];
}

#endif
