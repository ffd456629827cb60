/* SPDX-License-Identifier: MIT
 * What a text of an issue says about duplicates: "closing as duplicate of #12",
 * "dup of owner/name#3", links to issues. Denials and guesses are told apart from
 * statements, and what is said of another issue is passed over; code, quotes and HTML comments say nothing. English only, by
 * rules: docs/github-issues.md lists them. Nothing here knows whether an issue exists.
 */
#ifndef AOEI_COLLECT_ISSUES_REFS_H
#define AOEI_COLLECT_ISSUES_REFS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef enum aoei_ref_kind {
    AOEI_REF_STATED, /* "duplicate of #1" */
    AOEI_REF_GUESS,  /* "might be a duplicate of #1", or a question */
    AOEI_REF_DENIED  /* "not a duplicate of #1" */
} aoei_ref_kind;

typedef struct aoei_issue_ref {
    aoei_ref_kind kind;
    aoe_text repo;   /* "owner/name" as written, in `text` of the list; len 0: the repository that the text is in */
    uint64_t number; /* from 1 */
} aoei_issue_ref;

typedef struct aoei_issue_refs {
    aoei_issue_ref own;  /* set before a call: the issue that the text is of, its repository named; number 0: not known */
    aoei_issue_ref *ref; /* owned [n], in the order of the text */
    size_t n, capacity;
    aoei_buffer text; /* copy of the text last read, its code and quotes masked */
} aoei_issue_refs;

/* Replaces the references in r (zero it before the first call) by what the text says about its own issue. hosts: the
 * web hosts of links to issues, up to NULL: {"github.com", NULL}. Links to pull requests and discussions are skipped.
 * Errors: AOE_ENOMEM. */
int aoei_issue_refs_find(aoei_issue_refs *r, aoe_text text, const char *const *hosts, aoe_error *err);
void aoei_issue_refs_free(aoei_issue_refs *r); /* accepts a zeroed one */

/* 1: the name of a label says duplicate: it has duplicate(s), dupe or dup as a word of its own ("*duplicate", "r: duplicate").
 */
int aoei_label_is_duplicate(aoe_text label);

/* "owner/name" at s: its length, or 0 when none begins there. */
size_t aoei_repository_name(const char *s, size_t len);

#endif
