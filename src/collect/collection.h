/* SPDX-License-Identifier: MIT
 * A collection in the making: the issues of repositories, where their texts are in the
 * cache, and what has been said about duplicates. Two ways to read a repository (REST,
 * GraphQL) fill it; then what was said becomes links, and links become pairs.
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

/* Something said of an issue; one issue's stand in the order of time. */
typedef enum aoei_mention_kind {
    AOEI_MENTION_STATED,
    AOEI_MENTION_GUESS,
    AOEI_MENTION_DENIED,
    AOEI_MENTION_MARKED,   /* by GitHub itself; with a target where it is known */
    AOEI_MENTION_UNMARKED, /* takes back what was said before: of the target, or without one all of it */
    AOEI_MENTION_HINT      /* stated or guessed where not all could be read: a weak link, never more */
} aoei_mention_kind;

typedef struct aoei_mention {
    uint32_t issue;  /* of whom */
    uint32_t repo;   /* of the target, as written */
    uint64_t number; /* of the target; 0: none */
    aoei_mention_kind kind;
} aoei_mention;

/* A repository that has a number in the set of issues. */
typedef struct aoei_repository {
    uint32_t canonical; /* its number under the name it has now */
    unsigned char read; /* 1: its issues were */
    unsigned char cut;  /* 1: not all of them could be: what is said of them makes weak links */
} aoei_repository;

typedef struct aoei_collection {
    aoei_github api;
    aoei_issues issues;
    aoei_repository *repository; /* owned [issues.n_repos] */
    size_t n_repositories, repository_capacity;
    aoei_mention *mention; /* owned [n_mentions] */
    size_t n_mentions, mention_capacity;
    char **page; /* owned [n_pages], each owned: keys of the cache */
    size_t n_pages, page_capacity;
    aoei_issue_refs refs; /* scratch, as the next */
    aoei_buffer text, form;
    aoei_text_key_scratch scratch;
    aoe_github_result *result; /* borrowed */
} aoei_collection;

void aoei_collection_free(aoei_collection *c); /* accepts a zeroed one */

/* The number of a repository, by the name it has now as far as that is known. */
int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err);
/* From now on both numbers are one repository's. */
void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now);

/* The number of the page that an answer is. */
int aoei_collect_page(aoei_collection *c, const aoei_github_answer *a, uint32_t *page, aoe_error *err);
/* Adds an issue of a repository and page, and what its body says. Pull requests are counted and not added: *index is
 * AOEI_NO_ISSUE then. */
int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *issue, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err);
/* The hash of a text, the same for texts that differ in white space and case alone; *empty: 1: there is nothing else in it. */
int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err);
/* What a comment, or an element of a timeline, says of an issue. */
int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err);
int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err);

/* What was said from the first-th mention on was not all that there is: it makes weak links from now on. */
void aoei_collect_cut(aoei_collection *c, size_t first);

enum { AOEI_WHY = 260 }; /* bytes of a reason, NUL included */
/* The reason for people why a repository cannot be read: from an answer's status and why. */
const char *aoei_collect_why(int status, const char *message, int has_token, char room[AOEI_WHY]);

#endif
