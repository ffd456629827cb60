/* SPDX-License-Identifier: MIT
 * Issues of repositories and the links between duplicates: numbers and titles, from which clusters, splits and negatives are
 * computed. Bodies are not kept in memory and are loaded again for the chosen issues, so that a million issues fit into
 * memory. Names of repositories and labels are compared without the case of ASCII letters.
 */
#ifndef AOEI_COLLECT_ISSUES_H
#define AOEI_COLLECT_ISSUES_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_issue {
    uint64_t number;
    uint64_t text_hash;   /* hash of the text without differences in white space and case; issues with equal hashes count as
                             duplicates */
    aoe_text title;       /* title; the bytes are in the chunks of the set */
    size_t first_label;   /* index of the first label in aoei_issues.label */
    uint32_t n_labels;    /* number of labels, except labels that mark duplicates */
    uint32_t repo;        /* number of the repository in aoei_issues.repo */
    uint32_t page;        /* number of the page that contains the text, assigned by the collector */
    unsigned char closed; /* 1: closed */
    unsigned char marked; /* 1: closed, and labeled or marked as a duplicate, whether or not the original is known */
    unsigned char empty;  /* 1: the text is empty */
} aoei_issue;

/* A statement that the issue `from` is a duplicate of the issue `to`. */
typedef struct aoei_issue_link {
    uint32_t from, to;  /* numbers of the two issues */
    unsigned char weak; /* 1: a guess, or a statement about an open issue; the issues are used neither as a positive nor as a
                           negative pair */
} aoei_issue_link;

/* A hash table of numbers with open addressing. */
typedef struct aoei_slots {
    uint32_t *slot; /* [size] number + 1 of an element, owned; 0: free */
    size_t size, n; /* size of the table, a power of two or 0; number of used slots */
} aoei_slots;

typedef struct aoei_issues {
    aoei_issue *issue; /* [n] issues, owned */
    size_t n, capacity;
    aoei_issue_link *link; /* [n_links] links, owned */
    size_t n_links, link_capacity;
    uint32_t *label; /* [n_uses] numbers of the labels of all issues, issue by issue; owned */
    size_t n_uses, use_capacity;
    char **repo; /* [n_repos] names "owner/name", owned, each owned */
    size_t n_repos, repo_capacity;
    char **label_name; /* [n_names] names of labels, owned, each owned */
    size_t n_names, name_capacity;
    struct aoei_issue_key *key; /* [n_keys] repository and number of each issue, owned; a transferred issue has several keys */
    size_t n_keys, key_capacity;
    aoei_slots by_key, by_repo, by_label;
    char **chunk; /* [n_chunks] chunks with titles, owned, each owned */
    size_t n_chunks, chunk_capacity;
    size_t chunk_left; /* unused bytes at the end of the last chunk */
    char *free;        /* first unused byte of the last chunk */
} aoei_issues;

#define AOEI_NO_ISSUE UINT32_MAX

/* Arguments of aoei_issues_add. Everything is copied. */
typedef struct aoei_issue_source {
    aoei_issue issue;       /* the issue; its title is borrowed, first_label and n_labels are ignored */
    const aoe_text *labels; /* [n_labels] names of labels; a label that marks duplicates sets `marked` */
    size_t n_labels;
} aoei_issue_source;

void aoei_issues_free(aoei_issues *s); /* accepts a zeroed struct */

/* Finds a repository by name, or adds it. *repo is set to its number. Errors: AOE_ENOMEM. */
int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err);
/* Adds an issue. An issue that already exists is not changed. *index is set to its number. Errors: AOE_ENOMEM. */
int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err);
/* The number of the issue with this repository and issue number; AOEI_NO_ISSUE if there is none. */
uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number);
/* Makes another repository and issue number refer to an issue that was transferred. Errors: AOE_ENOMEM. */
int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err);
int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err);

#endif
