/* SPDX-License-Identifier: MIT
 * Reads the issues of a repository through GitHub's REST API: its current name, the list of its issues, and the
 * timelines of closed issues that are marked as duplicates. If options.all_comments is 1, the comments of the other
 * issues are also read. If an issue is marked as a duplicate, REST does not return its original, so the original is
 * known only if a comment mentions it.
 */
#include "collect/github_rest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* A function that for_each_page calls for each page of a list. It sets *more to 0 to stop reading. */
typedef int (*page_fn)(aoei_collection *c, const aoei_github_response *a, void *user, int *more, aoe_error *err);

/* The outcome of reading a list. status: 200 if all pages were read, otherwise the status of the page that cannot be
 * read. */
typedef struct ending {
    int status;
    char why[AOEI_GITHUB_SHOWN]; /* message of the server for this page */
} ending;

/* Calls fn for each page of a list until fn sets *more to 0. url: URL of the first page; the function frees it. */
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

/* Returns the URL "ROOT/repos/OWNER/NAME" followed by `rest`, or NULL if memory allocation failed. The caller frees the
 * URL. */
static char *repository_url(const aoei_collection *c, const char *name, const char *rest) {
    aoei_buffer url = {0};
    if (aoei_buffer_printf(&url, "%s/repos/%s%s", c->api.root, name, rest)) {
        aoei_buffer_free(&url);
        return NULL;
    }
    return url.data;
}

/* State while the issues of a repository are read. */
typedef struct listing {
    uint32_t repo;    /* index of the repository in aoei_issues.repo */
    size_t read;      /* number of issues read so far */
    uint32_t *marked; /* [n_marked] indices in aoei_issues.issue of the issues whose timelines will be read, owned */
    size_t n_marked, capacity;
} listing;

static int expect_array(const aoei_collection *c, const aoei_github_response *a, aoe_error *err) {
    (void)c;
    return json_is_array(a->json)
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT, "%s: the response is not a list; check options.api", a->key);
}

/* Returns 1 if the comments of the issue may mention its original: the issue is closed, marked as a duplicate, and has
 * comments. */
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

/* Returns the number at the end of a URL such as ".../issues/12", or 0 if the URL does not end with a number. */
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
        const int has_timeline =
            issue != AOEI_NO_ISSUE && c->issues.issue[issue].marked && c->issues.issue[issue].closed;
        if (issue != AOEI_NO_ISSUE && !has_timeline)
            code = aoei_collect_comment(c, issue, aoei_json_text_of(json_object_get(comment, "body")), err);
    }
    return code;
}

/* Called after a list has been read. If the list could not be read completely, its mentions are changed so that they
 * give only weak links. first: index in c->mention of the first mention of the list. */
static void finish_list(aoei_collection *c, const ending *e, size_t first) {
    if (e->status != 200)
        aoei_collect_weaken(c, first);
    /* if the status is 0, aoei_github.absent has counted the response */
    c->result->unread += e->status != 200 && e->status != 0;
}

/* Reads the timelines of the issues in l->marked. If options.all_comments is 1, also reads the comments of all other
 * issues. A timeline contains the comments of an issue and the events that mark or unmark it as a duplicate. */
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

/* Requests a repository by the name `given`. Sets *repo to its index and *name to its current name; the caller frees
 * *name. If the repository cannot be read, sets *why to the reason and *name to NULL. */
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
        /* status 0 (offline mode): the cached part of the list is used */
        if (!code && e.status != 200 && (e.status || !l.read)) {
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
