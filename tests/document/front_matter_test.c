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

static void check_lost(const char *text, const char *expected, size_t lost, size_t line) {
    check(text, expected);
    assert_int_equal(m.lost, lost);
    assert_int_equal(m.lost_line, line);
}

static void reads_simple_lines(void **state) {
    (void)state;
    check_lost("---\ntitle: A b: c\nyear: 2020\n---\ntext: no\n", "title=A b: c;year=2020;", 0, 0);
    check("---\r\ntitle: \"A # b\"\r\nlang: 'en' # comment\r\n...\r\n", "title=A # b;lang=en;");
    check("---\nn: -1\nurl: http://x/y#z\nc: d # e\n---\n", "n=-1;url=http://x/y#z;c=d;");
    check_lost("---\n1a: b\nfirst name: c\n\"a: b\" : d\n---\n", "1a=b;first name=c;a: b=d;", 0, 0);
    check_lost("---\nempty:\nquoted: \"\"\nnone: null\nno: ~\n# comment\n\n---\n", "", 0, 0);
    check_lost("+++\ntitle = \"T\"\nweight = 3\nurl='a:b'\n+++\n", "title=T;weight=3;url=a:b;", 0, 0);
    aoei_front_matter_free(&m);
}

static void reads_lists(void **state) {
    (void)state;
    check_lost("---\ntags: [a, \"b, c\" , 'd']\n---\n", "tags=a;tags=b, c;tags=d;", 0, 0);
    check_lost("---\ntags:\n  - alpha\n  - \"beta: c\" # x\n  # y\n\n  - http://z\nb: 1\n---\n",
               "tags=alpha;tags=beta: c;tags=http://z;b=1;", 0, 0);
    check_lost("---\r\ntags: # x\r\n- alpha\r\n- -1\r\nb: 1\r\n---\r\n", "tags=alpha;tags=-1;b=1;", 0, 0);
    check_lost("---\ntags: [\n  a,\n  b,\n] # c\nd: []\ne: f\n---\n", "tags=a;tags=b;e=f;", 0, 0);
    check_lost("---\na:\n  - [b, c]\n  - d\n---\n", "a=b;a=c;a=d;", 0, 0);
    check_lost("---\nwho:\n  - name: A\n    age: 1\n  - name: B\n---\n", "who.name=A;who.age=1;who.name=B;", 0, 0);
    check_lost("+++\ntags = [\"a\", 2,\n 'c']\nb = 1\n+++\n", "tags=a;tags=2;tags=c;b=1;", 0, 0);
    aoei_front_matter_free(&m);
}

static void reads_nested_keys(void **state) {
    (void)state;
    check_lost("---\na:\n  b: 1\n  c:\n    - x\n    - y\n  d:\n    e f: 2\ng: 3\n---\n",
               "a.b=1;a.c=x;a.c=y;a.d.e f=2;g=3;", 0, 0);
    check_lost("+++\nx = 1\n[a.b]\nc = 2\nd.e = 3\n[[f]]\ng = 4\n[[f]]\ng = 5\n+++\n",
               "x=1;a.b.c=2;a.b.d.e=3;f.g=4;f.g=5;", 0, 0);
    aoei_front_matter_free(&m);
}

static void ignores_other_texts(void **state) {
    (void)state;
    check_lost("", "", 0, 0);
    check_lost("title: x\n", "", 0, 0);
    check_lost("---\ntitle: x\n", "", 0, 0);
    check_lost("--- \ntitle: x\n---\n", "", 0, 0);
    check_lost("----\ntitle: x\n----\n", "", 0, 0);
    check_lost("---\n---\n", "", 0, 0);
}

static void counts_lost_entries(void **state) {
    (void)state;
    check_lost("---\na: 1\na: 2\nb: 3\n---\n", "a=1;b=3;", 1, 3);
    check_lost("---\nok: yes\ntext: |\n  one: 1\n  two\nc: d\n---\n", "ok=yes;c=d;", 1, 3);
    check_lost(
        "---\nmap: {a: b}\nref: *x\nesc: \"a\\\"b\"\n: x\nopen: \"a\nquoted: 'a' b\nl: [a, [b]]\nm: [a\nz: 1\n---\n",
        "z=1;", 8, 2);
    check_lost("---\n- a\n- b: c\nno key\nplain: x\n  more\n---\n", "plain=x;", 4, 2);
    check_lost("---\na: [b] c\nd: e\n---\n", "a=b;d=e;", 1, 2);
    check_lost("+++\na = \"\"\"\nb = 1\n\"\"\"\nc = {d = 1}\n[\"q\"]\ne = 1\n[f]\ng = 2\nh =\n+++\n", "f.g=2;", 4, 2);
    aoei_front_matter_free(&m);
}

static void counts_what_is_above_a_limit(void **state) {
    (void)state;
    static char large[70000];
    char many[3000] = "---\n", deep[3000] = "---\n", wide[1000] = "---\n", *end = many + 4;
    for (int i = 0; i < AOEI_FRONT_MATTER_FIELDS + 10; i++)
        end += sprintf(end, "k%d: v\n", i);
    strcpy(end, "---\n");
    assert_int_equal(aoei_front_matter_read(&m, aoe_text_of(many), NULL), 0);
    assert_int_equal(m.n, AOEI_FRONT_MATTER_FIELDS);
    assert_int_equal(m.lost, 10);
    end = deep + 4;
    for (int i = 0; i < 20; i++)
        end += sprintf(end, "%*sk:\n", i, "");
    strcpy(end, "---\n");
    check_lost(deep, "", 1, 18);
    memset(large, 'a', sizeof large - 1);
    memcpy(large, "---\n", 4);
    check_lost(large, "", 1, 1);
    memset(wide + 4, 'a', 300);
    strcpy(wide + 304, ": 1\nb: 2\n---\n");
    check_lost(wide, "b=2;", 1, 2);
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
    char text[] = "---\na: b\nc:\n  d: [e, f]\n---\n";
    assert_int_equal(test_alloc_failures(read_once, text, 0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_simple_lines),         cmocka_unit_test(reads_lists),
        cmocka_unit_test(reads_nested_keys),          cmocka_unit_test(ignores_other_texts),
        cmocka_unit_test(counts_lost_entries),        cmocka_unit_test(counts_what_is_above_a_limit),
        cmocka_unit_test(survives_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
