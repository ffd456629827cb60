/* SPDX-License-Identifier: MIT
 * Tests the rules of loops and the limits of chat templates: a template whose rendering needs many operations is rejected
 * quickly.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "jinja/eval.h"
#include "jinja/parse.h"

/* Renders a template and appends the text to `out`. Returns the code of the error. */
static int render(aoei_buffer *out, aoe_error *err, const char *source) {
    aoei_jinja_arena tree = {.limit = 64 << 20};
    aoei_jinja_run run = {.name = "t", .max_work = 4000000, .err = err};
    const aoei_jinja_dict variables = {0};
    aoei_jinja_node *statements;
    run.arena.limit = 64 << 20;
    int rc = aoei_jinja_parse(&statements, &tree, aoe_text_of(source), "t", err);
    if (!rc)
        rc = aoei_jinja_render(&run, out, statements, &variables);
    aoei_jinja_arena_free(&run.arena);
    aoei_jinja_arena_free(&tree);
    return rc;
}

/* Checks that the template `first`, n times `repeated` and `last` exceeds the limits. */
static void check_limit(const char *first, size_t n, const char *repeated, const char *last) {
    aoei_buffer source = {0}, out = {0};
    aoe_error err = {0};
    aoei_buffer_append(&source, first, strlen(first));
    for (size_t i = 0; i < n; i++)
        aoei_buffer_append(&source, repeated, strlen(repeated));
    aoei_buffer_append(&source, last, strlen(last) + 1);
    assert_true(!source.failed);
    assert_true(render(&out, &err, source.data) == AOE_EUNSUPPORTED);
    assert_true(strstr(err.message, "needs too much memory or time") != NULL);
    aoei_buffer_free(&source);
    aoei_buffer_free(&out);
}

static void check_output(const char *source, const char *expected) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    assert_true(!render(&out, &err, source));
    assert_true(out.len == strlen(expected) && !memcmp(out.data ? out.data : "", expected, out.len));
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
    check_limit("{% set a = 'abcdefgh' %}", 19, twice,
                "{% set b = a ~ 'x' %}{% set a = a ~ 'x' %}{% for i in range(2000) %}{% if a == b %}{% endif %}{% endfor %}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ b in c }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.find(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.replace(b, '') }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a ~ 'b' %}{% set c = a ~ a ~ a %}{{ c.split(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a.replace('a', 'b') ~ 'a' %}{{ a.strip(b) }}");
    check_limit("{% set a = 'aaaaaaaa' %}", 13, twice, "{% set b = a.replace('a', 'b') ~ 'a' %}{{ a|trim(b) }}");
}

static void test_ordinary_templates(void **state) {
    (void)state;
    check_output("{{ [1, {'a': 'b'}] == [1, {'a': 'b'}] }} {{ 'b' in 'abc' }} {{ [1] in [[1]] }} {{ 'xay'.strip('xy') }}",
                 "True True True a");
}

static void check_error(const char *source, int code) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    assert_int_equal(render(&out, &err, source), code);
    aoei_buffer_free(&out);
}

/* Python or Jinja rejects these templates. */
static void test_rejected_templates(void **state) {
    (void)state;
    check_error("{{ 'a' is string is none }}", AOE_EFORMAT);
    check_output("{{ ('a' is string) is true }} {{ 1 is eq(1) is true }}", "True True");
    check_error("{{ 1 is none not in [1] }}", AOE_EUNSUPPORTED);
    check_error("{{ 1 is none in [1] }}", AOE_EFORMAT);
    check_output("{{ 'a' if 1 is none else 'b' }} {{ 1 is odd and 2 is even or 0 }}", "b True");
    check_error("{{ ' '.join(['a', 1]) }}", AOE_EFORMAT);
    check_output("{{ ['a', 1]|join(' ') }} {{ ' '.join(['a', 'b']) }}", "a 1 a b");
    check_error("{{ [] in {} }}", AOE_EFORMAT);
    check_error("{{ {'a': 1}.get([]) }}", AOE_EFORMAT);
    check_error("{{ (1, [2]) in {'a': 1} }}", AOE_EFORMAT);
    check_output("{{ (1, 2) in {'a': 1} }} {{ 'a' in {'a': 1} }}", "False True");
    check_error("{{ '\\\xc3\xa9' }}", AOE_EFORMAT);
}

/* As in Jinja, the block else is executed unless an iteration reaches the end of the body. */
static void test_else(void **state) {
    (void)state;
    check_output("{% for i in [] %}a{% else %}b{% endfor %}", "b");
    check_output("{% for i in [1, 2] %}a{% else %}b{% endfor %}", "aa");
    check_output("{% for i in [1, 2] %}a{% continue %}{% else %}b{% endfor %}", "aab");
    check_output("{% for i in [1, 2] %}a{% break %}{% else %}b{% endfor %}", "ab");
    check_output("{% for i in [1, 2] %}a{% if i == 2 %}{% break %}{% endif %}{% else %}b{% endfor %}", "aa");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_comparisons), cmocka_unit_test(test_texts),
                                       cmocka_unit_test(test_ordinary_templates), cmocka_unit_test(test_else),
                                       cmocka_unit_test(test_rejected_templates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
