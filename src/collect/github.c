/* SPDX-License-Identifier: MIT
 * Sends requests to GitHub's API and caches the responses. A status other than 200, or a failure of the server, usually
 * concerns only one repository or issue. Therefore it is returned to the caller as a response. If the token is missing
 * or rejected (status 401), the functions fail. GraphQL reports errors with status 200; read_query converts such an
 * error to the status that REST returns for it.
 */
#include "collect/github.h"

#include <stdio.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "net/secret.h"
#include "net/url.h"

#define ACCEPT  "Accept: application/vnd.github+json"
#define VERSION "X-GitHub-Api-Version: 2022-11-28"

const aoei_fetch_clock *aoei_github_clock;

static int stop(void *user) {
    const aoei_github *g = user;
    return g->cancelled || (g->o->stop && g->o->stop(g->o->user));
}

int aoei_github_report_progress(aoei_github *g, aoe_error *err) {
    if (g->o->progress && g->o->progress(g->o->user, &g->progress))
        g->cancelled = 1;
    if (stop(g))
        return aoei_fail(err, AOE_ECANCELLED, "the run was cancelled; run again to resume it");
    return AOE_OK;
}

static void on_progress(void *user, const aoei_fetch_progress *p) {
    aoei_github *g = user;
    const aoei_fetch_counts rest = aoei_fetch_count(g->rest_fetch), graphql = aoei_fetch_count(g->graphql_fetch);
    g->progress.requests = rest.requests + graphql.requests;
    g->progress.stored = rest.stored + graphql.stored;
    g->progress.quota = p->counts.rate.remaining;
    g->progress.waiting = p->event == AOEI_FETCH_RESPONSE ? 0 : p->seconds;
    g->progress.why = p->why;
    if (g->o->progress && g->o->progress(g->o->user, &g->progress))
        g->cancelled = 1;
    g->progress.why = "";
}

/* ---- addresses */

/* Determines the web hosts that occur in links to issues, and the URL of the GraphQL API, from the URL of the REST API.
 * - "https://api.HOST": the web host is HOST, and the path of GraphQL is /graphql.
 * - "https://HOST/api/v3" (GitHub Enterprise): the web host is HOST, and the path of GraphQL is /api/graphql.
 * - Any other "https://HOST" is a mirror of GitHub: the web hosts are HOST and github.com, and the path of GraphQL is
 * /graphql. */
static int set_addresses(aoei_github *g, const char *api, aoe_error *err) {
    size_t len = strlen(api);
    aoei_url checked;
    const int code = aoei_url_read(&checked, api, err);
    aoei_url_free(&checked);
    if (code)
        return code;
    const char *host = strstr(api, "://");
    if (!host || strpbrk(api, " ?#@")) /* the message does not repeat the URL, because it may contain a secret */
        return aoei_fail(
            err, AOE_EARG,
            "options.api must consist of scheme, host and path; use https://HOST, or for GitHub Enterprise "
            "https://HOST/api/v3");
    while (len > 0 && api[len - 1] == '/')
        len--;
    host += 3;
    const size_t host_len = strcspn(host, "/");
    g->origin = (size_t)(host - api) + host_len;
    len = len < g->origin ? g->origin : len;
    g->root = aoei_strndup(api, len);
    const size_t prefix = host_len > 4 && strncmp(host, "api.", 4) == 0 ? 4 : 0;
    g->host = aoei_strndup(host + prefix, host_len - prefix);
    if (!g->root || !g->host)
        return aoei_fail_nomem(err, len);
    static const char enterprise[] = "/api/v3";
    const size_t tail = sizeof enterprise - 1;
    const int is_enterprise = len > tail && strcmp(g->root + len - tail, enterprise) == 0;
    g->hosts[0] = g->host;
    if (!is_enterprise && !prefix) /* a mirror of GitHub; its texts contain links to github.com */
        g->hosts[1] = "github.com";
    aoei_buffer url = {0};
    aoei_buffer_append(&url, g->root, is_enterprise ? len - strlen("/v3") : len);
    if (aoei_buffer_append(&url, "/graphql", 8)) {
        aoei_buffer_free(&url);
        return aoei_fail_nomem(err, len);
    }
    g->graphql = url.data;
    return AOE_OK;
}

/* Returns 1 if the URL has the scheme, host and port of the API. */
static int is_at_origin(const aoei_github *g, const char *url) {
    return strncmp(url, g->root, g->origin) == 0 && (url[g->origin] == '/' || url[g->origin] == 0);
}

int aoei_github_open(aoei_github *g, const aoe_github_options *o, aoe_error *err) {
    const aoei_http_options http = {.stop = stop, .stop_user = g};
    const aoei_fetch_options fetch = {.seed = o->seed,
                                      .stop = stop,
                                      .stop_user = g,
                                      .progress = on_progress,
                                      .progress_user = g,
                                      .clock = aoei_github_clock};
    *g = (aoei_github){
        .o = o,
        .progress = {
            .struct_size = sizeof g->progress, .repository = "", .why = "", .quota = -1, .total = o->n_repositories}};
    int code = set_addresses(g, o->api ? o->api : "https://api.github.com", err);
    if (!code)
        code = aoei_store_open(&g->store, o->cache, err);
    if (!code)
        code = aoei_http_create(&g->http, &http, err);
    if (!code)
        code = aoei_fetch_create(&g->rest_fetch, &fetch, err);
    if (!code)
        code = aoei_fetch_create(&g->graphql_fetch, &fetch, err);
    return code;
}

void aoei_github_close(aoei_github *g) {
    aoei_fetch_destroy(g->rest_fetch);
    aoei_fetch_destroy(g->graphql_fetch);
    aoei_http_destroy(g->http);
    aoei_store_close(g->store);
    aoei_free(g->root);
    aoei_free(g->graphql);
    aoei_free(g->host);
    *g = (aoei_github){0};
}

/* ---- responses */

static void clear(aoei_github_response *a) {
    json_decref(a->json);
    aoei_free(a->next);
    aoei_free(a->key);
    a->json = NULL;
    a->next = a->key = NULL;
    a->status = 0;
    a->why[0] = 0;
}

void aoei_github_response_free(aoei_github_response *a) {
    clear(a);
    aoei_http_response_free(&a->response);
}

int aoei_github_check_page(aoei_github_pages *w, const char *page, aoe_error *err) {
    if (w->mark && strcmp(w->mark, page) == 0)
        return aoei_fail(err, AOE_EFORMAT, "the pages of a list refer to each other in a cycle; check options.api");
    if (w->steps++ < w->until)
        return AOE_OK;
    w->until = 2 * w->steps;
    aoei_free(w->mark);
    w->mark = aoei_strdup(page);
    return w->mark ? AOE_OK : aoei_fail_nomem(err, strlen(page));
}

void aoei_github_pages_free(aoei_github_pages *w) {
    aoei_free(w->mark);
    w->mark = NULL;
}

/* Copies the first line of a text from the server to `out`, for an error message. The token is redacted, because the
 * server may send it back. */
static void show(const aoei_github *g, const char *text, char out[AOEI_GITHUB_SHOWN]) {
    char *copy = aoei_strdup(text ? text : "");
    out[0] = 0;
    if (copy) {
        aoei_redact(copy, strlen(copy), g->o->token); /* before truncation, because a truncated token would not be
                                                         found */
        (void)snprintf(out, AOEI_GITHUB_SHOWN, "%s", copy);
        (void)aoei_one_line(out, strlen(out));
    }
    aoei_free(copy);
}

/* Copies the "message" of an error response to `message`. Stores "" if the response has no message. */
static void message_of(const aoei_github *g, const aoei_http_response *r, char message[AOEI_GITHUB_SHOWN]) {
    json_t *json = NULL;
    message[0] = 0;
    if (aoei_http_json(&json, r, NULL) == AOE_OK)
        show(g, json_string_value(json_object_get(json, "message")), message);
    json_decref(json);
}

/* Handles a response with a status other than 200. Returns an error if the token is rejected or missing. Otherwise sets
 * a->why to the message of the server and returns 0. */
static int read_status(const aoei_github *g, aoei_github_response *a, const char *url, aoe_error *err) {
    char place[AOEI_URL_DISPLAY_MAX];
    if (a->status == 401)
        return aoei_fail(err, AOE_EIO, "%s: %s (401)", aoei_url_display(url, place),
                         g->o->token ? "the token is rejected; use a valid token, or none"
                                     : "the API requires a token; set options.token");
    message_of(g, &a->response, a->why);
    return AOE_OK;
}

/* A function that classifies responses (net/fetch.h), and the result of its last call. */
typedef struct classification {
    aoei_classify_fn classify;
    int broken; /* 1: the last response was unusable */
} classification;

static aoei_response_class classify_and_record(void *user, const aoei_http_response *r) {
    classification *j = user;
    const aoei_response_class class = j->classify(NULL, r);
    j->broken = class == AOEI_RESPONSE_INVALID;
    return class;
}

/* Returns 1 if the server was reached but its response is not usable. The failure may concern only this URL, so the run
 * continues with other requests. */
static int is_failure(const aoei_http_response *r, const classification *j) {
    return r->status >= 500 || r->status == 408 || j->broken || (r->status && r->transient);
}

/* Reads the response to a request from the cache or requests it from the server, and sets a->status. Sets *kept to 1 if
 * the response is from the cache. */
static int request_cached(aoei_github *g, aoei_fetch *fetch, const char *key, const aoei_http_request *q,
                          aoei_classify_fn classify, double age, aoei_github_response *a, int *kept, aoe_error *err) {
    classification j = {.classify = classify};
    aoe_error why;
    int64_t time;
    if (g->o->offline) {
        const int found = aoei_store_get(g->store, aoe_text_of(key), &a->response, &time, err);
        *kept = 1;
        a->status = found > 0 ? a->response.status : 0;
        g->absent += found == 0;
        g->progress.stored += found > 0;
        return found < 0 ? found : AOE_OK;
    }
    const int code = aoei_fetch_cached(fetch, g->http, g->store, aoe_text_of(key), age, q, classify_and_record, &j,
                                       &a->response, kept, &why);
    a->status = a->response.status;
    if (code == AOE_EIO && is_failure(&a->response, &j)) {
        a->status = AOEI_GITHUB_FAILED;
        show(g, why.message, a->why);
        return AOE_OK;
    }
    return code ? aoei_fail(err, code, "%s", why.message) : AOE_OK;
}

int aoei_github_get(aoei_github *g, const char *url, int again, aoei_github_response *a, aoe_error *err) {
    static const char *const headers[] = {ACCEPT, VERSION};
    clear(a);
    if (!is_at_origin(g, url))
        return aoei_fail(err, AOE_EFORMAT, "%s: the URL of the next page has another origin; check options.api",
                         g->root);
    const aoei_http_request q = {.url = url, .headers = headers, .n_headers = 2, .token = g->o->token};
    const double age = g->o->refresh ? AOEI_AGE_NONE : AOEI_AGE_ANY;
    int kept;
    int code = request_cached(g, g->rest_fetch, url, &q, aoei_classify_json, age, a, &kept, err);
    if (!code && again && kept && !g->o->offline && !g->o->refresh && a->status != 200)
        code = request_cached(g, g->rest_fetch, url, &q, aoei_classify_json, AOEI_AGE_NONE, a, &kept, err);
    if (code || a->status == 0 || a->status == AOEI_GITHUB_FAILED)
        return code;
    if (a->status != 200)
        return read_status(g, a, url, err);
    code = aoei_http_json(&a->json, &a->response, err);
    if (!code)
        code = aoei_headers_link(&a->response.headers, "next", a->response.url, &a->next);
    if (!code && !(a->key = aoei_strdup(url)))
        code = aoei_fail_nomem(err, strlen(url));
    return code;
}

/* Returns 1 if a GraphQL response contains an error of this type. */
static int has_error(const json_t *root, const char *type) {
    const json_t *errors = json_object_get(root, "errors");
    size_t i;
    json_t *e;
    json_array_foreach(errors, i, e) {
        const char *t = json_string_value(json_object_get(e, "type"));
        if (t && strcmp(t, type) == 0)
            return 1;
    }
    return 0;
}

/* An aoei_classify_fn for GraphQL responses. GraphQL reports exceeded rate limits and missing objects in responses with
 * status
 * 200. */
static aoei_response_class classify_query(void *user, const aoei_http_response *r) {
    json_t *root = NULL;
    (void)user;
    if (r->status != 200)
        return AOEI_RESPONSE_BY_STATUS;
    const int code = aoei_http_json(&root, r, NULL);
    const int errors = json_array_size(json_object_get(root, "errors")) > 0,
              rejected = errors && !json_object_get(root, "data");
    aoei_response_class class = code == AOE_EFORMAT ? AOEI_RESPONSE_INVALID : AOEI_RESPONSE_BY_STATUS;
    if (has_error(root, "RATE_LIMITED"))
        class = AOEI_RESPONSE_RATE_LIMITED;
    else if (errors && !rejected && !has_error(root, "NOT_FOUND") && !has_error(root, "FORBIDDEN"))
        class = AOEI_RESPONSE_INVALID;
    json_decref(root);
    return class;
}

/* Reads a GraphQL response into *a. If the API rejected the query, sets *rejected to 1 and returns an error. */
static int read_query(aoei_github *g, aoei_github_response *a, int *rejected, aoe_error *err) {
    json_t *root;
    *rejected = 0;
    json_decref(a->json);
    a->json = NULL;
    if (a->status == 0 || a->status == AOEI_GITHUB_FAILED)
        return AOE_OK;
    if (a->status != 200)
        return read_status(g, a, g->graphql, err);
    int code = aoei_http_json(&root, &a->response, err);
    if (code)
        return code;
    const json_t *first = json_array_get(json_object_get(root, "errors"), 0);
    json_t *data = json_object_get(root, "data");
    show(g, json_string_value(json_object_get(first, "message")), a->why);
    if (has_error(root, "NOT_FOUND"))
        a->status = 404;
    else if (has_error(root, "FORBIDDEN") && !json_is_object(json_object_get(data, "repository")))
        a->status = 403; /* if only a part of the repository is forbidden, the other data are used */
    else
        a->json = json_incref(data);
    *rejected = a->status == 200 && !a->json;
    if (*rejected)
        code = aoei_fail(err, AOE_EFORMAT, "%s: the query was rejected (%s); use REST, or check options.api",
                         g->graphql, *a->why ? a->why : "the response has no data");
    json_decref(root);
    return code;
}

int aoei_github_query(aoei_github *g, const char *query, json_t *variables, int again, aoei_github_response *a,
                      aoe_error *err) {
    static const char *const headers[] = {ACCEPT, "Content-Type: application/json"};
    clear(a);
    json_t *root = json_pack("{s:s,s:O}", "query", query, "variables", variables);
    aoei_buffer body = {0}, key = {0};
    const int bad = aoei_json_append(&body, root, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(root);
    aoei_buffer_printf(&key, "POST %s\n%s", g->graphql, body.data ? body.data : "");
    if (bad || key.failed) {
        aoei_buffer_free(&body);
        aoei_buffer_free(&key);
        return aoei_fail_nomem(err, key.len);
    }
    a->key = key.data;
    const aoei_http_request q = {.method = "POST",
                                 .url = g->graphql,
                                 .headers = headers,
                                 .n_headers = 2,
                                 .body = body.data,
                                 .body_len = body.len,
                                 .token = g->o->token};
    const double age = g->o->refresh ? AOEI_AGE_NONE : AOEI_AGE_ANY;
    int kept = 0, rejected = 0;
    int code = request_cached(g, g->graphql_fetch, a->key, &q, classify_query, age, a, &kept, err);
    if (!code)
        code = read_query(g, a, &rejected, err);
    if (kept && !g->o->offline && !g->o->refresh &&
        (rejected || (!code && (a->status == 403 || (again && a->status == 404))))) {
        code = request_cached(g, g->graphql_fetch, a->key, &q, classify_query, AOEI_AGE_NONE, a, &kept, err);
        if (!code)
            code = read_query(g, a, &rejected, err);
    }
    aoei_buffer_free(&body);
    return code;
}

int aoei_github_load(aoei_github *g, const char *key, json_t **json, aoe_error *err) {
    aoei_http_response r = {0};
    int64_t time;
    *json = NULL;
    int code = aoei_store_get(g->store, aoe_text_of(key), &r, &time, err);
    if (code == 0)
        code = aoei_fail(
            err, AOE_EFORMAT,
            "%s: a response is no longer in the cache, or was not stored because its headers contain the token; run "
            "again, and let only one run at a time use the cache",
            g->o->cache);
    else if (code > 0)
        code = aoei_http_json(json, &r, err);
    aoei_http_response_free(&r);
    return code;
}
