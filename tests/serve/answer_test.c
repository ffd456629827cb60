/* SPDX-License-Identifier: MIT
 * Tests the parts of JSON answers: strings with every byte, base64 of all lengths, vectors in every encoding, and the
 * errors of every family. The results are read back with the JSON parser.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "serve/answer.h"

static aoei_buffer b;

static int tear_down(void **state) {
    (void)state;
    aoei_buffer_free(&b);
    return 0;
}

/* Parses the contents of b as a member of a list. */
static json_t *parsed(void) {
    json_t *root;
    aoe_error err = {0};
    if (b.failed || aoei_json_parse(&root, b.data, b.len, "answer", &err))
        fail_msg("%s: %s", b.data, err.message);
    aoei_buffer_clear(&b);
    return root;
}

static void test_strings(void **state) {
    (void)state;
    aoei_answer_string(&b, aoe_text_of("a\"b\\c\n\t\r\b\f\x01\x1f/\x7f\xC3\xA4\xF0\x9F\x98\x80"));
    assert_string_equal(b.data, "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001\\u001f/\x7f\xC3\xA4\xF0\x9F\x98\x80\"");
    aoei_buffer_clear(&b);
    aoei_answer_string(&b, (aoe_text){"a\0b", 3});
    assert_string_equal(b.data, "\"a\\u0000b\"");
    aoei_buffer_clear(&b);
    aoei_answer_string(&b, aoe_text_of("\xFF\xC3(\xED\xA0\x80\xF0\x9F"));
    assert_string_equal(b.data, "\"\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                                "\xEF\xBF\xBD\"");
    aoei_buffer_clear(&b);
    aoei_answer_string(&b, (aoe_text){"", 0});
    aoei_answer_cstring(&b, NULL);
    assert_string_equal(b.data, "\"\"null");
}

static void test_strings_read_back(void **state) {
    (void)state;
    char text[128];
    for (int i = 0; i < 128; i++)
        text[i] = (char)i;
    aoei_answer_string(&b, (aoe_text){text, sizeof text});
    json_t *v = parsed();
    assert_int_equal(json_string_length(v), sizeof text);
    assert_memory_equal(json_string_value(v), text, sizeof text);
    json_decref(v);
}

static void test_base64(void **state) {
    (void)state;
    static const char *const want[] = {"\"\"",         "\"Zg==\"",     "\"Zm8=\"",    "\"Zm9v\"",
                                       "\"Zm9vYg==\"", "\"Zm9vYmE=\"", "\"Zm9vYmFy\""}; /* RFC 4648, section 10 */
    for (size_t n = 0; n <= 6; n++) {
        aoei_buffer_clear(&b);
        aoei_answer_base64(&b, "foobar", n);
        assert_string_equal(b.data, want[n]);
        assert_int_equal(b.len, strlen(want[n]));
    }
    aoei_buffer_clear(&b);
    aoei_answer_base64(&b, "\xFB\xEF\xFF", 3);
    assert_string_equal(b.data, "\"++//\"");
}

static void test_vectors(void **state) {
    (void)state;
    const float v[] = {0.5F, -1, 0, 0.25F, NAN, 1e-7F, 0.001F, 3, -0.5F};
    aoei_answer_vector(&b, v, 9);
    assert_string_equal(b.data, "[0.5,-1.0,0.0,0.25,null,1e-7,0.001,3.0,-0.5]");
    aoei_buffer_clear(&b);
    aoei_answer_vector(&b, v, 0);
    aoei_answer_float(&b, 0.1F);
    aoei_answer_double(&b, 0.1);
    assert_string_equal(b.data, "[]0.10.1");
}

static void test_encodings(void **state) {
    (void)state;
    const float v[] = {0.5F, -1, 0, 0.25F, -0.0F, 1e-7F, 0.001F, -0.3F, 1};
    static const struct {
        aoei_encoding encoding;
        const char *want;
    } cases[] = {
        {AOEI_ENCODE_FLOAT, "[0.5,-1.0,0.0,0.25,-0.0,1e-7,0.001,-0.3,1.0]"},
        {AOEI_ENCODE_INT8, "[64,-127,0,32,0,0,0,-38,127]"},
        {AOEI_ENCODE_UINT8, "[192,1,128,160,128,128,128,90,255]"},
        {AOEI_ENCODE_UBINARY, "[150,128]"}, /* 10010110 1 */
        {AOEI_ENCODE_BINARY, "[22,0]"},
        {AOEI_ENCODE_BASE64, "\"AAAAPwAAgL8AAAAAAACAPgAAAICV"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer_clear(&b);
        aoei_answer_encoded(&b, v, 9, cases[i].encoding);
        assert_memory_equal(b.data, cases[i].want, strlen(cases[i].want));
        json_decref(parsed());
    }
    const float zero[] = {0, 0}, bad[] = {NAN, INFINITY, 2};
    aoei_answer_encoded(&b, zero, 2, AOEI_ENCODE_INT8);
    aoei_answer_encoded(&b, bad, 3, AOEI_ENCODE_INT8);
    aoei_answer_encoded(&b, zero, 0, AOEI_ENCODE_BINARY);
    assert_string_equal(b.data, "[0,0][0,0,127][]");
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        aoei_family family;
        aoei_error_kind kind;
        int status;
        const char *want;
    } cases[] = {
        {AOEI_TEI, AOEI_VALIDATION, 422, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Validation\"}"},
        {AOEI_TEI, AOEI_EMPTY, 400, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Empty\"}"},
        {AOEI_TEI, AOEI_BACKEND, 424, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Backend\"}"},
        {AOEI_TEI, AOEI_OVERLOADED, 429, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Overloaded\"}"},
        {AOEI_TEI, AOEI_UNHEALTHY, 503, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Unhealthy\"}"},
        {AOEI_TEI, AOEI_TOKENIZER, 422, "{\"error\":\"a \\\"b\\\"\",\"error_type\":\"Tokenizer\"}"},
        {AOEI_OPENAI, AOEI_VALIDATION, 400,
         "{\"error\":{\"message\":\"a \\\"b\\\"\",\"type\":\"invalid_request_error\",\"param\":\"input\",\"code\":"
         "null}}"},
        {AOEI_OPENAI, AOEI_UNAUTHORIZED, 401,
         "{\"error\":{\"message\":\"a \\\"b\\\"\",\"type\":\"invalid_request_error\",\"param\":\"input\",\"code\":"
         "\"invalid_api_key\"}}"},
        {AOEI_COHERE, AOEI_NOT_FOUND, 404, "{\"message\":\"a \\\"b\\\"\"}"},
        {AOEI_OLLAMA, AOEI_TOO_LARGE, 413, "{\"error\":\"a \\\"b\\\"\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = aoei_answer_status(cases[i].family, cases[i].kind);
        assert_int_equal(status, cases[i].status);
        aoei_buffer_clear(&b);
        aoei_answer_error_of(&b, cases[i].family, status, cases[i].kind, "a \"b\"", "input");
        assert_string_equal(b.data, cases[i].want);
    }
    aoei_buffer_clear(&b);
    aoei_answer_error(&b, AOEI_OPENAI, 500, AOEI_INTERNAL, "x");
    assert_string_equal(b.data,
                        "{\"error\":{\"message\":\"x\",\"type\":\"server_error\",\"param\":null,\"code\":null}}");
    for (int family = AOEI_TEI; family <= AOEI_OLLAMA; family++)
        for (int kind = AOEI_UNHEALTHY; kind <= AOEI_INTERNAL; kind++) {
            const int status = aoei_answer_status((aoei_family)family, (aoei_error_kind)kind);
            aoei_buffer_clear(&b);
            assert_in_range(status, 400, 503);
            aoei_answer_error(&b, (aoei_family)family, status, (aoei_error_kind)kind, "\xFF");
            json_decref(parsed());
        }
}

/* If memory runs out, the buffer records the failure. */
static void test_out_of_memory(void **state) {
    (void)state;
    const float v[] = {1, 2, 3};
    for (int encoding = AOEI_ENCODE_FLOAT; encoding <= AOEI_ENCODE_UBINARY; encoding++) {
        aoei_buffer small = {0};
        aoei_alloc_fail_at(1);
        aoei_answer_encoded(&small, v, 3, (aoei_encoding)encoding);
        aoei_answer_float(&small, 1);
        aoei_alloc_fail_at(0);
        assert_true(small.failed && small.len == 0);
        aoei_buffer_free(&small);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_strings, tear_down),
        cmocka_unit_test_teardown(test_strings_read_back, tear_down),
        cmocka_unit_test_teardown(test_base64, tear_down),
        cmocka_unit_test_teardown(test_vectors, tear_down),
        cmocka_unit_test_teardown(test_encodings, tear_down),
        cmocka_unit_test_teardown(test_errors, tear_down),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
