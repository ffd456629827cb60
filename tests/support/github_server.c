/* SPDX-License-Identifier: MIT
 * Implements a GitHub server for tests; see github_server.h. The contents of an issue are computed from its number, so
 * a test can compute the expected results.
 */
#include "github_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "support.h"

enum { ANVILS = 240, ROCKETS = 40, SECRET = 3, QUOTA = 5000 };
enum { DELETED = 9999, MOVED = 8888, MOVED_TO = 5, PULL_REQUEST = 7 };
/* Numbers of the issues in acme/anvils with special references. A TO_* issue is a duplicate of an issue that was
 * deleted, of an issue that moved, of a pull request, or of an issue in acme/rockets. Only GraphQL reports the original
 * of GRAPHQL_ONLY. */
enum { TO_DELETED = 13, TO_MOVED = 18, TO_PULL_REQUEST = 38, TO_ROCKETS = 33, GRAPHQL_ONLY = 43 };

typedef enum reference_kind {
    LABEL,      /* a label, and a comment with the number of the original */
    REASON,     /* state_reason, and a comment with the repository and the number of the original */
    LINK,       /* a label, and a link to the original */
    DISCUSSION, /* a comment with a question, a comment that denies it, and a comment that states the original */
    COMMENT,    /* only a comment with the number of the original */
    WITHDRAWN,  /* a comment with a wrong original, its withdrawal, and a comment with the correct original */
    KINDS
} reference_kind;

static int last_number(const char *repo) {
    return strcmp(repo, "anvils") == 0    ? ANVILS
           : strcmp(repo, "rockets") == 0 ? ROCKETS
           : strcmp(repo, "secret") == 0  ? SECRET
                                          : 0;
}

static int is_issue(const char *repo, int n) {
    return n >= 1 && n <= last_number(repo) && n % 7 != 0;
}

static int is_duplicate(const char *repo, int n) {
    return is_issue(repo, n) && n % 5 == 3 && n > 5;
}

static reference_kind reference_kind_of(int n) {
    return (reference_kind)(n / 5 % KINDS);
}

static int original_of(int n) { /* returns the number of the last issue before n - 1 */
    const int t = n - 2;
    return t % 7 == 0 ? t - 1 : t;
}

int test_github_is_issue(const char *repo, int number) {
    return strncmp(repo, "acme/", 5) == 0 && is_issue(repo + 5, number);
}

int test_github_original(const char *repo, int n, int all, int graphql, char out[64]) {
    const char *name = repo + 5;
    const int anvils = strcmp(name, "anvils") == 0;
    if (!is_duplicate(name, n) || strcmp(name, "secret") == 0)
        return 0;
    if (anvils && (n == TO_DELETED || n == TO_PULL_REQUEST))
        return 0;
    if (anvils && n == GRAPHQL_ONLY && !graphql)
        return 0;
    if (anvils && n == TO_MOVED)
        return snprintf(out, 64, "acme/rockets#%d", MOVED_TO) > 0;
    if (anvils && n == TO_ROCKETS)
        return snprintf(out, 64, "acme/rockets#%d", 8) > 0;
    const int special = anvils && n == GRAPHQL_ONLY;
    if (!special && reference_kind_of(n) == COMMENT && !all && !graphql)
        return 0;
    return snprintf(out, 64, "%s#%d", repo, original_of(n)) > 0;
}

/* ---- timeline events of an issue, from the oldest to the newest */

static void add_comment(json_t *events, const char *fmt, const char *a, int n) {
    char text[400];
    snprintf(text, sizeof text, fmt, a, n);
    json_array_append_new(events, json_pack("{s:s,s:s}", "event", "commented", "body", text));
}

static void mark(json_t *events, const char *event, const char *repo, int n) {
    json_array_append_new(events, json_pack("{s:s,s:{s:i,s:{s:o}}}", "event", event, "canonical", "number", n,
                                            "repository", "nameWithOwner", json_sprintf("acme/%s", repo)));
}

static int add_special_comment(json_t *events, int n) {
    switch (n) {
    case TO_DELETED:
        add_comment(events, "%sDuplicate of #%d", "", DELETED);
        return 1;
    case TO_MOVED:
        add_comment(events, "%sDuplicate of #%d", "", MOVED);
        return 1;
    case TO_PULL_REQUEST:
        add_comment(events, "%sDuplicate of #%d", "", PULL_REQUEST);
        return 1;
    case TO_ROCKETS:
        add_comment(events, "Closing as duplicate of %s#%d", "acme/rockets", 8);
        return 1;
    case GRAPHQL_ONLY:
        add_comment(events, "%sThanks for reporting.%.0d", "", 0);
        mark(events, "marked_as_duplicate", "anvils", original_of(n));
        return 1;
    default:
        return 0;
    }
}

static json_t *timeline(const test_github *g, const char *repo, int n) {
    json_t *events = json_array();
    const int t = original_of(n), wrong = n > 20 ? 1 : 2;
    char link[128];
    snprintf(link, sizeof link, "%s/acme/%s/issues/",
             g->without_link ? "https://github.com" : test_server_url(g->server), repo);
    json_array_append_new(events, json_pack("{s:s}", "event", "subscribed"));
    add_comment(events, "%sI can see this too, with `duplicate of #%d` in the log.", "", wrong);
    if (!is_duplicate(repo, n) || (strcmp(repo, "anvils") == 0 && add_special_comment(events, n)))
        return events;
    switch (reference_kind_of(n)) {
    case LABEL:
        add_comment(events, "%sDuplicate of #%d", "", t);
        mark(events, "marked_as_duplicate", repo, t);
        break;
    case REASON:
        add_comment(events, "Closing as a duplicate of acme/%s#%d, thank you.", repo, t);
        break;
    case LINK:
        add_comment(events, "%sThis is a duplicate of %d others.", "", 2);
        if (g->without_link)
            add_comment(events, "%sDup of #%d", "", t);
        else
            add_comment(events, "Duplicate of %s%d#issuecomment-1", link, t);
        break;
    case DISCUSSION:
        add_comment(events, "%sIs this a duplicate of #%d?", "", wrong);
        add_comment(events, "%sNo, not a duplicate of #%d.", "", wrong);
        add_comment(events, "%sdup of #%d", "", t);
        break;
    case COMMENT:
        add_comment(events, "%sclosing as a duplicate of #%d", "", t);
        break;
    case WITHDRAWN:
        add_comment(events, "%sDuplicate of #%d", "", wrong);
        mark(events, "marked_as_duplicate", repo, wrong);
        mark(events, "unmarked_as_duplicate", repo, wrong);
        add_comment(events, "%s```\nduplicate of #%d\n```\n", "", wrong);
        add_comment(events, "%s> duplicate of #%d\n\nWrong, sorry.", "", wrong);
        add_comment(events, "%sDuplicate of #%d", "", t);
        mark(events, "marked_as_duplicate", repo, t);
        break;
    case KINDS:
        break;
    }
    return events;
}

/* ---- issues */

static json_t *body_of(const test_github *g, const char *repo, int n) {
    if (n == 4)
        return json_null();
    json_t *body =
        json_sprintf("### What happens\r\n\r\nThe %s number %d falls and <!-- a hint --> lands on the head.\r\n\r\n"
                     "![shot](https://x.example/%d.png)\r\n"
                     "```\ncode %d\n```\r\n### Version\r\n\r\n_No response_\r\n",
                     repo, n, n, n);
    if (g->version > 0 && strcmp(repo, "rockets") == 0 && n == ROCKETS)
        json_string_set(body, "Another body.");
    return body;
}

static int is_labelled(const char *repo, int n) {
    const reference_kind k = reference_kind_of(n);
    return is_duplicate(repo, n) && k != REASON && k != COMMENT;
}

static json_t *labels_of(const char *repo, int n) {
    json_t *labels = json_array();
    json_array_append_new(labels, json_pack("{s:s}", "name", n % 2 ? "bug" : "area: tail"));
    if (is_labelled(repo, n))
        json_array_append_new(labels, json_pack("{s:s}", "name", n % 4 ? "duplicate" : "status: Duplicate"));
    return labels;
}

static int is_reason(const char *repo, int n) {
    return is_duplicate(repo, n) && (reference_kind_of(n) == REASON || n == GRAPHQL_ONLY);
}

static json_t *issue(const test_github *g, const char *repo, int n) {
    const int duplicate = is_duplicate(repo, n), closed = duplicate || n % 3 == 0;
    json_t *events = timeline(g, repo, n);
    json_t *o = json_pack(
        "{s:i,s:o,s:o,s:s,s:o,s:o,s:i,s:o}", "number", n, "title",
        json_sprintf("The %s %s when dropped from height %d", n % 2 ? "anvil" : "rope", n % 3 ? "breaks" : "bends", n),
        "body", body_of(g, repo, n), "state", closed ? "closed" : "open", "state_reason",
        !closed ? json_null()
                : json_string(is_reason(repo, n) ? "duplicate"
                              : duplicate        ? "not_planned"
                                                 : "completed"),
        "labels", labels_of(repo, n), "comments", (int)json_array_size(events) - 1, "repository_url",
        json_sprintf("%s/repos/acme/%s", test_server_url(g->server), repo));
    if (!is_issue(repo, n))
        json_object_set_new(o, "pull_request", json_object());
    json_decref(events);
    return o;
}

/* ---- answers */

static void error(test_answer *a, int status, const char *message) {
    a->status = status;
    test_answer_printf(a, "{\"message\":\"%s\"}", message);
}

static void send_json(const test_request *q, test_answer *a, json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    unsigned long h = 5381;
    for (const char *s = text; *s; s++)
        h = h * 33 + (unsigned char)*s;
    char tag[32];
    snprintf(tag, sizeof tag, "\"%016lx\"", h);
    const char *known = test_request_header(q, "if-none-match");
    a->status = known && strcmp(known, tag) == 0 ? 304 : 200;
    test_answer_header(a, "ETag: %s", tag);
    test_answer_header(a, "Content-Type: application/json; charset=utf-8");
    if (a->status == 200)
        test_answer_write(a, text, strlen(text));
    free(text);
    json_decref(value);
}

/* If g->storm is set, simulates a failure of the first request for a target (for some targets, also of the second
 * request). Returns 1 if the answer is complete, and 0 if the handler must add the regular answer. */
static int simulate_failure(const test_github *g, const test_request *q, test_answer *a) {
    unsigned kind = 0;
    for (const char *s = q->target; *s; s++)
        kind = kind * 31 + (unsigned char)*s;
    a->delay = g->delay;
    if (!g->storm || q->nth > 1 || (q->nth == 1 && kind % 9 != 8))
        return 0;
    switch (kind % 9) {
    case 0:
        error(a, 500, "boom");
        return 1;
    case 1:
        a->status = 502;
        test_answer_printf(a, "<html>Bad Gateway</html>");
        return 1;
    case 2:
        test_answer_header(a, "Retry-After: 7");
        error(a, 403, "You have exceeded a secondary rate limit");
        return 1;
    case 3:
        test_answer_header(a, "Retry-After: 3");
        error(a, 429, "Too many requests");
        return 1;
    case 4:
        test_answer_header(a, "x-ratelimit-limit: 5000");
        test_answer_header(a, "x-ratelimit-remaining: 0");
        test_answer_header(a, "x-ratelimit-reset: %lld", (long long)time(NULL) + 20);
        error(a, 403, "API rate limit exceeded");
        return 1;
    case 5:
        a->cut = 1; /* only the first 10 bytes of the regular answer are sent */
        a->cut_at = 10;
        return 0;
    case 6:
        a->delay = 0.05;
        a->byte_delay = strstr(q->path, "/timeline") ? 0.0001 : 0;
        return 0;
    case 7:
        test_answer_printf(a, "[{\"number\": 1, ");
        return 1;
    default:
        a->reset = 1; /* the connection is reset */
        a->status = 0;
        return 1;
    }
}

static void quota(test_github *g, test_answer *a) {
    g->quota = g->quota ? g->quota - 1 : QUOTA;
    test_answer_header(a, "x-ratelimit-limit: %d", QUOTA);
    test_answer_header(a, "x-ratelimit-remaining: %ld", g->quota);
    test_answer_header(a, "x-ratelimit-reset: %lld", (long long)time(NULL) + 3600);
}

static void move_to(const test_github *g, test_answer *a, const char *path, const char *query) {
    a->status = 301;
    test_answer_header(a, "Location: %s%s%s%s", test_server_url(g->server), path, *query ? "?" : "", query);
    test_answer_printf(a, "{\"message\":\"Moved Permanently\"}");
}

static void send_page(test_github *g, const test_request *q, test_answer *a, json_t *all) {
    const char *page_text = test_request_query(q, "page");
    const size_t page = page_text ? strtoul(page_text, NULL, 10) : 1, per_page = g->page ? (size_t)g->page : 20;
    const size_t n = json_array_size(all), n_pages = (n + per_page - 1) / per_page;
    char url[300];
    json_t *part = json_array();
    for (size_t i = (page - 1) * per_page; i < n && i < page * per_page; i++)
        json_array_append(part, json_array_get(all, i));
    snprintf(url, sizeof url, "%s%s?state=all&sort=created&direction=asc&per_page=100", test_server_url(g->server),
             q->path);
    if (n_pages > 1)
        test_answer_pages(a, url, page, n_pages);
    json_decref(all);
    send_json(q, a, part);
}

static json_t *all_issues(const test_github *g, const char *repo) {
    json_t *all = json_array();
    for (int n = 1; n <= last_number(repo); n++)
        json_array_append_new(all, issue(g, repo, n));
    return all;
}

static json_t *all_comments(const test_github *g, const char *repo) {
    json_t *all = json_array(), *event;
    size_t i;
    for (int n = 1; n <= last_number(repo); n++) {
        json_t *events = timeline(g, repo, n);
        json_array_foreach(events, i, event) if (json_object_get(event, "body")) json_array_append_new(
            all, json_pack("{s:o,s:O}", "issue_url",
                           json_sprintf("%s/repos/acme/%s/issues/%d", test_server_url(g->server), repo, n), "body",
                           json_object_get(event, "body")));
        json_decref(events);
    }
    return all;
}

/* Returns the timeline without the fields that contain the original of a duplicate, because GitHub's REST API does not
 * report them. */
static json_t *rest_timeline(const test_github *g, const char *repo, int n) {
    json_t *events = timeline(g, repo, n), *event;
    size_t i;
    json_array_foreach(events, i, event) json_object_del(event, "canonical");
    return events;
}

static void answer_issue(test_github *g, const test_request *q, test_answer *a, const char *repo, int n) {
    if (n == MOVED && strcmp(repo, "anvils") == 0)
        move_to(g, a, "/repos/acme/rockets/issues/5", "");
    else if (n == DELETED)
        error(a, 410, "This issue was deleted");
    else if (n < 1 || n > last_number(repo))
        error(a, 404, "Not Found");
    else
        send_json(q, a, issue(g, repo, n));
}

/* Handles the path /repos/OWNER/NAME and all paths that begin with it. */
static void repository(void *user, const test_request *q, test_answer *a) {
    test_github *g = user;
    char owner[40], repo[40], path[200];
    int n, at = 0;
    if (simulate_failure(g, q, a))
        return;
    quota(g, a);
    if (sscanf(q->path, "/repos/%39[^/]/%39[^/]%n", owner, repo, &at) != 2) {
        error(a, 404, "Not Found");
        return;
    }
    const char *rest = q->path + at;
    const int old = strcmp(owner, "old") == 0 && strcmp(repo, "anvils") == 0;
    if (old) {
        snprintf(path, sizeof path, "/repos/acme/anvils%s", rest);
        move_to(g, a, path, q->query);
    } else if (strcmp(owner, "acme") != 0 || (!last_number(repo) && strcmp(repo, "quiet") != 0) ||
               (strcmp(repo, "secret") == 0 && !test_request_header(q, "authorization"))) {
        error(a, 404, "Not Found");
    } else if (!*rest) {
        send_json(
            q, a,
            json_pack("{s:o,s:b}", "full_name", json_sprintf("acme/%s", repo), "has_issues", last_number(repo) != 0));
    } else if (!last_number(repo)) {
        error(a, 410, "Issues are disabled for this repo");
    } else if (strcmp(rest, "/issues") == 0) {
        send_page(g, q, a, all_issues(g, repo));
    } else if (strcmp(rest, "/issues/comments") == 0) {
        send_page(g, q, a, all_comments(g, repo));
    } else if (sscanf(rest, "/issues/%d/timeline", &n) == 1 && strstr(rest, "/timeline")) {
        send_page(g, q, a, rest_timeline(g, repo, n));
    } else if (sscanf(rest, "/issues/%d", &n) == 1) {
        answer_issue(g, q, a, repo, n);
    } else {
        error(a, 404, "Not Found");
    }
}

/* ---- GraphQL */

static json_t *connection(json_t *nodes, size_t from, size_t count) {
    const size_t n = json_array_size(nodes), end = from + count < n ? from + count : n;
    json_t *part = json_array();
    for (size_t i = from; i < end; i++)
        json_array_append(part, json_array_get(nodes, i));
    json_decref(nodes);
    return json_pack("{s:{s:b,s:o},s:o}", "pageInfo", "hasNextPage", end < n, "endCursor", json_sprintf("%zu", end),
                     "nodes", part);
}

/* Returns the timeline events with the type names of GraphQL. */
static json_t *items(const test_github *g, const char *repo, int n) {
    json_t *events = timeline(g, repo, n), *out = json_array(), *event;
    size_t i;
    json_array_foreach(events, i, event) {
        const char *kind = json_string_value(json_object_get(event, "event"));
        const char *type = strcmp(kind, "commented") == 0               ? "IssueComment"
                           : strcmp(kind, "marked_as_duplicate") == 0   ? "MarkedAsDuplicateEvent"
                           : strcmp(kind, "unmarked_as_duplicate") == 0 ? "UnmarkedAsDuplicateEvent"
                                                                        : NULL;
        if (!type)
            continue;
        json_object_del(event, "event");
        json_object_set_new(event, "__typename", json_string(type));
        json_array_append(out, event);
    }
    json_decref(events);
    return out;
}

/* Returns an issue in the format of GraphQL. duplicates: 1 if the query contains enableDuplicate:true. Otherwise, the
 * state reason DUPLICATE is reported as NOT_PLANNED, as in GitHub. */
static json_t *graphql_issue(const test_github *g, const char *repo, int n, int duplicates) {
    json_t *o = issue(g, repo, n), *labels = json_incref(json_object_get(o, "labels"));
    const char *reason = json_string_value(json_object_get(o, "state_reason"));
    json_object_set_new(
        o, "state",
        json_string(strcmp(json_string_value(json_object_get(o, "state")), "closed") == 0 ? "CLOSED" : "OPEN"));
    json_object_set_new(o, "stateReason",
                        duplicates && reason && strcmp(reason, "duplicate") == 0 ? json_string("DUPLICATE")
                                                                                 : json_string("NOT_PLANNED"));
    json_object_del(o, "state_reason");
    json_object_del(o, "comments");
    json_object_del(o, "repository_url");
    json_object_set_new(o, "labels", json_pack("{s:o}", "nodes", labels));
    json_object_set_new(o, "timelineItems", connection(items(g, repo, n), 0, 3));
    return o;
}

static void graphql(void *user, const test_request *q, test_answer *a) {
    test_github *g = user;
    json_t *root = json_loadb(q->body, q->body_len, 0, NULL), *v = json_object_get(root, "variables"),
           *nodes = json_array(), *result;
    const char *repo = json_string_value(json_object_get(v, "name")),
               *owner = json_string_value(json_object_get(v, "owner"));
    const char *after = json_string_value(json_object_get(v, "after")),
               *query = json_string_value(json_object_get(root, "query"));
    const int number = (int)json_integer_value(json_object_get(v, "number"));
    const size_t from = after ? strtoul(after, NULL, 10) : 0;
    a->delay = g->delay;
    quota(g, a);
    if (!test_request_header(q, "authorization")) {
        error(a, 401, "This endpoint requires you to be authenticated.");
    } else if (g->storm && q->nth % 4 == 1) {
        test_answer_printf(a, "{\"data\":null,\"errors\":[{\"type\":\"%s\",\"message\":\"x\"}]}",
                           q->nth % 8 == 1 ? "RATE_LIMITED" : "SERVICE_UNAVAILABLE");
    } else if (!repo || !last_number(repo) || (strcmp(owner, "acme") != 0 && strcmp(owner, "old") != 0)) {
        test_answer_printf(
            a,
            "{\"data\":{\"repository\":null},\"errors\":[{\"type\":\"NOT_FOUND\",\"message\":\"Could not resolve\"}]}");
    } else {
        for (int n = 1; n <= last_number(repo) && !number; n++)
            if (is_issue(repo, n))
                json_array_append_new(
                    nodes, graphql_issue(g, repo, n, strstr(query, "stateReason(enableDuplicate:true)") != NULL));
        if (number)
            result = json_pack("{s:{s:o}}", "issue", "timelineItems", connection(items(g, repo, number), from, 3));
        else
            result = json_pack("{s:o,s:b,s:o}", "nameWithOwner", json_sprintf("acme/%s", repo), "hasIssuesEnabled", 1,
                               "issues", connection(json_incref(nodes), from, g->page ? (size_t)g->page : 20));
        send_json(q, a, json_pack("{s:{s:o}}", "data", "repository", result));
    }
    json_decref(nodes);
    json_decref(root);
}

void test_github_routes(test_github *g, test_server *s) {
    g->server = s;
    test_server_route(s, "GET", "/repos/*", repository, g);
    test_server_route(s, "POST", "/graphql", graphql, g);
}
