/* SPDX-License-Identifier: MIT
 * Reads issues from the JSON of GitHub's REST and GraphQL APIs, whose keys differ ("state_reason", "stateReason"). A field with
 * an unexpected type counts as missing. An object without a number is not an issue.
 */
#ifndef AOEI_COLLECT_GITHUB_JSON_H
#define AOEI_COLLECT_GITHUB_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum { AOEI_ISSUE_LABELS = 100 }; /* maximum number of labels per issue on GitHub */

typedef struct aoei_issue_json {
    uint64_t number;                   /* GitHub number of the issue */
    aoe_text title, body;              /* title and body; borrowed from the JSON, like all texts of this struct */
    int closed;                        /* 1: closed */
    int duplicate;                     /* 1: closed with the reason "duplicate" */
    int pull_request;                  /* 1: a pull request, not an issue */
    size_t comments;                   /* number of comments; SIZE_MAX: unknown */
    aoe_text label[AOEI_ISSUE_LABELS]; /* [n_labels] names of labels */
    size_t n_labels;
    aoe_text repo;          /* "owner/name" if the response contains it, otherwise empty */
    const json_t *timeline; /* GraphQL: the value of timelineItems; REST: NULL */
} aoei_issue_json;

/* Reads an issue. Returns 0, or -1 if the value is not an issue. */
int aoei_issue_json_read(aoei_issue_json *out, const json_t *issue);
/* Returns issue `at` (counted from 0) of a response, which contains a page of issues or a single issue. Returns NULL if there
 * are no more issues. */
const json_t *aoei_issue_json_at(const json_t *root, size_t at);

/* The kind of an element of a timeline, in REST or GraphQL. */
typedef enum aoei_event_kind { AOEI_EVENT_OTHER, AOEI_EVENT_COMMENT, AOEI_EVENT_MARKED, AOEI_EVENT_UNMARKED } aoei_event_kind;

typedef struct aoei_event_json {
    aoei_event_kind kind;
    aoe_text body;   /* text of a comment */
    aoe_text repo;   /* GraphQL: repository of the original that was marked or unmarked; empty: unknown */
    uint64_t number; /* GraphQL: GitHub number of the original; 0: unknown */
} aoei_event_json;

void aoei_event_json_read(aoei_event_json *out, const json_t *event);

aoe_text aoei_json_text_of(const json_t *value); /* returns the text of a JSON string; empty for any other value */

#endif
