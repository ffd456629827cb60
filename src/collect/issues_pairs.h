/* SPDX-License-Identifier: MIT
 * Creates training pairs from issues and the links between duplicates. Linked issues form clusters, each cluster is
 * assigned to a split (such as train or test), and negatives are chosen for each pair. The result depends only on the
 * issues, the options and the seed.
 * Invariants:
 * - All issues of a cluster are in one split.
 * - A negative is in the repository and the split of the query, but in another cluster.
 * - The cluster of a negative contains no issue that is marked as a duplicate of an unknown original.
 */
#pragma once

#include "aoe.h"
#include "aoe_collect.h"
#include "collect/issues.h"

typedef struct aoei_issue_pair {
    uint32_t query, positive; /* indices in aoei_issues.issue; query: the duplicate; positive: its original */
    uint32_t split;           /* index of the split */
    uint32_t n_negatives;  /* number of negatives; less than the requested number if there are not enough candidates */
    size_t first_negative; /* index of the first negative in aoei_issue_pairs.negative */
} aoei_issue_pair;

typedef struct aoei_issue_pairs {
    /* [n] pairs, owned; sorted by split, then by the query, then by the positive (issues are sorted by repository and
     * GitHub number) */
    aoei_issue_pair *pair;
    size_t n;
    uint32_t *negative; /* [n_negatives] indices in aoei_issues.issue of the negatives of all pairs, owned */
    size_t n_negatives;
    size_t clusters;  /* number of clusters that contain a pair */
    size_t clustered; /* number of issues in these clusters */
    size_t largest;   /* number of issues in the largest cluster */
    size_t equal;     /* number of links that give no pair, because the texts of the issues are equal or empty */
    size_t easier;    /* number of negatives that were chosen at random because the strategy found no candidate */
    size_t without;   /* number of pairs with fewer negatives than requested */
    /* number of issues that are marked as duplicates but whose original is unknown; they are not queries, and the
     * issues of their clusters are not negatives */
    size_t unknown;
} aoei_issue_pairs;

typedef struct aoei_issue_pair_options {
    const double *share; /* [n_splits] split ratios */
    size_t n_splits;
    size_t negatives;         /* number of negatives per pair */
    aoe_issue_negatives kind; /* strategy for choosing negatives */
    uint64_t seed;
} aoei_issue_pair_options;

/* Computes the pairs. *p must be freed even after an error. Errors: AOE_EARG (split ratios), AOE_ENOMEM. */
int aoei_issue_pairs_make(aoei_issue_pairs *p, const aoei_issues *s, const aoei_issue_pair_options *o, aoe_error *err);
void aoei_issue_pairs_free(aoei_issue_pairs *p); /* accepts a zeroed struct */
