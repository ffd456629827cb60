/* SPDX-License-Identifier: MIT
 * Finds phrases such as "closing as duplicate of #12" or "dup of owner/name#3" in the text of an issue. The search
 * distinguishes statements, guesses and denials. It skips phrases about other issues. It ignores code, quotations and
 * HTML comments. Only English is supported; docs/github-issues.md describes the rules. The functions do not check
 * whether the mentioned issues exist.
 */
#pragma once

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
    /* repository "owner/name" as written in the text, a part of aoei_issue_refs.text; empty: the repository of the
     * issue that the text belongs to */
    aoe_text repo;
    uint64_t number; /* GitHub number of the mentioned issue, at least 1 */
} aoei_issue_ref;

typedef struct aoei_issue_refs {
    aoei_issue_ref own;  /* issue that the text belongs to, set by the caller; its number is 0 if it is unknown */
    aoei_issue_ref *ref; /* [n] references in the order of the text, owned */
    size_t n, capacity;
    aoei_buffer text; /* copy of the last text, in which code and quotations are masked */
} aoei_issue_refs;

/* Replaces the contents of r->ref by the references in `text` that state (or guess or deny) that the issue r->own is a
 * duplicate. The caller zeroes *r before the first call. hosts: web hosts that occur in links to issues,
 * NULL-terminated, such as {"github.com", NULL}. Links to pull requests and discussions are skipped. Errors:
 * AOE_ENOMEM. */
int aoei_issue_refs_find(aoei_issue_refs *r, aoe_text text, const char *const *hosts, aoe_error *err);
void aoei_issue_refs_free(aoei_issue_refs *r); /* accepts a zeroed struct */

/* Returns 1 if the name of a label contains "duplicate", "duplicates", "dupe" or "dup" as a separate word, as in "r:
 * duplicate". */
int aoei_label_is_duplicate(aoe_text label);

/* Returns the length of the repository name "owner/name" at the start of s, or 0 if s starts differently. */
size_t aoei_repository_name(const char *s, size_t len);
