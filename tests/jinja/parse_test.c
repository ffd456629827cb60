/* SPDX-License-Identifier: MIT
 * Tests the parser of chat templates: precedence, tests with `is`, statements, and the messages about syntax errors.
 */
#include <string.h>

#include "../support/support.h"
#include "../support/templates.h"

static void test_precedence(void **state) {
    (void)state;
    template_output("{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ -7 // 2 }} {{ -7 % 2 }} {{ 1 ~ 2 * 3 }} {{ 'a' + 2 ~ 3 }}",
                    "7 9 -4 1 16 a23");
    template_output("{{ not 1 == 2 }} {{ 0 or 1 and 2 }} {{ 1 if 0 else 2 if 0 else 3 }} {{ 1 < 2 < 3 }}",
                    "True 2 3 True");
    template_output("{{ 'a' ~ 'b' | upper }} {{ -1 | string | length }}", "aB 2");
    template_output("{{ 1 not in [2] }} {{ 'a'.upper().lower()[0] }} {{ (1, 2)[1] }} {{ 1, 2 }}", "True a 2 (1, 2)");
}

static void test_is(void **state) {
    (void)state;
    template_output("{{ ('a' is string) is true }} {{ 1 is eq(1) is true }}", "True True");
    template_output("{{ 'a' if 1 is none else 'b' }} {{ 1 is odd and 2 is even or 0 }} {{ 1 is not none }}",
                    "b True True");
    template_output("{{ 2 is eq 2 }} {{ 4 is divisibleby 2 }}", "True True");
    template_error("{{ 'a' is string is none }}", AOE_EFORMAT, "cannot be chained");
    template_error("{{ 1 is none not in [1] }}", AOE_EUNSUPPORTED, "'none'");
    template_error("{{ 1 is none in [1] }}", AOE_EFORMAT, "t:1: ");
    template_error("{{ 1 is a.b }}", AOE_EUNSUPPORTED, "this test is not supported 'a'");
}

static void test_syntax_errors(void **state) {
    (void)state;
    template_error("\n\n{{ 1 +", AOE_EFORMAT, "t:3: ");
    template_error("{{ }}", AOE_EFORMAT, "unexpected syntax");
    template_error("{{ a b }}", AOE_EFORMAT, "unexpected syntax 'b'");
    template_error("{{ a[] }}", AOE_EFORMAT, "unexpected syntax");
    template_error("{{ a[1:2:3:4] }}", AOE_EFORMAT, "unexpected syntax");
    template_error("{{ a[1, 2] }}", AOE_EUNSUPPORTED, "an index of this form");
    template_error("{% if 1 %}", AOE_EFORMAT, "ends before 'elif'");
    template_error("{% for a in b %}{% endif %}", AOE_EUNSUPPORTED, "'endif'");
    template_error("{% break %}", AOE_EFORMAT, "not in a loop");
    template_error("{% for i in [] %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}", AOE_EFORMAT,
                   "not in a loop");
    template_error("a\n{% include 'x' %}", AOE_EUNSUPPORTED,
                   "t:2: the chat template uses a statement that is not supported, 'include'");
    template_error("{% set x | upper %}a{% endset %}", AOE_EUNSUPPORTED, "a filter in {% set %}");
    template_error("{% for i in [] recursive %}{% endfor %}", AOE_EUNSUPPORTED, "recursive");
    template_error("{{ f(**a) }}", AOE_EUNSUPPORTED, "**");
    template_error("{{ 1 | a.b }}", AOE_EUNSUPPORTED, "this filter is not supported 'a'");
}

/* {% call %} is an error only if it is executed. */
static void test_call_block(void **state) {
    (void)state;
    template_output("{% if false %}{% call(a) m(1) %}{{ a }}{% endcall %}{% endif %}x", "x");
    template_error("\n{% call m() %}{% endcall %}", AOE_EUNSUPPORTED,
                   "t:2: the chat template uses a statement that is not supported, 'call'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_precedence), cmocka_unit_test(test_is),
                                       cmocka_unit_test(test_syntax_errors), cmocka_unit_test(test_call_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
