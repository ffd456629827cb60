/* SPDX-License-Identifier: MIT
 * Tests the gradients of the pair losses: every objective, both forms of the angle loss, and the weighted sum of
 * objectives. The gradients are compared with fourth-order finite differences in double. Other tests check identities
 * that the gradients satisfy, zero vectors, and points without a derivative.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/pair_objective.h"

enum { MAX_B = 7, MAX_D = 64, MAX_WORKSPACE = 1 << 18 };

typedef struct problem {
    size_t B, D;
    double v[2 * MAX_B * MAX_D]; /* [2, B, D] the vectors x of all pairs, then the vectors y */
    double grad[2 * MAX_B * MAX_D];
    double label[MAX_B];
    uint32_t group[2 * MAX_B];
    aoe_objective_options o;
} problem;

static double evaluate(problem *p, int with_grad) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    size_t half = p->B * p->D;
    aoei_pair_batch b = {
        .B = p->B,
        .D = p->D,
        .stride = p->D,
        .x64 = p->v,
        .y64 = p->v + half,
        .grad_x64 = with_grad ? p->grad : NULL,
        .grad_y64 = with_grad ? p->grad + half : NULL,
        .label = p->label,
        .group = p->group,
    };
    aoe_objective_result r;
    aoe_error err = {0};
    if (aoei_pair_objective(&p->o, &b, workspace, sizeof workspace, NULL, &r, &err))
        fail_msg("%s", err.message);
    return r.total;
}

/* Fills the problem with random vectors and labels from 0 to 3. Some labels are equal, and some texts occur in several
 * pairs. If B is large enough, every branch of every loss term is executed. */
static void fill(problem *p, size_t B, size_t D, uint64_t seed) {
    aoei_rng rng;
    *p = (problem){.B = B, .D = D};
    aoei_rng_init(&rng, seed, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < 2 * B * D; i++)
        p->v[i] = aoei_rng_normal(&rng);
    for (size_t i = 0; i < B; i++)
        p->label[i] = (double)((3 * i + 1) % 4);
    for (size_t u = 0; u < 2 * B; u++)
        p->group[u] = (uint32_t)(u * u % 11);
    aoe_objective_options_defaults(&p->o);
    p->o.ibn_threshold = 1.0;
}

static double difference(problem *p, size_t i, double h) {
    double at = p->v[i], f[4];
    static const double steps[4] = {-2.0, -1.0, 1.0, 2.0};
    for (size_t s = 0; s < 4; s++) {
        p->v[i] = at + steps[s] * h;
        f[s] = evaluate(p, 0);
    }
    p->v[i] = at;
    return (8.0 * (f[2] - f[1]) - (f[3] - f[0])) / (12.0 * h);
}

static void check(problem *p, const char *name) {
    size_t n = 2 * p->B * p->D;
    double norm = 0.0, error = 0.0;
    evaluate(p, 1);
    for (size_t i = 0; i < n; i++) {
        double d = difference(p, i, 2e-4);
        norm += p->grad[i] * p->grad[i];
        error += (d - p->grad[i]) * (d - p->grad[i]);
    }
    norm = sqrt(norm);
    error = sqrt(error);
    /* a loss of about 10 has a rounding error of 1e-14, so a difference quotient has an error of 1e-14 / h = 5e-11 */
    if (!(error <= 1e-7 * norm + 1e-9))
        fail_msg("%s, B %zu, D %zu: the gradient has norm %g and error %g", name, p->B, p->D, norm, error);
    if (p->B > 2 && !(norm > 1e-3))
        fail_msg("%s, B %zu, D %zu: a gradient of norm %g is too small for the test", name, p->B, p->D, norm);
}

typedef struct variant {
    const char *name;
    double w_cosine, w_ibn, w_angle;
    int isp;
    aoe_angle_form form;
} variant;

static const variant variants[] = {
    {"cosine", 1, 0, 0, 1, AOE_ANGLE_REFERENCE},      {"ibn", 0, 1, 0, 0, AOE_ANGLE_REFERENCE},
    {"ibn-isp", 0, 1, 0, 1, AOE_ANGLE_REFERENCE},     {"angle-reference", 0, 0, 1, 1, AOE_ANGLE_REFERENCE},
    {"angle-phase", 0, 0, 1, 1, AOE_ANGLE_PHASE},     {"sum-reference", 0.7, 3.0, 0.2, 1, AOE_ANGLE_REFERENCE},
    {"sum-phase", 0.1, 0.5, 2.0, 0, AOE_ANGLE_PHASE},
};

static void set_variant(problem *p, const variant *v) {
    p->o.w_cosine = v->w_cosine;
    p->o.w_ibn = v->w_ibn;
    p->o.w_angle = v->w_angle;
    p->o.isp = v->isp;
    p->o.angle_form = v->form;
}

static void finite_differences(void **state) {
    static const size_t batches[] = {1, 2, 7}, sizes[] = {2, 8, 64};
    static problem p;
    (void)state;
    assert_true(aoei_pair_objective_workspace(MAX_B, MAX_D) <= MAX_WORKSPACE);
    for (size_t b = 0; b < 3; b++)
        for (size_t d = 0; d < 3; d++)
            for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
                fill(&p, batches[b], sizes[d], 10 * b + d);
                set_variant(&p, &variants[v]);
                check(&p, variants[v].name);
                p.o.tau_cosine = p.o.tau_ibn = 0.3;
                p.o.tau_angle = 0.1;
                check(&p, variants[v].name);
            }
}

/* Tests a batch in which all labels are equal. Only the in-batch negatives loss may contribute to the loss and its
 * gradient. */
static void one_label(void **state) {
    static problem p;
    (void)state;
    fill(&p, 7, 8, 4);
    for (size_t i = 0; i < p.B; i++)
        p.label[i] = 2.0;
    p.o.w_ibn = 0.0;
    assert_true(evaluate(&p, 1) == 0.0);
    for (size_t i = 0; i < 2 * p.B * p.D; i++)
        assert_true(p.grad[i] == 0.0);
    p.o.w_ibn = 1.0;
    check(&p, "one label");
}

/* Tests that the dot product of each vector with its gradient is 0 for every objective, because scores depend only on
 * the directions of the vectors. */
static void scale_invariance(void **state) {
    static problem p;
    (void)state;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        fill(&p, 7, 64, 20 + v);
        set_variant(&p, &variants[v]);
        evaluate(&p, 1);
        for (size_t u = 0; u < 2 * p.B; u++) {
            double along = 0.0, gg = 0.0, vv = 0.0;
            for (size_t k = 0; k < p.D; k++) {
                along += p.v[u * p.D + k] * p.grad[u * p.D + k];
                gg += p.grad[u * p.D + k] * p.grad[u * p.D + k];
                vv += p.v[u * p.D + k] * p.v[u * p.D + k];
            }
            assert_true(fabs(along) <= 1e-13 * sqrt(gg * vv));
        }
    }
}

/* Tests that exchanging x and y exchanges their gradients. The cosine loss, the in-batch negatives loss and the phase
 * form of the angle loss are symmetric. */
static void symmetry(void **state) {
    static const size_t symmetric[] = {0, 1, 4, 6};
    static problem p, q;
    (void)state;
    for (size_t v = 0; v < 4; v++) {
        fill(&p, 7, 8, 40 + v);
        set_variant(&p, &variants[symmetric[v]]);
        q = p;
        size_t half = p.B * p.D;
        memcpy(q.v, p.v + half, half * sizeof *q.v);
        memcpy(q.v + half, p.v, half * sizeof *q.v);
        double a = evaluate(&p, 1), b = evaluate(&q, 1);
        assert_true(fabs(a - b) <= 1e-14 * fabs(a));
        for (size_t i = 0; i < half; i++) {
            assert_true(fabs(p.grad[i] - q.grad[half + i]) <= 1e-12);
            assert_true(fabs(p.grad[half + i] - q.grad[i]) <= 1e-12);
        }
    }
}

/* Tests the phase form of the angle loss for a pair with equal vectors. All phase differences are 0, where the gradient
 * is defined as 0. */
static void phase_at_zero_argument(void **state) {
    static problem p;
    (void)state;
    fill(&p, 2, 8, 5);
    set_variant(&p, &variants[4]);
    p.label[0] = 1.0;
    p.label[1] = 0.0;
    memcpy(p.v + p.B * p.D, p.v, p.D * sizeof *p.v); /* y0 = x0 */
    double loss = evaluate(&p, 1);
    assert_true(loss > 0.0);
    for (size_t k = 0; k < p.D; k++)
        assert_true(p.grad[k] == 0.0 && p.grad[p.B * p.D + k] == 0.0);
    double other = 0.0;
    for (size_t k = 0; k < p.D; k++)
        other += fabs(p.grad[p.D + k]);
    assert_true(other > 0.0);
}

/* Tests the phase form of the angle loss if a complex component of one vector is zero. This component must have no
 * gradient in either vector, and the gradients of the other components must be correct. */
static void phase_with_zero_components(void **state) {
    static problem p;
    (void)state;
    fill(&p, 2, 8, 6);
    set_variant(&p, &variants[4]);
    p.v[1] = p.v[5] = 0.0; /* z_1, the second complex component of x0 */
    evaluate(&p, 1);
    assert_true(p.grad[1] == 0.0 && p.grad[5] == 0.0);
    size_t y0 = p.B * p.D;
    assert_true(p.grad[y0 + 1] == 0.0 && p.grad[y0 + 5] == 0.0);
    for (size_t k = 0; k < p.D; k++) {
        if (k == 1 || k == 5)
            continue;
        assert_true(fabs(difference(&p, k, 2e-4) - p.grad[k]) < 1e-9);
        assert_true(fabs(difference(&p, y0 + k, 2e-4) - p.grad[y0 + k]) < 1e-9);
    }
}

/* Tests the reference form of the angle loss. Its score is an absolute value, and the gradient is defined as 0 where
 * this value is 0. Here, it is 0 for the pair (x0, y0). */
static void reference_at_zero(void **state) {
    static problem p;
    static const double values[] = {1, 0, /* x1 */ 1, 0.5, /* y0 */ 1, 1, /* y1 */ 0.25, 1};
    (void)state;
    fill(&p, 2, 2, 6);
    set_variant(&p, &variants[3]);
    memcpy(p.v, values, sizeof values);
    assert_true(fabs(evaluate(&p, 1)) > 0.0);
    assert_true(p.grad[0] == 0.0 && p.grad[1] == 0.0 && p.grad[4] == 0.0 && p.grad[5] == 0.0);
    assert_true(p.grad[2] != 0.0 && p.grad[6] != 0.0);
}

/* Tests a pair with a zero vector. The loss must be finite, the gradient of the zero vector must be 0, and all other
 * gradients must agree with finite differences. */
static void zero_vectors(void **state) {
    static problem p;
    (void)state;
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        fill(&p, 7, 8, 60 + v);
        set_variant(&p, &variants[v]);
        memset(p.v, 0, p.D * sizeof *p.v);
        assert_true(isfinite(evaluate(&p, 1)));
        for (size_t k = 0; k < p.D; k++)
            assert_true(p.grad[k] == 0.0);
        for (size_t i = p.D; i < 2 * p.B * p.D; i++)
            assert_true(fabs(difference(&p, i, 2e-4) - p.grad[i]) < 1e-8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),     cmocka_unit_test(one_label),
        cmocka_unit_test(scale_invariance),       cmocka_unit_test(symmetry),
        cmocka_unit_test(phase_at_zero_argument), cmocka_unit_test(phase_with_zero_components),
        cmocka_unit_test(reference_at_zero),      cmocka_unit_test(zero_vectors),
    };
    return cmocka_run_group_tests_name("objective", tests, NULL, NULL);
}
