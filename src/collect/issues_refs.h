/* SPDX-License-Identifier: MIT
 * Finds statements about duplicates in the text of an issue: "closing as duplicate of #12", "dup of owner/name#3", links
 * to issues. Distinguishes statements, guesses and denials, and skips statements about other issues; code, quotations and
 * HTML comments are ignored. English only, by the rules in docs/github-issues.md. Whether an issue exists is not checked
 * here.
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
    aoe_text repo;   /* "owner/name" as written, a part of `text` of the list; len 0: the repository of the text */
    uint64_t number; /* from 1 */
} aoei_issue_ref;

typedef struct aoei_issue_refs {
    aoei_issue_ref own;  /* set before a call: the issue that the text belongs to, with its repository; number 0: unknown */
    aoei_issue_ref *ref; /* owned [n], in the order of the text */
    size_t n, capacity;
    aoei_buffer text; /* copy of the last text, with masked code and quotations */
} aoei_issue_refs;

/* Replaces the references in r (zero it before the first call) by what the text says about its own issue. hosts: the
 * web hosts of links to issues, up to NULL: {"github.com", NULL}. Links to pull requests and discussions are skipped.
 * Errors: AOE_ENOMEM. */
int aoei_issue_refs_find(aoei_issue_refs *r, aoe_text text, const char *const *hosts, aoe_error *err);
void aoei_issue_refs_free(aoei_issue_refs *r); /* accepts a zeroed one */

/* 1: the name of a label contains duplicate(s), dupe or dup as a separate word ("*duplicate", "r: duplicate"). */
int aoei_label_is_duplicate(aoe_text label);

/* Length of "owner/name" at the start of s; 0: s does not start with such a name. */
size_t aoei_repository_name(const char *s, size_t len);

#endif
