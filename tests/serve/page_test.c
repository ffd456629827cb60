/* SPDX-License-Identifier: MIT
 * The embedded web page is the file of the source tree, its policy contains the hashes of its script and style, and it
 * contains nothing that the policy forbids or that loads from another host. tests/browser tests the page in a browser.
 * The hashes are computed by libcrypto here and by sha256sum in the Makefile.
 */
#include "serve/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source_tree.h"
#include "net/digest.h"
#include "tests/support/support.h"

enum { LARGEST_PAGE = 60 * 1024 };

/* Returns the page as a C string. The caller frees it. */
static char *page_string(void) {
    const aoe_text page = aoei_page();
    char *s = malloc(page.len + 1);
    assert_non_null(s);
    memcpy(s, page.data, page.len);
    s[page.len] = 0;
    assert_int_equal(strlen(s), page.len);
    return s;
}

static size_t count(const char *text, const char *word) {
    size_t n = 0;
    for (const char *p = text; (p = strstr(p, word)) != NULL; p += strlen(word))
        n++;
    return n;
}

/* Returns the part of the page between <tag> and </tag>, which occurs once. */
static aoe_text element(const char *page, const char *tag) {
    char begin[16], end[16];
    snprintf(begin, sizeof begin, "<%s>", tag);
    snprintf(end, sizeof end, "</%s>", tag);
    assert_int_equal(count(page, begin), 1);
    assert_int_equal(count(page, end), 1);
    const char *first = strstr(page, begin), *last = strstr(page, end);
    assert_true(first && last && first < last);
    first += strlen(begin);
    return (aoe_text){first, (size_t)(last - first)};
}

/* Writes the base64 text of 32 bytes, which are given in hexadecimal digits. */
static void base64_of_hex(const char *hex, char out[45]) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[33] = {0};
    for (size_t i = 0; i < 32; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        bytes[i] = (unsigned char)byte;
    }
    for (size_t i = 0; i < 11; i++) {
        const unsigned group = (unsigned)bytes[3 * i] << 16 | (unsigned)bytes[3 * i + 1] << 8 | bytes[3 * i + 2];
        for (size_t k = 0; k < 4; k++)
            out[4 * i + k] = digits[group >> (18 - 6 * k) & 63];
    }
    out[43] = '='; /* the last group has 2 bytes */
    out[44] = 0;
}

static void hash_of(aoe_text text, char out[45]) {
    aoei_digest *digest;
    aoe_error err;
    char hex[AOEI_DIGEST_HEX];
    assert_int_equal(aoei_digest_create(&digest, "SHA256", &err), 0);
    assert_int_equal(aoei_digest_add(digest, text.data, text.len), 0);
    assert_int_equal(aoei_digest_end(digest, hex), 0);
    aoei_digest_free(digest);
    base64_of_hex(hex, out);
}

static void the_page_is_the_file(void **state) {
    (void)state;
    const aoe_text page = aoei_page();
    assert_in_range(page.len, 1000, LARGEST_PAGE);
    assert_memory_equal(page.data, "<!DOCTYPE html>\n", 16);
    assert_memory_equal(page.data + page.len - 8, "</html>\n", 8);
    if (!*aoei_source_tree)
        return;
    char *path = test_path(aoei_source_tree, "src/serve/page/index.html");
    size_t size;
    char *file = test_read(path, &size);
    assert_int_equal(size, page.len);
    assert_memory_equal(file, page.data, size);
    free(file);
    free(path);
}

static void the_policy_names_the_script_and_the_style(void **state) {
    (void)state;
    char *page = page_string(), script[45], style[45], expected[400];
    hash_of(element(page, "script"), script);
    hash_of(element(page, "style"), style);
    snprintf(expected, sizeof expected,
             "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             script, style);
    assert_string_equal(aoei_page_policy(), expected);
    free(page);
}

static void the_page_loads_nothing_from_other_hosts(void **state) {
    (void)state;
    char *page = page_string();
    assert_int_equal(count(page, "http://www.w3.org/2000/svg"), 1); /* the name of the namespace, not an address */
    assert_int_equal(count(page, "://"), 1);
    static const char *const loaded[] = {" src=", "@import", "url(", "=\"//", "='//", "<base", "<iframe", "<object"};
    for (size_t i = 0; i < sizeof loaded / sizeof *loaded; i++)
        assert_null(strstr(page, loaded[i]));
    free(page);
}

static void texts_cannot_become_markup_or_script(void **state) {
    (void)state;
    char *page = page_string();
    static const char *const unsafe[] = {"innerHTML", "outerHTML",  "insertAdjacentHTML", "document.write",
                                         "eval(",     "Function(",  "setTimeout(",        "createContextualFragment",
                                         " style=\"", "javascript:"};
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++)
        if (strstr(page, unsafe[i]))
            fail_msg("the page contains %s", unsafe[i]);
    for (const char *p = page; (p = strstr(p, " on")) != NULL; p += 3) { /* event attributes, such as onclick= */
        const size_t letters = strspn(p + 3, "abcdefghijklmnopqrstuvwxyz");
        if (letters && p[3 + letters] == '=')
            fail_msg("the page contains the event attribute %.20s", p + 1);
    }
    free(page);
}

static void the_key_is_not_stored(void **state) {
    (void)state;
    char *page = page_string();
    static const char *const storage[] = {"localStorage", "sessionStorage", "cookie", "indexedDB"};
    for (size_t i = 0; i < sizeof storage / sizeof *storage; i++)
        assert_null(strstr(page, storage[i]));
    free(page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_the_file),
        cmocka_unit_test(the_policy_names_the_script_and_the_style),
        cmocka_unit_test(the_page_loads_nothing_from_other_hosts),
        cmocka_unit_test(texts_cannot_become_markup_or_script),
        cmocka_unit_test(the_key_is_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
