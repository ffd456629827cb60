/* SPDX-License-Identifier: MIT
 * Issues in the JSON of GitHub's API, REST ("state_reason") and GraphQL ("stateReason"). A field with an unexpected type
 * is treated as missing; an object without a number is not an issue.
 */
#ifndef AOEI_COLLECT_GITHUB_JSON_H
#define AOEI_COLLECT_GITHUB_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum { AOEI_ISSUE_LABELS = 100 }; /* GitHub's own limit */

typedef struct aoei_issue_json {
    uint64_t number;
    aoe_text title, body; /* borrowed from the JSON, like all fields */
    int closed;
    int duplicate;    /* 1: closed with the reason "duplicate" */
    int pull_request; /* 1: a pull request, not an issue */
    size_t comments;  /* number of comments; SIZE_MAX: unknown */
    aoe_text label[AOEI_ISSUE_LABELS];
    size_t n_labels;
    aoe_text repo;          /* "owner/name" if the answer contains it; otherwise len 0 */
    const json_t *timeline; /* GraphQL: timelineItems; otherwise NULL */
} aoei_issue_json;

/* Returns 0, or -1: not an issue. */
int aoei_issue_json_read(aoei_issue_json *out, const json_t *issue);
/* Returns issue `at` (from 0) of an answer: an element of a page (an array, or nodes in GraphQL) or the single issue; NULL:
 * no more issues. */
const json_t *aoei_issue_json_at(const json_t *root, size_t at);

/* Kind of an element of a timeline, REST or GraphQL. */
typedef enum aoei_event_kind { AOEI_EVENT_OTHER, AOEI_EVENT_COMMENT, AOEI_EVENT_MARKED, AOEI_EVENT_UNMARKED } aoei_event_kind;

typedef struct aoei_event_json {
    aoei_event_kind kind;
    aoe_text body;   /* body of a comment */
    aoe_text repo;   /* GraphQL: repository of the original that was marked or unmarked; len 0: unknown */
    uint64_t number; /* GraphQL: number of the original; 0: unknown */
} aoei_event_json;

void aoei_event_json_read(aoei_event_json *out, const json_t *event);

aoe_text aoei_json_text_of(const json_t *value); /* text of a JSON string; empty for any other value */

#endif
