/* SPDX-License-Identifier: MIT
 * covers: loss/view_objective
 * Tests the losses of ConSERT. The loss of texts is compared with values that were computed in float64 outside the
 * library, and with NT-Xent computed directly. The gradients of vectors and classifier weights are compared with finite
 * differences. Float vectors must give the same results as equal double vectors, for any number of threads.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/view_objective.h"

enum {
    B = 6,
    D = 7,
    CLASSES = 3,
    FEATURES = 4,
    VECTORS = 4 * B * D,
    WEIGHTS = CLASSES * FEATURES * D,
    ALL = VECTORS + WEIGHTS + CLASSES
};

static const double labels[B] = {0, 2, 1, 1, 0, 2};
static _Alignas(AOEI_ALIGN) unsigned char workspace[1 << 16];
static aoe_objective_options o;
static double x[ALL], grad[ALL];

static aoei_classifier classifier(const double *at, double *g) {
    return (aoei_classifier){.classes = CLASSES,
                             .features = AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_MAX_SQUARED,
                             .weight = at + VECTORS,
                             .bias = at + VECTORS + WEIGHTS,
                             .d_weight = g ? g + VECTORS : NULL,
                             .d_bias = g ? g + VECTORS + WEIGHTS : NULL};
}

/* Computes the loss of pairs at `at`, with gradients if g is not NULL. */
static aoe_objective_result of_pairs(const double *at, double *g) {
    const aoei_classifier c = classifier(at, g);
    const aoei_example_batch b = {.B = B, .D = D, .arity = 4, .v64 = at, .grad64 = g};
    aoe_objective_result r;
    aoe_error err = {0};
    if (aoei_view_objective(&o, &c, labels, &b, workspace, sizeof workspace, NULL, &r, &err))
        fail_msg("%s", err.message);
    return r;
}

/* Computes the loss of n texts with vectors of d components. */
static aoe_objective_result of_texts(const double *at, double *g, size_t n, size_t d) {
    const aoei_example_batch b = {.B = n, .D = d, .arity = 2, .v64 = at, .grad64 = g};
    aoe_objective_result r;
    aoe_error err = {0};
    if (aoei_view_objective(&o, NULL, NULL, &b, workspace, sizeof workspace, NULL, &r, &err))
        fail_msg("%s", err.message);
    return r;
}

static double pairs_loss(void *arg, const double *at) {
    (void)arg;
    return of_pairs(at, NULL).total;
}

static double texts_loss(void *arg, const double *at) {
    (void)arg;
    return of_texts(at, NULL, 2 * B, D).total;
}

static void set_up(void) {
    aoei_rng rng;
    aoe_objective_options_defaults(&o);
    o.w_ibn = 0.3;
    o.tau_ibn = 0.1;
    o.isp = 0;
    aoei_rng_init(&rng, 11, AOEI_STREAM_TEST, 4);
    for (size_t i = 0; i < ALL; i++)
        x[i] = (i < VECTORS ? 1 : 0.4) * aoei_rng_normal(&rng);
}

/* Returns one direction of NT-Xent for vectors a and b [n, d]: the mean over i of the log-sum-exp of the cosines of a_i
 * with all b_j and with all other a_j, minus the cosine of a_i and b_i, where all cosines are divided by the
 * temperature. The vectors are adjacent: a0 b0 a1 b1 ... side: 0: a is the first vector; 1: a is the second vector. */
static double nt_xent(const double *v, size_t n, size_t d, size_t side, double tau) {
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, own = 0;
        for (size_t j = 0; j < 2 * n; j++) {
            const double *p = v + (2 * i + side) * d, *q = v + j * d;
            double dot = 0, pp = 0, qq = 0;
            for (size_t k = 0; k < d; k++) {
                dot += p[k] * q[k];
                pp += p[k] * p[k];
                qq += q[k] * q[k];
            }
            const double s = dot / sqrt(pp * qq) / tau;
            if (j != 2 * i + side)
                sum += exp(s);
            if (j == 2 * i + 1 - side)
                own = s;
        }
        mean += (log(sum) - own) / (double)n;
    }
    return mean;
}

/* Tests the rows r_i[k] = (((5 i + 3 k + i k) mod 13) - 6) / 4: a = r_0 to r_2, b = r_3 to r_5. The values were
 * computed in float64 outside the library. */
static void known_values(void **state) {
    (void)state;
    double v[6 * 4];
    set_up();
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 4; k++)
            v[(2 * (i % 3) + i / 3) * 4 + k] = ((5 * i + 3 * k + i * k) % 13 - 6) / 4.0;
    assert_true(fabs(nt_xent(v, 3, 4, 0, 0.1) - 4.052947887631) <= 1e-12);
    assert_true(fabs(nt_xent(v, 3, 4, 1, 0.1) - 2.878033547508) <= 1e-12);
    const aoe_objective_result r = of_texts(v, NULL, 3, 4);
    assert_true(fabs(r.total - 1.039647215271) <= 1e-12);
    assert_true(fabs(2 * r.ibn - (4.052947887631 + 2.878033547508)) <= 2e-12);
}

/* Tests that NT-Xent is twice the in-batch negatives loss, that the losses of pairs are the sums of the losses of both
 * texts and of the first views, and that a weight of 0 leaves only the classification loss. */
static void sums_of_losses(void **state) {
    (void)state;
    double side[2][2 * B * D], plain[2 * B * D];
    set_up();
    for (size_t i = 0; i < B; i++)
        for (size_t k = 0; k < 4 * D; k++) {
            side[k / (2 * D)][i * 2 * D + k % (2 * D)] = x[i * 4 * D + k];
            if (k / D % 2 == 0)
                plain[i * 2 * D + k / (2 * D) * D + k % D] = x[i * 4 * D + k];
        }
    const aoe_objective_result r = of_pairs(x, NULL), a = of_texts(side[0], NULL, B, D),
                               b = of_texts(side[1], NULL, B, D);
    assert_true(fabs(2 * a.ibn - nt_xent(side[0], B, D, 0, 0.1) - nt_xent(side[0], B, D, 1, 0.1)) <= 1e-12);
    assert_true(fabs(r.ibn - a.ibn - b.ibn) <= 1e-13 && fabs(r.total - r.classification - 0.3 * r.ibn) <= 1e-13);
    const aoei_classifier c = classifier(x, NULL);
    const aoei_example_batch batch = {.B = B, .D = D, .arity = 2, .v64 = plain};
    aoe_objective_result classes;
    assert_int_equal(
        aoei_classification_objective(&c, labels, &batch, workspace, sizeof workspace, NULL, &classes, NULL), 0);
    assert_true(r.classification == classes.classification);
    o.w_ibn = 0;
    assert_true(of_pairs(x, grad).total == classes.total);
    for (size_t i = 0; i < VECTORS; i++) /* the second views have no gradient */
        assert_true(i / D % 2 == 0 || grad[i] == 0);
}

static void finite_differences(void **state) {
    (void)state;
    set_up();
    of_texts(x, grad, 2 * B, D);
    test_gradient(texts_loss, NULL, x, grad, VECTORS, 1e-7);
    of_pairs(x, grad);
    test_gradient(pairs_loss, NULL, x, grad, ALL, 1e-7);
}

static void floats(void **state) {
    (void)state;
    static float v[VECTORS], g[VECTORS];
    set_up();
    for (size_t i = 0; i < VECTORS; i++)
        x[i] = (double)(v[i] = (float)x[i]);
    for (size_t threads = 1; threads <= 3; threads++)
        for (size_t arity = 2; arity <= 4; arity += 2) {
            aoe_context *ctx = test_context(test_best_tier(), threads);
            const aoei_classifier c = classifier(x, grad);
            const aoei_example_batch b = {.B = 4 * B / arity, .D = D, .arity = arity, .v = v, .grad = g};
            aoe_objective_result r;
            assert_int_equal(
                aoei_view_objective(&o, arity == 4 ? &c : NULL, labels, &b, workspace, sizeof workspace, ctx, &r, NULL),
                0);
            const aoe_objective_result want = arity == 4 ? of_pairs(x, grad) : of_texts(x, grad, 2 * B, D);
            assert_memory_equal(&r, &want, sizeof r);
            for (size_t i = 0; i < VECTORS; i++)
                assert_true(g[i] == (float)grad[i]);
            aoe_context_destroy(ctx);
        }
}

static void invalid_arguments(void **state) {
    (void)state;
    aoe_objective_result r;
    aoe_error err = {0};
    set_up();
    aoei_example_batch b = {.B = B, .D = D, .arity = 4, .v64 = x};
    const aoei_classifier c = classifier(x, NULL);
    const size_t need = aoei_view_objective_workspace(B, D, CLASSES);
    assert_true(need > 0 && need <= sizeof workspace);
    assert_int_equal(aoei_view_objective(&o, NULL, NULL, &b, workspace, need, NULL, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "an example has 4 vectors"));
    assert_int_equal(aoei_view_objective(&o, &c, labels, &b, workspace, need - 1, NULL, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "workspace"));
    assert_int_equal(aoei_view_objective(&o, &c, labels, &b, workspace, need, NULL, &r, &err), 0);
    x[5] = (double)NAN;
    assert_int_equal(aoei_view_objective(&o, &c, labels, &b, workspace, need, NULL, &r, &err), AOE_ENUMERIC);
    assert_int_equal(aoei_view_objective_workspace(SIZE_MAX / 2, 4, 2), 0);
    assert_int_equal(aoei_view_objective_workspace(4, SIZE_MAX / 8, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values), cmocka_unit_test(sums_of_losses),    cmocka_unit_test(finite_differences),
        cmocka_unit_test(floats),       cmocka_unit_test(invalid_arguments),
    };
    return cmocka_run_group_tests_name("view_objective", tests, NULL, NULL);
}
