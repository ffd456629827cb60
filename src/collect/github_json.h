/* SPDX-License-Identifier: MIT
 * Reads issues from the JSON of GitHub's REST and GraphQL APIs. The keys of the two APIs differ (for example
 * "state_reason" and "stateReason"); both are accepted. A field with an unexpected type is treated as missing. An
 * object without a number is not an issue.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

enum { AOEI_ISSUE_LABELS = 100 }; /* maximum number of labels that GitHub permits per issue */

typedef struct aoei_issue_json {
    uint64_t number;                   /* GitHub number of the issue */
    aoe_text title, body;              /* title and body; all texts of this struct are borrowed from the JSON */
    int closed;                        /* 1: closed */
    int duplicate;                     /* 1: closed as a duplicate */
    int pull_request;                  /* 1: a pull request, not an issue */
    size_t comments;                   /* number of comments; SIZE_MAX: unknown */
    aoe_text label[AOEI_ISSUE_LABELS]; /* [n_labels] names of labels */
    size_t n_labels;
    aoe_text repo;          /* repository "owner/name"; empty if the response does not contain it */
    const json_t *timeline; /* GraphQL: the value of timelineItems; REST: NULL */
} aoei_issue_json;

/* Reads an issue. Returns 0, or -1 if the value is not an issue. */
int aoei_issue_json_read(aoei_issue_json *out, const json_t *issue);
/* Returns the issue with index `at` (counted from 0) in a response, or NULL if the response contains fewer issues.
 * root: a response with a page of issues or with a single issue. */
const json_t *aoei_issue_json_at(const json_t *root, size_t at);

/* The kind of an element of a timeline: a comment, an event that marks or unmarks the issue as a duplicate, or any
 * other event. */
typedef enum aoei_event_kind {
    AOEI_EVENT_OTHER,
    AOEI_EVENT_COMMENT,
    AOEI_EVENT_MARKED,
    AOEI_EVENT_UNMARKED
} aoei_event_kind;

typedef struct aoei_event_json {
    aoei_event_kind kind;
    aoe_text body;   /* text of a comment; empty for events */
    aoe_text repo;   /* GraphQL: repository "owner/name" of the original issue; empty: unknown */
    uint64_t number; /* GraphQL: GitHub number of the original issue; 0: unknown */
} aoei_event_json;

void aoei_event_json_read(aoei_event_json *out, const json_t *event);

/* returns the text of a JSON string, or an empty text if the value is not a string */
aoe_text aoei_json_text_of(const json_t *value);
