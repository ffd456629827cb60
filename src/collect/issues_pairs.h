/* SPDX-License-Identifier: MIT
 * Converts issues and links to pairs: clusters of duplicates, a split that keeps clusters together, and negatives for each
 * positive. The result is determined by the seed. Invariants: an issue is in one split; a negative has the repository and
 * the split of the query and is in another cluster, which contains no issue marked as a duplicate of an unknown original.
 */
#ifndef AOEI_COLLECT_ISSUES_PAIRS_H
#define AOEI_COLLECT_ISSUES_PAIRS_H

#include "aoe.h"
#include "aoe_data.h"
#include "collect/issues.h"

typedef struct aoei_issue_pair {
    uint32_t query, positive; /* issues: the duplicate and its original */
    uint32_t split;
    uint32_t n_negatives;  /* requested number of negatives, or fewer if there are no more candidates */
    size_t first_negative; /* in aoei_issue_pairs.negative */
} aoei_issue_pair;

typedef struct aoei_issue_pairs {
    aoei_issue_pair *pair; /* owned [n] sorted by split, repository, number of the query and of the positive */
    size_t n;
    uint32_t *negative; /* owned [n_negatives] issues */
    size_t n_negatives;
    size_t clusters;  /* clusters of at least two issues with a pair */
    size_t clustered; /* issues in them */
    size_t largest;   /* issues of the largest cluster */
    size_t equal;     /* links without a pair because the texts are equal or empty */
    size_t easier;    /* negatives chosen at random because the strategy found none */
    size_t without;   /* pairs with fewer negatives than requested */
    size_t unknown;   /* marked issues without a known original: they are no queries, and their clusters provide no negatives */
} aoei_issue_pairs;

typedef struct aoei_issue_pair_options {
    const double *share; /* [n_splits] split ratios */
    size_t n_splits;
    size_t negatives; /* per pair */
    aoe_issue_negatives kind;
    uint64_t seed;
} aoei_issue_pair_options;

/* Computes *p, which must be freed in any case. Errors: AOE_EARG (split ratios), AOE_ENOMEM. */
int aoei_issue_pairs_make(aoei_issue_pairs *p, const aoei_issues *s, const aoei_issue_pair_options *o, aoe_error *err);
void aoei_issue_pairs_free(aoei_issue_pairs *p); /* accepts a zeroed one */

#endif
