/* SPDX-License-Identifier: MIT
 * A collection under construction: the issues of repositories, the cache keys of their texts, and the mentions of
 * duplicates. github_rest.c and github_graphql.c fill it; github_resolve.c converts mentions to links, issues_pairs.c
 * links to pairs.
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

/* Kind of a statement about an issue. The mentions of one issue are in chronological order. */
typedef enum aoei_mention_kind {
    AOEI_MENTION_STATED,
    AOEI_MENTION_GUESS,
    AOEI_MENTION_DENIED,
    AOEI_MENTION_MARKED,   /* marked by GitHub; with the original if it is known */
    AOEI_MENTION_UNMARKED, /* revokes earlier mentions of the target, or all earlier mentions if there is no target */
    AOEI_MENTION_HINT      /* stated or guessed in an incomplete list: yields weak links only */
} aoei_mention_kind;

typedef struct aoei_mention {
    uint32_t issue;  /* the issue that the statement is about */
    uint32_t repo;   /* repository of the target, as written */
    uint64_t number; /* number of the target; 0: no target */
    aoei_mention_kind kind;
} aoei_mention;

/* A repository by its number in the set of issues. */
typedef struct aoei_repository {
    uint32_t canonical; /* number under its current name */
    unsigned char read; /* 1: its issues were read */
    unsigned char cut;  /* 1: its issues are incomplete: mentions yield weak links only */
} aoei_repository;

typedef struct aoei_collection {
    aoei_github api;
    aoei_issues issues;
    aoei_repository *repository; /* owned [issues.n_repos] */
    size_t n_repositories, repository_capacity;
    aoei_mention *mention; /* owned [n_mentions] */
    size_t n_mentions, mention_capacity;
    char **page; /* owned [n_pages], each owned: cache keys of the pages */
    size_t n_pages, page_capacity;
    aoei_issue_refs refs; /* scratch, as the next */
    aoei_buffer text, form;
    aoei_text_key_scratch scratch;
    aoe_github_result *result; /* borrowed */
} aoei_collection;

void aoei_collection_free(aoei_collection *c); /* accepts a zeroed one */

/* Finds or adds a repository by its name, or by its current name if a renaming is known. Errors: AOE_ENOMEM. */
int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err);
/* Makes both numbers refer to one repository. */
void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now);

/* Assigns a number to the page that an answer contains. */
int aoei_collect_page(aoei_collection *c, const aoei_github_answer *a, uint32_t *page, aoe_error *err);
/* Adds an issue and the mentions in its body. Pull requests are counted, not added; *index is then AOEI_NO_ISSUE. */
int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *issue, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err);
/* Hash of a text that ignores differences in white space and case; *empty: 1: the text has no other characters. */
int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err);
/* Adds the mentions in a comment or in an element of a timeline of an issue. */
int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err);
int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err);

/* Marks all mentions from index `first` as incomplete: they yield weak links only. */
void aoei_collect_cut(aoei_collection *c, size_t first);

enum { AOEI_WHY = 260 }; /* bytes of a reason, NUL included */
/* Describes why a repository cannot be read, from the status and message of an answer. */
const char *aoei_collect_why(int status, const char *message, int has_token, char room[AOEI_WHY]);

#endif
