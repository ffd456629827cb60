/* SPDX-License-Identifier: MIT
 * Tests the operations on values of chat templates and their limits: a template whose rendering needs many operations
 * is rejected quickly. Printed values have the form of Python.
 */
#include <string.h>

#include "../support/support.h"
#include "../support/templates.h"

/* Checks that the template `first`, n times `repeated` and `last` exceeds the limits. */
static void check_limit(const char *first, size_t n, const char *repeated, const char *last) {
    aoei_buffer source = {0}, out = {0};
    aoe_error err = {0};
    aoei_buffer_append(&source, first, strlen(first));
    for (size_t i = 0; i < n; i++)
        aoei_buffer_append(&source, repeated, strlen(repeated));
    aoei_buffer_append(&source, last, strlen(last) + 1);
    assert_true(!source.failed);
    assert_true(template_render(&out, &err, source.data) == AOE_EUNSUPPORTED);
    assert_true(strstr(err.message, "needs too much memory or time") != NULL);
    aoei_buffer_free(&source);
    aoei_buffer_free(&out);
}

static void test_comparisons(void **state) {
    (void)state;
    static const char lists[] = "{% set a = [a, a] %}{% set b = [b, b] %}";
    check_limit("{% set a = [1] %}{% set b = [1] %}", 60, lists, "{{ a == b }}");
    check_limit("{% set a = [1] %}{% set b = [1] %}", 60, lists, "{{ a != b }}");
    check_limit("{% set a = [1] %}{% set b = [1] %}", 60, lists, "{{ a in [b] }}");
    check_limit("{% set a = [1] %}{% set b = [1] %}", 60, lists, "{{ a is eq(b) }}");
    check_limit("{% set n = namespace(a=1) %}{% for i in range(100000) %}{% set n.a = (n.a,) %}{% endfor %}", 0, "",
                "{{ n.a in {} }}");
    check_limit("{% set a = {'x': 1} %}{% set b = {'x': 1} %}", 60,
                "{% set a = {'x': a, 'y': a} %}{% set b = {'x': b, 'y': b} %}", "{{ a == b }}");
}

static void test_texts(void **state) {
    (void)state;
    static const char twice[] = "{% set a = a ~ a %}";
    check_limit("{% set a = 'abcdefgh' %}", 19, twice,
                "{% for i in range(2000) %}{% if a|length == 1 %}x{% endif %}{% endfor %}");
    check_limit("{% set a = 'abcdefgh' %}", 19, twice, "{% for i in range(2000) %}{{ a[99999999] }}{% endfor %}");
    check_limit(
        "{% set a = 'abcdefgh' %}", 19, twice,
        "{% set b = a ~ 'x' %}{% set a = a ~ 'x' %}{% for i in range(2000) %}{% if a == b %}{% endif %}{% endfor %}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ b in c }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.find(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice,
                "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.replace(b, '') }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.split(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a.replace('a', 'b') ~ 'a' %}{{ a.strip(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a.replace('a', 'b') ~ 'a' %}{{ a|trim(b) }}");
}

static void test_ordinary_templates(void **state) {
    (void)state;
    template_output(
        "{{ [1, {'a': 'b'}] == [1, {'a': 'b'}] }} {{ 'b' in 'abc' }} {{ [1] in [[1]] }} {{ 'xay'.strip('xy') }}",
        "True True True a");
}

/* Lists, tuples and mappings are printed as str of Python prints them. */
static void test_printed_values(void **state) {
    (void)state;
    template_output("{{ [1, 'a', none, true, (1,), (1, 2), (), {'a': [nope]}] }}",
                    "[1, 'a', None, True, (1,), (1, 2), (), {'a': [Undefined]}]");
    template_output("{{ [] }}{{ {} }}{{ {1: 'b'} ~ '' }}{{ [1] | string | length }}", "[]{}{1: 'b'}3");
    template_output("{{ [\"it's\", '\"', \"'\\\"\", 'a\\\\b', '\\t\\r\\n\\x00\\x7f'] }}",
                    "[\"it's\", '\"', '\\'\"', 'a\\\\b', '\\t\\r\\n\\x00\\x7f']");
    template_output("{{ ['\xc3\xa9\\xa0\\u3000\\u200b\\U000e0001\\U0001f600'] }}",
                    "['\xc3\xa9\\xa0\\u3000\\u200b\\U000e0001\xf0\x9f\x98\x80']");
    template_error("{{ [1.5] }}", AOE_EUNSUPPORTED, "a number with a fraction");
    template_error("{{ range(3) }}", AOE_EUNSUPPORTED, "prints a range");
    template_error("{{ [{'a': 1}.keys()] }}", AOE_EUNSUPPORTED, "prints the result of items, keys or values");
    template_error("{{ [1] | map('string') }}", AOE_EUNSUPPORTED, "prints the result of a filter");
    template_error("{{ namespace() }}", AOE_EUNSUPPORTED, "prints a namespace");
    template_error("{% set n = namespace(a=[]) %}{% for i in range(99) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}",
                   AOE_EUNSUPPORTED, "too much memory or time");
}

/* Python has other types than lists for ranges and for the keys of a mapping. */
static void test_forms_of_sequences(void **state) {
    (void)state;
    template_output(
        "{{ {'a': 1}.keys() == ['a'] }} {{ range(2) == [0, 1] }} {{ (1,) == [1] }} {{ range(2) == range(0, 2) }}",
        "False False False True");
    template_output("{{ {'a': 1}.keys() is sequence }} {{ range(2) is sequence }} {{ range(5)[2] }}", "False True 2");
    template_output("{{ {'a': 1}.keys() | list == ['a'] }} {{ range(5)[1:3] | list }}", "True [1, 2]");
    template_error("{{ {'a': 1}.keys()[0] }}", AOE_EUNSUPPORTED, "an index of the result of items, keys or values");
    template_error("{{ range(2) + [1] }}", AOE_EUNSUPPORTED, "the operator +");
    template_error("{{ range(2) | tojson }}", AOE_EFORMAT, "writes JSON of a range");
}

static void test_json(void **state) {
    (void)state;
    template_output("{{ {'a': [1, (2,), none, {}, []]} | tojson }}", "{\"a\": [1, [2], null, {}, []]}");
    template_output("{{ {'a': [1, {'b': []}]} | tojson(indent=2) }}",
                    "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ]\n}");
    template_output("{{ [1, 2] | tojson(indent=0) }}", "[\n1,\n2\n]");
    template_output("{{ '\xc3\xa9\\U0001f600\\x7f\\n' | tojson(ensure_ascii=true) }}",
                    "\"\\u00e9\\ud83d\\ude00\\u007f\\n\"");
    template_output("{{ '\xc3\xa9' | tojson(ensure_ascii=false) }}", "\"\xc3\xa9\"");
    template_error("{{ [1] | tojson(sort_keys=true) }}", AOE_EUNSUPPORTED, "'tojson'");
    template_error("{{ 1.5 | tojson }}", AOE_EUNSUPPORTED, "a number with a fraction");
}

/* Python rejects these templates: lists and mappings are no keys. */
static void test_keys(void **state) {
    (void)state;
    template_error("{{ [] in {} }}", AOE_EFORMAT, "a list");
    template_error("{{ {'a': 1}.get([]) }}", AOE_EFORMAT, "a list");
    template_error("{{ (1, [2]) in {'a': 1} }}", AOE_EFORMAT, "a list");
    template_output("{{ (1, 2) in {'a': 1} }} {{ 'a' in {'a': 1} }} {{ range(2) in {} }}", "False True False");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comparisons),
                                       cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_ordinary_templates),
                                       cmocka_unit_test(test_printed_values),
                                       cmocka_unit_test(test_forms_of_sequences),
                                       cmocka_unit_test(test_json),
                                       cmocka_unit_test(test_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
