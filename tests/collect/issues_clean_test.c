/* SPDX-License-Identifier: MIT
 * Tests the cleaning of the texts of GitHub issues: which parts are removed, which parts are kept, and which lines are
 * recognized as part of an issue template.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_collect.h"
#include "collect/issues_clean.h"

enum {
    NOTHING = 0,
    COMMENTS = AOE_ISSUE_CLEAN_COMMENTS,
    IMAGES = AOE_ISSUE_CLEAN_IMAGES,
    TEMPLATES = AOE_ISSUE_CLEAN_TEMPLATES
};

static const struct {
    unsigned clean;
    const char *body, *text; /* body: body of an issue with the title "T". text: expected text of this issue after
                                cleaning. */
} cases[] = {
    {NOTHING, "", "T"},
    {NOTHING, "a\r\nb\r\n", "T\na\nb"},
    {NOTHING, "\n\na\n\n\n\nb  \n\n", "T\na\n\n\n\nb"},
    {NOTHING, "<!-- c --> ![x](y)", "T\n<!-- c --> ![x](y)"},
    {COMMENTS, "a\n\n\n\nb", "T\na\n\nb"},
    {COMMENTS, "a <!-- c --> b", "T\na  b"},
    {COMMENTS, "<!-- c -->\na", "T\na"},
    {COMMENTS, "a\n<!-- c\nd\n--> e\nf", "T\na\n e\nf"},
    {COMMENTS, "a <!-- never closed\nb", "T\na"},
    {COMMENTS, "a <!--> b --> c", "T\na  c"},
    {COMMENTS, "`<!-- code -->` <!-- c -->x", "T\n`<!-- code -->` x"},
    {COMMENTS, "```\n<!-- code -->\n```\n<!-- c -->", "T\n```\n<!-- code -->\n```"},
    {COMMENTS, "<!-- ``` -->\na", "T\na"},
    {IMAGES, "a ![alt](https://x.example/y.png) b", "T\na  b"},
    {IMAGES, "<img width=\"5\" src=\"x\"> b", "T\n b"},
    {IMAGES, "<imgs> ![not an image] (x)", "T\n<imgs> ![not an image] (x)"},
    {IMAGES, "![a](b)\ntext", "T\ntext"},
    {IMAGES, "~~~\n![a](b)\n~~~", "T\n~~~\n![a](b)\n~~~"},
    {TEMPLATES, "### A\n\n### B\n\ntext\n\n### C", "T\n### B\ntext"},
    {TEMPLATES, "### A\n\n_No response_\n\n### B\nx", "T\n### B\nx"},
    {TEMPLATES, "- [x] I have searched\n- [ ] not yet\n- item", "T\n- item"},
    {TEMPLATES, "### A\n```\ncode\n```", "T\n### A\n```\ncode\n```"},
    {TEMPLATES, "#1 is no heading", "T\n#1 is no heading"},
    {COMMENTS | IMAGES | TEMPLATES, "### A\n<!-- c -->\n![a](b)\n### B\nx<!-- c -->", "T\n### B\nx"},
};

static void test_table(void **state) {
    aoei_buffer out = {0};
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer_clear(&out);
        assert_int_equal(
            aoei_issue_text(&out, aoe_text_of(" T\r"), aoe_text_of(cases[i].body), cases[i].clean, NULL, NULL), AOE_OK);
        if (strcmp(out.data, cases[i].text) != 0) {
            printf("clean %u of \"%s\": got \"%s\", expected \"%s\"\n", cases[i].clean, cases[i].body, out.data,
                   cases[i].text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    aoei_buffer_free(&out);
}

static void test_templates(void **state) {
    aoei_line_counts counts = {0};
    aoei_buffer out = {0};
    (void)state;
    for (int i = 0; i < 100; i++) {
        char body[200];
        snprintf(body, sizeof body, "Please fill this in\n- [%s] Agreed\nown line %d\n%s%s```\nreturn 0;\n```\n",
                 i % 2 ? "x" : " ", i, i < 6 ? "six have it\n" : "", i < 4 ? "four have it\nfour have it\n" : "");
        assert_int_equal(aoei_line_counts_add(&counts, aoe_text_of(body), NULL), AOE_OK);
    }
    assert_int_equal(counts.bodies, 100);
    const aoe_text body = aoe_text_of(
        "Please fill this in  \nmine\nsix have it\nfour have it\n```\nreturn 0;\nPlease fill this in\n```\n");
    assert_int_equal(aoei_issue_text(&out, aoe_text_of("T"), body, TEMPLATES, &counts, NULL), AOE_OK);
    assert_string_equal(out.data, "T\nmine\nfour have it\n```\nreturn 0;\nPlease fill this in\n```");
    aoei_buffer_clear(&out);
    assert_int_equal(aoei_issue_text(&out, aoe_text_of("T"), body, COMMENTS, &counts, NULL), AOE_OK);
    assert_non_null(strstr(out.data, "Please fill this in  \nmine"));
    aoei_buffer_free(&out);
    aoei_line_counts_free(&counts);
}

static int clean_again(void *arg) {
    aoei_line_counts counts = {0};
    aoei_buffer out = {0};
    const aoe_text body = aoe_text_of("### A\n\ntext <!-- c --> more\n### B\n\n### C\nend\n");
    (void)arg;
    int code = aoei_line_counts_add(&counts, body, NULL);
    if (!code)
        code = aoei_issue_text(&out, aoe_text_of("T"), body, COMMENTS | TEMPLATES, &counts, NULL);
    aoei_line_counts_free(&counts);
    aoei_buffer_free(&out);
    return code;
}

static void test_no_memory(void **state) {
    (void)state;
    test_alloc_failures(clean_again, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table), cmocka_unit_test(test_templates),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
