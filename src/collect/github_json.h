/* SPDX-License-Identifier: MIT
 * Issues as GitHub's API writes them, REST ("state_reason") and GraphQL ("stateReason")
 * alike. What a field should be and is not reads as absent; an issue without number is none.
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
    aoe_text title, body; /* borrowed from the JSON, as all of this */
    int closed;
    int duplicate;    /* 1: closed as one, by its reason */
    int pull_request; /* 1: it is one, and no issue */
    size_t comments;  /* how many it has; SIZE_MAX: not said */
    aoe_text label[AOEI_ISSUE_LABELS];
    size_t n_labels;
    aoe_text repo;          /* "owner/name" where the answer says it; len 0 otherwise */
    const json_t *timeline; /* GraphQL: its timelineItems; else NULL */
} aoei_issue_json;

/* 0, or -1: no issue. */
int aoei_issue_json_read(aoei_issue_json *out, const json_t *issue);
/* The issues of an answer: those of a page (an array, or GraphQL's nodes), or the single one. at from 0; NULL: no more. */
const json_t *aoei_issue_json_at(const json_t *root, size_t at);

/* What an element of a timeline is, REST or GraphQL. */
typedef enum aoei_event_kind { AOEI_EVENT_OTHER, AOEI_EVENT_COMMENT, AOEI_EVENT_MARKED, AOEI_EVENT_UNMARKED } aoei_event_kind;

typedef struct aoei_event_json {
    aoei_event_kind kind;
    aoe_text body;   /* of a comment */
    aoe_text repo;   /* GraphQL: what it was marked as a duplicate of, or unmarked; len 0: not said */
    uint64_t number; /* likewise; 0 */
} aoei_event_json;

void aoei_event_json_read(aoei_event_json *out, const json_t *event);

aoe_text aoei_json_text_of(const json_t *value); /* of a string; empty for anything else */

#endif
