/* SPDX-License-Identifier: MIT
 * Tests the word index in memory: the order of texts, equal scores, and the fusion with a dense list.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "index/word_index.h"

static const char *const texts[] = {"one two", "", "two three three", "two two", "部署 four", "one two"};
enum { TEXTS = sizeof texts / sizeof *texts };

static int create(aoei_word_index *w, aoe_error *err) {
    int code = aoei_word_index_create(w, err);
    for (uint32_t i = 0; !code && i < TEXTS; i++)
        code = aoei_word_index_add(w, i, aoe_text_of(texts[i]), err);
    return code ? code : aoei_word_index_finish(w, err);
}

/* Checks that the texts found are `want`, whose last element is AOEI_NO_TEXT. */
static void check(const aoei_neighbor *best, size_t k, const uint32_t *want) {
    for (size_t i = 0; i < k; i++) {
        assert_int_equal(best[i].text, *want);
        assert_true(best[i].text == AOEI_NO_TEXT ? isinf(best[i].score) : best[i].score > 0);
        assert_true(i == 0 || best[i].score <= best[i - 1].score);
        want += *want != AOEI_NO_TEXT;
    }
}

static void searches_by_words(void **state) {
    (void)state;
    aoei_word_index w;
    aoei_neighbor best[6];
    aoe_error err;
    if (create(&w, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoei_word_index_search(&w, aoe_text_of("One"), 6, best, NULL), 0);
    check(best, 6, (uint32_t[]){0, 5, AOEI_NO_TEXT});
    assert_int_equal(aoei_word_index_search(&w, aoe_text_of("three two"), 2, best, NULL), 0);
    check(best, 2, (uint32_t[]){2, 3});
    assert_int_equal(aoei_word_index_search(&w, aoe_text_of("部署"), 6, best, NULL), 0);
    check(best, 6, (uint32_t[]){4, AOEI_NO_TEXT});
    assert_int_equal(aoei_word_index_search(&w, aoe_text_of(""), 6, best, NULL), 0);
    check(best, 6, (uint32_t[]){AOEI_NO_TEXT});
    aoei_word_index_free(&w);
}

static void fuses_with_a_dense_list(void **state) {
    (void)state;
    aoei_word_index w;
    aoe_error err;
    if (create(&w, &err))
        fail_msg("%s", err.message);
    aoei_neighbor best[5] = {{0.9F, 1}, {0.8F, 5}, {0.7F, 4}, {-INFINITY, AOEI_NO_TEXT}, {-INFINITY, AOEI_NO_TEXT}};
    const aoei_weights weights = {1, 0.5};
    assert_int_equal(aoei_word_index_fuse(&w, aoe_text_of("one"), weights, 5, best, NULL), 0);
    check(best, 5, (uint32_t[]){5, 0, 1, 4, AOEI_NO_TEXT}); /* texts 5 and 0 are exact matches */
    assert_true(fabs(best[0].score - (1 / 62.0 + 2 / 62.0)) < 1e-7);
    assert_true(fabs(best[1].score - 2 / 61.0) < 1e-7);
    const aoei_neighbor again[5] = {{0.9F, 1}, {0.8F, 5}, {0.7F, 4}, {-INFINITY, AOEI_NO_TEXT}, best[4]};
    memcpy(best, again, sizeof best);
    assert_int_equal(aoei_word_index_fuse(&w, aoe_text_of("one three"), weights, 5, best, NULL), 0);
    check(best, 5, (uint32_t[]){5, 1, 4, 2, 0}); /* no text contains both words */
    assert_true(fabs(best[0].score - (1 / 62.0 + 0.5 / 63)) < 1e-7);
    assert_true(fabs(best[3].score - 0.5 / 61) < 1e-7);
    aoei_word_index_free(&w);
}

static int search_once(void *arg) {
    aoei_word_index w;
    aoei_neighbor best[2] = {{0.9F, 1}, {0.8F, 5}};
    int code = create(&w, arg);
    if (!code)
        code = aoei_word_index_fuse(&w, aoe_text_of("one"), (aoei_weights){1, 1}, 2, best, arg);
    aoei_word_index_free(&w);
    return code;
}

static void reports_failed_allocations(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) { /* SQLite can do without some of its allocations */
        aoe_error err = {0};
        const int64_t live = aoei_alloc_live();
        aoei_alloc_fail_at(n);
        const int code = search_once(&err);
        const uint64_t made = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        if ((code != 0 && code != AOE_ENOMEM) || aoei_alloc_live() != live)
            fail_msg("allocation %llu fails: the code is %d (%s)", (unsigned long long)n, code, err.message);
        if (made < n)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_by_words),
        cmocka_unit_test(fuses_with_a_dense_list),
        cmocka_unit_test(reports_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
