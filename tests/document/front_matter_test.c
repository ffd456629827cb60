/* SPDX-License-Identifier: MIT
 * Tests metadata from front matter.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "document/front_matter.h"

static aoei_front_matter m;

static void check(const char *text, const char *expected) {
    char found[1000] = "";
    assert_int_equal(aoei_front_matter_read(&m, aoe_text_of(text), NULL), 0);
    for (size_t i = 0; i < m.n; i++) {
        const size_t len = strlen(found);
        snprintf(found + len, sizeof found - len, "%s=%.*s;", m.field[i].key, (int)m.field[i].value.len,
                 m.field[i].value.data);
    }
    assert_string_equal(found, expected);
}

static void reads_simple_lines(void **state) {
    (void)state;
    check("---\ntitle: A b: c\nyear: 2020\n---\ntext: no\n", "title=A b: c;year=2020;");
    check("---\r\ntitle: \"A # b\"\r\nlang: 'en' # comment\r\n...\r\n", "title=A # b;lang=en;");
    check("---\ntags: [a, b]\nn: -1\nurl: http://x/y#z\nc: d # e\n---\n", "tags=a, b;n=-1;url=http://x/y#z;c=d;");
    check("+++\ntitle = \"T\"\nweight = 3\n+++\n", "title=T;weight=3;");
    check("---\na: 1\na: 2\n---\n", "a=1;");
    aoei_front_matter_free(&m);
}

static void ignores_other_lines(void **state) {
    (void)state;
    check("", "");
    check("title: x\n", "");
    check("---\ntitle: x\n", "");
    check("--- \ntitle: x\n---\n", "");
    check("----\ntitle: x\n----\n", "");
    check("---\n---\n", "");
    check("---\ntags:\n  - a\n  key: b\n- c: d\nempty:\ntext: |\n  line\nmap: {a: b}\nref: *x\nesc: \"a\\\"b\"\n1a: b\n"
          "a b: c\nok: yes\n: x\nopen: \"a\nquoted: 'a' b\n---\n",
          "ok=yes;");
    char many[3000] = "---\n", *end = many + 4;
    for (int i = 0; i < 40; i++)
        end += sprintf(end, "k%d: v\n", i);
    strcpy(end, "---\n");
    assert_int_equal(aoei_front_matter_read(&m, aoe_text_of(many), NULL), 0);
    assert_int_equal(m.n, AOEI_FRONT_MATTER_FIELDS);
    aoei_front_matter_free(&m);
}

static int read_once(void *arg) {
    aoei_front_matter f = {.n = 0};
    const int code = aoei_front_matter_read(&f, aoe_text_of(arg), NULL);
    aoei_front_matter_free(&f);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    char text[] = "---\na: b\nc: d\n---\n";
    assert_int_equal(test_alloc_failures(read_once, text, 0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_simple_lines), cmocka_unit_test(ignores_other_lines),
                                       cmocka_unit_test(survives_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
