/* SPDX-License-Identifier: MIT
 * From issues and their links to pairs: clusters of duplicates, a split that none of
 * them crosses, and negatives for each positive. Deterministic by the seed.
 * Invariants: an issue is in one split; a negative is of the query's repository and
 * split and of another cluster, in which no issue is marked as a duplicate of nobody knows what.
 */
#ifndef AOEI_COLLECT_ISSUES_PAIRS_H
#define AOEI_COLLECT_ISSUES_PAIRS_H

#include "aoe.h"
#include "aoe_data.h"
#include "collect/issues.h"

typedef struct aoei_issue_pair {
    uint32_t query, positive; /* issues: the duplicate and what it is one of */
    uint32_t split;
    uint32_t n_negatives;  /* as many as were asked for, or fewer where there are none */
    size_t first_negative; /* in aoei_issue_pairs.negative */
} aoei_issue_pair;

typedef struct aoei_issue_pairs {
    aoei_issue_pair *pair; /* owned [n], by split, repository, number of query and of positive */
    size_t n;
    uint32_t *negative; /* owned [n_negatives] issues */
    size_t n_negatives;
    size_t clusters;  /* of two issues and more that have a pair */
    size_t clustered; /* issues in them */
    size_t largest;   /* issues of the largest */
    size_t equal;     /* links between issues of one text, or without text: no pairs */
    size_t easier;    /* negatives drawn at random because there was no hard one */
    size_t without;   /* pairs with fewer negatives than asked for */
    size_t unknown;   /* marked issues that no link leads from: no queries, and nothing of their clusters is a negative */
} aoei_issue_pairs;

typedef struct aoei_issue_pair_options {
    const double *share; /* [n_splits] */
    size_t n_splits;
    size_t negatives; /* of a pair */
    aoe_issue_negatives kind;
    uint64_t seed;
} aoei_issue_pair_options;

/* *p is to be freed either way. Errors: AOE_EARG (shares), AOE_ENOMEM. */
int aoei_issue_pairs_make(aoei_issue_pairs *p, const aoei_issues *s, const aoei_issue_pair_options *o, aoe_error *err);
void aoei_issue_pairs_free(aoei_issue_pairs *p); /* accepts a zeroed one */

#endif
