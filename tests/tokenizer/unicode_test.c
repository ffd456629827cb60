/* SPDX-License-Identifier: MIT
 * Tests character classes and mappings of characters: the number of characters in each class, and characters that
 * Unicode versions and libraries classify differently.
 */
#include "../support/support.h"
#include "tokenizer/unicode.h"

enum { CODE_POINTS = 0x110000 };

/* Returns the number of code points for which `is` returns true. Surrogates are not counted. */
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
    /* 717 characters of the punctuation categories of Unicode 8.0, and 9 ASCII symbols */
    assert_int_equal(count(aoei_unicode_is_punctuation), 717 + 9);
    assert_int_equal(count(aoei_unicode_is_nonspacing), 1567);
    /* 65 characters of the category Cc, 150 of Cf and 137,468 of Co */
    assert_int_equal(count(aoei_unicode_is_control), 65 + 150 + 137468);
    /* all code points of eight ranges, including unassigned ones */
    assert_int_equal(count(aoei_unicode_is_cjk), 20992 + 6592 + 42720 + 4160 + 224 + 5520 + 512 + 544);
}

static void test_single_characters(void **state) {
    (void)state;
    assert_true(aoei_unicode_is_space(0x85) && aoei_unicode_is_space(0x3000) && !aoei_unicode_is_space(0x200B));
    assert_false(aoei_unicode_is_space(0xFEFF) || aoei_unicode_is_space(0x1F));
    assert_true(aoei_unicode_is_control(0x200B) && aoei_unicode_is_control(0xE000) && aoei_unicode_is_control(0xAD));
    assert_false(aoei_unicode_is_control(0x378) || aoei_unicode_is_control(0xFFFF)); /* unassigned code points are not
                                                                                        control characters */
    assert_true(aoei_unicode_is_punctuation('$') && aoei_unicode_is_punctuation('`') &&
                aoei_unicode_is_punctuation(0x3002));
    assert_false(aoei_unicode_is_punctuation(0x20AC) || aoei_unicode_is_punctuation(0xD7)); /* symbols outside ASCII are
                                                                                               not punctuation */
    /* these characters were added to their class after Unicode 8 */
    assert_false(aoei_unicode_is_punctuation(0x2E43) || aoei_unicode_is_nonspacing(0x1E944) ||
                 aoei_unicode_is_control(0x8E2));
    /* these characters are in their class in Unicode 8, but no longer in Unicode 15 */
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
    assert_int_equal(aoei_unicode_decompose(0xFB01, parts), 1); /* compatibility decompositions are not applied */
    /* the decomposition was added in Unicode 13 and is not applied */
    assert_int_equal(aoei_unicode_decompose(0x11938, parts), 1);
    assert_int_equal(aoei_unicode_combining_class(0x301), 230);
    /* the combining class 6 was added in Unicode 13 and is not used */
    assert_int_equal(aoei_unicode_combining_class(0x16FF0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_ranges),
        cmocka_unit_test(test_single_characters),
        cmocka_unit_test(test_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
