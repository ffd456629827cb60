/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: loss/ese_target loss/layer_terms
 * Tests losses on the hidden states of all layers: values that were computed independently, finite differences of the
 * terms, properties of the targets of ESE, training runs, and rejected options. tests/grad/layer_grad_test.c tests the
 * gradient of a whole training step.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/example_rows.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/eigen.h"
#include "loss/ese_target.h"
#include "loss/layer_terms.h"

/* Fills x[n, cols] with the first columns of the example rows from row `first`. */
static void rows(double *x, size_t first, size_t n, size_t cols) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < cols; k++)
            x[i * cols + k] = test_example_row(first + i, k);
}

static double term(size_t N, size_t D, const double *u, const double *t, double T, int with_squares, double *grad) {
    double row[64];
    aoe_context *ctx = test_context(AOEI_TIER_C, 2);
    const aoei_layer_term p = {.N = N,
                               .D = D,
                               .u = u,
                               .t = t,
                               .temperature = T,
                               .with_squares = with_squares,
                               .weight = 1,
                               .grad = grad,
                               .row = row,
                               .ctx = ctx};
    const double value = aoei_layer_term_compute(&p);
    aoe_context_destroy(ctx);
    return value;
}

/* Computes the target of m [N, D] with c components. */
static void target(double *k, const double *m, size_t N, size_t D, size_t c, uint64_t seed, aoei_tier tier,
                   size_t threads) {
    const size_t bytes = aoei_ese_target_workspace(N, D, c);
    aoe_error err = {0};
    aoe_context *ctx = test_context(tier, threads);
    const aoei_ese_target p = {.N = N,
                               .D = D,
                               .c = c,
                               .m = m,
                               .k = k,
                               .seed = seed,
                               .step = 5,
                               .layer = 2,
                               .workspace = aoei_aligned(bytes),
                               .ctx = ctx};
    assert_non_null(p.workspace);
    memset(p.workspace, 0xff, bytes); /* NaN, so that reading uninitialized memory changes the result */
    if (aoei_ese_target_compute(&p, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(p.workspace);
    aoe_context_destroy(ctx);
}

static void is_close(double value, double want, double tolerance) {
    if (!(fabs(value - want) <= tolerance))
        fail_msg("the value is %.13f, expected %.13f", value, want);
}

static void independent_values(void **state) {
    (void)state;
    double u[12], t[12], k[6], m[12], gram[9];
    rows(u, 0, 3, 4);
    rows(t, 3, 3, 4);
    is_close(term(3, 4, u, t, 0.3, 0, NULL), 0.972151457753, 1e-12);
    rows(u, 0, 3, 2);
    rows(t, 3, 3, 2);
    is_close(term(3, 2, u, t, 1, 1, NULL), 1.561315739705, 1e-12);
    is_close(term(3, 2, u, t, 1, 0, NULL), 0.248815739705, 1e-12);
    is_close(term(3, 2, u, t, 2, 1, NULL), 1.457451038161, 1e-12);
    rows(m, 0, 3, 4);
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        static const double want[] = {-0.752790777, -0.674607256, -0.818112916, 0.730105504, 1.001940343, -0.906646448};
        static const double want_gram[] = {1.263114279,  0.158132696,  -0.258714095, 0.158132696, 1.269816498,
                                           -1.445207132, -0.258714095, -1.445207132, 1.927039277};
        target(k, m, 3, 4, 2, 42, (aoei_tier)tier, 1);
        for (size_t i = 0; i < 6; i++)
            is_close(k[i], want[i], 1e-9);
        is_close(term(3, 2, u, k, 1, 1, NULL), 0.175859120536, 1e-11);
        double all[12];
        target(all, m, 3, 4, 4, 42, (aoei_tier)tier, 1);
        for (size_t i = 0; i < 9; i++) {
            gram[i] = 0;
            for (size_t c = 0; c < 4; c++)
                gram[i] += all[i / 3 * 4 + c] * all[i % 3 * 4 + c];
            is_close(gram[i], want_gram[i], 1e-9);
        }
    }
}

typedef struct term_problem {
    const double *t;
    double temperature;
    int with_squares;
} term_problem;

enum { N = 5, D = 7 };

static double term_of(void *arg, const double *u) {
    const term_problem *p = arg;
    return term(N, D, u, p->t, p->temperature, p->with_squares, NULL);
}

static void finite_differences(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        float u32[N * D], t32[N * D];
        double u[N * D], t[N * D], grad[N * D] = {0};
        test_fill_normal(u32, N * D, 1, 1);
        test_fill_normal(t32, N * D, 1, 2);
        for (size_t i = 0; i < N * D; i++)
            u[i] = (double)u32[i], t[i] = (double)t32[i];
        term_problem p = {t, k / 2 ? 2 : 0.3, k % 2};
        term(N, D, u, t, p.temperature, p.with_squares, grad);
        test_gradient(term_of, &p, u, grad, N * D, 1e-8);
    }
}

enum { ROWS = 40, COLS = 70 };

/* Fills m with vectors whose components have different magnitudes. */
static void fill_vectors(double *m) {
    float x[ROWS * COLS];
    test_fill_normal(x, ROWS * COLS, 1, 3);
    for (size_t i = 0; i < ROWS * COLS; i++)
        m[i] = (double)x[i] * (i % COLS < 10 ? 2 : 0.5);
}

/* Writes A A^T to out, where A is the matrix of the vectors m. */
static void exact_matrix(const double *m, double *out) {
    double *a = malloc(sizeof(double) * COLS * COLS);
    for (size_t i = 0; i < COLS; i++) {
        double sum = 0;
        for (size_t j = 0; j < COLS; j++) {
            double dot = 0;
            for (size_t r = 0; r < ROWS; r++)
                dot += m[r * COLS + i] * m[r * COLS + j];
            a[i * COLS + j] = dot / sqrt(COLS);
        }
        double max = -INFINITY;
        for (size_t j = 0; j < COLS; j++)
            max = fmax(max, a[i * COLS + j]);
        for (size_t j = 0; j < COLS; j++)
            sum += a[i * COLS + j] = exp(a[i * COLS + j] - max);
        for (size_t j = 0; j < COLS; j++)
            a[i * COLS + j] /= sum;
    }
    for (size_t i = 0; i < COLS; i++)
        for (size_t j = 0; j < COLS; j++) {
            out[i * COLS + j] = 0;
            for (size_t k = 0; k < COLS; k++)
                out[i * COLS + j] += a[i * COLS + k] * a[j * COLS + k];
        }
    free(a);
}

/* The Gram matrix of the target, in which signs do not matter, must be that of the exact decomposition, and the target
 * must not depend on the number of threads. With another seed, the target may differ by the error of the approximation
 * only. */
static void decomposition_of_larger_matrices(void **state) {
    (void)state;
    static const size_t sizes[] = {8, 24, 31, COLS};
    static double m[ROWS * COLS], k[ROWS * COLS], other[ROWS * COLS], vectors[COLS * COLS], value[COLS],
        want[ROWS * COLS];
    fill_vectors(m);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const size_t c = sizes[s];
        target(k, m, ROWS, COLS, c, 1, test_best_tier(), 1);
        target(other, m, ROWS, COLS, c, 1, test_best_tier(), 3);
        assert_memory_equal(k, other, sizeof *k * ROWS * c);
        exact_matrix(m, vectors);
        assert_int_equal(aoei_eigen_symmetric(vectors, value, COLS, NULL, NULL), 0);
        double scale = 0, error = 0, change = 0;
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < c; j++) {
                want[i * c + j] = 0;
                for (size_t r = 0; r < COLS; r++)
                    want[i * c + j] += m[i * COLS + r] * vectors[j * COLS + r] * sqrt(fmax(value[j], 0));
            }
        for (size_t i = 0; i < ROWS; i++)
            for (size_t j = 0; j < ROWS; j++) {
                double x = 0, y = 0;
                for (size_t r = 0; r < c; r++)
                    x += k[i * c + r] * k[j * c + r], y += want[i * c + r] * want[j * c + r];
                error = fmax(error, fabs(x - y));
                scale = fmax(scale, fabs(y));
            }
        target(other, m, ROWS, COLS, c, 2, test_best_tier(), 1);
        for (size_t i = 0; i < ROWS * c; i++)
            change = fmax(change, fabs(k[i] - other[i]));
        print_message("%zu components: error %g, change %g\n", c, error / scale, change / sqrt(scale));
        assert_true(error < 1e-4 * scale);
        assert_true(c < COLS || error < 1e-9 * scale);
    }
}

/* If one component of the vectors is much larger than the others, A has rank 1 up to rounding, and the target is
 * finite. */
static void one_large_component(void **state) {
    (void)state;
    static double m[ROWS * COLS], k[ROWS * 16];
    fill_vectors(m);
    for (size_t i = 0; i < ROWS; i++)
        m[i * COLS + 3] = 100;
    for (int zero = 0; zero < 2; zero++) {
        if (zero)
            memset(m, 0, sizeof m); /* A is then constant, and its only singular value above 0 is 1 */
        target(k, m, ROWS, COLS, 16, 1, test_best_tier(), 1);
        for (size_t i = 0; i < ROWS * 16; i++)
            assert_true(isfinite(k[i]) && fabs(k[i]) < 1e4);
    }
    double bad = NAN;
    aoe_error err = {0};
    aoe_context *ctx = test_context(AOEI_TIER_C, 1);
    double value;
    void *workspace = aoei_aligned(aoei_ese_target_workspace(1, 1, 1));
    const aoei_ese_target p = {.N = 1, .D = 1, .c = 1, .m = &bad, .k = &value, .workspace = workspace, .ctx = ctx};
    assert_int_equal(aoei_ese_target_compute(&p, &err), AOE_ENUMERIC);
    assert_int_equal(aoei_ese_target_workspace(1, 4, 5), 0);
    aoei_aligned_free(workspace);
    aoe_context_destroy(ctx);
}

/* Returns the weights of the trained model. */
static char *weights_of(const train_run *r, size_t *size) {
    char *data = train_run_read(r, "model.safetensors", size);
    assert_non_null(data);
    return data;
}

/* Trains with the options of r into the directory `name` and asserts that the weights are equal (equal is 1) or
 * differ. */
static void expect_weights(train_run *r, const char *name, size_t threads, const char *want, size_t size, int equal) {
    size_t n;
    train_run_output(r, name);
    r->n = r->evaluations = 0;
    train_run_ok(r, threads);
    char *got = weights_of(r, &n);
    assert_int_equal(n, size);
    assert_int_equal(!memcmp(got, want, n), equal);
    free(got);
}

static const aoe_prefix sizes[] = {{TRAIN_DIMS, 1}, {8, 0.5}};

/* Sets the options of case k. */
static void set_options(train_run *r, size_t k) {
    static const aoe_method methods[] = {AOE_METHOD_ANGLE, AOE_METHOD_SBERT_REGRESSION, AOE_METHOD_ANGLE,
                                         AOE_METHOD_COSENT};
    r->o.method = methods[k];
    r->o.layers.adaptive = k < 3;
    r->o.layers.ese = k == 3;
    r->o.layers.ese_dims = 6;
    r->o.layers.prior = AOE_LAYER_PRIOR_LOG;
    r->o.matryoshka = k == 2 ? sizes : NULL;
    r->o.n_matryoshka = k == 2 ? 2 : 0;
    r->o.matryoshka_per_step = k == 2;
}

/* Training must give identical bits for all numbers of threads and chunk sizes, with recomputation, and if it is
 * resumed. */
static void training_runs(void **state) {
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        train_run r;
        aoe_error err = {0};
        size_t size, n;
        train_run_create(&r);
        set_options(&r, k);
        r.o.layers.adaptive = r.o.layers.ese = 0;
        r.o.accumulate = 2;
        train_run_ok(&r, 1);
        char *base = weights_of(&r, &size);
        set_options(&r, k);
        expect_weights(&r, "layers", 1, base, size, 0);
        char *want = weights_of(&r, &size), *record = train_run_read(&r, "aoe.json", NULL),
             *log = train_run_read(&r, "train-log.jsonl", NULL);
        assert_non_null(strstr(record, k == 3 ? "\"ese\"" : "\"adaptive_layers\""));
        assert_non_null(strstr(log, "\"layers\":"));
        expect_weights(&r, "threads", 3, want, size, 1);
        r.o.cache_chunk = 3;
        expect_weights(&r, "chunks", 2, want, size, 1);
        r.o.cache_chunk = 0;
        r.o.args.recompute = 1;
        expect_weights(&r, "recompute", 1, want, size, 1);
        r.o.args.recompute = 0;
        train_run_output(&r, "stopped");
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 4;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.o.layers.ese_dims = 4;
        r.o.layers.w_kl = 2;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        assert_non_null(strstr(err.message, k == 3 ? "options.layers.ese" : "options.layers.adaptive"));
        r.o.layers.ese_dims = 6;
        r.o.layers.w_kl = 1;
        train_run_ok(&r, 2);
        char *resumed = weights_of(&r, &n);
        assert_true(n == size && !memcmp(resumed, want, n));
        free(base);
        free(want);
        free(record);
        free(log);
        free(resumed);
        train_run_destroy(&r);
    }
}

static void rejected_options(void **state) {
    (void)state;
    static const struct {
        aoe_method method;
        aoe_layer_options o;
        aoe_pooling pooling;
        int with_prefixes;
        const char *fragment;
    } cases[] = {
        {AOE_METHOD_ANGLE, {.adaptive = 1, .ese = 1}, 0, 0, "cannot be combined"},
        {AOE_METHOD_ANGLE,
         {.adaptive = 1, .per_step = 0},
         0,
         0,
         "options.layers.per_step is 0; give an integer of at least 1"},
        {AOE_METHOD_ANGLE,
         {.adaptive = 1, .temperature = -1},
         0,
         0,
         "options.layers.temperature is -1; give a number above 0"},
        {AOE_METHOD_ANGLE, {.adaptive = 1, .w_kl = -1}, 0, 0, "options.layers.w_kl is -1; give a number of at least 0"},
        {AOE_METHOD_ANGLE, {.adaptive = 1, .per_step = 3}, 0, 0, "must be at most 2, the number of layers"},
        {AOE_METHOD_ANGLE,
         {.ese = 1, .ese_dims = 17},
         0,
         0,
         "options.layers.ese_dims is 17, but the embeddings have only 16"},
        {AOE_METHOD_ANGLE, {.ese = 1, .ese_dims = 5}, 0, 0, "the angle loss requires an even size"},
        {AOE_METHOD_ANGLE, {.ese = 1}, 0, 0, "options.layers.ese_dims is 0; give an integer of at least 1"},
        {AOE_METHOD_ANGLE, {.ese = 1, .ese_dims = 4}, 0, 1, "already trains truncated embeddings"},
        {AOE_METHOD_SIMCSE_UNSUP, {.adaptive = 1}, 0, 0, "set options.no_projection"},
        {AOE_METHOD_CROSS_ENCODER, {.adaptive = 1}, 0, 0, "cross-encoder has no embeddings"},
        {AOE_METHOD_ANGLE, {.adaptive = 1}, AOE_POOLING_FIRST_LAST_AVG, 0, "uses the hidden states of several layers"},
        {AOE_METHOD_ANGLE, {.adaptive = 1}, AOE_POOLING_LAST_TWO_AVG, 0, "uses the hidden states of several layers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        aoe_error err = {0};
        train_run_create(&r);
        r.o.method = cases[i].method;
        r.o.layers.adaptive = cases[i].o.adaptive;
        r.o.layers.ese = cases[i].o.ese;
        if (cases[i].o.ese && !cases[i].o.adaptive)
            r.o.layers.ese_dims = cases[i].o.ese_dims;
        r.o.layers.per_step = i == 1 ? 0 : cases[i].o.per_step ? cases[i].o.per_step : 1;
        r.o.layers.temperature = cases[i].o.temperature < 0 ? -1 : 0.3;
        r.o.layers.w_kl = cases[i].o.w_kl < 0 ? -1 : 1;
        r.o.matryoshka = cases[i].with_prefixes ? sizes : NULL;
        r.o.n_matryoshka = cases[i].with_prefixes ? 2 : 0;
        if (cases[i].pooling)
            r.o.args.model_options.pooling = cases[i].pooling;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("found the message \"%s\", expected \"%s\"", err.message, cases[i].fragment);
        train_run_destroy(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_values),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(decomposition_of_larger_matrices),
        cmocka_unit_test(one_large_component),
        cmocka_unit_test(training_runs),
        cmocka_unit_test(rejected_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
