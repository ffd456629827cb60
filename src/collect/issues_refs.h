/* SPDX-License-Identifier: MIT
 * Finds statements about duplicates in the text of an issue: "closing as duplicate of #12", "dup of owner/name#3", or a
 * statement with a link. The search distinguishes statements, guesses and denials, and skips statements about other issues.
 * Code, quotations and HTML comments are ignored. Only English is supported, by the rules in docs/github-issues.md. The
 * existence of an issue is not checked here.
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
    aoe_text repo;   /* "owner/name" as written in the text, a part of aoei_issue_refs.text; empty: the repository of the text's
                        own   issue */
    uint64_t number; /* GitHub number of the issue, at least 1 */
} aoei_issue_ref;

typedef struct aoei_issue_refs {
    aoei_issue_ref own;  /* repository and number of the issue that the text belongs to, set by the caller; number 0: unknown */
    aoei_issue_ref *ref; /* [n] references in the order of the text, owned */
    size_t n, capacity;
    aoei_buffer text; /* copy of the last text with masked code and quotations */
} aoei_issue_refs;

/* Replaces the references in *r by those that the text states for its own issue. *r is zeroed before the first call. hosts: web
 * hosts of links to issues, NULL-terminated, such as {"github.com", NULL}. Links to pull requests and discussions are
 * skipped. Errors: AOE_ENOMEM. */
int aoei_issue_refs_find(aoei_issue_refs *r, aoe_text text, const char *const *hosts, aoe_error *err);
void aoei_issue_refs_free(aoei_issue_refs *r); /* accepts a zeroed struct */

/* Returns 1 if the name of a label contains duplicate(s), dupe or dup as a separate word ("*duplicate", "r: duplicate"). */
int aoei_label_is_duplicate(aoe_text label);

/* Returns the length of the name "owner/name" at the start of s; 0 if there is none. */
size_t aoei_repository_name(const char *s, size_t len);

#endif
