/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: dataset/similar
 * Tests the search for similar pairs and their groups against all cosines, for numbers of vectors around the block
 * size, in every tier and for several numbers of threads. Other tests cover pairs at the threshold, zero vectors, more
 * pairs than are kept in memory, errors, cancellation and failed allocations.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "base/random.h"

typedef struct found {
    size_t *first, *second; /* [n] pairs in the order in which they were reported; owned */
    double *cosine;
    size_t n, capacity;
    size_t stop;     /* number of pairs after which the search is cancelled; 0: never */
    double fraction; /* latest progress */
} found;

static int take(void *user, size_t first, size_t second, double cosine) {
    found *f = user;
    if (f->n == f->capacity) {
        f->capacity = 2 * f->capacity + 64;
        f->first = realloc(f->first, f->capacity * sizeof *f->first);
        f->second = realloc(f->second, f->capacity * sizeof *f->second);
        f->cosine = realloc(f->cosine, f->capacity * sizeof *f->cosine);
    }
    f->first[f->n] = first;
    f->second[f->n] = second;
    f->cosine[f->n++] = cosine;
    return f->n == f->stop;
}

static int progress(void *user, double fraction) {
    found *f = user;
    assert_true(fraction >= f->fraction && fraction <= 1);
    f->fraction = fraction;
    return 0;
}

static void release(found *f) {
    free(f->first);
    free(f->second);
    free(f->cosine);
    *f = (found){0};
}

static int search(found *f, aoe_context *ctx, const float *x, size_t n, size_t D, double threshold, size_t *group,
                  aoe_similar_result *r, aoe_error *err) {
    aoe_similar_options o;
    aoe_similar_options_defaults(&o);
    o.threshold = threshold;
    o.report = take;
    o.progress = progress;
    o.user = f;
    return aoe_find_similar(ctx, x, n, D, &o, group, r, err);
}

/* Returns n vectors of D components: copies of n / 4 random vectors with small random differences. */
static float *near_copies(size_t n, size_t D, uint32_t seed) {
    float *x = malloc((n * D + 1) * sizeof *x), *noise = malloc((n * D + 1) * sizeof *noise);
    aoei_rng r;
    test_fill_normal(x, n * D, 1, seed);
    test_fill_normal(noise, n * D, 0.3, seed + 1);
    aoei_rng_init(&r, seed, AOEI_STREAM_TEST, 0);
    for (size_t i = n / 4; i < n; i++) {
        const size_t from = aoei_rng_below(&r, (uint32_t)(n / 4) + 1) % (n / 4 + (n < 4));
        for (size_t k = 0; k < D && from < i; k++)
            x[i * D + k] = x[from * D + k] + (i % 3 ? noise[i * D + k] : 0);
    }
    free(noise);
    return x;
}

/* Compares the pairs with all cosines, and the groups with connected components that repeated relabeling finds. */
static void check(const found *f, const float *x, size_t n, size_t D, double threshold, const size_t *group,
                  const aoe_similar_result *r) {
    size_t at = 0, groups = 0, grouped = 0, *label = malloc((n + 1) * sizeof *label);
    for (size_t i = 0; i < n; i++)
        label[i] = i;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            const float cosine = (float)aoe_cosine(x + i * D, x + k * D, D);
            if (!(cosine >= (float)threshold))
                continue;
            assert_true(at < f->n && f->first[at] == i && f->second[at] == k);
            assert_true(f->cosine[at++] == (double)cosine);
            const size_t a = label[i], b = label[k];
            for (size_t m = 0; m < n && a != b; m++)
                if (label[m] == (a < b ? b : a))
                    label[m] = a < b ? a : b;
        }
    assert_true(at == f->n && r->pairs == at);
    for (size_t i = 0; i < n; i++) {
        size_t members = 0, first = n;
        for (size_t k = n; k-- > 0;)
            if (label[k] == label[i]) {
                members++;
                first = k;
            }
        const size_t want = members < 2 ? SIZE_MAX : first == i ? groups++ : group[first];
        assert_true(group[i] == want);
        grouped += members > 1;
    }
    assert_true(r->groups == groups && r->grouped == grouped);
    free(label);
}

static void test_all_pairs(void **state) {
    (void)state;
    static const struct {
        size_t n, D;
        double threshold;
    } cases[] = {{1, 3, 0.5},      {2, 1, 1},       {40, 7, 0.9},   {1023, 24, 0.8},
                 {1025, 24, 0.95}, {1100, 5, 0.99}, {130, 384, 0.9}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t n = cases[c].n, D = cases[c].D;
        float *x = near_copies(n, D, (uint32_t)c + 1);
        size_t *group = malloc(n * sizeof *group);
        for (int tier = 0; tier <= (int)test_best_tier(); tier++) {
            aoe_context *ctx = test_context((aoei_tier)tier, 1 + (size_t)tier % 3);
            aoe_similar_result r = {.struct_size = sizeof r};
            found f = {0};
            assert_int_equal(search(&f, ctx, x, n, D, cases[c].threshold, group, &r, NULL), 0);
            if (tier == 0 || tier == (int)test_best_tier())
                check(&f, x, n, D, cases[c].threshold, group, &r);
            assert_true(f.fraction == 1 && (n < 100 || f.n > n / 4));
            release(&f);
            aoe_context_destroy(ctx);
        }
        free(x);
        free(group);
    }
}

/* Equal vectors of any length have the cosine 1, and a zero vector is in no pair. */
static void test_exact_duplicates(void **state) {
    (void)state;
    enum { N = 6, D = 3 };
    static const float x[N * D] = {1, 2, 3, 0, 0, 0, 1e-3F, 2e-3F, 3e-3F, 0, 0, 0, -1, -2, -3, 1, 2, 3};
    size_t group[N];
    aoe_similar_result r = {.struct_size = sizeof r};
    aoe_context *ctx = test_context(test_best_tier(), 2);
    found f = {0};
    assert_int_equal(search(&f, ctx, x, N, D, 1, group, &r, NULL), 0);
    static const size_t want[N] = {0, SIZE_MAX, 0, SIZE_MAX, SIZE_MAX, 0};
    assert_memory_equal(group, want, sizeof want);
    assert_true(f.n == 3 && r.groups == 1 && r.grouped == 3 && f.cosine[0] == 1.0);
    release(&f);
    aoe_context_destroy(ctx);
}

/* If all vectors are similar, the pairs of a block of rows exceed the memory for pairs, and the block is divided. */
static void test_many_pairs(void **state) {
    (void)state;
    const size_t n = TEST_SANITIZED ? 5000 : 7000, D = 2;
    float *x = malloc(n * D * sizeof *x);
    size_t *group = malloc(n * sizeof *group), at = 0;
    aoe_similar_result r = {.struct_size = sizeof r};
    aoe_context *ctx = test_context(test_best_tier(), 2);
    found f = {0};
    for (size_t i = 0; i < n * D; i++)
        x[i] = 1;
    assert_int_equal(search(&f, ctx, x, n, D, 0.9, group, &r, NULL), 0);
    assert_true(r.pairs == n * (n - 1) / 2 && f.n == r.pairs && r.groups == 1 && r.grouped == n);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++, at++)
            if (f.first[at] != i || f.second[at] != k)
                fail_msg("pair %zu: %zu %zu", at, f.first[at], f.second[at]);
    release(&f);
    free(x);
    free(group);
    aoe_context_destroy(ctx);
}

static void test_errors(void **state) {
    (void)state;
    static const float x[] = {1, 0, 1, 0, 1, 0, NAN, 0};
    aoe_similar_result r = {.struct_size = sizeof r};
    aoe_context *ctx = test_context(test_best_tier(), 1);
    aoe_error err;
    found f = {0};
    static const double bad[] = {0, -0.5, 1.5, NAN};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(search(&f, ctx, x, 3, 2, bad[i], NULL, &r, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "options.threshold"));
    }
    assert_int_equal(search(&f, ctx, x, 3, 0, 0.9, NULL, &r, &err), AOE_EARG);
    assert_int_equal(search(&f, ctx, x, (size_t)UINT32_MAX, 2, 0.9, NULL, &r, &err), AOE_EARG);
    assert_int_equal(search(&f, ctx, x, 4, 2, 0.9, NULL, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "row 3 of vectors"));
    assert_int_equal(search(&f, ctx, NULL, 0, 2, 0.9, NULL, &r, &err), 0);
    f.stop = 2;
    assert_int_equal(search(&f, ctx, x, 3, 2, 0.9, NULL, &r, &err), AOE_ECANCELLED);
    assert_true(f.n == 2 && r.pairs == 0);
    assert_int_equal(aoe_find_similar(ctx, x, 3, 2, NULL, NULL, NULL, &err), 0);
    release(&f);
    aoe_context_destroy(ctx);
}

static int search_again(void *arg) {
    static const float x[] = {1, 0, 1, 0, 1, 0, 0, 1};
    aoe_similar_result r = {.struct_size = sizeof r};
    found f = {0};
    const int code = search(&f, arg, x, 4, 2, 0.9, NULL, &r, NULL);
    assert_true(r.pairs == (code ? 0 : 3));
    release(&f);
    return code;
}

static void test_memory(void **state) {
    (void)state;
    aoe_context *ctx = test_context(test_best_tier(), 2);
    assert_true(test_alloc_failures(search_again, ctx, 0) > 3);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs), cmocka_unit_test(test_exact_duplicates), cmocka_unit_test(test_many_pairs),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
