/* SPDX-License-Identifier: MIT
 * Reads the data of a retrieval evaluation: texts to search, queries, and the relevant texts of each query. The data
 * are read from a table of groups (for example several captions of each image) or from a folder in BEIR format. They do
 * not change after they are read.
 */
#pragma once

#include "aoe.h"
#include "aoe_eval.h"
#include "table/examples.h"
#include "vectors/nearest.h"

/* A text that is relevant to a query. */
typedef struct aoei_relevant {
    uint32_t text; /* index of the text in aoei_retrieval_data.texts; AOEI_NO_TEXT: the corpus does not contain the
                      text */
    double gain;   /* relevance of the text to the query, used as the gain in nDCG; positive */
} aoei_relevant;

/* A query that is evaluated. */
typedef struct aoei_query {
    uint32_t index; /* index of the query: in aoei_retrieval_data.texts for groups, in aoei_retrieval_data.queries for
                       BEIR */
    uint32_t own;   /* index of the query in aoei_retrieval_data.texts; AOEI_NO_TEXT if the query is not a text to
                       search */
    size_t first;   /* the relevant texts of the query are aoei_retrieval_data.relevant[first, first + n) */
    size_t n;       /* number of relevant texts; at least 1 for groups; the query itself is included only if
                       options.count_query is set */
} aoei_query;

typedef struct aoei_retrieval_data {
    char *name;  /* name of the input in results; owned */
    int grouped; /* 1: the data are a table of groups, whose texts are also the queries; 0: the data are a BEIR
                    folder */
    /* texts to search; each example has two texts: first the group or id, then the text. The texts of a BEIR folder are
     * sorted by descending id, so that the order of texts with equal scores is the order of trec_eval */
    aoei_examples texts;
    aoei_examples queries; /* queries of a BEIR folder; each example has two texts: first the id, then the query; empty
                              for groups */
    aoei_query *query;     /* [n_queries] queries that are evaluated; owned */
    size_t n_queries;      /* number of queries */
    aoei_relevant *relevant; /* [n_relevant] relevant texts, sorted by query, then by descending gain, then by text;
                                owned */
    size_t n_relevant;       /* number of elements of `relevant` */
    size_t largest;          /* size of the largest group that contains a query; 0 for BEIR */
    size_t without; /* groups: number of texts that are no queries because they are alone in their group; BEIR: number
                       of judged queries without relevant texts, whose metrics are 0 as in trec_eval */
    size_t skipped; /* number of bad rows that were skipped */
    size_t missing; /* BEIR: number of judgments of texts that the corpus does not contain */
    size_t unknown_queries; /* BEIR: number of judgments of queries that queries.jsonl does not contain; they have no
                               effect */
    size_t duplicates;      /* BEIR: number of entries that were replaced by a later entry with the same id */
} aoei_retrieval_data;

/* Reads paths[i], which is one of the n inputs: a table of groups, or a folder that contains corpus.jsonl. The caller
 * calls aoei_retrieval_free even if this function fails. Errors:
 * - AOE_EFORMAT if no group has two texts, or no query has a relevant text
 * - the errors of reading tables */
int aoei_retrieval_read(aoei_retrieval_data *d, const char *const *paths, size_t n, size_t i,
                        const aoe_retrieval_options *o, aoe_error *err);
void aoei_retrieval_free(aoei_retrieval_data *d); /* accepts a zeroed struct */

/* The name of an example: its group in a table of groups, or its id in a BEIR folder. The name is stored as the first
 * text of the example. */
typedef struct aoei_name {
    aoe_text name;  /* group or id; borrowed */
    uint32_t index; /* index of the example in the file */
} aoei_name;

/* Returns the names of all examples in ascending order, in an array that the caller frees. Returns NULL if out of
 * memory. */
aoei_name *aoei_names_sort(const aoei_examples *x, aoe_error *err);
/* Returns the index in the file of the example with this name, or AOEI_NO_TEXT if no example has it. sorted: [n] result
 * of aoei_names_sort. */
uint32_t aoei_names_find(const aoei_name *sorted, size_t n, aoe_text name);

/* aoei_retrieval_text returns the text with index i among the texts to search, and aoei_retrieval_query returns the
 * query d->query[i]. Both texts are borrowed from d. */
static inline aoe_text aoei_retrieval_text(const aoei_retrieval_data *d, size_t i) {
    return d->texts.text[d->texts.first[i * d->texts.roles + 1]];
}
static inline aoe_text aoei_retrieval_query(const aoei_retrieval_data *d, size_t i) {
    const aoei_examples *x = d->grouped ? &d->texts : &d->queries;
    return x->text[x->first[d->query[i].index * x->roles + 1]];
}
