/* SPDX-License-Identifier: MIT
 * covers: collect/markdown
 * Tests which references to duplicates are found in texts of GitHub issues. The texts have the style of people and bots
 * on GitHub. A table contains the expected references for each text.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "base/buffer.h"
#include "collect/issues_refs.h"
#include "collect/markdown.h"

/* found: the expected references in the order of the text, or "" if there are none. A reference is "#N" or
 * "owner/name#N". The prefix "?" marks a guess, and the prefix "!" marks a denial. */
static const struct {
    const char *text, *found;
} cases[] = {
    /* statements */
    {"duplicate of #12", "#12"},
    {"Duplicate of #12.", "#12"},
    {"Closing as duplicate of #12", "#12"},
    {"Closing as a duplicate of #12, thanks!", "#12"},
    {"closing as a dup of #7", "#7"},
    {"dup #7", "#7"},
    {"Dupe of #7", "#7"},
    {"Dupe: #7", "#7"},
    {"**Duplicate of #7**", "#7"},
    {"_Duplicate_ of #7", "#7"},
    {"This is a duplicate of the existing issue #7", "#7"},
    {"duplicate of GH-15", "#15"},
    {"This duplicates #15", "#15"},
    {"This seems to duplicate #15", "#15"},
    {"This issue is duplicated by #15", "#15"},
    {"/duplicate of #15", "#15"},
    {"/duplicate #15", "#15"},
    {"Duplicate issue: #15", "#15"},
    {"duplicate of this issue: #15", "#15"},
    {"Closing as duplicate in favor of #15", "#15"},
    {"This is a duplicate. See #15", "#15"},
    {"Closing as duplicate, please see #15 for details", "#15"},
    {"Duplicate (see #15)", "#15"},
    {"Duplicate of:\n#15", "#15"},
    {"Duplicate of\n\n- #15", "#15"},
    {"Looks like a duplicate of #15", "#15"},
    {"I am not sure why, but this is a duplicate of #15", "#15"},
    {"It does not work because it is a duplicate of #15", "#15"},
    {"duplicate of #1, #2 and #3", "#1 #2 #3"},
    {"duplicate of #1 & #2", "#1 #2"},
    {"Duplicates:\n- #1\n- #2\n", "#1 #2"},
    {"Duplicate of #1, see also #2", "#1"},
    {"duplicate of #1 and fixed in #2", "#1"},
    {"Duplicate of #1. Also a duplicate of #2.", "#1 #2"},
    {"duplicate of #0", ""},
    {"duplicate of #12345678901", ""},
    {"duplicate of #12abc", ""},
    /* other repositories and addresses */
    {"closing as duplicate of owner/repo#5", "owner/repo#5"},
    {"dup of my-org/some.repo_x#5!", "my-org/some.repo_x#5"},
    {"Duplicate of https://github.com/a/b/issues/9", "a/b#9"},
    {"Duplicate of https://github.com/a/b/issues/9.", "a/b#9"},
    {"Duplicate of http://www.github.com/a/b/issues/9#issuecomment-1, closing", "a/b#9"},
    {"Duplicate of <https://github.com/a/b/issues/9?x=1>", "a/b#9"},
    {"Duplicate of github.com/A/B/issues/9", "A/B#9"},
    {"Duplicate of [#9](https://github.com/a/b/issues/9) and #10", "a/b#9 #10"},
    {"Duplicate of [this one](https://github.com/a/b/issues/9)", "a/b#9"},
    {"Duplicate of [#9](/a/b/9)", "#9"},
    {"Duplicate of https://github.com/a/b/pull/9", ""},
    {"Duplicate of https://github.com/a/b/pull/9 and #10", "#10"},
    {"Duplicate of https://github.com/a/b/discussions/9", ""},
    {"Duplicate of https://gitlab.com/a/b/issues/9", ""},
    {"Duplicate of a/b/c#9", ""},
    /* guesses and questions */
    {"Is this a duplicate of #9?", "?#9"},
    {"Possible duplicate of #9", "?#9"},
    {"might be a duplicate of #9", "?#9"},
    {"Potential duplicates:\n- [#9](https://github.com/a/b/issues/9)\n- [#10](https://github.com/a/b/issues/10)",
     "?a/b#9 ?a/b#10"},
    {"If this is a duplicate of #9, close it", "?#9"},
    {"isn't this a duplicate of #9?", "?#9"},
    {"Duplicate of #9, or is it different?", "?#9"},
    /* denials */
    {"This is not a duplicate of #9", "!#9"},
    {"not a duplicate of #9", "!#9"},
    {"This isn't a dupe of #9", "!#9"},
    {"It isn\xE2\x80\x99t the same, no duplicate of #9", "!#9"},
    {"I don't think this is a duplicate of #9.", "!#9"},
    {"I can't duplicate #9", "!#9"},
    {"Not a duplicate of #9. Duplicate of #10.", "!#9 #10"},
    {"This is neither fixed nor not reproducible and a duplicate of #9", "#9"},
    {"This is no longer a duplicate of #13", "!#13"},
    {"Neither a duplicate of #12 nor #13.", "!#12 !#13"},
    {"This is hardly a duplicate of #12", "!#12"},
    {"unlikely a duplicate of #12", "!#12"},
    {"barely a dup of #12", "!#12"},
    {"Not a duplicate of #12 or #13", "!#12 !#13"},
    {"Duplicate of #12 or #13", "?#12 ?#13"},
    /* the text belongs to the issue owner/own#11, but its statements are about other issues */
    {"Different from #12 (#12 was closed as a duplicate of #13).", ""},
    {"Closing #14 as duplicate of #12", ""},
    {"Closing #11 as duplicate of #12", "#12"},
    {"I don't think #11 is a duplicate of #12", "!#12"},
    {"Closing owner/own#11 as duplicate of #12", "#12"},
    {"Closing other/own#11 as duplicate of #12", ""},
    {"#12, which is a duplicate of #13", ""},
    {"Duplicate of #12 (which is a duplicate of #13)", "#12"},
    {"https://github.com/a/b/issues/12 is a duplicate of #13", ""},
    {"https://github.com/Owner/Own/issues/11#issuecomment-5 is a duplicate of #13", "#13"},
    {"[the other one](https://github.com/a/b/issues/12) was closed as a duplicate of #13", ""},
    {"the fix in https://github.com/a/b/pull/12 is a dupe of #13", ""},
    {"GH-12 is not a duplicate of #13", ""},
    {"Is #12 a duplicate of #13?", ""},
    {"As said in #12 this is a duplicate of #13", "#13"},
    {"See #12, this is a duplicate of #13", "#13"},
    {"Fixed by #12 and a duplicate of #13", "#13"},
    {"See #12 - duplicate of #13", "#13"},
    {"#12\nDuplicate of #13", "#13"},
    {"Same as #13 (duplicate of #13)", "#13"},
    /* texts without a reference to a duplicate */
    {"I can duplicate this: #12", ""},
    {"I was able to duplicate #12", ""},
    {"duplicate entries in #9", ""},
    {"deduplicate #9", ""},
    {"de-duplicate #9", ""},
    {"Steps to duplicate: #9", ""},
    {"remove duplicate keys, fixes #9", ""},
    {"This is a duplicate. #9 is fixed.", ""},
    {"see #9", ""},
    {"duplicate", ""},
    {"duplicate of #", ""},
    {"src/duplicate #9", ""},
    {"duplicate-key #9", ""},
    {"", ""},
    /* references in code, in quotes and in HTML comments are ignored */
    {"`duplicate of #9`", ""},
    {"duplicate of `#9`", ""},
    {"```\nduplicate of #9\n```\nduplicate of #10", "#10"},
    {"~~~ text\nduplicate of #9\n```\nduplicate of #8\n~~~", ""},
    {"    duplicate of #9", ""},
    {"text\n    duplicate of #9", "#9"},
    {"> duplicate of #9\n\nNo, it is a duplicate of #10", "#10"},
    {"> > duplicate of #9", ""},
    {"<!-- duplicate of #9 -->", ""},
    {"<!-- a comment\nduplicate of #9\n--> duplicate of #10", "#10"},
    {"<!-- never closed\nduplicate of #9", ""},
    {"`` a ` duplicate of #9 `` duplicate of #10", "#10"},
    {"an odd ` stays, duplicate of #9", "#9"},
    {"```\nunclosed\nduplicate of #9", ""},
    {"- item\n\n    duplicate of #9", "#9"},
};

static void describe(aoei_buffer *out, const aoei_issue_refs *r) {
    static const char *const marks[] = {"", "?", "!"};
    aoei_buffer_clear(out);
    for (size_t i = 0; i < r->n; i++)
        aoei_buffer_printf(out, "%s%s%.*s#%llu", i ? " " : "", marks[r->ref[i].kind], (int)r->ref[i].repo.len,
                           r->ref[i].repo.data, (unsigned long long)r->ref[i].number);
}

static const char *const github[] = {"github.com", NULL}, *const other[] = {"git.example.org", "github.com", NULL};

static void test_table(void **state) {
    aoei_issue_refs r = {.own = {.repo = aoe_text_of("owner/own"), .number = 11}};
    aoei_buffer found = {0};
    size_t wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoei_issue_refs_find(&r, aoe_text_of(cases[i].text), github, NULL), AOE_OK);
        describe(&found, &r);
        const char *text = found.len ? found.data : "";
        if (strcmp(text, cases[i].found) != 0) {
            printf("\"%s\": found \"%s\", expected \"%s\"\n", cases[i].text, text, cases[i].found);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
    aoei_issue_refs_free(&r);
    aoei_buffer_free(&found);
}

static void test_other_host(void **state) {
    aoei_issue_refs r = {0};
    const aoe_text text =
        aoe_text_of("duplicate of https://git.example.org/a/b/issues/4, https://github.com/c/d/issues/5, "
                    "https://git.example.orgs/a/b/issues/6");
    (void)state;
    assert_int_equal(aoei_issue_refs_find(&r, text, other, NULL), AOE_OK);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.ref[0].number, 4);
    assert_int_equal(r.ref[1].number, 5);
    assert_int_equal(aoei_issue_refs_find(&r, text, github, NULL), AOE_OK);
    assert_int_equal(r.n, 0); /* the first address is not on github.com, so it ends the list of references */
    aoei_issue_refs_free(&r);
}

static void test_labels(void **state) {
    static const char *const yes[] = {"duplicate",
                                      "Duplicate",
                                      "*duplicate",
                                      "r: duplicate",
                                      "status: duplicate",
                                      "Resolution-Duplicate",
                                      "resolution/duplicate",
                                      "dup",
                                      "Dupe",
                                      "is_duplicate",
                                      "\xF0\x9F\x91\xAF duplicate"};
    static const char *const no[] = {
        "", "deduplication", "bug", "duplication", "dup2", "not-duplicate", "duplicate-code", "duplicated-code"};
    (void)state;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (!aoei_label_is_duplicate(aoe_text_of(yes[i])))
            fail_msg("'%s' must be a label for duplicates", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (aoei_label_is_duplicate(aoe_text_of(no[i])))
            fail_msg("'%s' must not be a label for duplicates", no[i]);
}

static void test_names(void **state) {
    (void)state;
    assert_int_equal(aoei_repository_name("a/b", 3), 3);
    assert_int_equal(aoei_repository_name("a/b c", 5), 3);
    assert_int_equal(aoei_repository_name("a/..", 4), 0);
    assert_int_equal(aoei_repository_name("a/.github", 9), 9);
    assert_int_equal(aoei_repository_name("/b", 2), 0);
    assert_int_equal(aoei_repository_name("a/", 2), 0);
    assert_int_equal(aoei_repository_name("", 0), 0);
}

/* Tests that finding references takes time linear in the length of the text, even if the text contains many unfinished
 * constructs, such as quotes that are never closed. */
static void test_long_texts(void **state) {
    static const char *const parts[] = {"`",
                                        "<!--",
                                        "duplicate of ",
                                        "[",
                                        "\n",
                                        "> ",
                                        "``` ",
                                        "duplicate of [",
                                        "#1 duplicate of ",
                                        "[x](y) duplicate of #1 ",
                                        "#1, ",
                                        "a/",
                                        "- ",
                                        "`` ` "};
    enum { BYTES = 1 << 20 };
    aoei_issue_refs r = {0};
    (void)state;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        aoei_buffer text = {0};
        while (text.len < BYTES)
            aoei_buffer_append(&text, parts[p], strlen(parts[p]));
        assert_int_equal(aoei_issue_refs_find(&r, (aoe_text){text.data, text.len}, github, NULL), AOE_OK);
        aoei_buffer_free(&text);
    }
    aoei_issue_refs_free(&r);
}

static int find_again(void *arg) {
    aoei_issue_refs r = {0};
    const int code = aoei_issue_refs_find(&r, aoe_text_of("duplicate of #1, #2"), github, NULL);
    aoei_issue_refs_free(&r);
    (void)arg;
    return code;
}

static void test_no_memory(void **state) {
    (void)state;
    test_alloc_failures(find_again, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_other_host), cmocka_unit_test(test_labels),
        cmocka_unit_test(test_names), cmocka_unit_test(test_long_texts), cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
