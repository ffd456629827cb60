/* SPDX-License-Identifier: MIT
 * Reads a repository through REST: its current name, the list of its issues, and the mentions of duplicates in the timelines
 * of issues that are marked as duplicates. On request, it also reads all comments. REST does not return the original of a
 * marked issue, so the original is known only if a comment mentions it.
 */
#include "collect/github_rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A function that is called for each page of a list. It sets *more to 0 to stop reading. */
typedef int (*page_fn)(aoei_collection *c, const aoei_github_response *a, void *user, int *more, aoe_error *err);

/* How a list ended: status 200, or the status of the page that cannot be read. */
typedef struct ending {
    int status;
    char why[AOEI_GITHUB_SHOWN]; /* message of the server */
} ending;

/* Calls fn for each page of the list that begins at url, until fn sets *more to 0. Frees url. */
static int for_each_page(aoei_collection *c, char *url, page_fn fn, void *user, ending *e, aoe_error *err) {
    aoei_github_response a = {0};
    aoei_github_pages pages = {0};
    int code = url ? AOE_OK : aoei_fail_nomem(err, 0), more = 1;
    while (!code && url && more) {
        code = aoei_github_check_page(&pages, url, err);
        if (!code)
            code = aoei_github_report_progress(&c->api, err);
        if (!code)
            code = aoei_github_get(&c->api, url, 0, &a, err);
        aoei_free(url);
        url = NULL;
        if (code)
            break;
        e->status = a.status;
        memcpy(e->why, a.why, sizeof e->why);
        if (a.status != 200)
            break;
        code = fn(c, &a, user, &more, err);
        url = a.next;
        a.next = NULL;
    }
    aoei_free(url);
    aoei_github_pages_free(&pages);
    aoei_github_response_free(&a);
    return code;
}

/* Returns the URL "ROOT/repos/OWNER/NAME" followed by `rest`, owned by the caller; NULL if out of memory. */
static char *repository_url(const aoei_collection *c, const char *name, const char *rest) {
    aoei_buffer url = {0};
    if (aoei_buffer_printf(&url, "%s/repos/%s%s", c->api.root, name, rest)) {
        aoei_buffer_free(&url);
        return NULL;
    }
    return url.data;
}

/* State of reading a repository. */
typedef struct listing {
    uint32_t repo;    /* index of the repository */
    size_t read;      /* number of issues read */
    uint32_t *marked; /* [n_marked] indices of the issues whose timelines are read, owned */
    size_t n_marked, capacity;
} listing;

static int expect_array(const aoei_collection *c, const aoei_github_response *a, aoe_error *err) {
    (void)c;
    return json_is_array(a->json) ? AOE_OK
                                  : aoei_fail(err, AOE_EFORMAT, "%s: the response is not a list; check options.api", a->key);
}

/* Returns 1 if the issue is closed, is marked as a duplicate, and has comments, which may mention the original. */
static int may_name_original(const aoei_issue *issue, const aoei_issue_json *json) {
    return issue->marked && issue->closed && json->comments > 0;
}

static int read_issues(aoei_collection *c, const aoei_github_response *a, void *user, int *more, aoe_error *err) {
    listing *l = user;
    uint32_t page, index;
    int code = expect_array(c, a, err);
    if (!code)
        code = aoei_collect_page(c, a, &page, err);
    const json_t *item;
    for (size_t i = 0; !code && *more && (item = aoei_issue_json_at(a->json, i)) != NULL; i++) {
        aoei_issue_json json;
        if (aoei_issue_json_read(&json, item))
            continue;
        const size_t before = c->issues.n;
        code = aoei_collect_issue(c, &json, l->repo, page, &index, err);
        if (code || c->issues.n == before)
            continue;
        *more = ++l->read != c->api.o->limit;
        if (!may_name_original(&c->issues.issue[index], &json))
            continue;
        if (aoei_grow((void **)&l->marked, &l->capacity, l->n_marked, sizeof *l->marked))
            return aoei_fail_nomem(err, sizeof *l->marked);
        l->marked[l->n_marked++] = index;
    }
    return code;
}

static int read_timeline(aoei_collection *c, const aoei_github_response *a, void *user, int *more, aoe_error *err) {
    const uint32_t *issue = user;
    int code = expect_array(c, a, err);
    (void)more;
    for (size_t i = 0; i < json_array_size(a->json) && !code; i++)
        code = aoei_collect_event(c, *issue, json_array_get(a->json, i), err);
    return code;
}

/* Returns the number at the end of a URL such as ".../issues/12"; 0 if there is none. */
static uint64_t number_of(aoe_text url) {
    size_t at = url.len;
    uint64_t value = 0;
    while (at > 0 && url.data[at - 1] >= '0' && url.data[at - 1] <= '9')
        at--;
    if (url.len - at > 10)
        return 0;
    for (; at < url.len; at++)
        value = value * 10 + (uint64_t)(url.data[at] - '0');
    return value;
}

static int read_comments(aoei_collection *c, const aoei_github_response *a, void *user, int *more, aoe_error *err) {
    const listing *l = user;
    int code = expect_array(c, a, err);
    (void)more;
    for (size_t i = 0; i < json_array_size(a->json) && !code; i++) {
        const json_t *comment = json_array_get(a->json, i);
        const uint64_t number = number_of(aoei_json_text_of(json_object_get(comment, "issue_url")));
        const uint32_t issue = number ? aoei_issues_find(&c->issues, l->repo, number) : AOEI_NO_ISSUE;
        const int has_timeline = issue != AOEI_NO_ISSUE && c->issues.issue[issue].marked && c->issues.issue[issue].closed;
        if (issue != AOEI_NO_ISSUE && !has_timeline)
            code = aoei_collect_comment(c, issue, aoei_json_text_of(json_object_get(comment, "body")), err);
    }
    return code;
}

/* Handles the end of a list whose mentions start at index `first`. Mentions of an incomplete list give only weak links. */
static void finish_list(aoei_collection *c, const ending *e, size_t first) {
    if (e->status != 200)
        aoei_collect_weaken(c, first);
    c->result->unread += e->status != 200 && e->status != 0; /* status 0: aoei_github.absent already counts the response */
}

/* Reads the timelines of marked issues, which also contain revocations, and on request the comments of the other issues. */
static int read_mentions(aoei_collection *c, listing *l, const char *name, aoe_error *err) {
    ending e = {0};
    int code = AOE_OK;
    for (size_t i = 0; i < l->n_marked && !code; i++) {
        const size_t first = c->n_mentions;
        char rest[64];
        (void)snprintf(rest, sizeof rest, "/issues/%llu/timeline?per_page=100",
                       (unsigned long long)c->issues.issue[l->marked[i]].number);
        code = for_each_page(c, repository_url(c, name, rest), read_timeline, &l->marked[i], &e, err);
        if (!code)
            finish_list(c, &e, first);
    }
    if (!code && c->api.o->all_comments) {
        const size_t first = c->n_mentions;
        code = for_each_page(c, repository_url(c, name, "/issues/comments?sort=created&direction=asc&per_page=100"),
                             read_comments, l, &e, err);
        if (!code)
            finish_list(c, &e, first);
    }
    return code;
}

/* Requests the repository and sets *repo to its index and *name to its current name, which the caller owns. If the repository
 * cannot be read, sets *why to the reason and *name to NULL. */
static int find_repository(aoei_collection *c, const char *given, uint32_t *repo, char **name, char buffer[AOEI_WHY],
                           const char **why, aoe_error *err) {
    aoei_github_response a = {0};
    uint32_t old;
    char *url = repository_url(c, given, "");
    *name = NULL;
    int code = url ? aoei_github_get(&c->api, url, 1, &a, err) : aoei_fail_nomem(err, 0);
    aoei_free(url);
    if (!code && a.status != 200) {
        *why = aoei_collect_reason(a.status, a.why, c->api.o->token != NULL, buffer);
    } else if (!code) {
        const aoe_text full = aoei_json_text_of(json_object_get(a.json, "full_name"));
        if (!full.len || aoei_repository_name(full.data, full.len) != full.len)
            code = aoei_fail(err, AOE_EFORMAT, "%s: the response contains no repository; check options.api", a.key);
        if (!code && !(*name = aoei_strndup(full.data, full.len)))
            code = aoei_fail_nomem(err, full.len);
        if (!code)
            code = aoei_collect_repo(c, aoe_text_of(given), &old, err);
        if (!code)
            code = aoei_collect_repo(c, full, repo, err);
        if (!code)
            aoei_collect_renamed(c, old, *repo);
    }
    aoei_github_response_free(&a);
    return code;
}

int aoei_collect_rest(aoei_collection *c, const char *given, char buffer[AOEI_WHY], const char **why, aoe_error *err) {
    listing l = {0};
    char *name;
    ending e = {0};
    *why = NULL;
    int code = find_repository(c, given, &l.repo, &name, buffer, why, err);
    if (!code && !*why && !c->repository[l.repo].read) {
        c->repository[l.repo].read = 1;
        code = for_each_page(c, repository_url(c, name, "/issues?state=all&sort=created&direction=asc&per_page=100"),
                             read_issues, &l, &e, err);
        if (!code && e.status != 200 && (e.status || !l.read)) { /* in offline mode, the cached part of the list is used */
            c->repository[l.repo].incomplete = 1;
            *why = aoei_collect_reason(e.status, e.why, c->api.o->token != NULL, buffer);
        } else if (!code) {
            code = read_mentions(c, &l, name, err);
        }
    }
    aoei_free(l.marked);
    aoei_free(name);
    return code;
}
