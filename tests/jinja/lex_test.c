/* SPDX-License-Identifier: MIT
 * Tests the lexer of chat templates: white space next to tags, comments, {% raw %}, strings, numbers, and the lines in
 * messages.
 */
#include "../support/support.h"
#include "../support/templates.h"

/* trim_blocks and lstrip_blocks are on, as in transformers; a sign at a tag overrides them. */
static void test_white_space(void **state) {
    (void)state;
    template_output("a\n  {% if true %}\n  b\n  {% endif %}\n  c\n", "a\n  b\n  c");
    template_output("a {%- if 1 -%}\n b \n{%- endif -%} c", "abc");
    template_output("a\n  {%+ if true %}b{% endif +%}\nc", "a\n  b\nc");
    template_output("\n  {{ 1 }}\n {{- 2 -}} \n3", "\n  123");
    template_output("x\r\ny\rz\n\n", "x\ny\nz\n");
    template_output("a{# c #}\n b {#- d -#} e\n  {# f #}\ng", "a b"
                                                              "e\ng");
    template_error("x {% if 1 %} y", AOE_EFORMAT, "the chat template ends before");
}

static void test_raw(void **state) {
    (void)state;
    template_output("{% raw %}{{ a }}{% b %}{% endraw %}!", "{{ a }}{% b %}!");
    template_output("a {%- raw -%} b {%- endraw -%} c", "abc");
    template_error("\n{% raw %}a", AOE_EFORMAT, "t:2: {% raw %} has no end");
}

/* Escape sequences have the meaning of Python. */
static void test_strings(void **state) {
    (void)state;
    template_output("{{ 'a\\tb\\x41\\u00e9\\'\\\"\\\\' }}", "a\tbA\xc3\xa9'\"\\");
    template_output("{{ '\\101\\7' }}{{ 'a\\q' }}{{ 'a\\\nb' }}{{ 'a' \"b\" }}", "A\aa\\qabab");
    template_error("{{ '\\N{BULLET}' }}", AOE_EFORMAT, "an escape sequence");
    template_error("{{ '\\xg' }}", AOE_EFORMAT, "an escape sequence");
    template_error("{{ '\\\xc3\xa9' }}", AOE_EFORMAT, "an escape sequence");
    template_error("{{ 'a }}", AOE_EFORMAT, "a string has no end");
}

static void test_numbers(void **state) {
    (void)state;
    template_output("{{ 12 }} {{ 1.5 == 3 - 1.5 }} {{ [7, 8].1 }}", "12 True 8");
    template_error("{{ 1e3 }}", AOE_EFORMAT, "notation of a number");
    template_error("{{ 99999999999999999999 }}", AOE_EUNSUPPORTED, "a number is not supported");
    template_error("{{ 07 }}", AOE_EUNSUPPORTED, "a number is not supported");
}

static void test_errors(void **state) {
    (void)state;
    template_error("{{ a", AOE_EFORMAT, "a tag has no end");
    template_error("a\n{# b", AOE_EFORMAT, "t:2: a comment has no end");
    template_error("\n\n{{ ) }}", AOE_EFORMAT, "t:3: unmatched bracket");
    template_error("{{ (] }}", AOE_EFORMAT, "unmatched bracket");
    template_error("{{ a ? b }}", AOE_EFORMAT, "an unexpected character");
    template_error("\xff", AOE_EFORMAT, "not valid UTF-8");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_white_space), cmocka_unit_test(test_raw),
                                       cmocka_unit_test(test_strings), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
