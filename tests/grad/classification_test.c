/* SPDX-License-Identifier: MIT
 * covers: loss/classification_objective
 * Tests the classification loss. The value is compared with a direct computation. The gradients of the vectors, of the
 * weights and of the biases are compared with finite differences. Other tests cover float vectors, several threads,
 * equal vectors, and invalid arguments.
 * tags: threads
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/classification_objective.h"

enum {
    MAX_B = 37,
    MAX_D = 70, /* larger than the block of components that the loss processes at a time */
    MAX_C = 4,
    MAX_CELLS = 2 * MAX_B * MAX_D,
    MAX_FEATURES = 5,
    MAX_WEIGHTS = MAX_C * (MAX_FEATURES * MAX_D + 1),
    MAX_WORKSPACE = 1 << 17
};

/* Sets of features: those of SBERT, InferSent and ConSERT, all features, and each feature alone. */
static const unsigned feature_sets[] = {AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF,
                                        AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_PRODUCT,
                                        AOE_FEATURE_U | AOE_FEATURE_V | AOE_FEATURE_ABSDIFF | AOE_FEATURE_MAX_SQUARED,
                                        (1U << MAX_FEATURES) - 1,
                                        AOE_FEATURE_U,
                                        AOE_FEATURE_V,
                                        AOE_FEATURE_ABSDIFF,
                                        AOE_FEATURE_PRODUCT,
                                        AOE_FEATURE_MAX_SQUARED};
enum { FEATURE_SETS = sizeof feature_sets / sizeof *feature_sets };

static const size_t shapes[][3] = {{1, 1, 1}, {1, 4, 2}, {2, 3, 3}, {5, 8, 3}, {37, 70, 4}}; /* {B, D, number of
                                                                                                classes} */

/* The loss as a function of x, which is the concatenation of the vectors [2 B, D], the weights [C, F D] and the biases
 * [C], where F is the number of features. */
typedef struct problem {
    size_t B, D, C, F, vectors, weights;
    unsigned features;
    double label[MAX_B];
    double x[MAX_CELLS + MAX_WEIGHTS], grad[MAX_CELLS + MAX_WEIGHTS];
} problem;

static problem p;
static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];

static aoei_classifier classifier(const double *x, double *grad) {
    return (aoei_classifier){.classes = p.C,
                             .features = p.features,
                             .weight = x + p.vectors,
                             .bias = x + p.vectors + p.weights,
                             .d_weight = grad ? grad + p.vectors : NULL,
                             .d_bias = grad ? grad + p.vectors + p.weights : NULL};
}

static double evaluate(const double *x, double *grad, aoe_objective_result *r) {
    const aoei_classifier c = classifier(x, grad);
    const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 2, .v64 = x, .grad64 = grad};
    aoe_objective_result local;
    aoe_error err = {0};
    r = r ? r : &local;
    if (aoei_classification_objective(&c, p.label, &b, workspace, sizeof workspace, NULL, r, &err))
        fail_msg("%s", err.message);
    return r->total;
}

static double loss(void *arg, const double *x) {
    (void)arg;
    return evaluate(x, NULL, NULL);
}

static void set_up_features(const size_t shape[3], unsigned features) {
    aoei_rng rng;
    memset(&p, 0, sizeof p);
    p.features = features;
    p.F = aoei_feature_count(features);
    p.B = shape[0];
    p.D = shape[1];
    p.C = shape[2];
    p.vectors = 2 * p.B * p.D;
    p.weights = p.F * p.D * p.C;
    aoei_rng_init(&rng, 100 * p.B + p.D, AOEI_STREAM_TEST, 9);
    for (size_t i = 0; i < p.B; i++)
        p.label[i] = (double)(i % p.C);
    for (size_t i = 0; i < p.vectors + p.weights + p.C; i++)
        p.x[i] = (i < p.vectors ? 1.5 : 0.4) * aoei_rng_normal(&rng);
}

static void set_up(const size_t shape[3]) {
    set_up_features(shape, feature_sets[0]);
}

/* Writes the chosen features of component k to to[p.F]: u, v, |u - v|, u v and max(u, v)^2. */
static void features_of(double *to, double u, double v) {
    const double all[MAX_FEATURES] = {u, v, fabs(u - v), u * v, fmax(u, v) * fmax(u, v)};
    for (size_t f = 0; f < MAX_FEATURES; f++)
        if (p.features >> f & 1)
            *to++ = all[f];
}

/* Returns the mean of -log softmax(W features + b) at the label. */
static double expected_loss(void) {
    double sum = 0, z[MAX_C];
    for (size_t i = 0; i < p.B; i++) {
        const double *u = p.x + 2 * i * p.D, *v = u + p.D;
        double all = 0;
        for (size_t c = 0; c < p.C; c++) {
            const double *w = p.x + p.vectors + c * p.F * p.D;
            z[c] = p.x[p.vectors + p.weights + c];
            for (size_t k = 0; k < p.D; k++) {
                double x[MAX_FEATURES];
                features_of(x, u[k], v[k]);
                for (size_t f = 0; f < p.F; f++)
                    z[c] += w[f * p.D + k] * x[f];
            }
            all += exp(z[c]);
        }
        sum -= log(exp(z[(size_t)p.label[i]]) / all);
    }
    return sum / (double)p.B;
}

static void values(void **state) {
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t f = 0; f < FEATURE_SETS; f++) {
            aoe_objective_result r = {.total = 3, .cosine = 1};
            set_up_features(shapes[s], feature_sets[f]);
            const double want = expected_loss();
            evaluate(p.x, NULL, &r);
            assert_true(fabs(r.classification - want) <= 1e-13 * (1 + want));
            assert_true(r.total == r.classification && r.cosine == 0);
        }
}

static void finite_differences(void **state) {
    (void)state;
    for (size_t n = FEATURE_SETS; n < sizeof shapes / sizeof *shapes * FEATURE_SETS; n++) {
        set_up_features(shapes[n / FEATURE_SETS], feature_sets[n % FEATURE_SETS]);
        /* makes the components of u and v differ, because |u - v| and max(u, v)^2 have kinks at u = v */
        for (size_t i = 0; i < p.B; i++)
            for (size_t k = 0; k < p.D; k++) {
                const double *u = p.x + 2 * i * p.D + k;
                p.x[(2 * i + 1) * p.D + k] += fabs(*u - u[p.D]) < 0.3 ? 0.7 : 0;
            }
        evaluate(p.x, p.grad, NULL);
        test_gradient(loss, NULL, p.x, p.grad, p.vectors + p.weights + p.C, 1e-7);
    }
}

/* Tests that float vectors give exactly the same loss as equal double vectors. The gradients must also be equal, except
 * that the gradients of float vectors are rounded to float once. The results must be bitwise independent of the number
 * of threads. */
static void floats(void **state) {
    (void)state;
    static float v[MAX_CELLS], grad[MAX_CELLS];
    static double first[MAX_WEIGHTS];
    set_up(shapes[4]);
    for (size_t i = 0; i < p.vectors; i++) {
        v[i] = (float)p.x[i];
        p.x[i] = (double)v[i];
    }
    for (size_t threads = 1; threads <= 3; threads++) {
        static double heads[MAX_CELLS + MAX_WEIGHTS];
        aoe_context *ctx = test_context(AOEI_TIER_C, threads);
        aoe_objective_result r, in_double;
        const aoei_classifier c = classifier(p.x, heads);
        const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 2, .v = v, .grad = grad};
        assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, sizeof workspace, ctx, &r, NULL), 0);
        evaluate(p.x, p.grad, &in_double);
        assert_memory_equal(&r, &in_double, sizeof r);
        for (size_t i = 0; i < p.vectors; i++)
            assert_true(grad[i] == (float)p.grad[i]);
        assert_memory_equal(heads + p.vectors, p.grad + p.vectors, (p.weights + p.C) * sizeof *heads);
        if (threads == 1)
            memcpy(first, heads + p.vectors, (p.weights + p.C) * sizeof *heads);
        assert_memory_equal(first, heads + p.vectors, (p.weights + p.C) * sizeof *heads);
        aoe_context_destroy(ctx);
    }
}

/* Tests a pair of equal vectors and a large logit. At u = v, the derivative of |u - v| is defined as 0, so the weights
 * of |u - v| do not contribute to the gradients of u and v. */
static void extremes(void **state) {
    (void)state;
    set_up(shapes[2]);
    memcpy(p.x + p.D, p.x, p.D * sizeof *p.x);
    evaluate(p.x, p.grad, NULL);
    double error[MAX_C], all = 0;
    for (size_t c = 0; c < p.C; c++) {
        const double *w = p.x + p.vectors + c * 3 * p.D;
        error[c] = p.x[p.vectors + p.weights + c];
        for (size_t k = 0; k < p.D; k++)
            error[c] += (w[k] + w[p.D + k]) * p.x[k];
        all += exp(error[c]);
    }
    for (size_t k = 0; k < p.D; k++) {
        double want = 0;
        for (size_t c = 0; c < p.C; c++)
            want += (exp(error[c]) / all - (c == 0)) / (double)p.B * p.x[p.vectors + c * 3 * p.D + k];
        assert_true(fabs(p.grad[k] - want) <= 1e-15 + 1e-13 * fabs(want));
    }
    set_up_features(shapes[1], AOE_FEATURE_MAX_SQUARED); /* one pair */
    memcpy(p.x + p.D, p.x, p.D * sizeof *p.x);
    evaluate(p.x, p.grad, NULL);
    for (size_t k = 0; k < p.D; k++) { /* each vector has half of the derivative 2 u of max(u, v)^2 */
        double want = 0;
        for (size_t c = 0; c < p.C; c++)
            want += p.grad[p.vectors + p.weights + c] * p.x[p.vectors + c * p.D + k] * p.x[k];
        assert_true(fabs(p.grad[k] - want) <= 1e-13 && p.grad[k] == p.grad[p.D + k]);
    }
    set_up(shapes[2]);
    p.x[p.vectors + p.weights] = -4000; /* logit of the label of pair 0 */
    assert_true(isfinite(evaluate(p.x, p.grad, NULL)));
    assert_true(fabs(p.grad[p.vectors + p.weights] + 0.5) < 1e-12);
}

/* Tests the feature max(u, v)^2 for the rows r_i[k] = (((5 i + 3 k + i k) mod 13) - 6) / 4: for r_0 and r_3, it is (1,
 * 0.25, 0, 0.5625). The loss of one class with weights w is 0, and the gradient of w is 0, so two classes are used:
 * with weights t w and 0, the derivative of the loss at t = 0 is half the feature with the sign of the label. */
static void max_squared(void **state) {
    (void)state;
    static const double want[4] = {1, 0.25, 0, 0.5625};
    static const size_t shape[3] = {1, 4, 2};
    set_up_features(shape, AOE_FEATURE_MAX_SQUARED);
    for (size_t k = 0; k < 4; k++)
        for (size_t side = 0; side < 2; side++) {
            const int i = side ? 3 : 0, n = (int)k;
            p.x[4 * side + k] = ((5 * i + 3 * n + i * n) % 13 - 6) / 4.0;
        }
    memset(p.x + p.vectors, 0, (p.weights + p.C) * sizeof *p.x);
    evaluate(p.x, p.grad, NULL);
    for (size_t k = 0; k < 4; k++) {
        assert_true(fabs(p.grad[p.vectors + k] + want[k] / 2) <= 1e-15);
        assert_true(fabs(p.grad[p.vectors + 4 + k] - want[k] / 2) <= 1e-15);
    }
}

static void invalid_arguments(void **state) {
    (void)state;
    aoe_objective_result r;
    aoe_error err = {0};
    set_up(shapes[2]);
    aoei_classifier c = classifier(p.x, p.grad);
    aoei_example_batch b = {.B = p.B, .D = p.D, .arity = 2, .v64 = p.x, .grad64 = p.grad};
    const size_t need = aoei_classification_objective_workspace(p.B, p.D, p.C);
    assert_true(need > 0 && aoei_classification_objective_workspace(MAX_B, MAX_D, MAX_C) <= MAX_WORKSPACE);
    assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need - 1, NULL, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "workspace"));
    assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need, NULL, &r, &err), 0);
    for (c.features = 0; c.features <= 32; c.features += 32) {
        assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need, NULL, &r, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "options.features is"));
    }
    c.features = p.features;
    static const double wrong[] = {-1, 3, 0.5, (double)NAN};
    for (size_t i = 0; i < 4; i++) {
        p.label[1] = wrong[i];
        assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need, NULL, &r, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "the label of pair 1"));
    }
    p.label[1] = 1;
    p.x[3 * p.D] = (double)NAN;
    assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need, NULL, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "pair 1: vector y"));
    b.arity = 3;
    assert_int_equal(aoei_classification_objective(&c, p.label, &b, workspace, need, NULL, &r, &err), AOE_EARG);
    assert_int_equal(aoei_classification_objective_workspace(SIZE_MAX / 2, 4, 2), 0);
    assert_int_equal(aoei_classification_objective_workspace(4, SIZE_MAX / 2, 2), 0);
    assert_int_equal(aoei_classification_objective_workspace(4, 4, SIZE_MAX / 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),   cmocka_unit_test(finite_differences), cmocka_unit_test(floats),
        cmocka_unit_test(extremes), cmocka_unit_test(max_squared),        cmocka_unit_test(invalid_arguments),
    };
    return cmocka_run_group_tests_name("classification", tests, NULL, NULL);
}
