/* SPDX-License-Identifier: MIT
 * tags: threads emulated
 * covers: vectors/scan_query
 * Tests the exact scan against the scores of all rows: equal rows, order and bits, for every CPU tier, several numbers
 * of threads and queries, all types of values, bitmaps of allowed rows, and vectors that are equal or almost equal. The
 * result of the fast scan must not depend on the tier, on threads or on other queries, and must equal that of the exact
 * scan if all rows are candidates.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "base/random.h"
#include "vectors/codes.h"
#include "vectors/scan.h"
#include "vectors/scan_query.h"

typedef enum kind { CLUSTERS, FEW_DISTINCT, ALMOST_EQUAL, SOME_ZERO, KINDS } kind;

typedef struct vectors {
    aoei_scan s;
    float *x; /* [n, D] values before they were rounded to bf16, owned */
    unsigned char *codes, *signs;
    aoei_bf16 *bf16;
    uint64_t *allowed;
} vectors;

static void normalize(float *x, size_t D) {
    double squares = 0;
    for (size_t i = 0; i < D; i++)
        squares += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < D && squares > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
}

/* Fills row i of v. Rows belong to one of 20 clusters. */
static void fill_row(float *x, size_t i, size_t D, kind k, aoei_rng *r) {
    aoei_rng center;
    aoei_rng_init(&center, 77, AOEI_STREAM_TEST, (uint32_t)(i % 20));
    const double spread = k == CLUSTERS || k == SOME_ZERO ? 0.5 : k == ALMOST_EQUAL ? 1e-6 : 0;
    for (size_t d = 0; d < D; d++)
        x[d] = (float)(aoei_rng_normal(&center) + spread * aoei_rng_normal(r));
    normalize(x, D);
    if (k == SOME_ZERO && i % 3 == 0)
        memset(x, 0, D * sizeof *x);
}

static vectors make(size_t n, size_t D, aoei_dtype type, kind k, uint32_t seed) {
    vectors v = {.s = {.type = type, .n = n, .D = D}};
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, (uint32_t)n);
    v.x = malloc((n * D + 1) * sizeof *v.x);
    v.bf16 = malloc((n * D + 1) * sizeof *v.bf16);
    v.codes = malloc(n * aoei_codes_stride(D) + 1);
    v.signs = malloc(n * aoei_signs_stride(D) + 1);
    v.allowed = calloc(n / 64 + 1, sizeof *v.allowed);
    for (size_t i = 0; i < n; i++) {
        float *x = v.x + i * D;
        fill_row(x, i, D, k, &r);
        for (size_t d = 0; d < D && type == AOEI_BF16; d++) {
            v.bf16[i * D + d] = aoei_bf16_from_f32(x[d]);
            x[d] = aoei_bf16_to_f32(v.bf16[i * D + d]);
        }
        aoei_codes_encode(x, D, v.codes + i * aoei_codes_stride(D));
        aoei_signs_encode(x, D, v.signs + i * aoei_signs_stride(D));
    }
    v.s.codes = v.codes;
    v.s.signs = v.signs;
    v.s.values = type == AOEI_F32 ? (void *)v.x : type == AOEI_BF16 ? (void *)v.bf16 : NULL;
    return v;
}

static void destroy(vectors *v) {
    free(v->x);
    free(v->bf16);
    free(v->codes);
    free(v->signs);
    free(v->allowed);
}

/* Allows each row with the given probability. Bits from n on are set, too. */
static void allow(vectors *v, double probability, uint32_t seed) {
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 5);
    memset(v->allowed, 0, (v->s.n / 64 + 1) * sizeof *v->allowed);
    for (size_t i = 0; i < (v->s.n + 63) / 64 * 64; i++)
        if (i >= v->s.n || aoei_rng_uniform(&r) < probability)
            v->allowed[i / 64] |= (uint64_t)1 << i % 64;
    v->s.allowed = v->allowed;
}

static int by_low_bits(void *user, uint32_t a, uint32_t b) {
    (void)user;
    const uint32_t x = a * 2654435761U, y = b * 2654435761U; /* a permutation of all numbers of 32 bits */
    return x < y;
}

static int by_row(void *user, uint32_t a, uint32_t b) {
    (void)user;
    return a < b;
}

static aoei_order_fn sorted_by; /* order of best_first */

static int best_first(const void *pa, const void *pb) {
    const aoei_neighbor *a = pa, *b = pb;
    if (a->score < b->score || a->score > b->score)
        return a->score > b->score ? -1 : 1;
    return a->text == b->text ? 0 : sorted_by(NULL, a->text, b->text) ? -1 : 1;
}

/* Returns the k best rows of each query, from the scores of all rows. The caller frees them. */
static aoei_neighbor *reference(const aoei_scan *s, const float *q, size_t Q, size_t k, aoei_order_fn order) {
    aoei_neighbor *best = malloc((Q * k + 1) * sizeof *best), *all = malloc((s->n + 1) * sizeof *all);
    sorted_by = order ? order : by_row;
    for (size_t i = 0; i < Q; i++) {
        size_t n = 0;
        for (size_t r = 0; r < s->n; r++)
            if (!s->allowed || s->allowed[r / 64] >> r % 64 & 1)
                all[n++] = (aoei_neighbor){aoei_scan_score(s, q + i * s->D, r), (uint32_t)r};
        qsort(all, n, sizeof *all, best_first);
        for (size_t j = 0; j < k; j++)
            best[i * k + j] = j < n ? all[j] : (aoei_neighbor){-INFINITY, AOEI_NO_TEXT};
    }
    free(all);
    return best;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Asserts equal rows and equal bits of the scores. */
static void assert_equal(const aoei_neighbor *got, const aoei_neighbor *want, size_t Q, size_t k, const char *what) {
    for (size_t i = 0; i < Q * k; i++)
        if (got[i].text != want[i].text || bits_of(got[i].score) != bits_of(want[i].score))
            fail_msg("%s: neighbor %zu of query %zu: row %u, score %a; expected row %u, score %a", what, i % k, i / k,
                     got[i].text, (double)got[i].score, want[i].text, (double)want[i].score);
}

/* Compares both scans with the reference for a tier and a number of threads. */
static void check_context(const aoei_scan *s, const float *q, size_t Q, size_t k, aoei_order_fn order,
                          const aoei_neighbor *want, aoei_tier tier, size_t threads) {
    aoe_context *ctx = test_context(tier, threads);
    aoei_neighbor *got = malloc((Q * k + 1) * sizeof *got);
    memset(got, 0x55, (Q * k + 1) * sizeof *got);
    assert_int_equal(aoei_scan_exact(ctx, s, q, Q, k, order, NULL, got, NULL), 0);
    assert_equal(got, want, Q, k, aoei_tier_name(tier));
    memset(got, 0x55, (Q * k + 1) * sizeof *got);
    assert_int_equal(aoei_scan_fast(ctx, s, q, Q, k, s->n, order, NULL, got, NULL), 0);
    assert_equal(got, want, Q, k, "all rows are candidates");
    free(got);
    aoe_context_destroy(ctx);
}

static void check(const aoei_scan *s, const float *q, size_t Q, size_t k, aoei_order_fn order) {
    aoei_neighbor *want = reference(s, q, Q, k, order);
    for (int tier = 0; tier <= (int)test_best_tier(); tier++)
        check_context(s, q, Q, k, order, want, (aoei_tier)tier, 1 + (size_t)(tier + (int)Q) % 5);
    free(want);
}

/* Returns Q queries near the clusters, multiplied by `norm`. The caller frees them. */
static float *make_queries(size_t Q, size_t D, float norm, uint32_t seed) {
    float *q = malloc((Q * D + 1) * sizeof *q);
    aoei_rng r;
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 9);
    for (size_t i = 0; i < Q; i++) {
        fill_row(q + i * D, i * 7, D, CLUSTERS, &r);
        for (size_t d = 0; d < D; d++)
            q[i * D + d] *= norm;
    }
    return q;
}

/* Numbers of components, rows and queries around the sizes of blocks, and all types. */
static void test_sizes(void **state) {
    (void)state;
    static const struct {
        size_t n, D, Q, k;
    } cases[] = {{1, 1, 1, 1},      {5, 3, 2, 7},       {63, 64, 1, 10},   {64, 65, 7, 3},    {65, 127, 8, 64},
                 {300, 200, 9, 5},  {257, 384, 40, 10}, {4097, 5, 3, 100}, {9000, 16, 1, 10}, {9000, 33, 25, 10},
                 {50, 1000, 30, 1}, {20, 3000, 1, 4},   {0, 4, 2, 3},      {40, 8192, 9, 3}};
    static const aoei_dtype types[] = {AOEI_F32, AOEI_BF16, AOEI_I8};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < 3; t++) {
            vectors v = make(cases[c].n, cases[c].D, types[t], c % 2 ? SOME_ZERO : CLUSTERS, 1);
            float *q = make_queries(cases[c].Q, cases[c].D, 1, 2);
            check(&v.s, q, cases[c].Q, cases[c].k, t ? NULL : by_low_bits);
            free(q);
            destroy(&v);
        }
}

/* Equal and almost equal vectors: all rows of a cluster are within the error bounds of each other. */
static void test_ties(void **state) {
    (void)state;
    enum { N = 3000, D = 48 };
    static const aoei_dtype types[] = {AOEI_F32, AOEI_BF16, AOEI_I8};
    for (kind k = FEW_DISTINCT; k <= ALMOST_EQUAL; k++)
        for (size_t t = 0; t < 3; t++)
            for (size_t Q = 1; Q <= 20; Q += 19) {
                vectors v = make(N, D, types[t], k, 3);
                float *q = make_queries(Q, D, 1, 4);
                check(&v.s, q, Q, 10, by_low_bits);
                check(&v.s, q, Q, 400, NULL);
                free(q);
                destroy(&v);
            }
}

/* Queries of any norm. Scores of very small queries are rounded to multiples of the smallest float, and those of very
 * large ones to infinity, so that rows with different products have equal scores. */
static void test_norms(void **state) {
    (void)state;
    enum { N = 700, D = 40 };
    static const float norms[] = {0, 0x1p-149F, 0x1p-140F, 0x1p-126F, 1e-20F, 100, 1e20F, 3e37F, FLT_MAX};
    vectors v = make(N, D, AOEI_F32, CLUSTERS, 5);
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        for (size_t Q = 1; Q <= 9; Q += 8) {
            float *q = make_queries(Q, D, norms[i], 6);
            if (norms[i] >= FLT_MAX)
                for (size_t d = 0; d < Q * D; d++)
                    q[d] = q[d] > 0 ? FLT_MAX : -FLT_MAX;
            check(&v.s, q, Q, 20, by_low_bits);
            free(q);
        }
    destroy(&v);
}

static void test_allowed(void **state) {
    (void)state;
    enum { N = 20001, D = 20 };
    static const double selected[] = {0, 0.0001, 0.001, 0.1, 0.5, 0.99};
    vectors v = make(N, D, AOEI_F32, CLUSTERS, 7);
    for (size_t i = 0; i < sizeof selected / sizeof *selected; i++)
        for (size_t Q = 1; Q <= 10; Q += 9) {
            float *q = make_queries(Q, D, 1, 8);
            allow(&v, selected[i], 9);
            check(&v.s, q, Q, 10, NULL);
            free(q);
        }
    destroy(&v);
}

/* The result must not depend on the number of threads or on the other queries of a call. */
static void test_threads(void **state) {
    (void)state;
    enum { N = 30000, D = 24, Q = 12, K = 15 };
    vectors v = make(N, D, AOEI_F32, CLUSTERS, 10);
    float *q = make_queries(Q, D, 1, 11);
    aoei_neighbor *want = reference(&v.s, q, Q, K, NULL), fast[Q * K], one[K], again[Q * K];
    aoe_context *ctx = test_context(test_best_tier(), 1);
    assert_int_equal(aoei_scan_fast(ctx, &v.s, q, Q, K, 40, NULL, NULL, fast, NULL), 0);
    aoe_context_destroy(ctx);
    for (size_t threads = 1; threads <= 5; threads++) {
        check_context(&v.s, q, Q, K, NULL, want, test_best_tier(), threads);
        ctx = test_context(threads % 2 ? test_best_tier() : AOEI_TIER_C, threads);
        assert_int_equal(aoei_scan_fast(ctx, &v.s, q, Q, K, 40, NULL, NULL, again, NULL), 0);
        assert_equal(again, fast, Q, K, "fast scan");
        for (size_t i = 0; i < Q; i++) {
            assert_int_equal(aoei_scan_exact(ctx, &v.s, q + i * D, 1, K, NULL, NULL, one, NULL), 0);
            assert_equal(one, want + i * K, 1, K, "one query");
            assert_int_equal(aoei_scan_fast(ctx, &v.s, q + i * D, 1, K, 40, NULL, NULL, one, NULL), 0);
            assert_equal(one, fast + i * K, 1, K, "one query of the fast scan");
        }
        aoe_context_destroy(ctx);
    }
    free(want);
    free(q);
    destroy(&v);
}

/* The fast scan must find most of the nearest rows, and it must obey the bitmap. */
static void test_recall(void **state) {
    (void)state;
    enum { N = 20000, D = 128, Q = 20, K = 10 };
    vectors v = make(N, D, AOEI_F32, CLUSTERS, 12);
    float *q = make_queries(Q, D, 1, 13);
    allow(&v, 0.7, 14);
    aoei_neighbor *want = reference(&v.s, q, Q, K, NULL), got[Q * K];
    aoe_context *ctx = test_context(test_best_tier(), 2);
    size_t found = 0;
    assert_int_equal(aoei_scan_fast(ctx, &v.s, q, Q, K, 40 * K, NULL, NULL, got, NULL), 0);
    for (size_t i = 0; i < Q * K; i++) {
        assert_true(v.allowed[got[i].text / 64] >> got[i].text % 64 & 1);
        for (size_t j = 0; j < K; j++)
            found += want[i / K * K + j].text == got[i].text;
    }
    assert_true(found >= Q * K * 95 / 100);
    aoe_context_destroy(ctx);
    free(want);
    free(q);
    destroy(&v);
}

/* A score is the sum of all products in double, rounded to float. Its bound must not be below it. */
static void test_scores(void **state) {
    (void)state;
    enum { N = 200 };
    static const size_t dims[] = {1, 7, 8, 9, 100, 384};
    static const aoei_dtype types[] = {AOEI_F32, AOEI_BF16, AOEI_I8};
    for (size_t c = 0; c < 18; c++) {
        const size_t D = dims[c / 3];
        vectors v = make(N, D, types[c % 3], CLUSTERS, 15);
        float *q = make_queries(1, D, 8, 16);
        int8_t *codes = malloc(aoei_scan_query_codes(D));
        aoei_scan_query p;
        aoei_scan_query_prepare(&p, q, D, codes);
        for (size_t r = 0; r < N; r++) {
            long double sum = 0;
            const unsigned char *row = v.codes + r * aoei_codes_stride(D);
            for (size_t d = 0; d < D; d++)
                sum += (long double)q[d] *
                       (types[c % 3] == AOEI_I8
                            ? (long double)(int8_t)row[d] * (long double)aoei_codes_scale(row, aoei_codes_padded(D))
                            : (long double)v.x[r * D + d]);
            const float score = aoei_scan_score(&v.s, q, r), most = aoei_scan_query_most(&p, &v.s, r);
            assert_true(fabsl((long double)score - sum) <= 0x1.001p-25L * 8);
            assert_true(most >= score);
            assert_true(most - score <= 8 * (0.05F + 0x1p-18F));
        }
        free(codes);
        free(q);
        destroy(&v);
    }
}

/* Rows with NaN are never found, and other queries than finite ones are rejected. */
static void test_not_finite(void **state) {
    (void)state;
    enum { N = 30, D = 4 };
    vectors v = make(N, D, AOEI_F32, CLUSTERS, 17);
    float *q = make_queries(2, D, 1, 18);
    aoei_neighbor best[2 * N];
    aoe_context *ctx = test_context(test_best_tier(), 2);
    aoe_error err;
    const float nan = NAN;
    v.x[5 * D] = NAN;
    memcpy(v.codes + 9 * aoei_codes_stride(D) + 64, &nan, sizeof nan);
    assert_int_equal(aoei_scan_exact(ctx, &v.s, q, 2, N, NULL, NULL, best, NULL), 0);
    for (size_t i = 0; i < (size_t)2 * N; i++)
        assert_true(best[i].text != 5 && best[i].text != 9 && (best[i].text == AOEI_NO_TEXT) == (i % N >= N - 2));
    for (size_t i = 0; i < 3; i++) {
        q[D + 1] = i == 0 ? NAN : i == 1 ? INFINITY : -INFINITY;
        assert_int_equal(aoei_scan_exact(ctx, &v.s, q, 2, 3, NULL, NULL, best, &err), AOE_ENUMERIC);
        assert_string_equal(err.message, "component 1 of query 1 is not finite; pass the vector of a text, or finite "
                                         "numbers");
        assert_int_equal(aoei_scan_fast(ctx, &v.s, q, 2, 3, 3, NULL, NULL, best, NULL), AOE_ENUMERIC);
    }
    assert_int_equal(aoei_scan_exact(ctx, &v.s, q, 1, 0, NULL, NULL, best, NULL), 0);
    assert_int_equal(aoei_scan_exact(ctx, &v.s, q, 0, 3, NULL, NULL, best, NULL), 0);
    aoe_context_destroy(ctx);
    free(q);
    destroy(&v);
}

typedef struct search {
    const aoe_context *ctx;
    const vectors *v;
    const float *q;
    size_t Q;
} search;

static int scan_both(void *arg) {
    const search *a = arg;
    aoei_neighbor best[10 * 5];
    const int code = aoei_scan_exact(a->ctx, &a->v->s, a->q, a->Q, 5, NULL, NULL, best, NULL);
    return code ? code : aoei_scan_fast(a->ctx, &a->v->s, a->q, a->Q, 5, 50, NULL, NULL, best, NULL);
}

static void test_memory(void **state) {
    (void)state;
    vectors v = make(2000, 16, AOEI_F32, ALMOST_EQUAL, 19);
    float *q = make_queries(10, 16, 1, 20);
    aoe_context *ctx = test_context(test_best_tier(), 1);
    for (size_t Q = 1; Q <= 10; Q += 9)
        test_alloc_failures(scan_both, &(search){ctx, &v, q, Q}, 0);
    aoe_context_destroy(ctx);
    free(q);
    destroy(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_ties),       cmocka_unit_test(test_norms),
        cmocka_unit_test(test_allowed), cmocka_unit_test(test_threads),    cmocka_unit_test(test_recall),
        cmocka_unit_test(test_scores),  cmocka_unit_test(test_not_finite), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
