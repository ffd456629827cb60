/* SPDX-License-Identifier: MIT
 * Tests the execution of the statements of chat templates: loops, the scope of variables, macros and functions.
 */
#include "../support/support.h"
#include "../support/templates.h"

/* As in Jinja, the block else is executed unless an iteration reaches the end of the body. */
static void test_else(void **state) {
    (void)state;
    template_output("{% for i in [] %}a{% else %}b{% endfor %}", "b");
    template_output("{% for i in [1, 2] %}a{% else %}b{% endfor %}", "aa");
    template_output("{% for i in [1, 2] %}a{% continue %}{% else %}b{% endfor %}", "aab");
    template_output("{% for i in [1, 2] %}a{% break %}{% else %}b{% endfor %}", "ab");
    template_output("{% for i in [1, 2] %}a{% if i == 2 %}{% break %}{% endif %}{% else %}b{% endfor %}", "aa");
}

static void test_loops(void **state) {
    (void)state;
    template_output(
        "{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.last }},{% endfor %}",
        "11False,20True,");
    template_output(
        "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}{% for c in 'a\xc3\xa9' %}{{ c }}-{% "
        "endfor %}",
        "a1b2a-\xc3\xa9-");
    template_output("{% for i in [1, 2] %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.first }}{% endfor %}",
                    "2True1False");
    template_error("{% for a, b in [[1]] %}{% endfor %}", AOE_EFORMAT, "as many elements");
    template_error("{% for i in 5 %}{% endfor %}", AOE_EFORMAT, "iterates over an integer");
    template_error("{% for i in [1] %}{{ loop.depth }}{% endfor %}", AOE_EUNSUPPORTED, "a method");
}

/* Loops and macros have variables of their own, conditions do not. */
static void test_scopes(void **state) {
    (void)state;
    template_output("{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "231");
    template_output(
        "{% set x = 1 %}{% if true %}{% set x = 9 %}{% endif %}{{ x }}{% set a, b = [1, 2] %}{{ b }}{{ a }}", "921");
    template_output("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}",
                    "4");
    template_output(
        "{% set x %}a{{ 1 }}{% endset %}{{ x | upper }}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration "
        "%}{{ x }}",
        "A12a1");
    template_error("{% set a = {} %}{% set a.b = 1 %}", AOE_EFORMAT, "sets an attribute of a mapping");
    template_error("{% set n = namespace(_a=1) %}", AOE_EFORMAT, "'_a'");
}

static void test_macros(void **state) {
    (void)state;
    template_output("{% macro m(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}{{ m() }}",
                    "[1d][32][d]");
    template_output(
        "{% macro m(a, b=2) %}{{ a }}{{ b }},{% endmacro %}{{ m(*[1, 3]) }}{{ m(0, *[5]) }}{{ m(*'x') }}{{ m(*[1], "
        "b=4) }}{{ m(*{}) }}",
        "13,05,x2,14,2,");
    template_output("{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210");
    template_error("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", AOE_EFORMAT, "'m' has no such argument");
    template_error("{% macro m(a) %}{% endmacro %}{{ m(*[1, 2]) }}", AOE_EFORMAT, "'m' has no such argument");
    template_error("{% macro m(a) %}{% endmacro %}{{ m(*5) }}", AOE_EFORMAT, "iterates over an integer");
    template_error("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", AOE_EUNSUPPORTED, "too much memory or time");
    template_error("{% for i in [1] %}{% macro m() %}{% endmacro %}{% endfor %}", AOE_EUNSUPPORTED,
                   "a macro within a loop");
}

static void test_functions(void **state) {
    (void)state;
    template_output(
        "{{ range(1, 7, 2) | list }} {{ range(3, 0, -1) | join }} {{ range(*[1, 3]) | list }} {{ dict(a=1) }}",
        "[1, 3, 5] 321 [1, 2] {'a': 1}");
    template_error("{{ range(1, 2, 0) }}", AOE_EUNSUPPORTED, "range");
    template_error("{{ raise_exception('no texts') }}", AOE_EFORMAT, "no texts");
    template_error("{{ strftime_now('%Y') }}", AOE_EUNSUPPORTED, "strftime_now");
    template_error("{{ nope() }}", AOE_EFORMAT, "'nope'");
    template_error("{{ caller() }}", AOE_EUNSUPPORTED, "'caller'");
}

static void test_operators(void **state) {
    (void)state;
    template_output(
        "{{ [1] + [2] }} {{ 'ab' * 2 }} {{ 'abc'[1:] }}{{ 'abc'[:-1] }} {{ [1, 2, 3][::-1] }} {{ 'a' < 'b' }}",
        "[1, 2] abab bcab [3, 2, 1] True");
    template_error("{{ 9223372036854775807 * 2 }}", AOE_EUNSUPPORTED, "the operator *");
    template_error("{{ 1 // 0 }}", AOE_EUNSUPPORTED, "the operator //");
    template_error("{{ '%s' % 'a' }}", AOE_EUNSUPPORTED, "the operator %");
    template_error("{{ 'abc'[::-1] }}", AOE_EUNSUPPORTED, "reversing a string");
    template_error("{{ [1][::2] }}", AOE_EUNSUPPORTED, "a step of a slice");
    template_error("{{ {}[1:] }}", AOE_EFORMAT, "a slice of a mapping");
    template_error("{{ nope + 1 }}", AOE_EFORMAT, "'nope', which is undefined");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_else),      cmocka_unit_test(test_loops),
                                       cmocka_unit_test(test_scopes),    cmocka_unit_test(test_macros),
                                       cmocka_unit_test(test_functions), cmocka_unit_test(test_operators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
