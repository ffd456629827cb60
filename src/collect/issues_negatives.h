/* SPDX-License-Identifier: MIT
 * Candidates for negatives of one group (a repository's issues in one split), and three
 * ways to choose among them: at random, with a label in common, with words of the title
 * in common. One that was not chosen before is preferred. Says nothing about which
 * issues may be candidates: issues_pairs.c does.
 */
#ifndef AOEI_COLLECT_ISSUES_NEGATIVES_H
#define AOEI_COLLECT_ISSUES_NEGATIVES_H

#include "aoe.h"
#include "aoe_data.h"
#include "collect/issues.h"

typedef struct aoei_candidates aoei_candidates;

typedef struct aoei_candidate_group {
    const aoei_issues *s;   /* borrowed, as the next two */
    const size_t *cluster;  /* [s->n] issues of one are no negatives of each other */
    const uint32_t *member; /* [n] issues; not needed after creation */
    size_t n;
    aoe_issue_negatives kind;
    uint64_t seed;
    uint32_t substream; /* the group's own */
} aoei_candidate_group;

/* Errors: AOE_ENOMEM. */
int aoei_candidates_create(aoei_candidates **c, const aoei_candidate_group *g, aoe_error *err);
void aoei_candidates_destroy(aoei_candidates *c); /* NULL accepted */

/* A negative for the query (an issue, of the group or not) that is none of taken[n]; AOEI_NO_ISSUE: there is none. *easier is
 * 1 when a hard one was asked for and there was none, so that it was drawn at random. */
uint32_t aoei_candidates_choose(aoei_candidates *c, uint32_t query, const uint32_t *taken, size_t n, int *easier);

#endif
