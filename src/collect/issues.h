/* SPDX-License-Identifier: MIT
 * Issues of repositories and who is a duplicate of whom, as numbers and titles: what
 * clusters, splits and negatives are chosen from. Bodies stay where they came from
 * (a body is asked for again once a pair is chosen), so that a million issues fit into memory.
 * Names of repositories and labels are compared without regard to ASCII case.
 */
#ifndef AOEI_COLLECT_ISSUES_H
#define AOEI_COLLECT_ISSUES_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_issue {
    uint64_t number;
    uint64_t
        text_hash; /* of the text that would be written, white space and case evened out: issues with equal ones count as one */
    aoe_text title;       /* in the memory of the set */
    size_t first_label;   /* [n_labels] in aoei_issues.label */
    uint32_t n_labels;    /* without those that say duplicate */
    uint32_t repo;        /* in aoei_issues.repo */
    uint32_t page;        /* where its text comes from: the collector's number */
    unsigned char closed; /* 1: it is */
    unsigned char marked; /* 1: closed as a duplicate, labelled as one, or marked so, whether or not it is known of what */
    unsigned char empty;  /* 1: it has no text */
} aoei_issue;

/* from is said to be a duplicate of to. */
typedef struct aoei_issue_link {
    uint32_t from, to;  /* issues */
    unsigned char weak; /* 1: a guess, or said of an issue that is open: no positive, but never a negative either */
} aoei_issue_link;

/* A table of numbers by key, open addressing. */
typedef struct aoei_slots {
    uint32_t *slot; /* owned [size] 1 + number; 0: free */
    size_t size, n; /* a power of two or 0; in use */
} aoei_slots;

typedef struct aoei_issues {
    aoei_issue *issue; /* owned [n] */
    size_t n, capacity;
    aoei_issue_link *link; /* owned [n_links] */
    size_t n_links, link_capacity;
    uint32_t *label; /* owned [n_uses] labels of the issues, one issue after the other */
    size_t n_uses, use_capacity;
    char **repo; /* owned [n_repos], each owned: "owner/name" */
    size_t n_repos, repo_capacity;
    char **label_name; /* owned [n_names], each owned */
    size_t n_names, name_capacity;
    struct aoei_issue_key *key; /* owned [n_keys] what leads to an issue; a transferred one has several */
    size_t n_keys, key_capacity;
    aoei_slots by_key, by_repo, by_label;
    char **chunk; /* owned [n_chunks], each owned: titles */
    size_t n_chunks, chunk_capacity, room;
    char *free;
} aoei_issues;

#define AOEI_NO_ISSUE UINT32_MAX

/* What an issue is added from; everything is copied. */
typedef struct aoei_issue_source {
    aoei_issue issue;       /* title borrowed; first_label and n_labels are not looked at */
    const aoe_text *labels; /* [n_labels], those that say duplicate included: they set `marked` */
    size_t n_labels;
} aoei_issue_source;

void aoei_issues_free(aoei_issues *s); /* accepts a zeroed one */

/* The number of a repository, which is added if it is not there. Errors: AOE_ENOMEM. */
int aoei_issues_repo(aoei_issues *s, aoe_text name, uint32_t *repo, aoe_error *err);
/* Adds an issue, or finds it: of one that is there already the first version stays. Errors: AOE_ENOMEM. */
int aoei_issues_add(aoei_issues *s, const aoei_issue_source *source, uint32_t *index, aoe_error *err);
/* The issue that a number of a repository leads to, or AOEI_NO_ISSUE. */
uint32_t aoei_issues_find(const aoei_issues *s, uint32_t repo, uint64_t number);
/* A number that leads to an issue of another number or repository from now on (it was transferred). */
int aoei_issues_alias(aoei_issues *s, uint32_t repo, uint64_t number, uint32_t index, aoe_error *err);
int aoei_issues_link_add(aoei_issues *s, uint32_t from, uint32_t to, int weak, aoe_error *err);

#endif
