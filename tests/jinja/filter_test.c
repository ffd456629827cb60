/* SPDX-License-Identifier: MIT
 * Tests the filters, tests and methods of chat templates. The expected strings are those of Jinja.
 */
#include "../support/support.h"
#include "../support/templates.h"

static void test_sort(void **state) {
    (void)state;
    template_output("{{ ['b', 'A', 'c', 'B', 'a'] | sort }}", "['A', 'a', 'b', 'B', 'c']");
    template_output("{{ ['b', 'A', 'c', 'B', 'a'] | sort(true) }}", "['c', 'b', 'B', 'A', 'a']");
    template_output("{{ ['b', 'A', 'a'] | sort(case_sensitive=true) }} {{ 'cab' | sort }} {{ [] | sort }}",
                    "['A', 'a', 'b'] ['a', 'b', 'c'] []");
    template_output("{{ [{'a': {'b': 2}}, {'a': {'b': 1}}] | sort(attribute='a.b') }}",
                    "[{'a': {'b': 1}}, {'a': {'b': 2}}]");
    template_error("{{ [1, 'a'] | sort }}", AOE_EFORMAT, "compares the order of");
    template_error("{{ [1] | sort(attribute='a,b') }}", AOE_EUNSUPPORTED, "'sort'");
}

static void test_dictsort(void **state) {
    (void)state;
    template_output("{{ {'b': 1, 'A': 2, 'a': 0} | dictsort }}", "[('A', 2), ('a', 0), ('b', 1)]");
    template_output("{{ {512: 1, 0: 2} | dictsort }} {{ {'b': 1, 'A': 2} | dictsort(true, 'value', true) }}",
                    "[(0, 2), (512, 1)] [('A', 2), ('b', 1)]");
    template_error("{{ {'a': 1} | dictsort(by='x') }}", AOE_EUNSUPPORTED, "'dictsort'");
    template_error("{{ [1] | dictsort }}", AOE_EUNSUPPORTED, "'dictsort'");
}

static void test_unique(void **state) {
    (void)state;
    template_output("{{ ['b', 'a', 'B', 'b'] | unique | list }} {{ ['b', 'B'] | unique(true) | join }}",
                    "['b', 'a'] bB");
    template_output("{{ [1, true, '1'] | unique | list }} {{ [{'a': 1}, {'a': 1}] | unique(attribute='a') | list }}",
                    "[1, '1'] [{'a': 1}]");
    template_error("{{ [[1]] | unique | list }}", AOE_EFORMAT, "a list");
}

static void test_int(void **state) {
    (void)state;
    template_output(
        "{{ 5 | int }} {{ true | int }} {{ ' -42 ' | int }} {{ 'x' | int }} {{ '' | int(3) }} {{ none | int }}",
        "5 1 -42 0 3 0");
    template_error("{{ '1.5' | int }}", AOE_EUNSUPPORTED, "'int'");
    template_error("{{ 1.5 | int }}", AOE_EUNSUPPORTED, "'int'");
    template_error("{{ nope | int }}", AOE_EUNSUPPORTED, "'int'");
    template_error("{{ '99999999999999999999' | int }}", AOE_EUNSUPPORTED, "'int'");
}

static void test_selections(void **state) {
    (void)state;
    template_output(
        "{{ [1, 2, 3] | select('odd') | list }} {{ [1, 2] | reject('odd') | join }} {{ [0, 1] | select | join }}",
        "[1, 3] 2 1");
    template_output("{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | map(attribute='a') | first }}", "2");
    template_output("{{ none | selectattr('a') | list }} {{ 0 | map('upper') | list }} {{ false | reject | list }}",
                    "[] [] []");
    template_output("{{ [{'a': {'b': 1}}] | map(attribute='a.b') | join }} {{ [' a '] | map('trim') | join }}", "1 a");
    template_error("{{ 5 | select | list }}", AOE_EFORMAT, "iterates over an integer");
    template_error("{% set x = [1] | select %}{{ x | list }}{{ x | list }}", AOE_EUNSUPPORTED, "iterating twice");
}

static void test_strings(void **state) {
    (void)state;
    template_output("{{ 'aBc' | upper }}{{ 'aBc'.lower() }}{{ 'aBC' | capitalize }}{{ 'a b'.title() }}",
                    "ABCabcAbcA B");
    template_output(
        "{{ ' x ' | trim }}{{ 'xax'.strip('x') }}{{ 'aXbX' | replace('X', 'y') }}{{ 'aXbX'.replace('X', '', 1) }}",
        "xaaybyabX");
    template_output("{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a-b-c'.rsplit('-', 1) }}",
                    "['a', 'b', '', 'c'] ['a', 'b'] ['a-b', 'c']");
    template_output(
        "{{ 'abc'.find('c') }} {{ 'aab'.count('a') }} {{ 'abc'.removeprefix('a') }} {{ 'abc'.endswith(('x', 'c')) }}",
        "2 2 bc True");
    template_output("{{ ' a b c '.split(none, 1) }} {{ 'a'.rsplit('-', 1) }} {{ 'abc'.removesuffix('c') }}",
                    "['a', 'b c'] ['a'] ab");
    template_output("{{ ['a', 1] | join(' ') }} {{ ' '.join(['a', 'b']) }} {{ [[1], 'b'] | join(',') }}",
                    "a 1 a b [1],b");
    template_error("{{ ' '.join(['a', 1]) }}", AOE_EFORMAT, "joins an integer");
    template_error("{{ '\xc3\xa9' | upper }}", AOE_EUNSUPPORTED, "'upper' of text that is not ASCII");
    template_error("{{ 'a' | nope }}", AOE_EUNSUPPORTED, "the filter 'nope'");
    template_error("{{ 'a'.format(1) }}", AOE_EUNSUPPORTED, "the method 'format'");
}

static void test_other_filters(void **state) {
    (void)state;
    template_output(
        "{{ nope | default('d') }}{{ '' | d('e', true) }}{{ 'a' | default('b') }} {{ [1, 2] | last }}{{ 'abc' | "
        "first }}",
        "dea 2a");
    template_output(
        "{{ '\xc3\xa9' | length }}{{ {'a': 1} | count }} {{ [1, 2] | reverse | list }} {{ {'a': 1} | items | list }}",
        "11 [2, 1] [('a', 1)]");
    template_error("{{ 5 | length }}", AOE_EFORMAT, "the length of an integer");
    template_error("{{ [] | map('upper') | length }}", AOE_EFORMAT, "the length of the result of a filter");
}

static void test_mappings(void **state) {
    (void)state;
    template_output(
        "{{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 2) }} {{ {'a': 1}.items() | list }}",
        "1 None 2 [('a', 1)]");
    template_output(
        "{{ {'a': 1}.keys() | list }} {{ {'a': 1}.values() | join }} {{ {'a': 1} | length }}{{ nope | length }}",
        "['a'] 1 10");
    template_error("{{ {}.update({}) }}", AOE_EUNSUPPORTED, "the method 'update'");
    template_error("{{ [].append(1) }}", AOE_EUNSUPPORTED, "the method 'append'");
}

/* Arguments that aoe does not support. */
static void test_arguments(void **state) {
    (void)state;
    static const char *const sources[] = {"{{ 'a'.strip(1) }}",
                                          "{{ 'a'.split(1) }}",
                                          "{{ 'a'.rsplit() }}",
                                          "{{ 'a'.join() }}",
                                          "{{ 'a'.find(1) }}",
                                          "{{ 'a'.replace('', 'b') }}",
                                          "{{ 'a'.startswith([1]) }}",
                                          "{{ 'a'.count('a', 1) }}",
                                          "{{ [] | select('odd', 1, 2) }}",
                                          "{{ [] | selectattr(1) }}",
                                          "{{ [] | map(1) }}",
                                          "{{ [[1]] | map('map') }}",
                                          "{{ [[1]] | map(attribute='0') }}",
                                          "{{ 'ab' | reverse }}",
                                          "{{ [1] | tojson(indent=' ') }}",
                                          "{{ 'a' | trim(1) }}",
                                          "{{ [] | join(1) }}",
                                          "{{ 'a' | default(nope=1) }}"};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        template_error(sources[i], AOE_EUNSUPPORTED, "not supported");
}

static void test_tests(void **state) {
    (void)state;
    template_output(
        "{{ 'x' is string }} {{ 1 is number }} {{ true is integer }} {{ {} is mapping }} {{ [] is iterable }} {{ nope "
        "is undefined }}",
        "True True False True True True");
    template_output("{{ 1 is ne 2 }} {{ 2 is gt(1) }} {{ 1 is in [1] }} {{ 9 is divisibleby 3 }} {{ 2 is le(1) }}",
                    "True True True True False");
    template_error("{{ 1 is nope }}", AOE_EUNSUPPORTED, "the test 'nope'");
    template_error("{{ 9 is divisibleby 0 }}", AOE_EUNSUPPORTED, "the test 'divisibleby'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort),          cmocka_unit_test(test_dictsort),
                                       cmocka_unit_test(test_unique),        cmocka_unit_test(test_int),
                                       cmocka_unit_test(test_selections),    cmocka_unit_test(test_strings),
                                       cmocka_unit_test(test_other_filters), cmocka_unit_test(test_tests),
                                       cmocka_unit_test(test_mappings),      cmocka_unit_test(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
