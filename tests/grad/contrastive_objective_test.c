/* SPDX-License-Identifier: MIT
 * Tests the loss for queries with positives and negatives. The gradient is compared with finite differences in double,
 * and the value with a direct computation of the cross entropy with hard negatives. The gradient of each vector must be
 * orthogonal to the vector, because the loss depends only on the directions of the vectors.
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
#include "loss/contrastive_objective.h"

enum { MAX_B = 30, MAX_D = 26, MAX_ROWS = 3 * MAX_B, MAX_WORKSPACE = 1 << 18 };

typedef struct problem {
    size_t B, D, arity;
    aoe_objective_options o;
    double grad[MAX_ROWS * MAX_D];
} problem;

static double evaluate(problem *p, const double *v, double *grad) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = p->arity, .v64 = v, .grad64 = grad};
    aoe_objective_result r;
    aoe_error err = {0};
    if (aoei_contrastive_objective(&p->o, &b, workspace, sizeof workspace, NULL, &r, &err))
        fail_msg("%s", err.message);
    return r.total;
}

static double loss(void *arg, const double *v) {
    return evaluate(arg, v, NULL);
}

static const double weights[][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {1, 2, 0.3, 0.4}, {0.5, 0, 0, 2}};

/* Fills v with vectors whose complex components have known phases. phase(query) - phase(positive) is in [0.2, 1.8], and
 * phase(query) - phase(negative) is in [-2.8, -1.2]. Both forms of the angle loss are differentiable there. */
static void set_up(problem *p, double *v, size_t w, size_t B, size_t D, size_t arity) {
    aoei_rng rng;
    *p = (problem){.B = B, .D = D, .arity = arity};
    aoe_objective_options_defaults(&p->o);
    p->o.w_ibn = weights[w][0];
    p->o.w_cln = weights[w][1];
    p->o.w_cosine = weights[w][2];
    p->o.w_angle = weights[w][3];
    p->o.tau_ibn = 0.2;
    p->o.tau_cosine = 0.3;
    p->o.hard_negative = w == 1 ? 1.5 : w == 3 ? -0.7 : 0;
    aoei_rng_init(&rng, 100 * B + D, AOEI_STREAM_TEST, (uint32_t)w);
    static const double offset[] = {0.0, -1.0, 2.0};
    const size_t h = D / 2;
    for (size_t u = 0; u < arity * B; u++)
        for (size_t k = 0; k < h; k++) {
            const double radius = 0.5 + aoei_rng_uniform(&rng),
                         t = offset[u % arity] + 0.8 * aoei_rng_uniform(&rng) - 0.4;
            v[u * D + k] = radius * cos(t);
            v[u * D + h + k] = radius * sin(t);
        }
}

static void finite_differences(void **state) {
    static const size_t shapes[][2] = {{1, 4}, {2, 2}, {5, 8}, {30, 26}};
    static double v[MAX_ROWS * MAX_D];
    static problem p;
    (void)state;
    assert_true(aoei_contrastive_objective_workspace(MAX_B, MAX_D, 3) <= MAX_WORKSPACE);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t w = 0; w < sizeof weights / sizeof *weights; w++)
            for (size_t arity = shapes[i][0] > 1 ? 2 : 3; arity <= 3; arity++)
                for (int form = AOE_ANGLE_REFERENCE; form <= AOE_ANGLE_PHASE; form++) {
                    set_up(&p, v, w, shapes[i][0], shapes[i][1], arity);
                    if (w == 0 && p.B == 1)
                        continue; /* the loss is constant if there is a single candidate, so there is no gradient to
                                     compare */
                    if (w == 1 && arity == 2)
                        continue; /* the loss is constant if every weight is zero */
                    p.o.angle_form = (aoe_angle_form)form;
                    evaluate(&p, v, p.grad);
                    test_gradient(loss, &p, v, p.grad, arity * p.B * p.D, 1e-7);
                }
}

static double cosine_of(const double *x, const double *y, size_t D) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < D; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

/* Compares the loss with the cross entropy of each query's positive among all positives and negatives. The option
 * hard_negative is added to the score of the query's own negative. Without negatives, hard_negative must have no
 * effect. */
static void own_negatives(void **state) {
    static double v[MAX_ROWS * MAX_D];
    static problem p;
    (void)state;
    for (size_t B = 1; B <= MAX_B; B += B < 4 ? 1 : 13)
        for (int n = -2; n <= 2; n++) {
            const size_t D = 6;
            double want = 0;
            set_up(&p, v, 1, B, D, 3);
            p.o.hard_negative = 0.8 * n;
            for (size_t i = 0; i < B; i++) {
                double all = 0, own = 0;
                for (size_t j = 0; j < B; j++) {
                    const double s = cosine_of(v + 3 * i * D, v + (3 * j + 1) * D, D) / p.o.tau_ibn,
                                 t = cosine_of(v + 3 * i * D, v + (3 * j + 2) * D, D) / p.o.tau_ibn;
                    own = i == j ? s : own;
                    all += exp(s) + exp(t + (i == j ? p.o.hard_negative : 0));
                }
                want += (log(all) - own) / (double)B / 2; /* halved, because the loss is the mean of two contrastive
                                                             terms */
            }
            assert_true(fabs(evaluate(&p, v, NULL) - want) <= 1e-13 * (1 + want));
            set_up(&p, v, 0, B, D, 2);
            const double before = evaluate(&p, v, NULL);
            p.o.hard_negative = 3;
            assert_true(evaluate(&p, v, NULL) - before == 0);
        }
}

/* Tests that the dot product of each vector with its gradient is 0, because scores depend only on the directions of the
 * vectors. */
static void scale_invariance(void **state) {
    static double v[MAX_ROWS * MAX_D];
    static problem p;
    (void)state;
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
        set_up(&p, v, w, 30, 26, 3);
        evaluate(&p, v, p.grad);
        for (size_t u = 0; u < 3 * p.B; u++) {
            double along = 0.0, gg = 0.0, vv = 0.0;
            for (size_t k = 0; k < p.D; k++) {
                along += v[u * p.D + k] * p.grad[u * p.D + k];
                gg += p.grad[u * p.D + k] * p.grad[u * p.D + k];
                vv += v[u * p.D + k] * v[u * p.D + k];
            }
            assert_true(fabs(along) <= 1e-12 * sqrt(gg * vv) + 1e-15);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(own_negatives),
        cmocka_unit_test(scale_invariance),
    };
    return cmocka_run_group_tests_name("contrastive_objective", tests, NULL, NULL);
}
