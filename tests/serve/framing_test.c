/* SPDX-License-Identifier: MIT
 * Tests the checks of targets, headers, hosts and origins.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "serve/framing.h"

/* Checks a request whose headers are given as lines "NAME: VALUE\n". */
static aoei_framing check(const char *target, const char *version, const char *lines) {
    aoei_framing f = {0};
    (void)aoei_framing_target(&f, target);
    for (const char *p = lines; *p;) {
        const char *colon = strstr(p, ": "), *end = strchr(p, '\n');
        assert_non_null(colon);
        assert_non_null(end);
        aoei_framing_header(&f, (aoe_text){.data = p, .len = (size_t)(colon - p)},
                            (aoe_text){.data = colon + 2, .len = (size_t)(end - colon - 2)});
        p = end + 1;
    }
    (void)aoei_framing_end(&f, version);
    return f;
}

static void valid_requests_pass(void **state) {
    (void)state;
    aoei_framing f =
        check("/embed?x=%41", "HTTP/1.1", "host: localhost:8080\ncontent-LENGTH: 0123\nExpect: 100-continue\n");
    assert_null(f.problem);
    assert_int_equal(f.length, 123);
    assert_int_equal(f.expects, 1);
    assert_int_equal(f.is_chunked, 0);
    f = check("*", "HTTP/1.1", "Host: [::1]\nTransfer-Encoding: CHUNKED\nOrigin: http://x\nX: \xc3\xa4\tb\n");
    assert_null(f.problem);
    assert_int_equal(f.is_chunked, 1);
    assert_int_equal(f.origin.len, 8);
    f = check("http://example.org/a", "HTTP/1.1", "Host: other\n");
    assert_null(f.problem);
    assert_memory_equal(f.host.data, "example.org", f.host.len);
    assert_null(check("/", "HTTP/1.0", "").problem);
    assert_int_equal(check("/", "HTTP/1.1", "Host: a\nContent-Encoding: GZIP\n").is_encoded, 1);
    assert_int_equal(check("/", "HTTP/1.1", "Host: a\nContent-Encoding: Identity\n").is_encoded, 0);
    f = (aoei_framing){0};
    aoei_framing_method(&f, "M-SEARCH");
    assert_null(f.problem);
    aoei_framing_method(&f, "GET\"");
    assert_non_null(f.problem);
    f = (aoei_framing){0};
    aoei_framing_line(&f);
    assert_non_null(f.problem);
}

static void invalid_framing_is_found(void **state) {
    (void)state;
    static const struct {
        const char *target, *version, *lines;
    } bad[] = {
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 1\nContent-Length: 1\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 1\nContent-Length: 2\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 1\nTransfer-Encoding: chunked\n"},
        {"/", "HTTP/1.1", "Host: a\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n"},
        {"/", "HTTP/1.1", "Host: a\nTransfer-Encoding: gzip, chunked\n"},
        {"/", "HTTP/1.1", "Host: a\nTransfer-Encoding: chunked \n"},
        {"/", "HTTP/1.1", "Host: a\nTransfer-Encoding: identity\n"},
        {"/", "HTTP/1.0", "Host: a\nTransfer-Encoding: chunked\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: +1\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: -1\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 1, 1\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 0x10\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: \n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length: 99999999999999999999\n"},
        {"/", "HTTP/1.1", "Host: a\nContent-Length : 1\n"},
        {"/", "HTTP/1.1", "Host: a\nHost: a\n"},
        {"/", "HTTP/1.1", ""},
        {"/", "HTTP/1.1", "Host: \n"},
        {"/", "HTTP/1.1", "Host: a b\n"},
        {"/", "HTTP/1.1", "Host: a/b\n"},
        {"/", "HTTP/1.1", "Host: user@a\n"},
        {"/", "HTTP/1.1", "Host: a:99999\n"},
        {"/", "HTTP/1.1", "Host: a:1:2\n"},
        {"/", "HTTP/1.1", "Host: [::1\n"},
        {"/", "HTTP/1.1", "Host: [::x]\n"},
        {"/", "HTTP/1.1", "Host: a\nOrigin: http://a\nOrigin: http://b\n"},
        {"/", "HTTP/1.1", "Host: a\nX\x01: 1\n"},
        {"/", "HTTP/1.1", "Host: a\nX: a\rb\n"},
        {"/", "HTTP/1.1", "Host: a\nX: a\x7f\n"},
        {"/a%00", "HTTP/1.1", "Host: a\n"},
        {"/a%0", "HTTP/1.1", "Host: a\n"},
        {"/a%zz", "HTTP/1.1", "Host: a\n"},
        {"/a\xff", "HTTP/1.1", "Host: a\n"},
        {"/a\tb", "HTTP/1.1", "Host: a\n"},
        {"", "HTTP/1.1", "Host: a\n"},
        {"a", "HTTP/1.1", "Host: a\n"},
        {"ftp://a/", "HTTP/1.1", "Host: a\n"},
        {"http://a?x", "HTTP/1.1", "Host: a\n"},
        {"http:///x", "HTTP/1.1", "Host: a\n"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!check(bad[i].target, bad[i].version, bad[i].lines).problem)
            fail_msg("case %zu was accepted: %s %s", i, bad[i].target, bad[i].lines);
    aoei_framing f = {0};
    aoei_framing_header(&f, (aoe_text){.data = "", .len = 0}, (aoe_text){.data = "x", .len = 1});
    assert_non_null(f.problem);
    f = (aoei_framing){0};
    aoei_framing_header(&f, (aoe_text){.data = "a\0b", .len = 3}, (aoe_text){.data = "x", .len = 1});
    assert_non_null(f.problem);
}

static aoei_host host(const char *text) {
    return aoei_host_parse(aoe_text_of(text));
}

static int equal(const char *a, const char *b) {
    const aoei_host first = host(a), second = host(b);
    return aoei_host_equal(&first, &second);
}

static int loopback(const char *a) {
    const aoei_host h = host(a);
    return aoei_host_is_loopback(&h);
}

static void hosts_are_parsed(void **state) {
    (void)state;
    assert_int_equal(host("example.org:80").kind, AOEI_HOST_NAME);
    assert_int_equal(host("example.org:80").port.len, 2);
    assert_int_equal(host("example.org.").name.len, 11);
    assert_int_equal(host("a:").kind, AOEI_HOST_NAME);
    assert_int_equal(host("10.0.0.1").kind, AOEI_HOST_IPV4);
    assert_int_equal(host("[fe80::1]:1").kind, AOEI_HOST_IPV6);
    assert_int_equal(host("[10.0.0.1]").kind, AOEI_HOST_INVALID);
    assert_int_equal(host("").kind, AOEI_HOST_INVALID);
    assert_true(equal("LocalHost", "localhost:1"));
    assert_true(equal("localhost.", "localhost"));
    assert_true(equal("[::ffff:127.0.0.1]", "127.0.0.1"));
    assert_true(equal("[0:0::1]", "[::1]:9"));
    assert_false(equal("a.b", "a.c"));
    assert_false(equal("127.0.0.1", "localhost"));
    assert_false(equal("", ""));
    assert_true(loopback("localhost") && loopback("127.3.2.1:8") && loopback("[::1]") &&
                loopback("[::ffff:127.0.0.1]"));
    assert_false(loopback("localhost.evil.com") || loopback("128.0.0.1") || loopback("[::2]") || loopback(""));
}

static int same(const char *origin, const char *name) {
    return aoei_origin_is_host(aoe_text_of(origin), aoe_text_of(name));
}

static void origins_are_compared(void **state) {
    (void)state;
    assert_true(same("http://localhost:8080", "localhost:8080"));
    assert_true(same("HTTPS://Example.org", "example.org"));
    assert_false(same("http://localhost:8081", "localhost:8080"));
    assert_false(same("http://evil.com", "localhost"));
    assert_false(same("null", "localhost"));
    assert_false(same("http://", ""));
    assert_false(same("file://localhost", "localhost"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_requests_pass),
        cmocka_unit_test(invalid_framing_is_found),
        cmocka_unit_test(hosts_are_parsed),
        cmocka_unit_test(origins_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
