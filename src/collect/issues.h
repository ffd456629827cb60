/* SPDX-License-Identifier: MIT
 * Issues of repositories and the links between duplicates: numbers and titles, from which clusters, splits and negatives
 * are chosen. Bodies are not held (the body of a chosen issue is loaded again), so that a million issues fit into memory.
 * Names of repositories and labels are compared ignoring ASCII case.
 */
#ifndef AOEI_COLLECT_ISSUES_H
#define AOEI_COLLECT_ISSUES_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_issue {
    uint64_t number;
    uint64_t text_hash;   /* hash of the text with normalized white space and case; issues with equal hashes count as one */
    aoe_text title;       /* bytes in the chunks of the set */
    size_t first_label;   /* [n_labels] in aoei_issues.label */
    uint32_t n_labels;    /* labels, without labels that mark duplicates */
    uint32_t repo;        /* in aoei_issues.repo */
    uint32_t page;        /* page with its text: the number that the collector assigned */
    unsigned char closed; /* 1: closed */
    unsigned char marked; /* 1: closed, labeled or marked as a duplicate, whether or not the original is known */
    unsigned char empty;  /* 1: the text is empty */
} aoei_issue;

/* A statement that `from` is a duplicate of `to`. */
typedef struct aoei_issue_link {
    uint32_t from, to; /* issues */
    unsigned char
        weak; /* 1: a guess, or a statement about an open issue: the two issues are neither a positive nor a negative pair */
} aoei_issue_link;

/* A hash table of numbers with open addressing. */
typedef struct aoei_slots {
    uint32_t *slot; /* owned [size] number + 1; 0: free */
    size_t size, n; /* a power of two or 0; used slots */
} aoei_slots;

typedef struct aoei_issues {
    aoei_issue *issue; /* owned [n] */
    size_t n, capacity;
    aoei_issue_link *link; /* owned [n_links] */
    size_t n_links, link_capacity;
    uint32_t *label; /* owned [n_uses] labels of the issues, issue by issue */
    size_t n_uses, use_capacity;
    char **repo; /* owned [n_repos], each owned: "owner/name" */
    size_t n_repos, repo_capacity;
    char **label_name; /* owned [n_names], each owned */
    size_t n_names, name_capacity;
    struct aoei_issue_key *key; /* owned [n_keys] repository and number of issues; a transferred issue has several keys */
    size_t n_keys, key_capacity;
    aoei_slots by_key, by_repo, by_label;
    char **chunk; /* owned [n_chunks], each owned: titles */
    size_t n_chunks, chunk_capacity, room;
    char *free;
} aoei_issues;

#define AOEI_NO_ISSUE UINT32_MAX

/* Arguments of aoei_issues_add; everything is copied. */
typedef struct aoei_issue_source {
    aoei_issue issue;       /* title borrowed; first_label and n_labels are ignored */
    const aoe_text *labels; /* [n_labels] labels; labels that mark duplicates set `marked` */
    size_t n_labels;
} aoei_issue_source;

void aoei_issues_free(aoei_issues *s); /* accepts a zeroed one */

/* Finds a repository by name and adds it if it is new; *repo is its number. Errors: AOE_ENOMEM. */
int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err);
/* Adds an issue. If the issue already exists, it is left unchanged. *index is its number. Errors: AOE_ENOMEM. */
int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err);
/* Number of the issue with this number in this repository, or AOEI_NO_ISSUE. */
uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number);
/* Makes a further repository and number refer to an issue (it was transferred). Errors: AOE_ENOMEM. */
int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err);
int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err);

#endif
