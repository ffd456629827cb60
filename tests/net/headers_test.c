/* SPDX-License-Identifier: MIT
 * tags: network
 * Tests the parsing of HTTP header lines and of the headers Link, Retry-After and X-RateLimit-*, with valid and invalid
 * values.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "base/alloc.h"
#include "net/headers.h"

#define NOW INT64_C(1700000000) /* Tue, 14 Nov 2023 22:13:20 GMT */

/* Returns a list of headers that contains only the header `line`. */
static aoei_headers headers_of(const char *line) {
    aoei_headers h = {0};
    assert_int_equal(aoei_headers_add(&h, line, strlen(line)), 0);
    return h;
}

/* Tests an empty list of headers, whose pointers are NULL. The undefined-behavior sanitizer detects if such a pointer
 * is passed to a function that does not accept NULL. */
static void test_no_headers(void **state) {
    (void)state;
    aoei_headers h = {0};
    char *url;
    assert_null(aoei_headers_get(&h, "etag", 0));
    assert_int_equal(aoei_headers_link(&h, "next", "https://base.example/", &url), 0);
    assert_null(url);
    assert_int_equal(aoei_headers_retry_after(&h, NOW), -1);
    assert_int_equal(aoei_headers_rate(&h, NOW).limit, -1);
    aoei_headers_clear(&h);
    aoei_headers_free(&h);
}

static void test_lines(void **state) {
    (void)state;
    aoei_headers h = {0};
    static const char *const lines[] = {"HTTP/1.1 200 OK\r\n", "ETag: \"a:b\"\r\n", "X-Empty:\r\n", "Link:a\r\n",
                                        "LINK :\t b \t\r\n",   " : nameless\r\n",   "\r\n",         ""};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(aoei_headers_add(&h, lines[i], strlen(lines[i])), 0);
    assert_int_equal(aoei_headers_add(&h, "X-Nul: a\0b", 10), 0);
    assert_string_equal(aoei_headers_get(&h, "etag", 0), "\"a:b\"");
    assert_string_equal(aoei_headers_get(&h, "x-empty", 0), "");
    assert_string_equal(aoei_headers_get(&h, "link", 0), "a");
    assert_string_equal(aoei_headers_get(&h, "link", 1), "b");
    assert_null(aoei_headers_get(&h, "link", 2));
    assert_null(aoei_headers_get(&h, "x-nul", 0));
    assert_null(aoei_headers_get(&h, "http/1.1 200 ok", 0));
    char *line = malloc(AOEI_HEADERS_MAX);
    memset(line, 'x', AOEI_HEADERS_MAX);
    line[1] = ':';
    assert_int_equal(aoei_headers_add(&h, line, AOEI_HEADERS_MAX), AOE_EFORMAT);
    free(line);
    aoei_headers_clear(&h);
    assert_null(aoei_headers_get(&h, "etag", 0));
    aoei_headers_free(&h);
}

static void test_links(void **state) {
    (void)state;
    static const struct {
        const char *line, *next; /* line: header line. next: expected URL of the link with rel=next; NULL: no such
                                    link. */
    } cases[] = {
        {"Link: <https://api.github.com/repositories/1/issues?page=2>; rel=\"next\", "
         "<https://api.github.com/x?page=9>; rel=\"last\"",
         "https://api.github.com/repositories/1/issues?page=2"},
        {"Link: <https://h/x?page=1>; rel=\"prev\", <https://h/x?after=a%2C;b,c>; rel=\"next\"",
         "https://h/x?after=a%2C;b,c"},
        {"Link: </issues?page=3>; rel=next", "https://base.example/issues?page=3"},
        {"Link: <?page=3>;rel=next;title=x,<b>;rel=last", "https://base.example/dir/list?page=3"},
        {"Link: <b>; title=\"rel=next; , <x>\"; REL=\"prev NEXT\"", "https://base.example/dir/b"},
        {"Link: <b> ; rel = \"next\"", "https://base.example/dir/b"},
        {"Link: <b>; rel=\"prevnext nextprev\"", NULL},
        {"Link: <b>; xrel=next; rel", NULL},
        {"Link: <b>, <c>; rel=next", "https://base.example/dir/c"},
        {"Link: <b; rel=next", NULL},
        {"Link: b; rel=next", NULL},
        {"Link: <http://h:999999/>; rel=next", NULL},
        {"Link: <b>; rel=\"next", "https://base.example/dir/b"},
        {"Link:", NULL},
        {"Link: ,,;;==\"", NULL},
        {"X: <b>; rel=next", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_headers h = headers_of(cases[i].line);
        char *url;
        assert_int_equal(aoei_headers_link(&h, "next", "https://base.example/dir/list?page=1", &url), 0);
        if (!url != !cases[i].next || (url && strcmp(url, cases[i].next) != 0))
            fail_msg("%s: found %s, expected %s", cases[i].line, url ? url : "none",
                     cases[i].next ? cases[i].next : "none");
        aoei_free(url);
        aoei_headers_free(&h);
    }
}

static void test_retry_after(void **state) {
    (void)state;
    static const struct {
        const char *line;
        int64_t seconds;
    } cases[] = {
        {"Retry-After: 60", 60},
        {"Retry-After: 0", 0},
        {"Retry-After: 999999999999", 31 * 24 * 3600},
        {"Retry-After: 99999999999999999999999999", -1},
        {"Retry-After: -5", -1},
        {"Retry-After: 1.5", -1},
        {"Retry-After: 60s", -1},
        {"Retry-After: Tue, 14 Nov 2023 22:15:00 GMT", 100},
        {"Retry-After: Tuesday, 14-Nov-23 22:15:00 GMT", 100},
        {"Retry-After: Tue Nov 14 22:15:00 2023", 100},
        {"Retry-After: Tue, 14 Nov 2000 22:15:00 GMT", 0},
        {"Retry-After: Tue, 14 Nov 2093 22:15:00 GMT", 31 * 24 * 3600},
        {"Retry-After: soon", -1},
        {"Retry-After:", -1},
        {"X: 60", -1},
        {"RateLimit: \"api\";r=0;t=55", 55},
        {"RateLimit: \"api\"; r=0; t=55", 55},
        {"RateLimit: \"api\";t=7;r=0", 7},
        {"RateLimit: \"api\";r=3;t=55", -1},
        {"RateLimit: \"a\";r=1;t=99, \"b\";r=0;t=5, \"c\";r=0;t=9", 9},
        {"RateLimit: \"api\";r=0", -1},
        {"RateLimit: \"api\";r=0;t=soon", -1},
        {"RateLimit: \"api\";r=0;t=5s", -1},
        {"RateLimit: \"api\";r=00;t=999999999", 31 * 24 * 3600},
        {"RateLimit: ;", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_headers h = headers_of(cases[i].line);
        const int64_t seconds = aoei_headers_retry_after(&h, NOW);
        if (seconds != cases[i].seconds)
            fail_msg("%s: found %lld seconds, expected %lld", cases[i].line, (long long)seconds,
                     (long long)cases[i].seconds);
        aoei_headers_free(&h);
    }
    /* the time in a Date header is used instead of the local clock */
    aoei_headers h = headers_of("Date: Tue, 14 Nov 2023 22:14:50 GMT");
    static const char later[] = "Retry-After: Tue, 14 Nov 2023 22:15:00 GMT";
    assert_int_equal(aoei_headers_add(&h, later, sizeof later - 1), 0);
    assert_int_equal(aoei_headers_retry_after(&h, NOW), 10);
    aoei_headers_free(&h);
}

static void test_rates(void **state) {
    (void)state;
    aoei_headers h = headers_of("X-RateLimit-Limit: 5000");
    aoei_rate r = aoei_headers_rate(&h, NOW);
    assert_int_equal(r.limit, 5000);
    assert_int_equal(r.remaining, -1);
    assert_int_equal(r.reset_after, -1);
    static const char *const more[] = {"x-ratelimit-remaining: 12", "x-ratelimit-reset: 1700000060"};
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(aoei_headers_add(&h, more[i], strlen(more[i])), 0);
    r = aoei_headers_rate(&h, NOW);
    assert_int_equal(r.remaining, 12);
    assert_int_equal(r.reset_after, 60);
    assert_int_equal(aoei_headers_rate(&h, NOW + 100).reset_after, 0);
    static const char date[] = "Date: Tue, 14 Nov 2023 22:14:00 GMT";
    assert_int_equal(aoei_headers_add(&h, date, sizeof date - 1), 0);
    assert_int_equal(aoei_headers_rate(&h, NOW + 100).reset_after, 20);
    aoei_headers_free(&h);
    h = headers_of("X-RateLimit-Reset: 6m0s"); /* some services send a duration in this header; such a value is
                                                  ignored */
    assert_int_equal(aoei_headers_rate(&h, NOW).reset_after, -1);
    aoei_headers_free(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_headers),  cmocka_unit_test(test_lines), cmocka_unit_test(test_links),
        cmocka_unit_test(test_retry_after), cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
