/* SPDX-License-Identifier: MIT
 * Defines a collection: the data of a run of aoe_github_issues. It contains the issues of repositories and the mentions
 * of duplicates in their texts. It does not contain the texts, only the cache keys of the API responses with the texts.
 * github_rest.c and github_graphql.c fill the collection. github_resolve.c converts mentions to links, and
 * issues_pairs.c converts links to pairs.
 */
#pragma once

#include "aoe_collect.h"
#include "base/buffer.h"
#include "base/distinct.h"
#include "dataset/text_equality.h"
#include "collect/github.h"
#include "collect/github_json.h"
#include "collect/issues.h"
#include "collect/issues_refs.h"

/* The kind of a mention (aoei_mention). In the examples, #1 is the target: the issue that the text refers to. */
typedef enum aoei_mention_kind {
    AOEI_MENTION_STATED, /* "duplicate of #1" */
    AOEI_MENTION_GUESS,  /* "might be a duplicate of #1" */
    AOEI_MENTION_DENIED, /* "not a duplicate of #1" */
    /* an event that marks the issue as a duplicate on GitHub; the target is the original, if it is known */
    AOEI_MENTION_MARKED,
    /* an event that revokes earlier mentions of its target, or all earlier mentions if it has no target */
    AOEI_MENTION_UNMARKED,
    /* a mention in a list of comments or events that was not read completely; gives only a weak link
     * (aoei_issue_link) */
    AOEI_MENTION_HINT
} aoei_mention_kind;

/* A statement that one issue is, or is not, a duplicate of another issue. The mentions of one issue are stored in
 * chronological order. */
typedef struct aoei_mention {
    uint32_t issue;  /* index in aoei_issues.issue of the issue that the statement is about */
    uint32_t repo;   /* target's repository: index in aoei_issues.repo of the name in the text, which may be an old
                        name */
    uint64_t number; /* GitHub number of the target; 0: there is no target */
    aoei_mention_kind kind;
} aoei_mention;

/* State of a repository. Its index in aoei_collection.repository is the index of its name in aoei_issues.repo. */
typedef struct aoei_repository {
    uint32_t canonical;       /* index of the repository under a newer name; the repository's own index if it was not
                                 renamed */
    unsigned char read;       /* 1: the issues of the repository were read */
    unsigned char incomplete; /* 1: not all of its issues could be read, so the mentions in its issues give only weak
                                 links */
} aoei_repository;

typedef struct aoei_collection {
    aoei_github api;             /* connection to the API, with a cache */
    aoei_issues issues;          /* issues, and links between duplicates */
    aoei_repository *repository; /* [n_repositories] state of each repository in issues.repo, owned */
    size_t n_repositories, repository_capacity;
    aoei_mention *mention; /* [n_mentions] mentions, owned */
    size_t n_mentions, mention_capacity;
    char **page; /* [n_pages] cache keys of the responses that contain issues; array and elements owned */
    size_t n_pages, page_capacity;
    aoei_issue_refs refs;  /* workspace: references found in one text */
    aoei_buffer text, key; /* workspace: a text, and the comparison key of this text (dataset/text_equality.h) */
    aoei_text_key_scratch scratch; /* workspace for computing comparison keys */
    aoe_github_result *result;     /* counts that aoe_github_issues returns, borrowed */
} aoei_collection;

void aoei_collection_free(aoei_collection *c); /* accepts a zeroed struct */

/* Finds or adds a repository by name and sets *repo to its index. If aoei_collect_renamed has recorded a new name of
 * the repository, *repo is the index of the new name. Errors: AOE_ENOMEM. */
int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err);
/* Records that a repository was renamed. old, now: indices of the repository under its old and its new name. */
void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now);

/* Adds the cache key of a response with issues to c->page, and sets *page to the index of the key. */
int aoei_collect_page(aoei_collection *c, const aoei_github_response *a, uint32_t *page, aoe_error *err);
/* Adds an issue and the mentions in its body. Sets *index to the index of the issue in aoei_issues.issue. Pull requests
 * are counted but not added; *index is then AOEI_NO_ISSUE. */
int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *issue, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err);
/* Sets *hash to a hash of the text. Texts that differ only in white space and case have equal hashes. Sets *empty to 1
 * if the text consists only of white space. */
int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err);
/* aoei_collect_comment adds the mentions in a comment of an issue. aoei_collect_event adds the mentions in an element
 * of the timeline of an issue. An element is a comment or an event. issue: index in aoei_issues.issue. */
int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err);
int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err);

/* Called if a list of comments or events was not read completely. first: index in c->mention of the first mention of
 * the list. Changes statements, guesses and "marked" events with a target to AOEI_MENTION_HINT. */
void aoei_collect_weaken(aoei_collection *c, size_t first);

enum { AOEI_WHY = 260 }; /* maximum size in bytes of a reason, including NUL */
/* Returns the reason why a repository cannot be read. status, message: status and message of the API's response;
 * has_token: 1 if a token was sent. The returned text is static or in `buffer`. */
const char *aoei_collect_reason(int status, const char *message, int has_token, char buffer[AOEI_WHY]);
