/* SPDX-License-Identifier: MIT
 * Tests the scanner, which reads the vocabulary directly from the bytes of a tokenizer.json because this is faster than
 * JSON parsing. If a file is unusual, the JSON parser reads the vocabulary instead of the scanner. The tests check
 * which vocabularies the scanner reads. The tokenizer must be equal, whether the scanner or the parser reads its
 * vocabulary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"
#include "tokenizer/vocab_scan.h"

static aoei_vocab vocab;
static size_t begin, end;

static int scan(const char *json) {
    aoe_error err;
    aoei_vocab_free(&vocab);
    return aoei_vocab_scan(&vocab, &begin, &end, json, strlen(json), &err);
}

static void reads_vocabularies(void **state) {
    (void)state;
    const char *json =
        " {\"a\" : [1, {\"model\": {\"vocab\": {\"no\": 7}}}, \"}\\\"{\"], \"b\": -1.5e3,\n"
        "\t\"model\" :{ \"type\": \"x\","
        "\"vocab\" : {\"a\":0, \"\\\"\\\\\\n\" : 12 ,\"\xc3\xa9\":3, \"\":4}, \"c\": null } , \"d\": true} trailing";
    assert_int_equal(scan(json), 1);
    assert_int_equal(vocab.n_tokens, 4);
    assert_int_equal(vocab.n_ids, 13);
    assert_int_equal(aoei_vocab_id(&vocab, "a", 1), 0);
    assert_int_equal(aoei_vocab_id(&vocab, "\"\\\n", 3), 12);
    assert_int_equal(aoei_vocab_id(&vocab, "\xc3\xa9", 2), 3);
    assert_int_equal(aoei_vocab_id(&vocab, "no", 2), -1);
    assert_int_equal(begin, (size_t)(strstr(json, "{\"a\":0") - json));
    assert_int_equal(end, (size_t)(strstr(json, ", \"c\"") - json));
    assert_int_equal(scan("{\"model\":{\"vocab\":{\"a\":419}}}"), 1);
    aoei_vocab_free(&vocab);
}

/* The text of a tokenizer.json. members: the members of the object "model". */
#define MODEL(members) "{\"x\":1,\"model\":{" members "}}"

static void leaves_other_files_to_the_parser(void **state) {
    (void)state;
    static const char *const others[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"model\":[]}",
        "{\"model\":{}}",
        MODEL("\"vocab\":{}"),
        MODEL("\"vocab\":[]"),
        MODEL("\"vocab\":{\"a\":0"),
        MODEL("\"vocab\":{\"a\":0,}"),
        MODEL("\"vocab\":{\"a\":00}"),
        MODEL("\"vocab\":{\"a\":-1}"),
        MODEL("\"vocab\":{\"a\":1.0}"),
        MODEL("\"vocab\":{\"a\":1e2}"),
        MODEL("\"vocab\":{\"a\":\"1\"}"),
        MODEL("\"vocab\":{\"a\":}"),
        MODEL("\"vocab\":{\"a\" 1}"),
        MODEL("\"vocab\":{\"a\":4194304}"), /* above the maximum id */
        MODEL("\"vocab\":{\"a\":9999999999}"),
        MODEL("\"vocab\":{\"\\u0061\":1}"), /* the token is written with a numeric escape */
        MODEL("\"vocab\":{\"\\x\":1}"),
        MODEL("\"vocab\":{\"a\n\":1}"),
        MODEL("\"vocab\":{\"\xff\":1}"),
        MODEL("\"vocab\":{\"a\":1,\"a\":2}"), /* the token "a" occurs twice */
        MODEL("\"vocab\":{\"\":1,\"\":2}"),
        MODEL("\"vocab\":{\"a\":1},\"vocab\":{\"b\":1}"),
        MODEL("\"vocab\":{\"a\":1},\"voc\\u0061b\":{\"b\":1}"),
        "{\"model\":{\"vocab\":{\"a\":1}},\"model\":1}",
        "{\"model\":{\"vocab\":{\"a\":1}},\"mod\\u0065l\":1}",
        "{\"model\":{\"vocab\":{\"a\":1}}",
        "{\"model\":{\"vocab\":{\"a\":1}},\"b\":}",
        "{\"model\":{\"vocab\":{\"a\":1}},\"b\":[}",
        "{\"model\":{\"vocab\":{\"a\":1}},\"b\":\"",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (scan(others[i]) != 0)
            fail_msg("expected the scanner to leave this file to the parser: %s", others[i]);
        assert_int_equal(vocab.n_tokens, 0);
    }
    aoei_vocab_free(&vocab);
}

/* Returns a copy of a tokenizer.json in which the key "model" contains an escape, so that the scanner leaves the
 * vocabulary to the JSON parser. The caller frees it. */
static char *with_escaped_key(const char *json) {
    const char *at = strstr(json, "\"model\"");
    assert_non_null(at);
    char *copy = malloc(strlen(json) + 6);
    assert_non_null(copy);
    sprintf(copy, "%.*s\"mod\\u0065l\"%s", (int)(at - json), json, at + 7);
    assert_int_equal(scan(copy), 0);
    return copy;
}

static void check_equal(const char *json) {
    char *other = with_escaped_key(json);
    aoe_tokenizer *a, *b;
    aoe_error err;
    assert_int_equal(scan(json), 1);
    assert_int_equal(aoei_tokenizer_parse_json(&a, json, strlen(json), (aoe_text){NULL, 0}, "a", &err), 0);
    assert_int_equal(aoei_tokenizer_parse_json(&b, other, strlen(other), (aoe_text){NULL, 0}, "b", &err), 0);
    assert_int_equal(aoe_tokenizer_vocab_size(a), aoe_tokenizer_vocab_size(b));
    for (size_t id = 0; id < aoe_tokenizer_vocab_size(a); id++) {
        const aoe_text x = aoe_tokenizer_token(a, (int32_t)id), y = aoe_tokenizer_token(b, (int32_t)id);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
        assert_int_equal(aoei_tokenizer_id(a, x.data, x.len), aoei_tokenizer_id(b, x.data, x.len));
    }
    aoe_tokenizer_close(a);
    aoe_tokenizer_close(b);
    free(other);
    aoei_vocab_free(&vocab);
}

static void both_ways_give_equal_tokenizers(void **state) {
    (void)state;
    char *small = test_tokenizer_json(&(test_tokenizer_spec){.words = "un ##aff ##able , ! \xc3\xa9"});
    check_equal(small);
    free(small);
    char *path = test_shared_path("tokenizers/bert-base-uncased/tokenizer.json");
    if (!path)
        skip();
    char *large = test_read(path, NULL);
    check_equal(large);
    free(large);
    free(path);
}

/* Tests that line numbers in error messages are counted from the start of the file, even if the error is after a
 * vocabulary that the scanner has read. */
static void errors_have_line_numbers_of_the_file(void **state) {
    (void)state;
    const char *json = "{\"model\":{\"vocab\":{\"a\":1,\n\"b\":2}},\n\n\"c\": oops}";
    aoe_tokenizer *t;
    aoe_error err;
    assert_int_equal(scan(json), 1);
    assert_int_equal(aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "tokenizer.json", &err),
                     AOE_EFORMAT);
    assert_non_null(strstr(err.message, "tokenizer.json:4: "));
    assert_null(t);
    aoei_vocab_free(&vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_vocabularies),
        cmocka_unit_test(leaves_other_files_to_the_parser),
        cmocka_unit_test(both_ways_give_equal_tokenizers),
        cmocka_unit_test(errors_have_line_numbers_of_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
