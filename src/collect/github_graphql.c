/* SPDX-License-Identifier: MIT
 * Reads the issues of a repository through GitHub's GraphQL API. A query returns up to 50 issues and the first 100
 * timeline items of each issue. An item is either a comment, or an event that marks the issue as a duplicate of another
 * issue or removes this mark. If a repository has more than 50 issues, or an issue more than 100 items, further queries
 * are sent.
 */
#include "collect/github_graphql.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"

#define CANONICAL "canonical{... on Issue{number repository{nameWithOwner}}}"
#define ITEMS                                                                                                          \
    "itemTypes:[ISSUE_COMMENT,MARKED_AS_DUPLICATE_EVENT,UNMARKED_AS_DUPLICATE_EVENT]){"                                \
    "pageInfo{hasNextPage endCursor}"                                                                                  \
    "nodes{__typename ... on IssueComment{body}"                                                                       \
    "... on MarkedAsDuplicateEvent{" CANONICAL "}... on UnmarkedAsDuplicateEvent{" CANONICAL "}}}"

static const char issues_query[] =
    "query($owner:String!,$name:String!,$after:String){"
    "repository(owner:$owner,name:$name,followRenames:true){nameWithOwner hasIssuesEnabled "
    "issues(first:50,after:$after,orderBy:{field:CREATED_AT,direction:ASC}){pageInfo{hasNextPage endCursor}"
    "nodes{number title body state "
    "stateReason(enableDuplicate:true)labels(first:100){nodes{name}}timelineItems(first:100," ITEMS "}}}"
    "rateLimit{remaining resetAt}}";

static const char items_query[] = "query($owner:String!,$name:String!,$number:Int!,$after:String){"
                                  "repository(owner:$owner,name:$name,followRenames:true){"
                                  "issue(number:$number){timelineItems(first:100,after:$after," ITEMS "}}}";

/* Returns the cursor of the page after this page of issues or timeline items, or NULL if this is the last page. */
static const char *next_cursor(const json_t *connection) {
    const json_t *info = json_object_get(connection, "pageInfo");
    return json_is_true(json_object_get(info, "hasNextPage")) ? json_string_value(json_object_get(info, "endCursor"))
                                                              : NULL;
}

/* Returns the variables of a query as a JSON object, or NULL if memory allocation failed. If number is 0, the variable
 * "number" is omitted. If `after` is NULL, the variable "after" is omitted. */
static json_t *variables(const char *full_name, uint64_t number, const char *after) {
    const char *slash = strchr(full_name, '/');
    json_t *v = json_pack("{s:s%,s:s}", "owner", full_name, (size_t)(slash - full_name), "name", slash + 1);
    int failed = !v;
    if (!failed && after)
        failed = json_object_set_new(v, "after", json_string(after));
    if (!failed && number)
        failed = json_object_set_new(v, "number", json_integer((json_int_t)number));
    if (failed) {
        json_decref(v);
        return NULL;
    }
    return v;
}

static int query(aoei_collection *c, const char *text, json_t *v, int again, aoei_github_response *a, aoe_error *err) {
    int code = v ? aoei_github_report_progress(&c->api, err) : aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_github_query(&c->api, text, v, again, a, err);
    json_decref(v);
    return code;
}

static int read_items(aoei_collection *c, uint32_t issue, const json_t *connection, aoe_error *err) {
    const json_t *nodes = json_object_get(connection, "nodes");
    int code = AOE_OK;
    for (size_t i = 0; i < json_array_size(nodes) && !code; i++)
        code = aoei_collect_event(c, issue, json_array_get(nodes, i), err);
    return code;
}

/* Reads all timeline items of an issue. connection: the first 100 items. */
static int read_all_items(aoei_collection *c, const char *name, uint32_t issue, const json_t *connection,
                          aoe_error *err) {
    const size_t first = c->n_mentions;
    int code = read_items(c, issue, connection, err);
    const char *cursor = next_cursor(connection);
    aoei_github_response a = {0};
    aoei_github_pages pages = {0};
    char *after = NULL;
    while (!code && cursor) {
        code = aoei_github_check_page(&pages, cursor, err);
        if (code)
            break;
        aoei_free(after); /* the next query overwrites the response that contains the cursor, so the cursor is copied */
        after = aoei_strdup(cursor);
        if (!after) {
            code = aoei_fail_nomem(err, strlen(cursor));
            break;
        }
        code = query(c, items_query, variables(name, c->issues.issue[issue].number, after), 0, &a, err);
        if (!code && a.status != 200) {
            /* Status 0 means that no response arrived; aoei_github.absent already counts this case. */
            c->result->unread += a.status != 0;
            aoei_collect_weaken(c, first);
        }
        if (code || a.status != 200)
            break;
        const json_t *items =
            json_object_get(json_object_get(json_object_get(a.json, "repository"), "issue"), "timelineItems");
        code = read_items(c, issue, items, err);
        cursor = next_cursor(items);
    }
    aoei_free(after);
    aoei_github_pages_free(&pages);
    aoei_github_response_free(&a);
    return code;
}

/* State while the issues of a repository are read. */
typedef struct reading {
    uint32_t repo; /* index of the repository in aoei_issues.repo */
    char *name;    /* current name of the repository, owned */
    char *after;   /* cursor of the next page of issues, owned; NULL before the first page and after the last page */
    size_t read;   /* number of issues read so far */
    int more;      /* 1: there is another page to read */
} reading;

static int read_page(aoei_collection *c, reading *r, const aoei_github_response *a, const json_t *repository,
                     aoe_error *err) {
    const json_t *issues = json_object_get(repository, "issues"), *item;
    uint32_t page, index;
    int code = aoei_collect_page(c, a, &page, err);
    r->more = 1;
    for (size_t i = 0; !code && r->more && (item = aoei_issue_json_at(a->json, i)) != NULL; i++) {
        aoei_issue_json json;
        if (aoei_issue_json_read(&json, item))
            continue;
        const size_t before = c->issues.n;
        code = aoei_collect_issue(c, &json, r->repo, page, &index, err);
        if (code || c->issues.n == before)
            continue;
        r->more = ++r->read != c->api.o->limit;
        code = read_all_items(c, r->name, index, json.timeline, err);
    }
    const char *cursor = next_cursor(issues);
    aoei_free(r->after);
    r->after = r->more && cursor && !code ? aoei_strdup(cursor) : NULL;
    r->more = r->more && cursor;
    return !code && r->more && !r->after ? aoei_fail_nomem(err, 0) : code;
}

/* Reads the current name of the repository from the first response. Stores the name in r->name, adds the repository to
 * the collection, and records that it was renamed from the name `given`. Later calls do nothing. */
static int store_name(aoei_collection *c, reading *r, const char *given, const json_t *repository, aoe_error *err) {
    const aoe_text full = aoei_json_text_of(json_object_get(repository, "nameWithOwner"));
    uint32_t old;
    if (r->name)
        return AOE_OK;
    if (!full.len || aoei_repository_name(full.data, full.len) != full.len)
        return aoei_fail(err, AOE_EFORMAT, "%s: the response contains no repository; check options.api",
                         c->api.graphql);
    r->name = aoei_strndup(full.data, full.len);
    int code = r->name ? aoei_collect_repo(c, aoe_text_of(given), &old, err) : aoei_fail_nomem(err, full.len);
    if (!code)
        code = aoei_collect_repo(c, full, &r->repo, err);
    if (!code)
        aoei_collect_renamed(c, old, r->repo);
    return code;
}

int aoei_collect_graphql(aoei_collection *c, const char *given, char buffer[AOEI_WHY], const char **why,
                         aoe_error *err) {
    reading r = {.more = 1};
    aoei_github_response a = {0};
    aoei_github_pages pages = {0};
    int code = AOE_OK;
    *why = NULL;
    for (int first = 1; !code && r.more; first = 0) {
        code = query(c, issues_query, variables(given, 0, r.after), first, &a, err);
        const json_t *repository = code ? NULL : json_object_get(a.json, "repository");
        if (code)
            break;
        if (!json_is_object(repository)) {
            if (a.status || first)
                *why = aoei_collect_reason(a.status == 200 ? 404 : a.status, a.why, 1, buffer);
            if (*why && r.name)
                c->repository[r.repo].incomplete = 1;
            break;
        }
        if (json_is_false(json_object_get(repository, "hasIssuesEnabled"))) {
            *why = aoei_collect_reason(410, "", 1, buffer);
            break;
        }
        code = store_name(c, &r, given, repository, err);
        if (!code && first && c->repository[r.repo].read)
            break;
        if (!code) {
            c->repository[r.repo].read = 1;
            code = read_page(c, &r, &a, repository, err);
        }
        if (!code && r.more)
            code = aoei_github_check_page(&pages, r.after, err);
    }
    aoei_github_pages_free(&pages);
    aoei_free(r.name);
    aoei_free(r.after);
    aoei_github_response_free(&a);
    return code;
}
