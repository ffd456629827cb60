/* SPDX-License-Identifier: MIT
 * covers: base/distinct base/text_store dataset/text_classes table/labels
 * Tests the table of distinct texts, the normalized keys that are compared to decide whether two texts are equal,
 * classes of equal texts, and the formatting of numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_data.h"
#include "base/alloc.h"
#include "base/distinct.h"
#include "dataset/text_classes.h"
#include "dataset/text_equality.h"
#include "table/labels.h"

static void test_numbers(void **state) {
    (void)state;
    enum { N = 5000 };
    aoei_distinct d = {0};
    size_t number;
    char text[16];
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < N; i++) {
            const int len = snprintf(text, sizeof text, "%zu", i);
            assert_int_equal(aoei_distinct_add(&d, (aoe_text){text, (size_t)len}, 0, &number, NULL), 0);
            assert_int_equal(number, i);
        }
    assert_int_equal(d.n, N);
    const char bytes[] = "a\0b";
    assert_int_equal(aoei_distinct_add(&d, (aoe_text){bytes, 3}, 1, &number, NULL), 0);
    assert_int_equal(number, N);
    assert_true(d.text[N].data == bytes);
    assert_int_equal(aoei_distinct_add(&d, (aoe_text){bytes, 1}, 1, &number, NULL), 0);
    assert_int_equal(number, N + 1);
    assert_int_equal(aoei_distinct_add(&d, (aoe_text){NULL, 0}, 0, &number, NULL), 0);
    assert_int_equal(number, N + 2);
    assert_int_equal(aoei_distinct_add(&d, (aoe_text){"", 0}, 0, &number, NULL), 0);
    assert_int_equal(number, N + 2);
    aoei_distinct_free(&d);
}

#define E_ACUTE       "\xc3\xa9"
#define E_ACUTE_UPPER "\xc3\x89"
#define ACUTE         "\xcc\x81"
#define NBSP          "\xc2\xa0"

static void test_keys(void **state) {
    (void)state;
    static const struct {
        aoe_text_equality equality;
        const char *text, *key;
    } cases[] = {
        {AOE_TEXT_EQUAL_EXACT, " A  b ", " A  b "},
        {AOE_TEXT_EQUAL_SPACE, "", ""},
        {AOE_TEXT_EQUAL_SPACE, " \t\n", ""},
        {AOE_TEXT_EQUAL_SPACE, "  A \t\r\n b\v", "A b"},
        {AOE_TEXT_EQUAL_SPACE, NBSP "A" NBSP " " NBSP E_ACUTE_UPPER " ", "A " E_ACUTE_UPPER},
        {AOE_TEXT_EQUAL_CASE, " A  Bc! ", "a bc!"},
        {AOE_TEXT_EQUAL_CASE, E_ACUTE_UPPER "A  b", "e" ACUTE "a b"},
        {AOE_TEXT_EQUAL_CASE, "E" ACUTE "a b", "e" ACUTE "a b"},
        {AOE_TEXT_EQUAL_CASE, "STRASSE", "strasse"},
        {AOE_TEXT_EQUAL_CASE,
         "stra\xc3\x9f"
         "e",
         "strasse"},
        {AOE_TEXT_EQUAL_LETTERS, "It's 3.5 -- O.K.?", "its35ok"},
        {AOE_TEXT_EQUAL_LETTERS,
         "\xe2\x80\x9cIt"
         "\xe2\x80\x99"
         "s\xe2\x80\x9d " E_ACUTE_UPPER,
         "itse" ACUTE},
        {AOE_TEXT_EQUAL_LETTERS, "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80 x",
         "\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d\xe0\xa4\xa6\xe0\xa5\x80"
         "x"},
        {AOE_TEXT_EQUAL_LETTERS, " :-)  ;-) ", ":-) ;-)"},
        {AOE_TEXT_EQUAL_LETTERS, "\xe2\x80\xa6!", "\xe2\x80\xa6!"},
    };
    aoei_buffer out = {0};
    aoei_text_key_scratch scratch = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoei_text_key(&out, aoe_text_of(cases[i].text), cases[i].equality, &scratch), 0);
        assert_string_equal(out.data, cases[i].key);
    }
    aoei_buffer_free(&out);
    aoei_free(scratch.point);
}

/* Computes the class of each text, which is the index of the first equal text, and asserts that the classes are the
 * expected classes. arg points to the aoe_text_equality that decides which texts are equal. Returns 0 or an error
 * code. */
static int classes(void *arg) {
    const aoe_text_equality equality = *(const aoe_text_equality *)arg;
    static const char *const texts[] = {"A b", "a  b", "A b.", "A  b", "\xc3\x89", "e\xcc\x81", "ab", "?", "!"};
    enum { N = sizeof texts / sizeof *texts };
    static const size_t want[][N] = {[AOE_TEXT_EQUAL_EXACT] = {0, 1, 2, 3, 4, 5, 6, 7, 8},
                                     [AOE_TEXT_EQUAL_SPACE] = {0, 1, 2, 0, 4, 5, 6, 7, 8},
                                     [AOE_TEXT_EQUAL_CASE] = {0, 0, 2, 0, 4, 4, 6, 7, 8},
                                     [AOE_TEXT_EQUAL_LETTERS] = {0, 0, 0, 0, 4, 4, 0, 7, 8}};
    aoei_distinct d = {0};
    size_t number, class[N];
    int rc = 0;
    for (size_t i = 0; i < N && !rc; i++)
        rc = aoei_distinct_add(&d, aoe_text_of(texts[i]), 0, &number, NULL);
    if (!rc)
        rc = aoei_text_classes(&d, equality, class, NULL);
    if (!rc)
        assert_memory_equal(class, want[equality], sizeof class);
    aoei_distinct_free(&d);
    return rc;
}

static void test_classes(void **state) {
    (void)state;
    for (int equality = AOE_TEXT_EQUAL_EXACT; equality <= AOE_TEXT_EQUAL_LETTERS; equality++)
        assert_true(test_alloc_failures(classes, &equality, 50) > 3);
}

static void test_number_text(void **state) {
    (void)state;
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},
                 {5, "5"},
                 {-1.5, "-1.5"},
                 {0.1, "0.1"},
                 {1e300, "1e+300"},
                 {9007199254740991.0, "9007199254740991"},
                 {2.6, "2.6"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"}};
    char text[AOEI_NUMBER_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoei_number_text(text, cases[i].x), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_number_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
