/* SPDX-License-Identifier: MIT
 * A collection run: the issues of repositories, the cache keys of the API responses that contain the texts of the issues, and
 * mentions of duplicates. github_rest.c and github_graphql.c fill it. github_resolve.c converts mentions to links, and
 * issues_pairs.c converts links to pairs.
 */
#ifndef AOEI_COLLECT_COLLECTION_H
#define AOEI_COLLECT_COLLECTION_H

#include "aoe_data.h"
#include "base/buffer.h"
#include "dataset/distinct.h"
#include "dataset/text_equality.h"
#include "collect/github.h"
#include "collect/github_json.h"
#include "collect/issues.h"
#include "collect/issues_refs.h"

/* The kind of a mention. The mentions of one issue are stored in chronological order. */
typedef enum aoei_mention_kind {
    AOEI_MENTION_STATED,   /* "duplicate of #1" */
    AOEI_MENTION_GUESS,    /* "might be a duplicate of #1" */
    AOEI_MENTION_DENIED,   /* "not a duplicate of #1" */
    AOEI_MENTION_MARKED,   /* marked as a duplicate on GitHub; the target is the original, if it is known */
    AOEI_MENTION_UNMARKED, /* revokes earlier mentions of the target, or all earlier mentions if there is no target */
    AOEI_MENTION_HINT      /* statement or guess in a list that was not read completely: gives only a weak link (issues.h) */
} aoei_mention_kind;

/* A statement that one issue is (or is not) a duplicate of another. */
typedef struct aoei_mention {
    uint32_t issue;  /* index of the issue that the statement is about, in aoei_issues.issue */
    uint32_t repo;   /* index in aoei_issues.repo of the name by which the text refers to the target's repository */
    uint64_t number; /* GitHub number of the target issue; 0: no target */
    aoei_mention_kind kind;
} aoei_mention;

/* State of a repository. Its index in aoei_collection.repository is the index of its name in aoei_issues.repo. */
typedef struct aoei_repository {
    uint32_t canonical;       /* index of the repository under its current name */
    unsigned char read;       /* 1: its issues were read */
    unsigned char incomplete; /* 1: not all issues could be read, so mentions give weak links only */
} aoei_repository;

typedef struct aoei_collection {
    aoei_github api;             /* connection to the API with its cache */
    aoei_issues issues;          /* issues and links */
    aoei_repository *repository; /* [n_repositories] repositories, as many as issues.n_repos, owned */
    size_t n_repositories, repository_capacity;
    aoei_mention *mention; /* [n_mentions] mentions, owned */
    size_t n_mentions, mention_capacity;
    char **page; /* [n_pages] cache keys of the responses that contain issues; array and elements owned */
    size_t n_pages, page_capacity;
    aoei_issue_refs refs;          /* workspace: references found in one text */
    aoei_buffer text, key;         /* workspace: a text, and the key by which texts are compared */
    aoei_text_key_scratch scratch; /* workspace for computing such keys */
    aoe_github_result *result;     /* counts for the caller, borrowed */
} aoei_collection;

void aoei_collection_free(aoei_collection *c); /* accepts a zeroed struct */

/* Finds or adds a repository by name and sets *repo to its index. If aoei_collect_renamed has recorded a new name of the
 * repository, *repo is the index of the new name. Errors: AOE_ENOMEM. */
int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err);
/* Records that the repository with index `old` was renamed and now has the index `now`. */
void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now);

/* Adds the page of issues in a response and sets *page to its index in c->page. */
int aoei_collect_page(aoei_collection *c, const aoei_github_response *a, uint32_t *page, aoe_error *err);
/* Adds an issue and the mentions in its body, and sets *index to its index in aoei_issues.issue. A pull request is only
 * counted, and *index is set to AOEI_NO_ISSUE. */
int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *issue, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err);
/* Computes a hash of a text that ignores white space and case. Sets *empty to 1 if the text consists only of white space. */
int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err);
/* Adds the mentions in a comment of an issue, or in an element of its timeline. */
int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err);
int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err);

/* Converts all statements and guesses from index `first` of c->mention to AOEI_MENTION_HINT, because the list that contains
 * them was not read completely. */
void aoei_collect_weaken(aoei_collection *c, size_t first);

enum { AOEI_WHY = 260 }; /* maximum size in bytes of a reason, including NUL */
/* Returns the reason why a repository cannot be read, given the status and message of a response. The text is static or in
 * `buffer`. */
const char *aoei_collect_reason(int status, const char *message, int has_token, char buffer[AOEI_WHY]);

#endif
