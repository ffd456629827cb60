/* SPDX-License-Identifier: MIT
 * tags: threads network
 * covers: collect/collection collect/github collect/github_graphql collect/github_json collect/github_report
 * covers: collect/github_resolve collect/github_rest
 * Tests the collection of GitHub issues with a local server that implements GitHub's API. All duplicate issues that the
 * server knows must be found, even if some requests fail. Cached responses must not be requested again. The access
 * token must be sent only to the API.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../support/github_server.h"
#include "../support/support.h"
#include "aoe.h"
#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "collect/github.h"

#define TOKEN      "ghp_tokenthatnobodymaysee0123456789"
#define TOKEN_PART "ghp_tok"
#define FIFTY      "we inspected everything and there is nothing to do; "

static test_server *server;
static test_github github;
static double slept; /* number of seconds for which the collector has slept, measured with the simulated clock of the
                        test */

static double clock_now(void *user) {
    (void)user;
    return slept;
}
static int64_t clock_time(void *user) {
    (void)user;
    return (int64_t)time(NULL);
}
static void clock_sleep(void *user, double seconds) {
    (void)user;
    slept += seconds;
}
static const aoei_fetch_clock test_clock = {clock_now, clock_time, clock_sleep, NULL};

/* One run of the collector and its results. */
typedef struct run {
    aoe_github_options o;
    aoe_github_result result;
    aoe_error err;
    aoei_buffer out[AOE_ISSUES_SPLITS];
    aoei_buffer missing; /* one line "repository: reason" per missing repository */
    size_t stop_at;      /* number of calls of the progress callback after which the callback stops the run; 0: never */
    size_t calls;        /* number of calls of the progress callback so far */
} run;

static int write_output(void *user, size_t part, const char *data, size_t len) {
    run *r = user;
    return aoei_buffer_append(&r->out[part], data, len);
}
static int on_progress(void *user, const aoe_github_progress *p) {
    run *r = user;
    assert_non_null(p->repository);
    assert_non_null(p->why);
    return ++r->calls == r->stop_at;
}
static void on_missing(void *user, const char *repository, const char *why) {
    run *r = user;
    aoei_buffer_printf(&r->missing, "%s: %s\n", repository, why);
}

static const char *const default_repositories[] = {"old/anvils", "acme/rockets", "acme/secret", "acme/quiet",
                                                   "acme/anvils"};

static void begin(run *r, const char *cache) {
    *r = (run){0};
    aoe_github_options_defaults(&r->o);
    r->o.repositories = default_repositories;
    r->o.n_repositories = sizeof default_repositories / sizeof *default_repositories;
    r->o.cache = cache;
    r->o.api = test_server_url(server);
    r->o.ids = 1;
    r->o.name[AOE_ISSUES_TRAIN] = "train.jsonl";
    r->o.name[AOE_ISSUES_VALIDATION] = "dev.tsv";
    r->o.name[AOE_ISSUES_TEST] = "test.csv";
    r->o.write = write_output;
    r->o.progress = on_progress;
    r->o.missing = on_missing;
    r->o.user = r;
}

static int collect(run *r) {
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        aoei_buffer_clear(&r->out[i]);
    aoei_buffer_clear(&r->missing);
    r->calls = 0;
    r->result.struct_size = sizeof r->result;
    return aoe_github_issues(&r->o, &r->result, &r->err);
}

static void must_collect(run *r) {
    const int code = collect(r);
    if (code)
        fail_msg("the collection failed with code %d: %s", code, r->err.message);
}

static void end(run *r) {
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        aoei_buffer_free(&r->out[i]);
    aoei_buffer_free(&r->missing);
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    for (const char *at = text; at && (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* Returns 1 if exactly one row of all output files has the label 1 and consists of the issues `duplicate` and
 * `original`, which have the form "owner/name#N". */
static int has_pair(const run *r, const char *duplicate, const char *original) {
    char jsonl[200], tsv[200], csv[200];
    snprintf(jsonl, sizeof jsonl, "\"label\":1,\"id1\":\"%s\",\"id2\":\"%s\"}", duplicate, original);
    snprintf(tsv, sizeof tsv, "\t1\t%s\t%s\n", duplicate, original);
    snprintf(csv, sizeof csv, ",1,%s,%s", duplicate, original);
    return count(r->out[0].data, jsonl) + count(r->out[1].data, tsv) + count(r->out[2].data, csv) == 1;
}

/* Asserts that the positive pairs in the output files are the known duplicates, each exactly once. Every positive pair
 * must also have a negative pair, unless its split contains no candidates for negatives. */
static void check_known(const run *r, int all, int graphql) {
    static const char *const repos[] = {"acme/anvils", "acme/rockets"};
    size_t known = 0, positives = 0, negatives = 0;
    for (int k = 0; k < 2; k++)
        for (int n = 1; n <= 240; n++) {
            char duplicate[64], original[64];
            snprintf(duplicate, sizeof duplicate, "%s#%d", repos[k], n);
            if (!test_github_is_issue(repos[k], n) || !test_github_original(repos[k], n, all, graphql, original))
                continue;
            known++;
            if (!has_pair(r, duplicate, original))
                fail_msg("the outputs do not contain the pair of the duplicate %s and its original %s exactly once",
                         duplicate, original);
        }
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++) {
        positives += r->result.positives[i];
        negatives += r->result.negatives[i];
        assert_true(r->result.positives[i] > 0);
    }
    assert_int_equal(positives, known);
    /* `without` counts the pairs without a negative, because a split with few issues may have too few candidates */
    assert_int_equal(negatives + r->result.without, known);
}

static int equal_outputs(const run *a, const run *b) {
    for (int i = 0; i < AOE_ISSUES_SPLITS; i++)
        if (a->out[i].len != b->out[i].len || memcmp(a->out[i].data, b->out[i].data, a->out[i].len) != 0)
            return 0;
    return 1;
}

static void reset_server(void) {
    github.storm = github.version = github.page = 0;
    github.delay = 0;
    test_server_forget(server);
}

static void test_known_set(void **state) {
    run r, again;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "known.sqlite");
    begin(&r, cache);
    must_collect(&r);
    check_known(&r, 0, 0);
    assert_string_equal(r.missing.data, "acme/secret: it does not exist, or it is private and needs a token (404)\n"
                                        "acme/quiet: its issues are disabled (410)\n");
    assert_int_equal(r.result.missing, 2);
    assert_int_equal(r.result.repositories, 3); /* acme/anvils is given twice but counted once */
    assert_int_equal(r.result.issues, 240 - 34 + 40 - 5);
    assert_int_equal(r.result.pull_requests, 34 + 5);
    assert_int_equal(r.result.gone, 2); /* one issue is deleted, and one is a pull request */
    assert_int_equal(r.result.unread, 0);
    assert_int_equal(r.result.transferred, 1);
    assert_int_equal(r.result.unknown, 3); /* one original is deleted, one is a pull request, and one is not named */
    /* the server also counts two redirected requests, which result.requests does not include */
    assert_true(test_server_count(server, NULL) == r.result.requests + 2);
    /* a second run requests only the missing repository */
    test_server_forget(server);
    begin(&again, cache);
    must_collect(&again);
    assert_int_equal(test_server_count(server, NULL), 1);
    assert_int_equal(test_server_count(server, "GET /repos/acme/secret"), 1);
    assert_true(equal_outputs(&r, &again));
    /* an offline run sends no request */
    again.o.offline = 1;
    must_collect(&again);
    assert_int_equal(test_server_count(server, NULL), 1);
    assert_int_equal(again.result.requests, 0);
    assert_true(equal_outputs(&r, &again));
    end(&r);
    end(&again);
    free(cache);
}

static void test_server_errors(void **state) {
    run undisturbed, disturbed;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "undisturbed.sqlite"), *other = test_path(test_dir, "disturbed.sqlite");
    begin(&undisturbed, cache);
    must_collect(&undisturbed);
    github.storm = 1;
    test_server_forget(server);
    const double before = slept;
    begin(&disturbed, other);
    must_collect(&disturbed);
    check_known(&disturbed, 0, 0);
    assert_true(equal_outputs(&undisturbed, &disturbed));
    assert_true(disturbed.result.requests > undisturbed.result.requests + 20);
    assert_true(slept - before > 20); /* the collector waited for the rate limit */
    end(&undisturbed);
    end(&disturbed);
    free(cache);
    free(other);
}

static void test_comments_and_graphql(void **state) {
    run r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "ways.sqlite");
    begin(&r, cache);
    r.o.all_comments = 1;
    must_collect(&r);
    check_known(&r, 1, 0);
    const size_t rest_requests = test_server_count(server, NULL);
    r.o.all_comments = 0;
    r.o.graphql = 1;
    assert_int_equal(collect(&r), AOE_EARG); /* GraphQL requests need a token */
    r.o.token = TOKEN;
    must_collect(&r);
    check_known(&r, 1, 1);
    assert_true(test_server_count(server, NULL) - rest_requests < 40);
    assert_int_equal(r.result.missing, 1); /* the token gives access to acme/secret */
    test_server_forget(server);
    must_collect(&r);
    assert_int_equal(r.result.requests, 1); /* only the missing repository is requested again */
    end(&r);
    free(cache);
    char *other = test_path(test_dir, "graphql-storm.sqlite");
    github.storm = 1;
    test_server_forget(server);
    begin(&r, other);
    r.o.graphql = 1;
    r.o.token = TOKEN;
    must_collect(&r);
    check_known(&r, 1, 1);
    end(&r);
    free(other);
}

static void test_refresh(void **state) {
    run r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "refresh.sqlite");
    begin(&r, cache);
    /* with this option, a changed body must not change the cleaned text of other issues */
    r.o.clean = AOE_ISSUE_CLEAN_TEMPLATES;
    must_collect(&r);
    const uint64_t answers = r.result.requests;
    r.o.refresh = 1;
    must_collect(&r);
    assert_int_equal(r.result.requests, answers);
    /* all responses must be unchanged, except 4 errors and at most 2 other responses */
    assert_true(r.result.unchanged + 2 >= answers - 4);
    github.version = 1;
    must_collect(&r);
    assert_int_equal(r.result.requests, answers);
    assert_true(r.result.unchanged > 0);
    r.o.refresh = 0;
    must_collect(&r);
    check_known(&r, 0, 0);
    end(&r);
    free(cache);
}

/* Tests that the next run resumes a run that was stopped at any point. */
static void test_stopped(void **state) {
    run whole, r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "whole.sqlite");
    begin(&whole, cache);
    must_collect(&whole);
    free(cache);
    for (size_t step = 7; step < 60; step += 17) {
        char name[32];
        snprintf(name, sizeof name, "stopped%zu.sqlite", step);
        char *other = test_path(test_dir, name);
        test_server_forget(server);
        begin(&r, other);
        int code;
        size_t stops = 0;
        do {
            r.stop_at = 3 + step * (stops + 1); /* each run is stopped later than the previous run */
            code = collect(&r);
            stops += code == AOE_ECANCELLED;
        } while (code == AOE_ECANCELLED);
        assert_int_equal(code, AOE_OK);
        assert_true(stops > 1);
        assert_true(equal_outputs(&whole, &r));
        assert_int_equal(test_server_count(server, "GET /repos/acme/anvils/issues/9999"), 1);
        assert_int_equal(test_server_count(
                             server, "GET /repos/acme/anvils/issues?state=all&sort=created&direction=asc&per_page=100"),
                         1);
        assert_true(test_server_count(server, NULL) <= whole.result.requests + 2 + 2 * stops);
        end(&r);
        free(other);
    }
    end(&whole);
}

static void test_token_is_not_stored(void **state) {
    run r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "token.sqlite");
    begin(&r, cache);
    r.o.token = TOKEN;
    must_collect(&r);
    assert_int_equal(test_server_count_header(server, TOKEN), test_server_count(server, NULL));
    assert_int_equal(r.result.missing, 1);
    end(&r);
    size_t size;
    char *data = test_read(cache, &size);
    assert_non_null(data);
    assert_null(memmem(data, size, TOKEN, strlen(TOKEN)));
    free(data);
    free(cache);
}

/* ---- servers with one fixed response */

typedef struct canned {
    int status;
    const char *header, *body;
} canned;

static void answer(void *user, const test_request *q, test_answer *a) {
    const canned *c = user;
    (void)q;
    a->status = c->status;
    if (c->header)
        test_answer_header(a, "%s", c->header);
    test_answer_printf(a, "%s", c->body);
}

static void answer_repository(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    test_answer_printf(a, "{\"full_name\":\"a/b\"}");
}

/* Collects from a server that sends the response c to the request for the list of issues. Asserts that the collection
 * returns `expected`, and that the error message contains `part` but not the token. If `expected` is 0, the repository
 * is reported as missing, and the reported reason must contain `part` but not the token. */
static void check_response(canned c, int expected, const char *part) {
    static const char *const repos[] = {"a/b"};
    test_server *other = test_server_start();
    char *cache = test_path(test_dir, "response.sqlite");
    run r;
    test_server_route(other, "GET", "/repos/a/b", answer_repository, NULL);
    test_server_route(other, "*", "*", answer, &c);
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 1;
    r.o.api = test_server_url(other);
    r.o.token = TOKEN;
    const int code = collect(&r);
    const char *message = code ? r.err.message : r.missing.data ? r.missing.data : "";
    if (code != expected || !strstr(message, part))
        fail_msg("found code %d and the message \"%s\", expected code %d and \"%s\"", code, message, expected, part);
    assert_null(strstr(r.err.message, TOKEN_PART));
    assert_true(!r.missing.len || !strstr(r.missing.data, TOKEN_PART));
    end(&r);
    test_server_stop(other);
    unlink(cache);
    free(cache);
}

static void test_error_responses(void **state) {
    (void)state;
    check_response((canned){401, NULL, "{\"message\":\"Bad credentials\"}"}, AOE_EIO, "the token is rejected");
    check_response((canned){422, NULL, "{\"message\":\"No more pages\"}"}, AOE_OK, "status 422: No more pages");
    check_response((canned){422, NULL, "{\"message\":\"no " TOKEN " and \\u0067hp_tokenthatnobodymaysee0123456789\"}"},
                   AOE_OK, "422: no ####");
    check_response((canned){422, NULL, "{\"message\":\"" FIFTY FIFTY FIFTY " inspect this:           " TOKEN "\"}"},
                   AOE_OK, "422: we");
    check_response((canned){500, NULL, ""}, AOE_OK, "no response after 6 attempts");
    check_response((canned){200, NULL, "{\"x\":1}"}, AOE_EFORMAT, "not a list");
    check_response((canned){200, NULL, "[[["}, AOE_OK, "invalid response");
    check_response((canned){200, "Link: <https://elsewhere.example/x>; rel=\"next\"", "[]"}, AOE_EFORMAT,
                   "has another origin");
    check_response((canned){451, NULL, ""}, AOE_OK, "not available (451)");
    check_response((canned){403, NULL, "{}"}, AOE_OK, "forbidden (403)");
    check_response((canned){200, NULL, "[]"}, AOE_OK, "");
    check_response(
        (canned){200, NULL,
                 "[1,null,{},{\"number\":-1},{\"number\":1,\"title\":5,\"labels\":[1,{\"name\":2}],\"body\":[]}]"},
        AOE_OK, "");
}

/* ---- servers with fixed responses by path */

typedef struct fixed_page {
    /* path and query; a request matches if its path and query equal this text, or begin with this text and '&' */
    const char *path;
    int status;
    const char *link; /* path of the next page; NULL for the last page */
    const char *body;
} fixed_page;

static void answer_page(void *user, const test_request *q, test_answer *a) {
    a->status = 404;
    for (const fixed_page *p = user; p->path; p++) {
        const size_t n = strlen(p->path);
        if (strncmp(q->target, p->path, n) != 0 || (q->target[n] && q->target[n] != '&'))
            continue;
        a->status = p->status;
        if (p->link)
            test_answer_header(a, "Link: <%s%s>; rel=\"next\"", test_server_url(q->server), p->link);
        test_answer_printf(a, "%s", p->body);
    }
}

/* Collects with the options in r->o from a server with these pages. In the last element of `pages`, path is NULL.
 * Returns the error code of the collection. The caller calls end(r). */
static int collect_pages(run *r, const fixed_page *pages, const char *const *repos, size_t n) {
    char name[32];
    static int calls;
    snprintf(name, sizeof name, "pages%d.sqlite", calls++);
    char *cache = test_path(test_dir, name);
    const aoe_github_options o = r->o;
    test_server *other = test_server_start();
    test_server_route(other, "*", "*", answer_page, (void *)pages);
    begin(r, cache);
    r->o.graphql = o.graphql;
    r->o.all_comments = o.all_comments;
    r->o.clean = o.clean;
    r->o.negatives = o.negatives ? o.negatives : 1;
    r->o.repositories = repos;
    r->o.n_repositories = n;
    r->o.api = test_server_url(other);
    r->o.token = TOKEN;
    r->o.name[0] = "train.jsonl";
    r->o.name[1] = r->o.name[2] = NULL;
    if (o.ratio[1] > 0) {
        memcpy(r->o.ratio, o.ratio, sizeof o.ratio);
        r->o.name[1] = "dev.jsonl";
    }
    const int code = collect(r);
    if (code)
        printf("%s\n", r->err.message);
    test_server_stop(other);
    free(cache);
    return code;
}

#define LIST(name)          "/repos/" name "/issues?state=all&sort=created&direction=asc&per_page=100"
#define OPEN(number, title) "{\"number\":" number ",\"title\":\"" title "\",\"state\":\"open\"}"
#define CLOSED(number, title, body)                                                                                    \
    "{\"number\":" number ",\"title\":\"" title "\",\"state\":\"closed\",\"body\":\"" body "\"}"
#define MARKED(number, title)                                                                                          \
    "{\"number\":" number ",\"title\":\"" title "\",\"state\":\"closed\",\"state_reason\":\"duplicate\",\"comments\":3}"
#define COMMENT(body) "[{\"event\":\"commented\",\"body\":\"" body "\"}]"
#define GOOD          "[" OPEN("1", "one") "," CLOSED("2", "two", "Duplicate of #1") "," OPEN("3", "three") "]"

/* Tests that an error in one repository does not affect the other repositories. */
static void test_one_repository_fails(void **state) {
    static const char *const repos[] = {"a/b", "c/d"};
    static const struct {
        int status;
        const char *body, *why;
    } failures[] = {
        {422, "{\"message\":\"Pagination too deep\"}", "a/b: the API returned status 422: Pagination too deep\n"},
        {500, "oops", "a/b: no response after 6 attempts"},
        {200, "oops", "a/b: no response after 6 attempts"},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof failures / sizeof *failures; i++) {
        const size_t k = i / 2;
        const int second = i % 2; /* 1: the second page has the error, after a valid first page */
        const fixed_page pages[] = {
            {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"},
            {"/repos/c/d", 200, NULL, "{\"full_name\":\"c/d\"}"},
            {LIST("c/d"), 200, NULL, GOOD},
            {LIST("a/b"), second ? 200 : failures[k].status, second ? "/more" : NULL, second ? GOOD : failures[k].body},
            {"/more", failures[k].status, NULL, failures[k].body},
            {0}};
        run r = {0};
        assert_int_equal(collect_pages(&r, pages, repos, 2), AOE_OK);
        assert_int_equal(r.result.missing, 1);
        assert_int_equal(r.result.repositories, 1);
        if (!strstr(r.missing.data, failures[k].why))
            fail_msg("'%s' does not contain '%s'", r.missing.data, failures[k].why);
        assert_int_equal(r.result.positives[0], 1); /* the repository with the error contributes no positives */
        assert_true(has_pair(&r, "c/d#2", "c/d#1"));
        end(&r);
    }
}

static void answer_forbidden(void *user, const test_request *q, test_answer *a) {
    (void)user;
    test_answer_printf(a, strstr(q->body, "\"a\"")
                              ? "{\"data\":{\"repository\":null},\"errors\":[{\"type\":\"FORBIDDEN\",\"message\":"
                                "\"SAML for " TOKEN "\"}]}"
                              : "{\"data\":{\"repository\":{\"nameWithOwner\":\"c/d\",\"issues\":{\"nodes\":" GOOD
                                "}}}}");
}

static void test_one_forbidden(void **state) {
    static const char *const repos[] = {"a/b", "c/d"};
    run r;
    (void)state;
    test_server *other = test_server_start();
    char *cache = test_path(test_dir, "forbidden.sqlite");
    test_server_route(other, "POST", "*", answer_forbidden, NULL);
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 2;
    r.o.api = test_server_url(other);
    r.o.token = TOKEN;
    r.o.graphql = 1;
    /* the next run repeats the request, because access may have been granted in the meantime */
    for (int again = 0; again < 2; again++) {
        must_collect(&r);
        assert_string_equal(r.missing.data,
                            "a/b: access is forbidden (403: SAML for ###################################)\n");
        assert_int_equal(r.result.repositories, 1);
        assert_int_equal(r.result.requests, again ? 1 : 2);
        assert_int_equal(r.result.positives[0] + r.result.positives[1] + r.result.positives[2], 1);
    }
    end(&r);
    test_server_stop(other);
    free(cache);
}

/* Tests that an incomplete list of comments gives no pairs, because a missing later comment may retract an earlier
 * statement. */
static void test_incomplete_comments(void **state) {
    static const char *const repos[] = {"a/b"};
    (void)state;
    for (int whole = 0; whole < 2; whole++)
        for (int comments = 0; comments < 2; comments++) {
            const int status = whole ? 200 : 403;
            const fixed_page pages[] = {
                {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"},
                {LIST("a/b"), 200, NULL,
                 "[" OPEN("1", "one") "," MARKED("2", "two") "," OPEN("3", "three") "," CLOSED("4", "four", "x") "]"},
                {"/repos/a/b/issues/2/timeline?per_page=100", 200, "/t2", COMMENT("Duplicate of #1")},
                {"/t2", comments ? 200 : status, NULL, "[]"},
                {"/repos/a/b/issues/comments?sort=created&direction=asc&per_page=100", 200, "/c2",
                 "[{\"issue_url\":\"/issues/4\",\"body\":\"Duplicate of #1\"}]"},
                {"/c2", status, NULL, "[]"},
                {0}};
            run r = {.o = {.all_comments = comments}};
            assert_int_equal(collect_pages(&r, pages, repos, 1), AOE_OK);
            assert_int_equal(r.result.missing, 0);
            assert_int_equal(r.result.unread, !whole);
            assert_int_equal(r.result.positives[0], whole + comments);
            end(&r);
        }
}

/* Tests that links to github.com are recognized as references to issues, even if the API has another address. */
static void test_links_to_github(void **state) {
    static const char *const repos[] = {"a/b"};
    static const fixed_page pages[] = {
        {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"},
        {LIST("a/b"), 200, NULL,
         "[" OPEN("1", "one") "," CLOSED("2", "two",
                                         "Duplicate of https://github.com/a/b/issues/1") "," OPEN("3", "three") "]"},
        {0}};
    run r = {0};
    (void)state;
    assert_int_equal(collect_pages(&r, pages, repos, 1), AOE_OK);
    assert_int_equal(r.result.positives[0], 1);
    end(&r);
}

/* Tests issues with equal texts. Issues whose texts differ only in white space and case must be in one cluster. Issues
 * whose texts are equal after cleaning must be used in only one split. */
static void test_equal_texts(void **state) {
    static const char *const repos[] = {"a/b"};
    enum { TWINS = 30 };
    (void)state;
    for (int clean = 0; clean < 2; clean++) {
        aoei_buffer list = {0};
        for (int i = 1; i <= TWINS; i++)
            aoei_buffer_printf(
                &list,
                "%s" CLOSED("%d", "%s %d", "a line %d") "," CLOSED("%d", "Twin %d", "a%sline %d%s") "," CLOSED(
                    "%d", "dup %d", "Duplicate of #%d") "," CLOSED("%d", "more %d", "Duplicate of #%d"),
                i > 1 ? "," : "[", i, clean ? "Twin" : "TWIN", i, i, 1000 + i, i, clean ? " " : "\\n ", i,
                clean ? "\\nof a template" : "", 2000 + i, i, i, 3000 + i, i, 1000 + i);
        aoei_buffer_printf(&list, "]");
        const fixed_page pages[] = {
            {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"}, {LIST("a/b"), 200, NULL, list.data}, {0}};
        run r = {.o = {.ratio = {1, 1}, .clean = clean ? AOE_ISSUE_CLEAN_TEMPLATES : 0}};
        assert_int_equal(collect_pages(&r, pages, repos, 1), AOE_OK);
        assert_int_equal(r.result.clusters, clean ? 2 * TWINS : TWINS);
        if (!clean)
            assert_int_equal(r.result.positives[0] + r.result.positives[1], 2 * TWINS);
        else
            /* with this cleaning, some pairs are omitted to keep equal texts in one split */
            assert_in_range(r.result.positives[0] + r.result.positives[1], TWINS, 2 * TWINS - 1);
        assert_int_equal(count(r.out[0].data, "\"label\":0"), r.result.negatives[0]);
        assert_int_equal(count(r.out[1].data, "\"label\":1"), r.result.positives[1]);
        for (int i = 1; i <= TWINS && clean; i++) {
            char text[64];
            snprintf(text, sizeof text, "\"Twin %d\\na line %d\"", i, i);
            assert_true(!count(r.out[0].data, text) || !count(r.out[1].data, text));
            assert_int_not_equal(count(r.out[0].data, text) + count(r.out[1].data, text), 0);
        }
        assert_null(strstr(r.out[0].data, "template"));
        end(&r);
        aoei_buffer_free(&list);
    }
}

/* Tests an issue whose body contains the token. The body must be kept, but the token in it must be redacted. */
static void test_token_in_a_body(void **state) {
    static const char *const repos[] = {"a/b"};
    static const fixed_page pages[] = {
        {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"},
        {LIST("a/b"), 200, NULL,
         "[" OPEN("1", "one") "," CLOSED("2", "two", "Duplicate of #1. Token " TOKEN "!") "," OPEN("3", "three") "]"},
        {0}};
    run r = {0};
    (void)state;
    assert_int_equal(collect_pages(&r, pages, repos, 1), AOE_OK);
    assert_int_equal(r.result.positives[0], 1);
    assert_non_null(strstr(r.out[0].data, "Token ###################################!"));
    assert_null(strstr(r.out[0].data, TOKEN));
    end(&r);
}

/* Tests a chain of duplicates over two repositories: a/b#10 is a duplicate of c/d#5, which is a duplicate of c/d#6,
 * which is a duplicate of a/b#20. The query a/b#10 and a/b#20 are therefore in one cluster, and a/b#20 must not be used
 * as a negative of a/b#10. */
static void test_original_is_a_duplicate(void **state) {
    static const char *const repos[] = {"a/b"};
    static const fixed_page pages[] = {
        {"/repos/a/b", 200, NULL, "{\"full_name\":\"a/b\"}"},
        {LIST("a/b"), 200, NULL,
         "[" CLOSED("10", "ten", "Duplicate of c/d#5") "," OPEN("20", "twenty") "," OPEN("30", "thirty") "]"},
        {"/repos/c/d/issues/5", 200, NULL, CLOSED("5", "five", "Duplicate of c/d#6")},
        {"/repos/c/d/issues/6", 200, NULL, CLOSED("6", "six", "Duplicate of a/b#20")},
        {0}};
    run r = {.o = {.negatives = 2}};
    (void)state;
    assert_int_equal(collect_pages(&r, pages, repos, 1), AOE_OK);
    assert_int_equal(r.result.positives[0], 1);
    assert_int_equal(r.result.negatives[0], 1);
    assert_true(has_pair(&r, "a/b#10", "c/d#5"));
    assert_non_null(strstr(r.out[0].data, "\"id2\":\"a/b#30\""));
    assert_null(strstr(r.out[0].data, "a/b#20"));
    end(&r);
}

/* Responds with a list whose pages form a cycle: page 1 links to page 2, page 2 to page 3, and page 3 back to page
 * 2. */
static void answer_with_page_cycle(void *user, const test_request *q, test_answer *a) {
    const char *text = test_request_query(q, "page");
    const int page = text ? atoi(text) : 1;
    (void)user;
    test_answer_header(a, "Link: <%s%s?page=%d>; rel=\"next\"", test_server_url(q->server), q->path,
                       page == 3 ? 2 : page + 1);
    test_answer_printf(a, "[]");
}

static void answer_with_equal_cursor(void *user, const test_request *q, test_answer *a) {
    (void)user;
    (void)q;
    test_answer_printf(a, "{\"data\":{\"repository\":{\"nameWithOwner\":\"a/b\",\"issues\":{\"nodes\":[],\"pageInfo\":"
                          "{\"hasNextPage\":true,\"endCursor\":\"x\"}}}}}");
}

/* Responds to a GraphQL query with an error, or with an empty list of issues if the int to which user points is 1. */
static void answer_rejecting_query(void *user, const test_request *q, test_answer *a) {
    const int *accepts = user;
    (void)q;
    test_answer_printf(a, *accepts ? "{\"data\":{\"repository\":{\"nameWithOwner\":\"a/b\",\"issues\":{\"nodes\":[]}}}}"
                                   : "{\"errors\":[{\"message\":\"Field has no argument " TOKEN "\"}]}");
}

static void test_rejected_query(void **state) {
    static const char *const repos[] = {"a/b"};
    int accepts = 0;
    run r;
    (void)state;
    test_server *other = test_server_start();
    char *cache = test_path(test_dir, "query.sqlite");
    test_server_route(other, "POST", "*", answer_rejecting_query, &accepts);
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 1;
    r.o.api = test_server_url(other);
    r.o.token = TOKEN;
    r.o.graphql = 1;
    assert_int_equal(collect(&r), AOE_EFORMAT);
    assert_non_null(strstr(r.err.message, "rejected (Field has no argument ####"));
    assert_null(strstr(r.err.message, TOKEN_PART));
    assert_int_equal(test_server_count(other, NULL), 1);
    accepts = 1;
    must_collect(&r);
    assert_int_equal(r.result.repositories, 1);
    end(&r);
    test_server_stop(other);
    free(cache);
}

static void test_page_cycles(void **state) {
    static const char *const repos[] = {"a/b"};
    run r;
    (void)state;
    test_server *other = test_server_start();
    char *cache = test_path(test_dir, "circle.sqlite");
    test_server_route(other, "GET", "/repos/a/b", answer_repository, NULL);
    test_server_route(other, "GET", "*", answer_with_page_cycle, NULL);
    test_server_route(other, "POST", "*", answer_with_equal_cursor, NULL);
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 1;
    r.o.api = test_server_url(other);
    r.o.token = TOKEN;
    for (r.o.graphql = 0; r.o.graphql < 2; r.o.graphql++) {
        assert_int_equal(collect(&r), AOE_EFORMAT);
        assert_non_null(strstr(r.err.message, "in a cycle"));
    }
    end(&r);
    test_server_stop(other);
    free(cache);
}

static void test_arguments(void **state) {
    static const char *const bad_names[] = {"acme", "acme/", "a/b/c", "a b/c", "", "../x", "a/.."};
    run r;
    (void)state;
    reset_server();
    begin(&r, NULL);
    assert_int_equal(collect(&r), AOE_EARG);
    char *cache = test_path(test_dir, "arguments.sqlite");
    r.o.cache = cache;
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++) {
        r.o.repositories = &bad_names[i];
        r.o.n_repositories = 1;
        assert_int_equal(collect(&r), AOE_EARG);
    }
    r.o.repositories = default_repositories;
    r.o.ratio[0] = -1;
    assert_int_equal(collect(&r), AOE_EARG);
    r.o.ratio[0] = r.o.ratio[1] = r.o.ratio[2] = 0;
    assert_int_equal(collect(&r), AOE_EARG);
    r.o.ratio[0] = 1;
    r.o.name[0] = "x.txt";
    assert_int_equal(collect(&r), AOE_EARG);
    r.o.name[0] = "x.parquet";
    assert_int_equal(collect(&r), AOE_EARG);
    r.o.name[0] = "x.tsv";
    r.o.negatives = 0;
    assert_int_equal(collect(&r), AOE_EARG);
    r.o.negatives = 1;
    r.o.api = "http://api.example.org";
    assert_int_equal(collect(&r), AOE_EARG); /* unencrypted HTTP is accepted only for local addresses */
    static const char *const with_password[] = {
        "https://user:PASSWORD@example.org", "https://PASSWORD@example.org/api/v3", "https://example.org/?t=PASSWORD",
        "https://example.org/#PASSWORD",     "ftp://user:PASSWORD@example.org",     "user:PASSWORD@example.org"};
    for (size_t i = 0; i < sizeof with_password / sizeof *with_password; i++) {
        r.o.api = with_password[i];
        assert_int_equal(collect(&r), AOE_EARG);
        assert_null(strstr(r.err.message, "PASSWORD"));
    }
    r.o.api = "nonsense";
    assert_int_equal(collect(&r), AOE_EARG);
    assert_int_equal(test_server_count(server, NULL), 0);
    end(&r);
    free(cache);
}

static void test_limit_and_triplets(void **state) {
    static const char *const repos[] = {"acme/rockets"};
    run r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "limit.sqlite");
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 1;
    r.o.limit = 20;
    r.o.name[1] = r.o.name[2] = NULL;
    r.o.kind = AOE_EXAMPLES_TRIPLETS;
    r.o.negatives = 2;
    r.o.negatives_by = AOE_ISSUE_NEGATIVES_NEAR;
    r.o.clean = AOE_ISSUE_CLEAN_COMMENTS | AOE_ISSUE_CLEAN_IMAGES | AOE_ISSUE_CLEAN_TEMPLATES;
    must_collect(&r);
    assert_int_equal(r.result.issues, 20);
    /* issues 8, 13 and 18 are duplicates; only a comment says that issue 23 is a duplicate, and this run does not read
     * comments */
    assert_int_equal(r.result.positives[0], 3);
    assert_int_equal(r.result.negatives[0], 6);
    assert_int_equal(count(r.out[0].data, "\n"), 6);
    assert_non_null(strstr(r.out[0].data, "{\"query\":\"The rope breaks when dropped from height 8\\n"));
    assert_non_null(
        strstr(r.out[0].data,
               "\"query_id\":\"acme/rockets#8\",\"positive_id\":\"acme/rockets#6\",\"negative_id\":\"acme/rockets#"));
    assert_null(strstr(r.out[0].data, "a hint"));
    assert_null(strstr(r.out[0].data, "shot"));
    assert_null(strstr(r.out[0].data, "No response"));
    assert_null(strstr(r.out[0].data, "### What happens"));
    assert_non_null(strstr(r.out[0].data, "```\\ncode 8\\n```"));
    end(&r);
    free(cache);
}

static void test_preset(void **state) {
    size_t n;
    (void)state;
    const char *const *angle = aoe_github_preset("angle", &n);
    assert_int_equal(n, 55);
    assert_string_equal(angle[0], "tensorflow/tensorflow");
    assert_string_equal(angle[54], "golang/go");
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(angle[i], angle[k]);
    assert_null(aoe_github_preset("angles", &n));
    assert_int_equal(n, 0);
}

static int collect_offline(void *arg) {
    run r;
    begin(&r, arg);
    r.o.missing = NULL;
    r.o.offline = 1;
    r.o.clean = AOE_ISSUE_CLEAN_TEMPLATES;
    r.result.struct_size = sizeof r.result;
    const int code = aoe_github_issues(&r.o, &r.result, &r.err);
    end(&r);
    /* if an allocation for the test's own buffers fails, the callback cancels the run, which counts as a failed
     * allocation */
    return code == AOE_ECANCELLED ? AOE_ENOMEM : code;
}

static void test_no_memory(void **state) {
    static const char *const repos[] = {"acme/rockets"};
    run r;
    (void)state;
    reset_server();
    char *cache = test_path(test_dir, "memory.sqlite");
    begin(&r, cache);
    r.o.repositories = repos;
    r.o.n_repositories = 1;
    must_collect(&r);
    end(&r);
    test_alloc_failures(collect_offline, cache, 30);
    free(cache);
}

static int set_up(void **state) {
    server = test_server_start();
    test_github_routes(&github, server);
    aoei_github_clock = &test_clock;
    return test_dir_set_up(state);
}

static int tear_down(void **state) {
    test_server_stop(server);
    return test_dir_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_set),
        cmocka_unit_test(test_server_errors),
        cmocka_unit_test(test_comments_and_graphql),
        cmocka_unit_test(test_refresh),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_token_is_not_stored),
        cmocka_unit_test(test_error_responses),
        cmocka_unit_test(test_page_cycles),
        cmocka_unit_test(test_rejected_query),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_limit_and_triplets),
        cmocka_unit_test(test_preset),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_one_repository_fails),
        cmocka_unit_test(test_one_forbidden),
        cmocka_unit_test(test_incomplete_comments),
        cmocka_unit_test(test_original_is_a_duplicate),
        cmocka_unit_test(test_token_in_a_body),
        cmocka_unit_test(test_equal_texts),
        cmocka_unit_test(test_links_to_github),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
