/* SPDX-License-Identifier: MIT
 * The numbers and titles of issues, and the links between duplicates. Clusters, splits and negatives are computed from them.
 * Bodies are not kept in memory but loaded again for the issues that are written, so that a million issues fit into memory.
 * Names of repositories and labels are compared ignoring ASCII case.
 */
#ifndef AOEI_COLLECT_ISSUES_H
#define AOEI_COLLECT_ISSUES_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_issue {
    uint64_t number;      /* GitHub number */
    uint64_t text_hash;   /* hash of the text, ignoring white space and case; issues with equal hashes count as duplicates */
    aoe_text title;       /* title; points into aoei_issues.chunk */
    size_t first_label;   /* index of the first label in aoei_issues.label */
    uint32_t n_labels;    /* number of labels, except labels that mark duplicates */
    uint32_t repo;        /* index of the repository in aoei_issues.repo */
    uint32_t page;        /* index in aoei_collection.page of the response that contains the text */
    unsigned char closed; /* 1: closed */
    unsigned char marked; /* 1: labeled, closed or marked as a duplicate on GitHub, even if the original is unknown */
    unsigned char empty;  /* 1: the text is empty */
} aoei_issue;

/* A statement that the issue `from` is a duplicate of the issue `to`. */
typedef struct aoei_issue_link {
    uint32_t from, to;  /* indices of the two issues in aoei_issues.issue */
    unsigned char weak; /* 1: uncertain, for example a guess or a statement in an open issue; the two issues are used neither as
                           a positive nor as a negative pair */
} aoei_issue_link;

/* A hash table of element indices with open addressing. */
typedef struct aoei_slots {
    uint32_t *slot; /* [size] index of an element plus 1; 0: free slot; owned */
    size_t size, n; /* number of slots, a power of two or 0; number of used slots */
} aoei_slots;

typedef struct aoei_issues {
    aoei_issue *issue; /* [n] issues, owned */
    size_t n, capacity;
    aoei_issue_link *link; /* [n_links] links, owned */
    size_t n_links, link_capacity;
    uint32_t *label; /* [n_labels] indices in label_name: the labels of the first issue, then of the second, ...; owned */
    size_t n_labels, label_capacity;
    char **repo; /* [n_repos] names "owner/name"; array and elements owned */
    size_t n_repos, repo_capacity;
    char **label_name; /* [n_names] names of labels; array and elements owned */
    size_t n_names, name_capacity;
    struct aoei_issue_key *key; /* [n_keys] repositories and GitHub numbers of issues, owned; a transferred issue has several */
    size_t n_keys, key_capacity;
    aoei_slots by_key, by_repo, by_label; /* hash tables of the elements of `key`, `repo` and `label_name` */
    char **chunk;                         /* [n_chunks] chunks of memory for titles; array and elements owned */
    size_t n_chunks, chunk_capacity;
    size_t chunk_left; /* unused bytes at the end of the last chunk */
    char *chunk_end;   /* address of the first unused byte of the last chunk */
} aoei_issues;

#define AOEI_NO_ISSUE UINT32_MAX

/* An issue for aoei_issues_add, which copies it. */
typedef struct aoei_issue_source {
    aoei_issue issue;       /* the issue; its title is borrowed, first_label and n_labels are ignored */
    const aoe_text *labels; /* [n_labels] names of labels; a label that marks duplicates sets `marked` */
    size_t n_labels;
} aoei_issue_source;

void aoei_issues_free(aoei_issues *s); /* accepts a zeroed struct */

/* Finds a repository by name, or adds it, and sets *repo to its index in `repo`. Errors: AOE_ENOMEM. */
int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err);
/* Adds an issue and sets *index to its index in `issue`. An issue that already exists is not changed. Errors: AOE_ENOMEM. */
int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err);
/* Returns the index of the issue with this repository and GitHub number, or AOEI_NO_ISSUE. */
uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number);
/* Makes another repository and GitHub number refer to the issue with this index, which was transferred. Errors: AOE_ENOMEM. */
int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err);
/* Adds a link between the issues with the indices `from` and `to`. Errors: AOE_ENOMEM. */
int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err);

#endif
