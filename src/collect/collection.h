/* SPDX-License-Identifier: MIT
 * A collection while it is built: the issues of repositories, the cache keys of their texts, and mentions of duplicates.
 * github_rest.c and github_graphql.c fill it. github_resolve.c converts mentions to links, and issues_pairs.c converts links
 * to pairs.
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
    AOEI_MENTION_HINT      /* statement or guess in an incomplete list: gives a weak link only */
} aoei_mention_kind;

/* A statement that one issue is (or is not) a duplicate of another. */
typedef struct aoei_mention {
    uint32_t issue;  /* issue that the statement is about */
    uint32_t repo;   /* repository of the target, under the name in the text */
    uint64_t number; /* number of the target issue; 0: no target */
    aoei_mention_kind kind;
} aoei_mention;

/* A repository; its index is its number in the set of issues. */
typedef struct aoei_repository {
    uint32_t canonical;       /* number of the repository under its current name */
    unsigned char read;       /* 1: its issues were read */
    unsigned char incomplete; /* 1: not all issues could be read, so mentions give weak links only */
} aoei_repository;

typedef struct aoei_collection {
    aoei_github api;
    aoei_issues issues;
    aoei_repository *repository; /* [issues.n_repos] repositories, owned */
    size_t n_repositories, repository_capacity;
    aoei_mention *mention; /* [n_mentions] mentions, owned */
    size_t n_mentions, mention_capacity;
    char **page; /* [n_pages] cache keys of the pages, owned, each owned */
    size_t n_pages, page_capacity;
    aoei_issue_refs refs;  /* references found in one text; scratch */
    aoei_buffer text, key; /* a text and its key for comparisons; scratch */
    aoei_text_key_scratch scratch;
    aoe_github_result *result; /* borrowed */
} aoei_collection;

void aoei_collection_free(aoei_collection *c); /* accepts a zeroed struct */

/* Finds or adds a repository by its name, or by its current name if a renaming is known. Errors: AOE_ENOMEM. */
int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err);
/* Records that the repository number `old` is now the repository number `now`. */
void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now);

/* Assigns a number to the page in a response. */
int aoei_collect_page(aoei_collection *c, const aoei_github_answer *a, uint32_t *page, aoe_error *err);
/* Adds an issue and the mentions in its body. Pull requests are only counted; *index is then AOEI_NO_ISSUE. */
int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *issue, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err);
/* Computes a hash of a text that ignores differences in white space and case. *empty is 1 if the text has no other
 * characters. */
int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err);
/* Adds the mentions in a comment of an issue, or in an element of its timeline. */
int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err);
int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err);

/* Marks all mentions from index `first` as incomplete, so that they give weak links only. */
void aoei_collect_cut(aoei_collection *c, size_t first);

enum { AOEI_WHY = 260 }; /* maximum bytes of a reason, NUL included */
/* Describes why a repository cannot be read, from the status and message of a response. buffer: used for the text if needed. */
const char *aoei_collect_why(int status, const char *message, int has_token, char buffer[AOEI_WHY]);

#endif
