/* SPDX-License-Identifier: MIT
 * covers: base/json_decode
 * Tests JSON parsing and writing: errors with file, line and byte offset, values of the wrong type, NUL characters in
 * strings, integers that need more than 64 bits, real numbers written with as few digits as possible, and failed
 * allocations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"

static json_t *parse(const char *text) {
    json_t *root;
    aoe_error err = {0};
    if (aoei_json_parse(&root, text, strlen(text), "t.json", &err))
        fail_msg("%s", err.message);
    return root;
}

static void test_errors_name_the_position(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\n  \"a\": 1,\n  \"b\" 2\n}", "t.json:3: ':' expected near '2' (byte 19); "},
        {"", "t.json: the file is empty"},
        {"[1, 2", "t.json:1: ']' expected near end of file (byte 5); "},
        {"[1] x", "t.json:1: end of file expected near 'x' (byte 5); "},
        {"\"\xff\"", "t.json:1: unable to decode byte 0xff"},
        {"[1e999]", "t.json:1: real number overflow"},
        {"[-99999999999999999999, 1e999]", "t.json:1: real number overflow near '1e999' (byte 29); "},
        {"[01]", "t.json:1: invalid token near '0' (byte 2); "},
        {"[1.]", "t.json:1: invalid token near '1.' (byte 3); "},
        {"[nul]", "t.json:1: invalid token near 'nul' (byte 4); "},
        {"[1,]", "t.json:1: unexpected token near ']' (byte 4); "},
        {"{\"a\": 1,}", "t.json:1: string or '}' expected near '}' (byte 9); "},
        {"\"a\nb\"", "t.json:1: unexpected newline near '\"a' (byte 2); "},
        {"[\"a", "t.json:1: premature end of input near '\"a' (byte 3); "},
        {"\"\\x\"", "t.json:1: invalid escape near '\"\\x' (byte 3); "},
        {"\"\\ud800\"", "t.json:1: invalid Unicode '\\uD800' near '\"\\ud800\"' (byte 8); "},
        {"{\"a\\u0000\": 1}", "t.json:1: NUL byte in object key not supported near '\"a\\u0000\"' (byte 10); "},
        {"\xef\xbb\xbf{}", "t.json: the file begins with a byte order mark"},
        {"\xff\xfe{", "t.json: the file is encoded in UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8"},
        {" \n<html>", "t.json: the file is an HTML or XML page, not JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *root = (json_t *)&root;
        aoe_error err = {0};
        assert_int_equal(aoei_json_parse(&root, cases[i].text, strlen(cases[i].text), "t.json", &err), AOE_EFORMAT);
        assert_null(root);
        if (strncmp(err.message, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("\"%s\" does not start with \"%s\"", err.message, cases[i].want);
        assert_null(strchr(err.message, '\n'));
    }
}

static void test_depth_is_limited(void **state) {
    (void)state;
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH);
    assert_non_null(text);
    memset(text, '[', DEPTH);
    json_t *root;
    assert_int_equal(aoei_json_parse(&root, text, DEPTH, "t.json", NULL), AOE_EFORMAT);
    free(text);
}

static void test_nul_and_scalars(void **state) {
    (void)state;
    const char *s = NULL;
    size_t len = 0;
    aoe_error err = {0};
    json_t *root = parse("{\"k\": \"a\\u0000b\", \"k2\": \"x\", \"k2\": \"y\"}");
    assert_int_equal(aoei_json_string(root, "k", &s, &len, "f", NULL), 0);
    assert_int_equal(len, 3);
    assert_memory_equal(s, "a\0b", 3);
    assert_int_equal(aoei_json_string(root, "k", &s, NULL, "f", &err), AOE_EFORMAT);
    assert_string_equal(err.message, "f: \"k\" is not a string without NUL; correct the value");
    assert_int_equal(aoei_json_string(root, "k2", &s, NULL, "f", NULL), 0);
    assert_string_equal(s, "y"); /* if a key occurs twice, its last value is used */
    json_decref(root);
    root = parse("\"alone\"");
    assert_string_equal(json_string_value(root), "alone");
    json_decref(root);
}

static void test_big_integers(void **state) {
    (void)state;
    size_t size = 0;
    double x = 0;
    json_t *root =
        parse("{\"big\": 1000000000000000019884624838656, \"n\": 512, \"o\": {\"list\": [1, [7, \"s\"], 2.5]},"
              " \"real\": 3.0, \"half\": 0.5, \"negative\": -4}");
    assert_int_equal(aoei_json_double(root, "big", &x, "f", NULL), 0);
    assert_true(x == 1e30);
    assert_int_equal(aoei_json_size(root, "big", &size, "f", NULL), AOE_EFORMAT);
    assert_int_equal(aoei_json_need_size(root, "n", &size, "f", NULL), 0);
    assert_int_equal(size, 512);
    assert_true(json_is_integer(json_object_get(root, "n")));
    assert_int_equal(json_integer_value(json_object_get(root, "negative")), -4);
    const json_t *list = json_object_get(json_object_get(root, "o"), "list");
    assert_true(json_is_integer(json_array_get(list, 0)));
    assert_true(json_is_integer(json_array_get(json_array_get(list, 1), 0)));
    assert_true(json_is_real(json_array_get(list, 2)));
    assert_true(json_is_real(json_object_get(root, "half")));
    json_decref(root);
    root = parse("123456789012345678901234567890");
    assert_true(json_is_real(root));
    json_decref(root);
}

static void test_typed_lookups(void **state) {
    (void)state;
    json_t *o = parse("{\"n\": 3, \"r\": 2.0, \"h\": 2.5, \"minus\": -1, \"yes\": true, \"no\": false, \"s\": \"x\", "
                      "\"null\": null}");
    size_t n = 99;
    double x = 99;
    int b = 99;
    const char *s = "before";
    aoe_error err = {0};
    assert_int_equal(aoei_json_size(o, "missing", &n, "f", NULL), 0);
    assert_int_equal(aoei_json_size(o, "null", &n, "f", NULL), 0);
    assert_int_equal(aoei_json_double(o, "null", &x, "f", NULL), 0);
    assert_int_equal(aoei_json_bool(o, "null", &b, "f", NULL), 0);
    assert_int_equal(aoei_json_string(o, "null", &s, NULL, "f", NULL), 0);
    assert_true(n == 99 && x == 99 && b == 99 && strcmp(s, "before") == 0);
    assert_int_equal(aoei_json_need_size(o, "null", &n, "f", &err), AOE_EFORMAT);
    assert_int_equal(aoei_json_need_size(o, "missing", &n, "c.json", &err), AOE_EFORMAT);
    assert_string_equal(err.message, "c.json: \"missing\" is missing; add it");
    assert_int_equal(aoei_json_size(o, "n", &n, "f", NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(aoei_json_size(o, "r", &n, "f", NULL), 0);
    assert_int_equal(n, 2);
    static const char *const not_sizes[] = {"h", "minus", "yes", "s"};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(aoei_json_size(o, not_sizes[i], &n, "f", &err), AOE_EFORMAT);
    assert_string_equal(err.message, "f: \"s\" is not a non-negative integer; correct the value");
    assert_int_equal(n, 2);
    assert_int_equal(aoei_json_double(o, "n", &x, "f", NULL), 0);
    assert_true(x == 3);
    assert_int_equal(aoei_json_double(o, "h", &x, "f", NULL), 0);
    assert_true(x == 2.5);
    assert_int_equal(aoei_json_double(o, "s", &x, "f", &err), AOE_EFORMAT);
    assert_int_equal(aoei_json_bool(o, "yes", &b, "f", NULL), 0);
    assert_int_equal(b, 1);
    assert_int_equal(aoei_json_bool(o, "no", &b, "f", NULL), 0);
    assert_int_equal(b, 0);
    assert_int_equal(aoei_json_bool(o, "n", &b, "f", &err), AOE_EFORMAT);
    assert_int_equal(aoei_json_string(o, "n", &s, NULL, "f", &err), AOE_EFORMAT);
    json_t *array = parse("[1]");
    assert_int_equal(aoei_json_need_size(array, "n", &n, "f", &err), AOE_EFORMAT);
    json_decref(array);
    json_decref(o);
}

static void test_save_and_load(void **state) {
    (void)state;
    char *dir = test_dir_create(), *path = test_path(dir, "c.json");
    json_t *o = parse("{\"z\": 1, \"a\": [0.1, \"caf\xc3\xa9\", \"a\\u0000b\"]}"), *back;
    assert_int_equal(aoei_json_save(o, path, NULL), 0);
    char *text = test_read(path, NULL);
    assert_string_equal(text,
                        "{\n  \"z\": 1,\n  \"a\": [\n    0.1,\n    \"caf\xc3\xa9\",\n    \"a\\u0000b\"\n  ]\n}\n");
    free(text);
    assert_int_equal(aoei_json_load(&back, path, NULL), 0);
    assert_true(json_equal(o, back));
    json_decref(back);
    json_decref(o);
    aoe_error err = {0};
    free(test_write_text(dir, "c.json", "{\n\n!}"));
    assert_int_equal(aoei_json_load(&back, path, &err), AOE_EFORMAT);
    assert_memory_equal(err.message, path, strlen(path));
    assert_memory_equal(err.message + strlen(path), ":3: ", 4);
    test_dir_remove(dir);
    assert_int_equal(aoei_json_load(&back, path, &err), AOE_ENOENT);
    assert_null(back);
    free(path);
}

/* Tests that each real number is written with the smallest number of digits from which the parser reads exactly this
 * number. One of the numbers needs 17 digits. */
static void test_shortest_reals(void **state) {
    (void)state;
    const double x[] = {0.1,  5e-5,      3.9200000000000004,     1.0,    1e16,
                        1e20, -2.5e-300, 1.7976931348623157e308, 5e-324, 1.0 / 3.0};
    json_t *list = json_array(), *back = NULL;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        json_array_append_new(list, json_real(x[i]));
    json_array_append_new(list, json_string("0.10000000000000001 \\\"1e-05"));
    json_array_append_new(list, json_integer(-12));
    json_array_append_new(list, json_false());
    char *text = aoei_json_text(list, JSON_INDENT(2));
    assert_string_equal(text, "[\n  0.1,\n  5e-5,\n  3.9200000000000004,\n  1.0,\n  1e16,\n  1e20,\n  -2.5e-300,\n"
                              "  1.7976931348623157e308,\n  5e-324,\n  0.3333333333333333,\n"
                              "  \"0.10000000000000001 \\\\\\\"1e-05\",\n  -12,\n  false\n]");
    assert_int_equal(aoei_json_parse(&back, text, strlen(text), "t", NULL), 0);
    assert_true(json_equal(list, back));
    json_decref(back);
    json_decref(list);
    aoei_free(text);
}

typedef struct round_trip {
    char *path;       /* file to write and to load; owned */
    const char *text; /* JSON to parse */
} round_trip;

/* Parses the text, saves it and loads the file. */
static int load_and_save(void *arg) {
    round_trip *r = arg;
    json_t *root = NULL;
    aoe_error err = {0};
    int code = aoei_json_parse(&root, r->text, strlen(r->text), "t.json", &err);
    if (code == 0)
        code = aoei_json_save(root, r->path, &err);
    json_decref(root);
    root = NULL;
    if (code == 0)
        code = aoei_json_load(&root, r->path, &err);
    json_decref(root);
    assert_int_equal(code, err.code);
    return code;
}

static void test_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create();
    round_trip r = {test_path(dir, "c.json"),
                    "{\"a\": [1, 2.5, \"s\", {\"b\": true}], \"long\": \"0123456789012345678901234567890\"}"};
    assert_true(test_alloc_failures(load_and_save, &r, 0) > 20);
    r.text = "{\"a\": [1, 2, {\"b\": 3}], \"big\": 1000000000000000019884624838656}";
    assert_true(test_alloc_failures(load_and_save, &r, 0) > 20);
    assert_int_equal(test_count_entries(dir), 1);
    free(r.path);
    test_dir_remove(dir);
}

static int parse_only(void *arg) {
    const char *text = arg;
    json_t *root;
    aoe_error err = {0};
    int code = aoei_json_parse(&root, text, strlen(text), "t.json", &err);
    assert_true((root == NULL) == (code != 0));
    json_decref(root);
    return code;
}

/* Tests failed allocations while the parser enlarges its buffer for a token. Strings, keys and numbers of 1 to 79
 * digits are parsed, so that the buffer must grow at any position in a token, including its closing quote. */
static void test_long_tokens_without_memory(void **state) {
    (void)state;
    static const char *const forms[] = {"[\"%s\"]", "{\"%s\":1}", "[1.%s]", "[1.%se1,2]", "\"%s\\u00e9\""};
    char digits[80], text[128];
    for (size_t n = 1; n < sizeof digits; n++) {
        memset(digits, '1', n);
        digits[n] = 0;
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            size_t head = (size_t)(strchr(forms[i], '%') - forms[i]);
            snprintf(text, sizeof text, "%.*s%s%s", (int)head, forms[i], digits, forms[i] + head + 2);
            assert_true(test_alloc_failures(parse_only, text, 0) >= 3);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_name_the_position),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_nul_and_scalars),
        cmocka_unit_test(test_big_integers),
        cmocka_unit_test(test_typed_lookups),
        cmocka_unit_test(test_save_and_load),
        cmocka_unit_test(test_shortest_reals),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_long_tokens_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
