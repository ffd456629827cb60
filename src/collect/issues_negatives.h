/* SPDX-License-Identifier: MIT
 * Chooses negatives for a query from a group of candidates. The candidates are issues of one repository in one split;
 * issues_pairs.c decides which issues are candidates. There are three strategies: a random candidate, a candidate that
 * has a label of the query, or the candidate whose title is most similar to the query's title. Candidates that were not
 * chosen before are preferred.
 */
#pragma once

#include "aoe.h"
#include "aoe_collect.h"
#include "collect/issues.h"

typedef struct aoei_candidates aoei_candidates;

typedef struct aoei_candidate_group {
    const aoei_issues *s; /* all issues, borrowed */
    /* [s->n] cluster of each issue, borrowed; an issue is never a negative of an issue of the same cluster */
    const size_t *cluster;
    const uint32_t *member;   /* [n] indices of the candidates in s->issue, borrowed; read only by
                                 aoei_candidates_create */
    size_t n;                 /* number of candidates */
    aoe_issue_negatives kind; /* strategy for choosing negatives */
    uint64_t seed;
    uint32_t substream; /* number of the random stream of this group; each group needs another number */
} aoei_candidate_group;

/* Creates the candidates of a group. Errors: AOE_ENOMEM. */
int aoei_candidates_create(aoei_candidates **c, const aoei_candidate_group *g, aoe_error *err);
void aoei_candidates_destroy(aoei_candidates *c); /* accepts NULL */

/* Chooses a negative for an issue. query: index of this issue, which need not be in the group; taken: [n] indices of
 * issues that must not be chosen. Returns the index of the negative, or AOEI_NO_ISSUE if no candidate may be chosen.
 * Sets *easier to 1 if the strategy found no candidate and a random candidate was chosen instead. */
uint32_t aoei_candidates_choose(aoei_candidates *c, uint32_t query, const uint32_t *taken, size_t n, int *easier);
