/* SPDX-License-Identifier: MIT
 * Tests character classes: the number of characters in each class, and characters on which standards, Unicode versions and
 * libraries disagree.
 */
#include "../support/support.h"
#include "tokenizer/unicode.h"

enum { CODE_POINTS = 0x110000 };

/* Returns the number of code points, except surrogates, in a class. */
static size_t count(int (*is)(uint32_t)) {
    size_t n = 0;
    for (uint32_t cp = 0; cp < CODE_POINTS; cp++)
        if (cp < 0xD800 || cp > 0xDFFF)
            n += is(cp) != 0;
    return n;
}

static void test_whole_ranges(void **state) {
    (void)state;
    assert_int_equal(count(aoei_unicode_is_space), 25);
    /* Unicode 8.0: 717 characters in categories P*, and 9 ASCII symbols */
    assert_int_equal(count(aoei_unicode_is_punctuation), 717 + 9);
    assert_int_equal(count(aoei_unicode_is_nonspacing), 1567);
    /* 65 in Cc, 150 in Cf and 137,468 in Co */
    assert_int_equal(count(aoei_unicode_is_control), 65 + 150 + 137468);
    /* all code points of eight ranges, assigned or not */
    assert_int_equal(count(aoei_unicode_is_cjk), 20992 + 6592 + 42720 + 4160 + 224 + 5520 + 512 + 544);
}

static void test_single_characters(void **state) {
    (void)state;
    assert_true(aoei_unicode_is_space(0x85) && aoei_unicode_is_space(0x3000) && !aoei_unicode_is_space(0x200B));
    assert_false(aoei_unicode_is_space(0xFEFF) || aoei_unicode_is_space(0x1F));
    assert_true(aoei_unicode_is_control(0x200B) && aoei_unicode_is_control(0xE000) && aoei_unicode_is_control(0xAD));
    assert_false(aoei_unicode_is_control(0x378) ||
                 aoei_unicode_is_control(0xFFFF)); /* unassigned code points are not control characters */
    assert_true(aoei_unicode_is_punctuation('$') && aoei_unicode_is_punctuation('`') && aoei_unicode_is_punctuation(0x3002));
    assert_false(aoei_unicode_is_punctuation(0x20AC) ||
                 aoei_unicode_is_punctuation(0xD7)); /* symbols outside ASCII are not punctuation */
    /* in the class in Unicode 15, but not in Unicode 8 */
    assert_false(aoei_unicode_is_punctuation(0x2E43) || aoei_unicode_is_nonspacing(0x1E944) || aoei_unicode_is_control(0x8E2));
    /* in the class in Unicode 8, but not in Unicode 15 */
    assert_true(aoei_unicode_is_punctuation(0x166D) && aoei_unicode_is_nonspacing(0x1734));
    assert_true(aoei_unicode_is_word(0x24B6) && aoei_unicode_is_word('_') && aoei_unicode_is_word(0x301));
    assert_true(aoei_unicode_is_word(0x200D) && aoei_unicode_is_word(0x2160) && aoei_unicode_is_word(0x4E00));
    assert_false(aoei_unicode_is_word('-') || aoei_unicode_is_word(0xBD) || aoei_unicode_is_word(0x2600));
    assert_true(aoei_unicode_is_cjk(0x4E00) && aoei_unicode_is_cjk(0x2B920));
    assert_false(aoei_unicode_is_cjk(0x2B820) || aoei_unicode_is_cjk(0x3042) || aoei_unicode_is_cjk(0xAC00));
}

static void test_mappings(void **state) {
    (void)state;
    uint32_t lower[AOEI_LOWER_MAX], parts[AOEI_DECOMPOSED_MAX];
    assert_int_equal(aoei_unicode_lower(0x130, lower), 2);
    assert_int_equal(lower[0], 'i');
    assert_int_equal(lower[1], 0x307);
    assert_int_equal(aoei_unicode_lower(0x3A3, lower), 1);
    assert_int_equal(lower[0], 0x3C3);
    assert_int_equal(aoei_unicode_lower(0x1E9E, lower), 1);
    assert_int_equal(lower[0], 0xDF);
    assert_int_equal(aoei_unicode_lower(0x13A0, lower), 1);
    assert_int_equal(lower[0], 0xAB70);
    assert_int_equal(aoei_unicode_decompose(0xAC01, parts), 3); /* Hangul syllables are decomposed by arithmetic */
    assert_int_equal(parts[0], 0x1100);
    assert_int_equal(parts[1], 0x1161);
    assert_int_equal(parts[2], 0x11A8);
    assert_int_equal(aoei_unicode_decompose(0x1F82, parts), 4);
    assert_int_equal(parts[0], 0x3B1);
    assert_int_equal(aoei_unicode_decompose(0xFB01, parts), 1);  /* compatibility decompositions are not applied */
    assert_int_equal(aoei_unicode_decompose(0x11938, parts), 1); /* has a decomposition since Unicode 13 */
    assert_int_equal(aoei_unicode_combining_class(0x301), 230);
    assert_int_equal(aoei_unicode_combining_class(0x16FF0), 0); /* class 6 since Unicode 13 */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_ranges),
        cmocka_unit_test(test_single_characters),
        cmocka_unit_test(test_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
