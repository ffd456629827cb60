/* SPDX-License-Identifier: MIT
 * Chooses negatives from the candidates of a group (issues of one repository in one split), with one of three strategies:
 * random, a common label, or common words in the title. Candidates that were not chosen before have precedence.
 * issues_pairs.c decides which issues are candidates.
 */
#ifndef AOEI_COLLECT_ISSUES_NEGATIVES_H
#define AOEI_COLLECT_ISSUES_NEGATIVES_H

#include "aoe.h"
#include "aoe_data.h"
#include "collect/issues.h"

typedef struct aoei_candidates aoei_candidates;

typedef struct aoei_candidate_group {
    const aoei_issues *s;  /* set of issues, borrowed */
    const size_t *cluster; /* [s->n] cluster of each issue, borrowed; issues of one cluster are never negatives of each other */
    const uint32_t *member;   /* [n] indices of the candidate issues, borrowed; used only by aoei_candidates_create */
    size_t n;                 /* number of candidates */
    aoe_issue_negatives kind; /* strategy */
    uint64_t seed;
    uint32_t substream; /* random stream of the group */
} aoei_candidate_group;

/* Creates the candidates of a group. Errors: AOE_ENOMEM. */
int aoei_candidates_create(aoei_candidates **c, const aoei_candidate_group *g, aoe_error *err);
void aoei_candidates_destroy(aoei_candidates *c); /* accepts NULL */

/* Returns the index of a negative for the issue `query`, which may be outside of the group; AOEI_NO_ISSUE if there is none.
 * taken: [n] issues that must not be chosen. Sets *easier to 1 if the strategy found no candidate and a random one was chosen.
 */
uint32_t aoei_candidates_choose(aoei_candidates *c, uint32_t query, const uint32_t *taken, size_t n, int *easier);

#endif
