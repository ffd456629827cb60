/* SPDX-License-Identifier: MIT
 * Tests reciprocal rank fusion with lists whose fused scores can be computed by hand.
 */
#include <math.h>

#include "../support/support.h"
#include "index/fusion.h"

static const aoei_located place[] = {{.name = "a", .first_passage = 1, .n = 3},
                                     {.name = "b", .first_passage = 10, .n = 2}};

static aoei_ranked at(int64_t passage, double score) {
    return (aoei_ranked){.passage = passage, .score = score, .words = 1, .place = &place[passage >= 10]};
}

/* Fuses a dense and a lexical list of a query of two words, of which every passage contains one. */
static size_t fuse(aoei_found *found, const aoei_ranked *dense, size_t n_dense, double dense_weight,
                   const aoei_ranked *lexical, size_t n_lexical, double lexical_weight) {
    return aoei_fuse(
        found, (aoei_fusion_list){.best = dense, .n = n_dense, .weight = dense_weight},
        (aoei_fusion_list){.best = lexical, .n = n_lexical, .weight = lexical_weight, .words = 2, .names = 2});
}

static void check(const aoei_found *x, int64_t passage, double score, size_t dense_rank, size_t lexical_rank) {
    assert_int_equal(x->ranked.passage, passage);
    assert_true(fabs(x->ranked.score - score) < 1e-15);
    assert_int_equal(x->dense_rank, dense_rank);
    assert_int_equal(x->lexical_rank, lexical_rank);
    assert_int_equal(isnan(x->cosine), dense_rank == 0);
    assert_int_equal(isnan(x->bm25), lexical_rank == 0);
}

static void fuses_two_lists(void **state) {
    (void)state;
    const aoei_ranked dense[] = {at(1, 0.9), at(10, 0.8), at(2, 0.7)}, lexical[] = {at(10, 5), at(11, 4), at(3, 3)};
    aoei_found found[6];
    assert_int_equal(fuse(found, dense, 3, 1, lexical, 3, 1), 5);
    check(&found[0], 10, 1 / 62.0 + 1 / 61.0, 2, 1);
    check(&found[1], 1, 1 / 61.0, 1, 0);
    check(&found[2], 11, 1 / 62.0, 0, 2);
    check(&found[3], 2, 1 / 63.0, 3, 0); /* equal scores: by name and position */
    check(&found[4], 3, 1 / 63.0, 0, 3);
    assert_true(found[0].cosine == 0.8 && found[0].bm25 == 5);

    assert_int_equal(fuse(found, dense, 3, 0.5, lexical, 3, 2), 5);
    check(&found[0], 10, 0.5 / 62 + 2 / 61.0, 2, 1);
    check(&found[1], 11, 2 / 62.0, 0, 2);
    check(&found[2], 3, 2 / 63.0, 0, 3);
    check(&found[3], 1, 0.5 / 61, 1, 0);
    check(&found[4], 2, 0.5 / 63, 3, 0);
}

static void leaves_out_lists_without_weight(void **state) {
    (void)state;
    const aoei_ranked dense[] = {at(1, 0.9), at(10, 0.8)}, lexical[] = {at(10, 5), at(11, 4)};
    aoei_found found[4];
    assert_int_equal(fuse(found, dense, 2, 1, lexical, 2, 0), 2);
    check(&found[0], 1, 1 / 61.0, 1, 0);
    check(&found[1], 10, 1 / 62.0, 2, 1);
    assert_int_equal(fuse(found, dense, 2, 0, lexical, 2, 3), 2);
    check(&found[0], 10, 3 / 61.0, 2, 1);
    assert_int_equal(fuse(found, dense, 0, 1, lexical, 2, 1), 2);
    assert_int_equal(fuse(found, dense, 2, 1, lexical, 0, 1), 2);
    assert_int_equal(fuse(found, NULL, 0, 1, NULL, 0, 1), 0);
}

/* Passages with all words of the query are lifted if they are few. */
static void lifts_exact_matches(void **state) {
    (void)state;
    aoei_ranked dense[20], lexical[12];
    for (int i = 0; i < 20; i++)
        dense[i] = at(100 + i, 0.9);
    for (int i = 0; i < 12; i++)
        lexical[i] = at(10 + i, 5);
    aoei_found found[32];
    aoei_fusion_list d = {.best = dense, .n = 20, .weight = 1},
                     l = {.best = lexical, .n = 12, .weight = 0.8, .words = 2, .names = 2};
    assert_int_equal(aoei_fuse(found, d, l), 32);
    check(&found[0], 100, 1 / 61.0, 1, 0); /* no exact match */
    lexical[0].words = lexical[3].words = 2;
    assert_int_equal(aoei_fuse(found, d, l), 32);
    check(&found[0], 10, 2 / 61.0, 0, 1);
    check(&found[1], 13, 2 / 64.0, 0, 4);
    check(&found[2], 100, 1 / 61.0, 1, 0);
    l.weight = 3; /* more than 2 */
    assert_int_equal(aoei_fuse(found, d, l), 32);
    check(&found[0], 10, 3 / 61.0, 0, 1);
    check(&found[1], 11, 3 / 62.0, 0, 2);
    assert_true(fabs(aoei_fusion_most(1, 0.8) - 3 / 61.0) < 1e-15);
    assert_true(fabs(aoei_fusion_most(1, 3) - 4 / 61.0) < 1e-15);
    assert_true(fabs(aoei_fusion_most(1, 0) - 1 / 61.0) < 1e-15);
    l.weight = 0; /* the list is not used */
    assert_int_equal(aoei_fuse(found, d, l), 20);
    l.weight = 0.8;
    dense[19] = lexical[0]; /* also in the dense list */
    dense[19].words = 0;
    assert_int_equal(aoei_fuse(found, d, l), 31);
    check(&found[0], 10, 2 / 61.0 + 1 / 80.0, 20, 1);
    for (int i = 0; i < 12; i++)
        lexical[i].words = i == 0 ? 4 : 1;
    l.words = l.names = 4; /* too many words */
    assert_int_equal(aoei_fuse(found, d, l), 31);
    check(&found[0], 10, 0.8 / 61 + 1 / 80.0, 20, 1);
    l.names = 3; /* one word is a part of another one */
    assert_int_equal(aoei_fuse(found, d, l), 31);
    check(&found[0], 10, 2 / 61.0 + 1 / 80.0, 20, 1);
    l.words = l.names = 2;
    for (int i = 0; i < 11; i++)
        lexical[i].words = 2;
    assert_int_equal(aoei_fuse(found, d, l), 31); /* 11 are too many */
    check(&found[0], 10, 0.8 / 61 + 1 / 80.0, 20, 1);
    check(&found[1], 100, 1 / 61.0, 1, 0);
}

static void copies_one_list(void **state) {
    (void)state;
    const aoei_ranked list[] = {at(1, 0.9), at(10, 0.8)};
    aoei_found found[2];
    aoei_found_dense(found, list, 2);
    check(&found[1], 10, 0.8, 2, 0);
    assert_true(found[1].cosine == 0.8);
    aoei_found_lexical(found, list, 2);
    check(&found[0], 1, 0.9, 0, 1);
    assert_true(found[0].bm25 == 0.9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fuses_two_lists),
        cmocka_unit_test(leaves_out_lists_without_weight),
        cmocka_unit_test(lifts_exact_matches),
        cmocka_unit_test(copies_one_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
