/* SPDX-License-Identifier: MIT
 * Tests the rules about column names: numbers of negatives, and names that look like labels, scores and negatives.
 */
#include <string.h>

#include "../support/support.h"
#include "table/column_names.h"

static void numbers(void **state) {
    static const struct {
        const char *name;
        size_t number;
    } names[] = {
        {"negative", 0},       {"negatives", 0},       {"neg", 0},
        {"negs", 0},           {"contradiction", 0},   {"NEGATIVE", 0},
        {"hard_negatives", 0}, {"negative_1", 2},      {"negative1", 2},
        {"negative_0", 1},     {"rejected", 0},        {"rejected_2", 3},
        {"neg-12", 13},        {"Hard_Negative_3", 4}, {"hardneg 7", 8},
    };
    static const char *const others[] = {
        "",     "ne",    "negation",   "negative_", "negative_text", "negative_1a", "1negative", "negative_1234567",
        "hard", "hard_", "neg_scores", "positive"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t number = 99;
        if (!aoei_negative_number(aoe_text_of(names[i].name), &number) || number != names[i].number)
            fail_msg("%s: %zu", names[i].name, number);
        assert_true(aoei_looks_like_negative(aoe_text_of(names[i].name)));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t number;
        if (aoei_negative_number(aoe_text_of(others[i]), &number))
            fail_msg("%s is taken as a negative", others[i]);
    }
}

static void lists(void **state) {
    (void)state;
    assert_true(aoei_is_negatives_list(aoe_text_of("neg")));
    assert_true(aoei_is_negatives_list(aoe_text_of("Hard_Negatives")));
    assert_false(aoei_is_negatives_list(aoe_text_of("negative")));
    assert_false(aoei_is_negatives_list(aoe_text_of("negative_1")));
    assert_false(aoei_is_negatives_list(aoe_text_of("contradiction")));
}

static void assert_all(int (*rule)(aoe_text), int want, const char *names) {
    for (const char *s = names; *s; s += strspn(s, " ")) {
        const aoe_text name = {s, strcspn(s, " ")};
        if (rule(name) != want)
            fail_msg("%.*s: expected %d", (int)name.len, name.data, want);
        s += name.len;
    }
}

static void labels(void **state) {
    (void)state;
    assert_all(
        aoei_looks_like_label, 1,
        "label Label score scores labels similarity relevance rating teacher_score gold-label ce_scores "
        "similarity_score "
        "relatedness_score gold_label is_duplicate Is_Duplicate isDuplicate is_similar is-paraphrase class Class "
        "target targets "
        "gold_class grade entailment_judgment similarityScore cos_sim cosine relatedness");
    assert_all(
        aoei_looks_like_label, 0,
        "pos_scores neg_scores negative_score positive_score text1_score scored labeled source id text label_text "
        "query_label "
        "classification target_id is_public duplicate paraphrase is_duplicate_id class_name positiveScore weight "
        "isolated_match");
}

static void negatives(void **state) {
    (void)state;
    assert_all(aoei_looks_like_negative, 1,
               "negative_passages neg_text hard_negative_docs bad_negative mined.neg negatives_bm25 negativePassages");
    assert_all(aoei_looks_like_negative, 0,
               "negative_id neg_scores negative_source hard_negative_score positive negotiation integer id");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(lists),
        cmocka_unit_test(labels),
        cmocka_unit_test(negatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
