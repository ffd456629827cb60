/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the search for the k nearest vectors against a brute-force search in double. Vectors of small integers have
 * exact scores, many of which are equal; this also holds for their distances. Scores of unit vectors are compared with
 * a tolerance. Results must not depend on the number of threads or on the number of queries per call. Other tests cover
 * texts that a callback skips, and a k that is larger than the number of texts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "base/random.h"
#include "vectors/nearest.h"

typedef struct vectors {
    size_t n, D;
    float *x; /* [n, D] owned */
} vectors;

/* Returns n random vectors of D integers between -max_abs and max_abs. Their dot products are exact in float. */
static vectors whole_vectors(size_t n, size_t D, uint32_t max_abs, uint32_t seed) {
    vectors v = {n, D, malloc((n * D + 1) * sizeof(float))};
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, (uint32_t)n);
    for (size_t i = 0; i < n * D; i++)
        v.x[i] = (float)aoei_rng_below(&r, 2 * max_abs + 1) - (float)max_abs;
    return v;
}

static double dot(const float *x, const float *y, size_t D) {
    double sum = 0;
    for (size_t i = 0; i < D; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

/* Returns the score of a query and a text, rounded to float. */
static double score_of(aoe_similarity_function f, const float *x, const float *y, size_t D) {
    double squares = 0, sum = 0;
    for (size_t i = 0; i < D; i++) {
        const double difference = (double)x[i] - (double)y[i];
        squares += difference * difference;
        sum += fabs(difference);
    }
    if (f == AOE_SIMILARITY_EUCLIDEAN)
        return (double)(float)-sqrt(squares);
    return (double)(float)(f == AOE_SIMILARITY_MANHATTAN ? -sum : dot(x, y, D));
}

typedef struct scored {
    double score;
    uint32_t text;
} scored;

static int best_first(const void *pa, const void *pb) {
    const scored *a = pa, *b = pb;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return a->text < b->text ? -1 : 1;
}

/* Searches by brute force. For query i, writes all texts that are not skipped to want + i * t->n, in descending order
 * of their scores. n[i] is set to the number of these texts. */
static void reference(scored *want, size_t *n, aoe_similarity_function f, const vectors *q, const vectors *t,
                      aoei_nearest_skip_fn skip_fn, const void *user) {
    for (size_t i = 0; i < q->n; i++) {
        scored *w = want + i * t->n;
        n[i] = 0;
        for (size_t k = 0; k < t->n; k++)
            if (!skip_fn || !skip_fn(user, i, (uint32_t)k))
                w[n[i]++] = (scored){score_of(f, q->x + i * q->D, t->x + k * t->D, q->D), (uint32_t)k};
        qsort(w, n[i], sizeof *w, best_first);
    }
}

static void search_by(aoe_similarity_function f, const aoe_context *ctx, aoei_neighbor *best, const vectors *q,
                      const vectors *t, size_t k, aoei_nearest_skip_fn skip_fn, const void *user) {
    const size_t bytes = aoei_nearest_workspace(ctx, q->n, t->n, t->D) + 64;
    aoei_arena arena;
    assert_int_equal(aoei_arena_create(&arena, bytes, NULL), 0);
    const aoei_nearest_job j = {.queries = aoei_tensor_wrap(q->x, q->n, q->D),
                                .texts = aoei_tensor_wrap(t->x, t->n, t->D),
                                .similarity = f,
                                .k = k,
                                .skip = skip_fn,
                                .user = user,
                                .workspace = aoei_tensor_take(&arena, 1, bytes / sizeof(float) - 16)};
    assert_false(arena.overflow);
    memset(best, 0x55, q->n * k * sizeof *best);
    aoei_nearest(ctx, &j, best);
    aoei_arena_destroy(&arena);
}

static void search(const aoe_context *ctx, aoei_neighbor *best, const vectors *q, const vectors *t, size_t k,
                   aoei_nearest_skip_fn skip_fn, const void *user) {
    search_by(AOE_SIMILARITY_DOT, ctx, best, q, t, k, skip_fn, user);
}

static void assert_exact(const aoei_neighbor *best, const scored *want, const size_t *n, size_t Q, size_t N, size_t k) {
    for (size_t i = 0; i < Q; i++)
        for (size_t r = 0; r < k; r++) {
            const aoei_neighbor b = best[i * k + r];
            const int exists = r < n[i];
            assert_int_equal(b.text, exists ? want[i * N + r].text : AOEI_NO_TEXT);
            const double score = exists ? want[i * N + r].score : -INFINITY;
            assert_false((double)b.score < score || (double)b.score > score || isnan(b.score));
        }
}

static int every_third(const void *user, size_t query, uint32_t text) {
    return (query + text + *(const size_t *)user) % 3 == 0;
}

static int all_but_two(const void *user, size_t query, uint32_t text) {
    (void)user;
    return text != 5 && text != 3000 + query;
}

/* Tests numbers of queries and texts just below and just above the block sizes of the search. Most scores occur several
 * times. */
static void test_exact(void **state) {
    (void)state;
    static const struct {
        size_t Q, N, D, k;
        uint32_t max_abs;
    } cases[] = {{1, 1, 1, 1, 3},    {1, 100, 3, 1, 1},    {3, 17, 5, 16, 2},     {70, 1023, 8, 10, 1},
                 {5, 1025, 4, 1, 1}, {40, 3100, 2, 50, 1}, {1030, 1040, 3, 4, 1}, {7, 30, 6, 31, 2},
                 {2, 40, 4, 200, 1}, {9, 2500, 64, 7, 3}};
    static const size_t shift = 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t Q = cases[c].Q, N = cases[c].N, k = cases[c].k;
        vectors q = whole_vectors(Q, cases[c].D, cases[c].max_abs, 1),
                t = whole_vectors(N, cases[c].D, cases[c].max_abs, 2);
        scored *want = malloc(Q * N * sizeof *want);
        size_t *n = malloc(Q * sizeof *n);
        aoei_neighbor *best = malloc(Q * k * sizeof *best);
        static const aoei_nearest_skip_fn skips[] = {NULL, every_third, all_but_two};
        for (size_t p = 0; p < 3; p++) {
            reference(want, n, AOE_SIMILARITY_DOT, &q, &t, skips[p], &shift);
            for (int tier = 0; tier <= (int)test_best_tier(); tier++) {
                aoe_context *ctx = test_context((aoei_tier)tier, 1 + c % 3);
                search(ctx, best, &q, &t, k, skips[p], &shift);
                assert_exact(best, want, n, Q, N, k);
                aoe_context_destroy(ctx);
            }
        }
        free(want);
        free(n);
        free(best);
        free(q.x);
        free(t.x);
    }
}

/* Tests the search by distances, with numbers of queries and texts around the block sizes. */
static void test_distances(void **state) {
    (void)state;
    static const struct {
        size_t Q, N, D, k;
    } cases[] = {{1, 1, 1, 1}, {3, 17, 5, 16}, {17, 1025, 8, 10}, {33, 70, 19, 71}, {1030, 40, 3, 4}};
    static const size_t shift = 2;
    for (size_t c = 0; c < 2 * sizeof cases / sizeof *cases; c++) {
        const aoe_similarity_function f = c % 2 ? AOE_SIMILARITY_EUCLIDEAN : AOE_SIMILARITY_MANHATTAN;
        const size_t Q = cases[c / 2].Q, N = cases[c / 2].N, k = cases[c / 2].k;
        vectors q = whole_vectors(Q, cases[c / 2].D, 2, 1), t = whole_vectors(N, cases[c / 2].D, 3, 2);
        scored *want = malloc(Q * N * sizeof *want);
        size_t *n = malloc(Q * sizeof *n);
        aoei_neighbor *best = malloc(Q * k * sizeof *best);
        for (size_t threads = 1; threads <= 3; threads++) {
            const aoei_nearest_skip_fn skip = threads == 2 ? every_third : NULL;
            aoe_context *ctx = test_context(test_best_tier(), threads);
            reference(want, n, f, &q, &t, skip, &shift);
            search_by(f, ctx, best, &q, &t, k, skip, &shift);
            assert_exact(best, want, n, Q, N, k);
            aoe_context_destroy(ctx);
        }
        free(want);
        free(n);
        free(best);
        free(q.x);
        free(t.x);
    }
}

/* Tests equal scores: the results must be the k texts with the lowest indices, in ascending order of the indices. */
static void test_all_equal(void **state) {
    (void)state;
    enum { N = 2100, K = 20 };
    vectors q = whole_vectors(2, 3, 1, 1), t = whole_vectors(N, 3, 1, 1);
    aoei_neighbor best[2 * K];
    aoe_context *ctx = test_context(test_best_tier(), 2);
    for (size_t i = 0; i < N * 3; i++)
        t.x[i] = 0;
    search(ctx, best, &q, &t, K, NULL, NULL);
    for (uint32_t i = 0; i < 2 * K; i++)
        assert_int_equal(best[i].text, i % K);
    aoe_context_destroy(ctx);
    free(q.x);
    free(t.x);
}

/* Tests unit vectors. Up to rounding errors, the score at every rank must equal the reference score at this rank, and
 * the score of each text must equal the reference score of this text. Results must be bit-identical for any number of
 * threads, and must not depend on the other queries of a call. */
static void test_unit_vectors(void **state) {
    (void)state;
    enum { Q = 130, N = 2300, D = 96, K = 25 };
    const double tolerance = (D + 4) * 0x1p-24;
    vectors q = {Q, D, malloc(Q * D * sizeof(float))}, t = {N, D, malloc(N * D * sizeof(float))};
    scored *want = malloc(Q * N * sizeof *want);
    aoei_neighbor *best = malloc(Q * K * sizeof *best), *again = malloc(Q * K * sizeof *again);
    size_t n[Q];
    test_fill_normal(q.x, Q * D, 1 / sqrt(D), 1);
    test_fill_normal(t.x, N * D, 1 / sqrt(D), 2);
    for (size_t i = 0; i < Q + N; i++) {
        float *x = i < Q ? q.x + i * D : t.x + (i - Q) * D;
        const double norm = sqrt(dot(x, x, D));
        for (size_t k = 0; k < D; k++)
            x[k] = (float)((double)x[k] / norm);
    }
    reference(want, n, AOE_SIMILARITY_DOT, &q, &t, NULL, NULL);
    for (int tier = 0; tier <= (int)test_best_tier(); tier++) {
        aoe_context *one = test_context((aoei_tier)tier, 1), *three = test_context((aoei_tier)tier, 3);
        search(one, best, &q, &t, K, NULL, NULL);
        search(three, again, &q, &t, K, NULL, NULL);
        assert_memory_equal(best, again, Q * K * sizeof *best);
        for (size_t i = 0; i < Q; i += 13) {
            const vectors alone = {1, D, q.x + i * D};
            search(three, again, &alone, &t, K, NULL, NULL);
            assert_memory_equal(best + i * K, again, K * sizeof *best);
        }
        for (size_t i = 0; i < Q; i++)
            for (size_t r = 0; r < K; r++) {
                const aoei_neighbor b = best[i * K + r];
                assert_true(fabs((double)b.score - dot(q.x + i * D, t.x + b.text * D, D)) <= tolerance);
                assert_true(fabs((double)b.score - want[i * N + r].score) <= 2 * tolerance);
                assert_true(r == 0 || best[i * K + r - 1].score >= b.score);
                for (size_t s = 0; s < r; s++)
                    assert_int_not_equal(best[i * K + s].text, b.text);
            }
        aoe_context_destroy(one);
        aoe_context_destroy(three);
    }
    free(want);
    free(best);
    free(again);
    free(q.x);
    free(t.x);
}

/* Tests that a text with a NaN score is never a neighbor, and that a search without texts, without queries or with k =
 * 0 is valid. */
static void test_nan_and_empty_inputs(void **state) {
    (void)state;
    enum { N = 40, K = 3 };
    vectors q = whole_vectors(2, 2, 2, 1), t = whole_vectors(N, 2, 2, 2);
    aoei_neighbor best[2 * K];
    aoe_context *ctx = test_context(test_best_tier(), 2);
    for (size_t i = 0; i < N; i++)
        t.x[2 * i] = i == 7 ? 1 : NAN;
    q.x[0] = q.x[2] = 1;
    search(ctx, best, &q, &t, K, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(best[i * K].text, 7);
        assert_int_equal(best[i * K + 1].text, AOEI_NO_TEXT);
        assert_int_equal(best[i * K + 2].text, AOEI_NO_TEXT);
    }
    t.n = 0;
    search(ctx, best, &q, &t, K, NULL, NULL);
    for (size_t i = 0; i < 2 * K; i++)
        assert_int_equal(best[i].text, AOEI_NO_TEXT);
    t.n = N;
    const aoei_neighbor before = best[0] = (aoei_neighbor){2, 3};
    search(ctx, best, &q, &t, 0, NULL, NULL);
    assert_memory_equal(best, &before, sizeof before);
    q.n = 0;
    search(ctx, best, &q, &t, K, NULL, NULL);
    assert_memory_equal(best, &before, sizeof before);
    aoe_context_destroy(ctx);
    free(q.x);
    free(t.x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact), cmocka_unit_test(test_distances),
                                       cmocka_unit_test(test_all_equal), cmocka_unit_test(test_unit_vectors),
                                       cmocka_unit_test(test_nan_and_empty_inputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
