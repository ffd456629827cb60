/* SPDX-License-Identifier: MIT
 * Tests the values of chat templates: equality, mappings, JSON, strings, and the limit of the memory.
 */
#include <string.h>

#include "../support/support.h"
#include "base/json.h"
#include "jinja/value.h"

static void check_text(aoe_text got, const char *expected) {
    if (got.len != strlen(expected) || (got.len && memcmp(got.data, expected, got.len) != 0))
        fail_msg("got \"%.*s\", expected \"%s\"", (int)got.len, got.data ? got.data : "", expected);
}

static void test_strings(void **state) {
    (void)state;
    check_text(aoei_jinja_strip(aoe_text_of("\xe3\x80\x80 a b \n"), 3), "a b");
    check_text(aoei_jinja_strip(aoe_text_of(" a "), 1), "a ");
    check_text(aoei_jinja_strip(aoe_text_of(" a "), 2), " a");
    check_text(aoei_jinja_strip(aoe_text_of(" \n"), 3), "");
    check_text(aoei_jinja_strip_set(aoe_text_of("\xc3\xa9xa\xc3\xa9"), aoe_text_of("x\xc3\xa9"), 3), "a");
    check_text(aoei_jinja_substring(aoe_text_of("a\xc3\xa9z"), 1, 2), "\xc3\xa9");
    check_text(aoei_jinja_substring(aoe_text_of("abc"), 2, 9), "c");
    check_text(aoei_jinja_substring(aoe_text_of("abc"), 2, 1), "");
    assert_int_equal(aoei_jinja_characters(aoe_text_of("a\xc3\xa9\xf0\x9f\x98\x80")), 3);
    assert_int_equal(aoei_jinja_find(aoe_text_of("abab"), aoe_text_of("ab"), 1), 2);
    assert_int_equal(aoei_jinja_find(aoe_text_of("abab"), aoe_text_of("c"), 0), (size_t)-1);
    assert_int_equal(aoei_jinja_find(aoe_text_of("ab"), aoe_text_of(""), 2), 2);
}

static int is_equal(const char *a, const char *b, size_t *steps) {
    aoei_jinja_arena arena = {.limit = 1 << 20};
    aoei_jinja_value x, y;
    json_t *u = json_loads(a, JSON_DECODE_ANY, NULL), *v = json_loads(b, JSON_DECODE_ANY, NULL);
    assert_non_null(u);
    assert_non_null(v);
    assert_int_equal(aoei_jinja_of_json(&arena, &x, u), 0);
    assert_int_equal(aoei_jinja_of_json(&arena, &y, v), 0);
    const int equal = aoei_jinja_equal(&x, &y, steps);
    json_decref(u);
    json_decref(v);
    aoei_jinja_arena_free(&arena);
    return equal;
}

static void test_equality(void **state) {
    (void)state;
    static const struct {
        const char *a, *b;
        int equal;
    } pairs[] = {{"1", "1.0", 1},
                 {"true", "1", 1},
                 {"0", "false", 1},
                 {"null", "false", 0},
                 {"\"1\"", "1", 0},
                 {"[1,\"a\"]", "[1,\"a\"]", 1},
                 {"[1]", "[1,2]", 0},
                 {"{\"a\":1}", "{\"a\":1.0}", 1},
                 {"{\"a\":1}", "{\"b\":1}", 0},
                 {"{}", "[]", 0},
                 {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", 1}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        size_t steps = 1000;
        assert_int_equal(is_equal(pairs[i].a, pairs[i].b, &steps), pairs[i].equal);
        assert_true(steps > 0 && steps < 1000);
    }
    size_t few = 3;
    assert_int_equal(is_equal("[1,2,3,4,5]", "[1,2,3,4,5]", &few), 0);
    assert_int_equal(few, 0);
}

static void test_mappings(void **state) {
    (void)state;
    aoei_jinja_arena a = {.limit = 1 << 20};
    const aoei_jinja_value d = aoei_jinja_new_dict(&a, AOEI_JINJA_DICT);
    for (int64_t i = 0; i < 20; i++)
        assert_int_equal(aoei_jinja_set(&a, d.as.dict, aoei_jinja_int(i % 10), aoei_jinja_int(i)), 0);
    assert_int_equal(d.as.dict->n, 10);
    const aoei_jinja_value *found = aoei_jinja_get(d.as.dict, aoei_jinja_bool(1)); /* True == 1 */
    assert_non_null(found);
    assert_int_equal(found->as.integer, 11);
    assert_null(aoei_jinja_get_name(d.as.dict, aoe_text_of("1")));
    aoei_jinja_arena_free(&a);
}

static void test_limit(void **state) {
    (void)state;
    aoei_jinja_arena a = {.limit = 1 << 20};
    const aoei_jinja_value list = aoei_jinja_new_list(&a, AOEI_JINJA_FORM_LIST);
    int rc = 0;
    for (int64_t i = 0; i < 1 << 20 && !rc; i++)
        rc = aoei_jinja_append(&a, list.as.list, aoei_jinja_int(i));
    assert_int_equal(rc, AOE_ENOMEM);
    assert_false(a.no_memory);
    assert_null(aoei_jinja_take(&a, SIZE_MAX));
    assert_true(a.used <= a.limit);
    aoei_jinja_arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strings), cmocka_unit_test(test_equality),
                                       cmocka_unit_test(test_mappings), cmocka_unit_test(test_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
