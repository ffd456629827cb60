/* SPDX-License-Identifier: MIT
 * Converts issues and links to pairs: clusters of duplicates, splits that never divide a cluster, and negatives for each
 * pair. The seed determines the result. Invariants: an issue is in only one split. A negative is in the repository and split
 * of the query, but in another cluster, and no issue of that cluster is marked as a duplicate of an unknown original.
 */
#ifndef AOEI_COLLECT_ISSUES_PAIRS_H
#define AOEI_COLLECT_ISSUES_PAIRS_H

#include "aoe.h"
#include "aoe_data.h"
#include "collect/issues.h"

typedef struct aoei_issue_pair {
    uint32_t query, positive; /* indices in aoei_issues.issue of the duplicate and its original */
    uint32_t split;           /* index of the split */
    uint32_t n_negatives;     /* number of negatives: as requested, or fewer if there are not enough candidates */
    size_t first_negative;    /* index of the first negative in aoei_issue_pairs.negative */
} aoei_issue_pair;

typedef struct aoei_issue_pairs {
    aoei_issue_pair
        *pair; /* [n] pairs, sorted by split, then by repository and GitHub number of the query, then of the positive; owned */
    size_t n;
    uint32_t *negative; /* [n_negatives] indices of the issues that are negatives, owned */
    size_t n_negatives;
    size_t clusters;  /* number of clusters with a pair and at least two issues */
    size_t clustered; /* number of issues in these clusters */
    size_t largest;   /* number of issues in the largest cluster */
    size_t equal;     /* number of links without a pair, because the texts are equal or empty */
    size_t easier;    /* number of negatives chosen at random, because the strategy found no candidate */
    size_t without;   /* number of pairs with fewer negatives than requested */
    size_t unknown; /* number of issues marked as duplicates without a known original; they are not queries, and their clusters
                       provide no negatives */
} aoei_issue_pairs;

typedef struct aoei_issue_pair_options {
    const double *share; /* [n_splits] split ratios */
    size_t n_splits;
    size_t negatives;         /* number of negatives per pair */
    aoe_issue_negatives kind; /* strategy for choosing negatives */
    uint64_t seed;
} aoei_issue_pair_options;

/* Computes *p, which must be freed even after an error. Errors: AOE_EARG (split ratios), AOE_ENOMEM. */
int aoei_issue_pairs_make(aoei_issue_pairs *p, const aoei_issues *s, const aoei_issue_pair_options *o, aoe_error *err);
void aoei_issue_pairs_free(aoei_issue_pairs *p); /* accepts a zeroed struct */

#endif
