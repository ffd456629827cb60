/* SPDX-License-Identifier: MIT
 * covers: tokenizer/charsmap tokenizer/normalized tokenizer/normalizer_unicode
 * Tests all text normalizers except BertNormalizer, alone and in sequences. The tests cover the results, the origin of
 * each byte of a result in the text, and linear running time. The character map of SentencePiece ("Precompiled") is
 * tested with tables that this file builds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <utf8proc.h>

#include "../support/support.h"
#include "base/random.h"
#include "base/utf8.h"
#include "tokenizer/normalizer.h"

/* Returns the CPU time of the process in seconds. Unlike wall-clock time, CPU time does not depend on other
 * processes. */
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void open_json(aoei_normalizer *n, const char *json) {
    json_t *section = json_loads(json, JSON_ALLOW_NUL, NULL);
    aoe_error err = {0};
    assert_non_null(section);
    *n = (aoei_normalizer){0};
    if (aoei_normalizer_read(n, section, "f", &err))
        fail_msg("%s", err.message);
    json_decref(section);
}

/* Asserts that s [len] is normalized to want [want_len], with and without recorded origins. The origin of an output
 * byte is the offset in s from which the byte comes. Also asserts that every origin is the start of a character of
 * s. */
static void check(const aoei_normalizer *n, const char *s, size_t len, const char *want, size_t want_len) {
    aoei_normalized out = {0}, tracked = {.track = 1};
    assert_int_equal(aoei_normalize(n, s, len, &out, NULL), 0);
    assert_int_equal(aoei_normalize(n, s, len, &tracked, NULL), 0);
    if (out.len != want_len || memcmp(out.data, want, want_len) != 0)
        fail_msg("\"%.*s\" was normalized to \"%.*s\", expected \"%.*s\"", (int)len, s, (int)out.len, out.data,
                 (int)want_len, want);
    assert_int_equal(tracked.len, out.len);
    assert_memory_equal(tracked.data, out.data, out.len);
    for (size_t i = 0; i < out.len; i++)
        assert_true(tracked.origin[i] < len && ((unsigned char)s[tracked.origin[i]] & 0xC0) != 0x80);
    for (size_t i = 0; i < AOEI_NORMALIZED_SLACK; i++)
        assert_int_equal(out.data[out.len + i], 0);
    aoei_normalized_free(&out);
    aoei_normalized_free(&tracked);
}

static void expect(const char *json, const char *s, const char *want) {
    aoei_normalizer n;
    open_json(&n, json);
    check(&n, s, strlen(s), want, strlen(want));
    aoei_normalizer_free(&n);
}

static void test_forms(void **state) {
    (void)state;
    /* spellings of e with a dot below and an acute accent, which differ in the order and in the composition of the
     * marks */
    static const char *const spellings[] = {"\xe1\xba\xb9\xcc\x81", "e\xcc\xa3\xcc\x81", "e\xcc\x81\xcc\xa3",
                                            "\xc3\xa9\xcc\xa3"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        expect("{\"type\":\"NFC\"}", spellings[i], "\xe1\xba\xb9\xcc\x81");
        expect("{\"type\":\"NFD\"}", spellings[i], "e\xcc\xa3\xcc\x81");
    }
    expect("{\"type\":\"NFC\"}", "ab\xc3\xa9 x\xc4\xb0", "ab\xc3\xa9 x\xc4\xb0");
    /* the Angstrom sign becomes the letter A with ring above */
    expect("{\"type\":\"NFC\"}", "a\xcc\x8a\xe2\x84\xab", "\xc3\xa5\xc3\x85");
    expect("{\"type\":\"NFC\"}", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81"); /* jamo are composed into a
                                                                                             syllable */
    expect("{\"type\":\"NFC\"}", "\xea\xb0\x80\xe1\x86\xa8", "\xea\xb0\x81");
    expect("{\"type\":\"NFD\"}", "\xea\xb0\x81", "\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8");
    expect("{\"type\":\"NFC\"}", "\xe0\xa6\x95\xe0\xa7\x87\xe0\xa6\xbe", "\xe0\xa6\x95\xe0\xa7\x8b"); /* two vowel signs
                                                                                                         are composed */
    expect("{\"type\":\"NFC\"}", "\xe0\xa4\x95\xe0\xa4\xbc\xe0\xa5\x98",
           "\xe0\xa4\x95\xe0\xa4\xbc\xe0\xa4\x95\xe0\xa4\xbc");
    expect("{\"type\":\"NFC\"}", "\xef\xac\x81\xe2\x91\xa0", "\xef\xac\x81\xe2\x91\xa0");
    expect("{\"type\":\"NFKC\"}", "\xef\xac\x81\xe2\x91\xa0\xc2\xbd\xef\xbc\xa1\xcc\x8a",
           "fi1"
           "1\xe2\x81\x84"
           "2\xc3\x85");
    expect("{\"type\":\"NFKD\"}", "\xef\xac\x81\xc3\xa9\xc2\xa0", "fie\xcc\x81 ");
    /* U+32FF was added after Unicode 9, whose tables are used, so it has no mapping */
    expect("{\"type\":\"NFKC\"}", "\xe3\x8b\xbf", "\xe3\x8b\xbf");
    expect("{\"type\":\"NFC\"}", "\xf0\x91\xa4\xb5\xf0\x91\xa4\xb0",
           "\xf0\x91\xa4\xb5\xf0\x91\xa4\xb0"); /* this composition was added after Unicode 9, whose tables are used */
    expect("{\"type\":\"NFD\"}", "a\xcc\x81", "a\xcc\x81");
    expect("{\"type\":\"NFC\"}", "", "");
}

/* Compares each normalization form with utf8proc on random texts. */
static void test_forms_against_utf8proc(void **state) {
    (void)state;
    static const uint32_t letters[] = {'a',    'e',    ' ',     0xE9,    0xC5,   0x301,  0x323,  0x302, 0x327,
                                       0x1EB9, 0x1E69, 0x1100,  0x1161,  0x11A8, 0xAC00, 0xAC01, 0x9C7, 0x9BE,
                                       0x212B, 0x3C5,  0x308,   0x345,   0xFB01, 0xFF21, 0x2460, 0x915, 0x93C,
                                       0x958,  0x4E2D, 0x1D15E, 0x1F600, 0x5D0,  0x5BC};
    static const struct {
        const char *json;
        int options;
    } forms[] = {{"{\"type\":\"NFD\"}", UTF8PROC_DECOMPOSE},
                 {"{\"type\":\"NFC\"}", UTF8PROC_COMPOSE},
                 {"{\"type\":\"NFKD\"}", UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT},
                 {"{\"type\":\"NFKC\"}", UTF8PROC_COMPOSE | UTF8PROC_COMPAT}};
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    for (size_t f = 0; f < 4; f++) {
        aoei_normalizer n;
        open_json(&n, forms[f].json);
        for (int round = 0; round < 3000; round++) {
            char text[128];
            size_t len = 0;
            const size_t count = 1 + aoei_rng_below(&r, 24);
            for (size_t i = 0; i < count; i++)
                len += aoei_utf8_encode(letters[aoei_rng_below(&r, sizeof letters / sizeof *letters)], text + len);
            utf8proc_uint8_t *want = NULL;
            const utf8proc_ssize_t want_len = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, &want,
                                                           (utf8proc_option_t)(forms[f].options | UTF8PROC_STABLE));
            assert_true(want_len > 0);
            check(&n, text, len, (const char *)want, (size_t)want_len);
            free(want);
        }
        aoei_normalizer_free(&n);
    }
}

static void test_small_steps(void **state) {
    (void)state;
    expect("{\"type\":\"Lowercase\"}", "ABC\xc3\x89\xc4\xb0\xce\xa3", "abc\xc3\xa9i\xcc\x87\xcf\x83");
    expect("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", " \xe3\x80\x80 a b \n", "a b");
    expect("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false}", " a ", "a ");
    expect("{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}", " \xc3\xa9 ", " \xc3\xa9");
    expect("{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}", "  \t", "");
    expect("{\"type\":\"StripAccents\"}", "e\xcc\x81\xc3\xa9\xe0\xa4\xbe\xe2\x83\x9d",
           "e\xc3\xa9"); /* marks of the categories Mn, Mc and Me are removed */
    expect("{\"type\":\"Nmt\"}",
           "a\x01\x7f"
           "b\tc\n\xe2\x80\x8b\xef\xbb\xbf\xe2\x96\x81"
           "d",
           "ab c    d");
    expect("{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"}", "ab",
           "\xe2\x96\x81"
           "ab");
    expect("{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"}", "", "");
    expect("{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"__\"}", " a  b", "__a____b");
    expect("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}", "a   b c", "a b c");
    expect("{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"},\"content\":\"\"}", "xaxx", "a");
    expect("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x*\"},\"content\":\"-\"}", "axb", "-a-b-");
    expect("{\"type\":\"ByteLevel\"}", "a \xc3\xa9", "a\xc4\xa0\xc3\x83\xc2\xa9");
    expect(
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"},{\"type\":\"Sequence\","
        "\"normalizers\":[{\"type\":\"Lowercase\"},{\"type\":\"Prepend\",\"prepend\":\">\"}]}]}",
        "\xc3\x89t\xc3\xa9", ">ete");
    expect("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"BertNormalizer\",\"lowercase\":true},"
           "{\"type\":\"Replace\",\"pattern\":{\"String\":\"e\"},\"content\":\"\xc3\xa4\"}]}",
           "\xc3\x89\xe4\xb8\xad", "\xc3\xa4 \xe4\xb8\xad ");
    expect("{\"type\":\"Sequence\",\"normalizers\":[]}", "A b", "A b");
}

static void test_origins(void **state) {
    (void)state;
    aoei_normalizer n;
    aoei_normalized out = {.track = 1};
    open_json(&n,
              "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Strip\"},{\"type\":\"NFD\"},{\"type\":\"Prepend\","
              "\"prepend\":\"__\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\"b\"},\"content\":\"xy\"}]}");
    assert_int_equal(aoei_normalize(&n,
                                    " \xc3\xa9"
                                    "b",
                                    4, &out, NULL),
                     0);
    /* origins of the output bytes: "_", "_", "e", acute accent (2 bytes), "x", "y" */
    static const size_t want[] = {1, 1, 1, 1, 1, 3, 3};
    assert_int_equal(out.len, sizeof want / sizeof *want);
    assert_memory_equal(out.data, "__e\xcc\x81xy", out.len);
    assert_memory_equal(out.origin, want, sizeof want);
    aoei_normalized_free(&out);
    aoei_normalizer_free(&n);
}

static void test_linear_time(void **state) {
    (void)state;
    enum { PAIRS = 200000 };
    static const char *const steps[] = {
        "{\"type\":\"NFC\"}", "{\"type\":\"NFKD\"}",
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xcc\x81\"},\"content\":\"abc\"}"};
    char *text = malloc(PAIRS * 5 + 1);
    assert_non_null(text);
    text[0] = 'a';
    /* marks of the combining classes 230 and 220 alternate, which is the worst case for sorting */
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(text + 1 + i * 4, "\xcc\x81\xcc\xa3", 4);
    for (size_t i = 0; i < 3; i++) {
        aoei_normalizer n;
        aoei_normalized out = {.track = 1};
        open_json(&n, steps[i]);
        const double start = cpu_seconds();
        assert_int_equal(aoei_normalize(&n, text, PAIRS * 4 + 1, &out, NULL), 0);
        assert_true(cpu_seconds() - start < 10.0);
        assert_true(out.len > PAIRS * 3);
        if (i == 0)
            assert_memory_equal(out.data, "\xe1\xba\xa1\xcc\xa3\xcc\xa3", 7);
        aoei_normalized_free(&out);
        aoei_normalizer_free(&n);
    }
    free(text);
}

/* A double-array trie in the format of SentencePiece. Each node is a unit. A unit stores its label, the offset of its
 * children, and a flag that says whether the child with label 0 stores a value. In this simple trie, the children of a
 * node have their own block of 256 units, and the offset of the children is the start of this block. */
typedef struct array {
    uint32_t unit[64 * 256];
    size_t blocks; /* number of blocks in use */
} array;

/* Adds all descendants of `node` to a. key: the n keys below this node, sorted; their first `depth` bytes are equal.
 * value: value of each key. */
static void build(array *a, uint32_t node, const char *const *key, const uint32_t *value, size_t n, size_t depth) {
    const uint32_t base = (uint32_t)(256 * a->blocks++);
    a->unit[node] |= (base ^ node) << 10;
    for (size_t i = 0; i < n;) {
        const unsigned char c = (unsigned char)key[i][depth];
        size_t count = 1;
        if (c == 0) {
            a->unit[node] |= 1u << 8;
            a->unit[base] = 1u << 31 | value[i];
            i++;
            continue;
        }
        while (i + count < n && (unsigned char)key[i + count][depth] == c)
            count++;
        a->unit[base ^ c] = c;
        build(a, base ^ c, key + i, value + i, count, depth + 1);
        i += count;
    }
}

/* Returns the JSON of a "Precompiled" normalizer that replaces key[i] with to[i]. The keys must be sorted. The result
 * is in static memory and is valid until the next call. */
static char *charsmap_json(const char *const *key, const char *const *to, size_t n) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static array a;
    static unsigned char blob[sizeof a.unit + 1024];
    static char json[sizeof blob * 2];
    uint32_t value[16];
    size_t len = 0, at = 0;
    char text[512];
    memset(&a, 0, sizeof a);
    for (size_t i = 0; i < n; i++) {
        value[i] = (uint32_t)len;
        memcpy(text + len, to[i], strlen(to[i]) + 1);
        len += strlen(to[i]) + 1;
    }
    build(&a, 0, key, value, n, 0);
    const uint32_t bytes = (uint32_t)(a.blocks * 256 * 4);
    for (size_t i = 0; i < 4; i++)
        blob[at++] = (unsigned char)(bytes >> 8 * i);
    for (size_t i = 0; i < bytes; i++)
        blob[at++] = (unsigned char)(a.unit[i / 4] >> 8 * (i % 4));
    memcpy(blob + at, text, len);
    at += len;
    size_t out = (size_t)sprintf(json, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
    for (size_t i = 0; i < at; i += 3) {
        const uint32_t three =
            (uint32_t)blob[i] << 16 | (i + 1 < at ? (uint32_t)blob[i + 1] << 8 : 0) | (i + 2 < at ? blob[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            json[out++] = k > at - i ? '=' : digits[three >> (18 - 6 * k) & 63];
    }
    strcpy(json + out, "\"}");
    return json;
}

static void test_charsmap(void **state) {
    (void)state;
    /* the keys, sorted by their bytes */
    static const char *const key[] = {"\t",       "\r",       "A\xcc\x8a",    "e\xcc\x81",
                                      "\xc2\xad", "\xc3\x89", "\xef\xac\x81", "\xef\xbc\xa1"};
    static const char *const to[] = {" ", " ", "\xc3\x85", "\xc3\xa9", "", "E!", "fi", "A"};
    const char *json = charsmap_json(key, to, 8);
    expect(json, "plain text", "plain text");
    expect(json, "a\tb\xef\xac\x81\xef\xbc\xa1", "a bfiA");
    expect(json,
           "e\xcc\x81"
           "A\xcc\x8a e",
           "\xc3\xa9\xc3\x85 e"); /* a grapheme cluster is replaced as a whole */
    expect(json, "x\xc2\xady", "xy");
    /* the key "\r" is a prefix of the short grapheme cluster "\r\n", so the value of this key replaces the whole
     * cluster */
    expect(json, "\r\n", " ");
    expect(json, "\xef\xbc\xa1\xcc\x81", "A"); /* a cluster of 5 bytes is short enough to be replaced as a whole */
    /* a longer cluster is replaced character by character */
    expect(json, "\xef\xbc\xa1\xcc\x81\xcc\x81", "A\xcc\x81\xcc\x81");
    expect(json, "\xc3\x89", "E!");
    expect(json, "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9");
    expect("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}", "a\t\xc3\x89", "a\t\xc3\x89");
    expect("{\"type\":\"Precompiled\",\"precompiled_charsmap\":null}", "a\tb", "a\tb");
    aoei_normalizer n;
    open_json(&n, json);
    check(&n, "a\0\tb", 4, "a\0 b", 4);
    aoei_normalizer_free(&n);
}

/* Asserts that the first character of the normalized text has the origin 0, as in Hugging Face tokenizers, even if the
 * normalizer removed or reordered the first characters of s. Metaspace depends on this origin if its prefix is added to
 * the first piece. */
static void check_first_origin(const char *json, const char *s) {
    aoei_normalizer n;
    aoei_normalized out = {.track = 1};
    open_json(&n, json);
    assert_int_equal(aoei_normalize(&n, s, strlen(s), &out, NULL), 0);
    assert_true(out.len > 0 && out.origin[0] == 0);
    aoei_normalized_free(&out);
    aoei_normalizer_free(&n);
}

static void test_first_origin(void **state) {
    (void)state;
    static const char *const key[] = {"\x7f"}, *const to[] = {""};
    check_first_origin(charsmap_json(key, to, 1), "\x7fhello");
    check_first_origin("{\"type\":\"NFKC\"}", "\xd6\xb6\xd6\xb4"); /* two marks that are reordered */
}

/* The origin of the content of a Replace is the last character of the match. */
static void test_origin_of_replacements(void **state) {
    (void)state;
    aoei_normalizer n;
    aoei_normalized out = {.track = 1};
    open_json(&n, "{\"type\":\"Replace\",\"pattern\":{\"String\":\"`\xc3\xa9\"},\"content\":\"xy\"}");
    assert_int_equal(aoei_normalize(&n, "`\xc3\xa9z", 4, &out, NULL), 0);
    assert_int_equal(out.len, 3);
    assert_int_equal(out.origin[0], 1);
    assert_int_equal(out.origin[1], 1);
    assert_int_equal(out.origin[2], 3);
    aoei_normalized_free(&out);
    aoei_normalizer_free(&n);
}

static void expect_rejected(const char *json, int code, const char *part) {
    json_t *section = json_loads(json, JSON_DECODE_ANY, NULL);
    aoei_normalizer n = {0};
    aoe_error err = {0};
    assert_non_null(section);
    assert_int_equal(aoei_normalizer_read(&n, section, "f", &err), code);
    if (strncmp(err.message, "f: ", 3) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
    aoei_normalizer_free(&n);
    json_decref(section);
}

static void test_rejected(void **state) {
    (void)state;
    expect_rejected("{\"type\":\"Unidecode\"}", AOE_EUNSUPPORTED, "normalizer \"Unidecode\"");
    expect_rejected("{\"type\":\"Sequence\"}", AOE_EFORMAT, "\"normalizers\"");
    expect_rejected("{\"type\":\"Sequence\",\"normalizers\":[[]]}", AOE_EFORMAT, "\"normalizer\"");
    expect_rejected("{\"type\":\"Replace\",\"content\":\"x\"}", AOE_EFORMAT, "\"pattern\"");
    expect_rejected("{\"type\":\"Replace\",\"pattern\":{\"String\":\"x\"}}", AOE_EFORMAT, "\"content\"");
    expect_rejected("{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[\"},\"content\":\"\"}", AOE_EUNSUPPORTED, "\"[\"");
    expect_rejected("{\"type\":\"Prepend\"}", AOE_EFORMAT, "\"prepend\"");
    expect_rejected("{\"type\":\"Strip\",\"strip_left\":1}", AOE_EFORMAT, "\"strip_left\"");
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":7}", AOE_EFORMAT, "\"precompiled_charsmap\"");
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAA\"}", AOE_EFORMAT, "base64");
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A*AA\"}", AOE_EFORMAT, "base64");
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}", AOE_EFORMAT,
                    "base64"); /* the data has only 3 bytes */
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAA==\"}", AOE_EFORMAT,
                    "base64"); /* the header states that the array has 4 bytes, but no bytes follow */
    expect_rejected("{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAD/\"}", AOE_EFORMAT, "UTF-8");
#define SEQUENCE(x) "{\"type\":\"Sequence\",\"normalizers\":[" x "]}"
    expect_rejected(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(""))))))))),
                    AOE_EUNSUPPORTED, "deep");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),        cmocka_unit_test(test_forms_against_utf8proc),
        cmocka_unit_test(test_small_steps),  cmocka_unit_test(test_origins),
        cmocka_unit_test(test_linear_time),  cmocka_unit_test(test_charsmap),
        cmocka_unit_test(test_first_origin), cmocka_unit_test(test_origin_of_replacements),
        cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
