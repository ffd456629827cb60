/* SPDX-License-Identifier: MIT
 * Stores the GitHub numbers, titles and labels of issues, and the links between duplicates. Clusters, splits and
 * negatives are computed from these data. The bodies of issues are not stored, so that a million issues fit into
 * memory; the bodies of the issues that are written are loaded again later. Comparisons of repository and label names
 * ignore ASCII case.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_issue {
    uint64_t number; /* GitHub number */
    /* hash of title and body, as computed by aoei_collect_hash; issues with equal hashes are in one cluster */
    uint64_t text_hash;
    aoe_text title;       /* title; its bytes are in aoei_issues.chunk */
    size_t first_label;   /* index of the first label in aoei_issues.label */
    uint32_t n_labels;    /* number of labels; labels such as "duplicate" are not counted */
    uint32_t repo;        /* index of the repository in aoei_issues.repo */
    uint32_t page;        /* index in aoei_collection.page of the response that contains the title and body */
    unsigned char closed; /* 1: closed */
    unsigned char marked; /* 1: labeled, closed or marked as a duplicate on GitHub; the original may be unknown */
    unsigned char empty;  /* 1: title and body contain only white space */
} aoei_issue;

/* A statement that the issue `from` is a duplicate of the issue `to`. */
typedef struct aoei_issue_link {
    uint32_t from, to; /* indices of the two issues in aoei_issues.issue */
    /* 1: the link is uncertain, for example a guess, or a statement in an open issue. The two issues form neither a
     * positive nor a negative pair. */
    unsigned char weak;
} aoei_issue_link;

/* A hash table with open addressing. It stores indices of elements of an array. */
typedef struct aoei_slots {
    uint32_t *slot; /* [size] index of an element plus 1; 0: free slot; owned */
    size_t size, n; /* size: number of slots, a power of two or 0; n: number of used slots */
} aoei_slots;

typedef struct aoei_issues {
    aoei_issue *issue; /* [n] issues, owned */
    size_t n, capacity;
    aoei_issue_link *link; /* [n_links] links, owned */
    size_t n_links, link_capacity;
    /* [n_labels] indices in label_name, owned; the labels of the first issue are followed by the labels of the second
     * issue */
    uint32_t *label;
    size_t n_labels, label_capacity;
    char **repo; /* [n_repos] names "owner/name"; array and elements owned */
    size_t n_repos, repo_capacity;
    char **label_name; /* [n_names] names of labels; array and elements owned */
    size_t n_names, name_capacity;
    /* [n_keys] repository and GitHub number of each issue, owned; an issue that was transferred to another repository
     * has several keys */
    struct aoei_issue_key *key;
    size_t n_keys, key_capacity;
    /* by_key: hash table of the elements of `key`; by_repo: of `repo`; by_label: of `label_name` */
    aoei_slots by_key, by_repo, by_label;
    char **chunk; /* [n_chunks] blocks of memory that contain the titles; array and elements owned */
    size_t n_chunks, chunk_capacity;
    size_t chunk_left; /* number of unused bytes at the end of the last chunk */
    char *chunk_end;   /* address of the first unused byte of the last chunk */
} aoei_issues;

#define AOEI_NO_ISSUE UINT32_MAX

/* Argument of aoei_issues_add, which copies the issue. */
typedef struct aoei_issue_source {
    aoei_issue issue; /* the issue; its title is borrowed, and its fields first_label and n_labels are ignored */
    /* [n_labels] names of the labels; a label such as "duplicate" is not stored but sets aoei_issue.marked */
    const aoe_text *labels;
    size_t n_labels;
} aoei_issue_source;

void aoei_issues_free(aoei_issues *s); /* accepts a zeroed struct */

/* Finds a repository by name, or adds it, and sets *repo to its index in `repo`. Errors: AOE_ENOMEM. */
int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err);
/* Adds an issue and sets *index to its index in `issue`. An issue that already exists is not changed. Errors:
 * AOE_ENOMEM. */
int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err);
/* Returns the index of the issue with this repository and GitHub number, or AOEI_NO_ISSUE. */
uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number);
/* Records that the issue with index `index` was transferred. Afterwards, aoei_issues_find also finds it by this
 * repository and GitHub number. Errors: AOE_ENOMEM. */
int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err);
/* Adds a link (aoei_issue_link). from, to: indices of the two issues. Errors: AOE_ENOMEM. */
int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err);
