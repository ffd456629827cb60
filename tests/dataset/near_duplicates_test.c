/* SPDX-License-Identifier: MIT
 * Tests the search for near duplicates. For several thresholds, the result must be equal to the result of comparing all
 * text pairs. Other tests cover the splitting of texts into words, and failed allocations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/random.h"
#include "dataset/near_duplicates.h"

enum { TEXTS = 220, WORDS = 9, VOCABULARY = 24 };

/* Adds TEXTS distinct texts to d. Each text consists of at most WORDS different words of a small vocabulary. Bit w of
 * mask[i] is set to 1 if text i contains word w of the vocabulary. */
static void make_texts(aoei_distinct *d, uint32_t mask[TEXTS], uint32_t seed) {
    aoei_rng rng;
    aoei_rng_init(&rng, seed, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < TEXTS; i++) {
        char text[256] = "";
        const size_t n = 1 + aoei_rng_below(&rng, WORDS);
        mask[i] = 0;
        for (size_t k = 0; k < n; k++) {
            const uint32_t a = aoei_rng_below(&rng, VOCABULARY), b = aoei_rng_below(&rng, VOCABULARY);
            /* the smaller of two random numbers, so that words with large numbers are rarer */
            const uint32_t word = a < b ? a : b;
            const size_t len = strlen(text);
            snprintf(text + len, sizeof text - len, "%s%c%u", k % 2 ? ", " : " ", k % 3 ? 'w' : 'W', word);
            mask[i] |= 1u << word;
        }
        size_t number;
        for (;; strcat(text, "!")) { /* appends '!' until no earlier text is equal */
            assert_true(strlen(text) < sizeof text - 1);
            assert_int_equal(aoei_distinct_add(d, aoe_text_of(text), 0, &number, NULL), 0);
            if (number == i)
                break;
        }
    }
}

/* Returns the number of bits that are set in x. */
static unsigned bits(uint32_t x) {
    unsigned n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

/* Asserts that aoei_near_duplicates_join finds the same near duplicates as a comparison of all text pairs. */
static void check_join(double threshold, uint32_t seed) {
    aoei_distinct d = {0};
    aoei_clusters c, want;
    uint32_t mask[TEXTS];
    size_t identity[TEXTS], got_of[TEXTS], want_of[TEXTS], joined, merged = TEXTS;
    make_texts(&d, mask, seed);
    assert_int_equal(aoei_clusters_create(&c, TEXTS, NULL), 0);
    assert_int_equal(aoei_clusters_create(&want, TEXTS, NULL), 0);
    for (size_t i = 0; i < TEXTS; i++)
        identity[i] = i;
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < i; k++)
            if ((double)bits(mask[i] & mask[k]) >= threshold * (double)bits(mask[i] | mask[k]))
                aoei_clusters_join(&want, i, k);
    assert_int_equal(aoei_near_duplicates_join(&c, &d, identity, identity, threshold, &joined, NULL), 0);
    assert_int_equal(aoei_clusters_number(&c, got_of), aoei_clusters_number(&want, want_of));
    assert_memory_equal(got_of, want_of, sizeof got_of);
    merged -= aoei_clusters_number(&want, want_of);
    assert_int_equal(joined, merged);
    aoei_clusters_free(&c);
    aoei_clusters_free(&want);
    aoei_distinct_free(&d);
}

static void test_against_all_pairs(void **state) {
    (void)state;
    static const double thresholds[] = {0.05, 0.3, 0.5, 0.6, 2.0 / 3, 0.75, 0.8, 0.9, 1};
    for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++)
        for (uint32_t seed = 0; seed < 6; seed++)
            check_join(thresholds[i], seed);
}

/* Tests how texts are split into words. Case, punctuation and repeated words must be ignored. Texts without words have
 * no near duplicates. */
static void test_words(void **state) {
    (void)state;
    static const char *const texts[] = {"\xc3\x89t\xc3\xa9 a-b",
                                        "?!",
                                        "b... A \xc3\xa9t\xc3\xa9 a",
                                        "",
                                        "!!",
                                        "ab \xc3\xa9t\xc3\xa9",
                                        ("\xe2\x80\x9c"
                                         "ab\xe2\x80\x9d \xc3\xa9t\xc3\xa9")};
    enum { N = sizeof texts / sizeof *texts };
    aoei_distinct d = {0};
    aoei_clusters c;
    size_t number, joined, item[N], class[N], of[N];
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(aoei_distinct_add(&d, aoe_text_of(texts[i]), 1, &number, NULL), 0);
        item[i] = class[i] = i;
    }
    assert_int_equal(aoei_clusters_create(&c, N, NULL), 0);
    assert_int_equal(aoei_near_duplicates_join(&c, &d, class, item, 1, &joined, NULL), 0);
    assert_int_equal(joined, 2);
    aoei_clusters_number(&c, of);
    const size_t want[N] = {0, 1, 0, 2, 3, 4, 4};
    assert_memory_equal(of, want, sizeof want);
    aoei_clusters_free(&c);
    class[2] = 0;
    assert_int_equal(aoei_clusters_create(&c, N, NULL), 0);
    assert_int_equal(aoei_near_duplicates_join(&c, &d, class, item, 1, &joined, NULL), 0);
    assert_int_equal(joined, 1);
    aoe_error err;
    assert_int_equal(aoei_near_duplicates_join(&c, &d, class, item, 0, &joined, &err), AOE_EARG);
    assert_int_equal(aoei_near_duplicates_join(&c, &d, class, item, 1.1, &joined, &err), AOE_EARG);
    aoei_clusters_free(&c);
    aoei_distinct_free(&d);
}

static int join_few(void *arg) {
    (void)arg;
    aoei_distinct d = {0};
    aoei_clusters c = {0};
    size_t number, joined = 0;
    const size_t item[3] = {0, 1, 2};
    int rc = 0;
    static const char *const texts[] = {"a b c \xc3\xa9", "b c \xc3\xa9 a!", "b c d e"};
    for (size_t i = 0; i < 3 && !rc; i++)
        rc = aoei_distinct_add(&d, aoe_text_of(texts[i]), 0, &number, NULL);
    if (!rc)
        rc = aoei_clusters_create(&c, 3, NULL);
    if (!rc)
        rc = aoei_near_duplicates_join(&c, &d, item, item, 0.3, &joined, NULL);
    if (!rc)
        assert_int_equal(joined, 2);
    aoei_clusters_free(&c);
    aoei_distinct_free(&d);
    return rc;
}

static void test_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(join_few, NULL, 100) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_pairs),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
