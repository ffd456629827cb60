/* SPDX-License-Identifier: MIT
 * Adds repositories, issues and mentions of duplicates to a collection. The REST reader (github_rest.c) and the GraphQL
 * reader (github_graphql.c) use these functions.
 */
#include "collect/collection.h"

#include <stdio.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/issues_clean.h"

void aoei_collection_free(aoei_collection *c) {
    for (size_t i = 0; i < c->n_pages; i++)
        aoei_free(c->page[i]);
    aoei_free(c->page);
    aoei_free(c->mention);
    aoei_free(c->repository);
    aoei_issue_refs_free(&c->refs);
    aoei_buffer_free(&c->text);
    aoei_buffer_free(&c->key);
    aoei_free(c->scratch.point);
    aoei_issues_free(&c->issues);
    aoei_github_close(&c->api);
    *c = (aoei_collection){0};
}

static uint32_t canonical(const aoei_collection *c, uint32_t repo) {
    while (c->repository[repo].canonical != repo)
        repo = c->repository[repo].canonical;
    return repo;
}

int aoei_collect_repo(aoei_collection *c, aoe_text name, uint32_t *repo, aoe_error *err) {
    const int code = aoei_issues_repo(&c->issues, name, repo, err);
    if (code)
        return code;
    while (c->n_repositories < c->issues.n_repos) {
        if (aoei_grow((void **)&c->repository, &c->repository_capacity, c->n_repositories, sizeof *c->repository))
            return aoei_fail_nomem(err, sizeof *c->repository);
        c->repository[c->n_repositories] = (aoei_repository){.canonical = (uint32_t)c->n_repositories};
        c->n_repositories++;
    }
    *repo = canonical(c, *repo);
    return AOE_OK;
}

void aoei_collect_renamed(aoei_collection *c, uint32_t old, uint32_t now) {
    now = canonical(c, now);
    c->repository[canonical(c, old)].canonical = now;
}

int aoei_collect_page(aoei_collection *c, const aoei_github_response *a, uint32_t *page, aoe_error *err) {
    if (aoei_grow((void **)&c->page, &c->page_capacity, c->n_pages, sizeof *c->page) ||
        !(c->page[c->n_pages] = aoei_strdup(a->key)))
        return aoei_fail_nomem(err, strlen(a->key));
    *page = (uint32_t)c->n_pages++;
    return AOE_OK;
}

static int add_mention(aoei_collection *c, const aoei_mention *m, aoe_error *err) {
    if (aoei_grow((void **)&c->mention, &c->mention_capacity, c->n_mentions, sizeof *c->mention))
        return aoei_fail_nomem(err, sizeof *c->mention);
    c->mention[c->n_mentions++] = *m;
    return AOE_OK;
}

int aoei_collect_comment(aoei_collection *c, uint32_t issue, aoe_text body, aoe_error *err) {
    const aoei_issue *i = &c->issues.issue[issue];
    c->refs.own = (aoei_issue_ref){.repo = aoe_text_of(c->issues.repo[i->repo]), .number = i->number};
    int code = aoei_issue_refs_find(&c->refs, body, c->api.hosts, err);
    for (size_t k = 0; k < c->refs.n && !code; k++) {
        const aoei_issue_ref *r = &c->refs.ref[k];
        aoei_mention m = {.issue = issue,
                          .repo = c->issues.issue[issue].repo,
                          .number = r->number,
                          .kind = r->kind == AOEI_REF_STATED  ? AOEI_MENTION_STATED
                                  : r->kind == AOEI_REF_GUESS ? AOEI_MENTION_GUESS
                                                              : AOEI_MENTION_DENIED};
        if (r->repo.len)
            code = aoei_collect_repo(c, r->repo, &m.repo, err);
        if (!code)
            code = add_mention(c, &m, err);
    }
    return code;
}

int aoei_collect_event(aoei_collection *c, uint32_t issue, const json_t *event, aoe_error *err) {
    aoei_event_json e;
    aoei_event_json_read(&e, event);
    if (e.kind == AOEI_EVENT_COMMENT)
        return aoei_collect_comment(c, issue, e.body, err);
    if (e.kind == AOEI_EVENT_OTHER)
        return AOE_OK;
    aoei_mention m = {.issue = issue,
                      .repo = c->issues.issue[issue].repo,
                      .number = e.number,
                      .kind = e.kind == AOEI_EVENT_MARKED ? AOEI_MENTION_MARKED : AOEI_MENTION_UNMARKED};
    if (aoei_repository_name(e.repo.data, e.repo.len) == e.repo.len && e.repo.len) {
        const int code = aoei_collect_repo(c, e.repo, &m.repo, err);
        if (code)
            return code;
    }
    return add_mention(c, &m, err);
}

int aoei_collect_hash(aoei_collection *c, const aoei_buffer *text, uint64_t *hash, int *empty, aoe_error *err) {
    if (aoei_text_key(&c->key, (aoe_text){text->data ? text->data : "", text->len}, AOE_TEXT_EQUAL_CASE, &c->scratch))
        return aoei_fail_nomem(err, text->len);
    *hash = aoei_hash(AOEI_HASH_START, c->key.data, c->key.len);
    *empty = c->key.len == 0;
    return AOE_OK;
}

/* Computes the hash of the cleaned text of an issue. Lines of issue templates are not removed, because they are known
 * only after all issues have been read. */
static int hash_text(aoei_collection *c, const aoei_issue_json *json, aoei_issue *issue, aoe_error *err) {
    aoei_buffer_clear(&c->text);
    const unsigned clean = c->api.o->clean & ~(unsigned)AOE_ISSUE_CLEAN_TEMPLATES;
    int empty = 0, code = aoei_issue_text(&c->text, json->title, json->body, clean, NULL, err);
    if (!code)
        code = aoei_collect_hash(c, &c->text, &issue->text_hash, &empty, err);
    issue->empty = (unsigned char)empty;
    return code;
}

int aoei_collect_issue(aoei_collection *c, const aoei_issue_json *json, uint32_t repo, uint32_t page, uint32_t *index,
                       aoe_error *err) {
    *index = AOEI_NO_ISSUE;
    if (json->pull_request) {
        c->result->pull_requests++;
        return AOE_OK;
    }
    aoei_issue_source source = {.issue = {.number = json->number,
                                          .title = json->title,
                                          .repo = repo,
                                          .page = page,
                                          .closed = json->closed != 0,
                                          .marked = json->duplicate != 0},
                                .labels = json->label,
                                .n_labels = json->n_labels};
    const size_t before = c->issues.n;
    int code = hash_text(c, json, &source.issue, err);
    if (!code)
        code = aoei_issues_add(&c->issues, &source, index, err);
    if (!code && c->issues.n > before) { /* the issue is new; an issue that appears on two pages is counted only once */
        c->result->issues++;
        c->api.progress.issues++;
        code = aoei_collect_comment(c, *index, json->body, err);
    }
    return code;
}

void aoei_collect_weaken(aoei_collection *c, size_t first) {
    for (size_t i = first; i < c->n_mentions; i++) {
        aoei_mention *m = &c->mention[i];
        if (m->kind == AOEI_MENTION_STATED || m->kind == AOEI_MENTION_GUESS ||
            (m->kind == AOEI_MENTION_MARKED && m->number))
            m->kind = AOEI_MENTION_HINT;
    }
}

const char *aoei_collect_reason(int status, const char *message, int has_token, char buffer[AOEI_WHY]) {
    switch (status) {
    case 0:
        return "not in the cache";
    case AOEI_GITHUB_FAILED:
        (void)snprintf(buffer, AOEI_WHY, "%s", message);
        return buffer;
    case 403:
        (void)snprintf(buffer, AOEI_WHY, "access is forbidden (403%s%s)", *message ? ": " : "", message);
        return buffer;
    case 404:
        return has_token ? "it does not exist, or the token has no access to it (404)"
                         : "it does not exist, or it is private and needs a token (404)";
    case 410:
        return "its issues are disabled (410)";
    case 451:
        return "it is not available (451)";
    default:
        (void)snprintf(buffer, AOEI_WHY, "the API returned status %d%s%s", status, *message ? ": " : "", message);
        return buffer;
    }
}
