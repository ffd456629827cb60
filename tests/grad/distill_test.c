/* SPDX-License-Identifier: MIT
 * covers: loss/distill_objective
 * Tests both forms of the distillation loss: the form that compares cosines and the form that compares softmax
 * distributions over the components. The value is compared with a direct computation, and the gradient with finite
 * differences. Other tests cover a student that equals its teacher, zero vectors, several threads, and invalid
 * arguments.
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
#include "loss/distill_objective.h"

enum { MAX_B = 40, MAX_D = 26, MAX_ROWS = 3 * MAX_B, MAX_CELLS = MAX_ROWS * MAX_D, MAX_WORKSPACE = 1 << 18 };

static const size_t shapes[][2] = {{1, 1}, {1, 4}, {2, 3}, {5, 8}, {40, 26}}; /* {B, D} */

typedef struct problem {
    size_t B, D, arity;
    aoei_distill d;
    float t[MAX_CELLS]; /* [arity B, d.dims] teacher embeddings */
    const float *rows[MAX_ROWS];
    double v[MAX_CELLS], grad[MAX_CELLS]; /* [arity B, D] vectors of the student and their gradient */
} problem;

static problem p;

/* Computes the loss of vectors in double. Adds the gradient to *grad and returns the total loss. */
static double evaluate(const double *v, double *grad, aoe_objective_result *r) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = p.arity, .v64 = v, .grad64 = grad};
    aoe_objective_result local = {0};
    aoe_error err = {0};
    r = r ? r : &local;
    if (aoei_distill_objective(&p.d, &b, workspace, sizeof workspace, NULL, r, &err))
        fail_msg("%s", err.message);
    return r->total;
}

static double loss(void *arg, const double *v) {
    (void)arg;
    return evaluate(v, NULL, NULL);
}

/* Fills p with random vectors. For cosines, the teacher embeddings have D / 2 + 1 components and those of the student
 * D. */
static void set_up(aoe_distill form, size_t B, size_t D, size_t arity, double weight) {
    aoei_rng rng;
    memset(&p, 0, sizeof p);
    p.B = B;
    p.D = D;
    p.arity = arity;
    p.d = (aoei_distill){
        .form = form, .weight = weight, .dims = form == AOE_DISTILL_KL ? D : D / 2 + 1, .teacher = p.rows};
    assert_true(p.d.dims <= MAX_D);
    aoei_rng_init(&rng, 100 * B + D, AOEI_STREAM_TEST, (uint32_t)arity);
    for (size_t u = 0; u < arity * B; u++) {
        p.rows[u] = p.t + u * p.d.dims;
        for (size_t k = 0; k < p.d.dims; k++)
            p.t[u * p.d.dims + k] = (float)(2 * aoei_rng_normal(&rng));
        for (size_t k = 0; k < D; k++)
            p.v[u * D + k] = 1.5 * aoei_rng_normal(&rng);
    }
}

/* ---- direct computation */

static double cosine_of(const double *x, const double *y, size_t D) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < D; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

/* Converts the teacher's vector of text u to double. */
static void copy_teacher(double *out, size_t u) {
    for (size_t k = 0; k < p.d.dims; k++)
        out[k] = (double)p.t[u * p.d.dims + k];
}

static double expected_cosines(void) {
    double sum = 0, x[MAX_D], y[MAX_D];
    size_t n = 0;
    for (size_t i = 0; i < p.B; i++)
        for (size_t other = 1; other < p.arity; other++, n++) {
            const size_t u = i * p.arity;
            copy_teacher(x, u);
            copy_teacher(y, u + other);
            sum += pow(cosine_of(p.v + u * p.D, p.v + (u + other) * p.D, p.D) - cosine_of(x, y, p.d.dims), 2);
        }
    return sum / (double)n;
}

static double expected_divergence(void) {
    double sum = 0, t[MAX_D];
    for (size_t u = 0; u < p.arity * p.B; u++) {
        const double *s = p.v + u * p.D;
        double all_s = 0, all_t = 0;
        copy_teacher(t, u);
        for (size_t k = 0; k < p.D; k++) {
            all_s += exp(s[k]);
            all_t += exp(t[k]);
        }
        for (size_t k = 0; k < p.D; k++)
            sum += exp(t[k]) / all_t * log(exp(t[k]) / all_t / (exp(s[k]) / all_s));
    }
    return sum / (double)(p.arity * p.B);
}

/* Calls fn for every shape, number of texts per example, and form of the loss. */
static void for_each_case(void (*fn)(void), double weight) {
    assert_true(aoei_distill_objective_workspace(MAX_B, MAX_D, 3) <= MAX_WORKSPACE);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t arity = 2; arity <= 3; arity++)
            for (int form = AOE_DISTILL_COSINE; form <= AOE_DISTILL_KL; form++) {
                set_up((aoe_distill)form, shapes[i][0], shapes[i][1], arity, weight);
                fn();
            }
}

static void check_value(void) {
    aoe_objective_result r = {.total = 3, .cosine = 1, .ordered_pairs = 4};
    const double want = p.d.form == AOE_DISTILL_COSINE ? expected_cosines() : expected_divergence();
    evaluate(p.v, NULL, &r);
    assert_true(fabs(r.teacher - want) <= 1e-13 * (1 + want));
    assert_true(fabs(r.total - (3 + 0.7 * r.teacher)) <= 1e-14 * r.total);
    assert_true(r.cosine == 1 && r.ordered_pairs == 4);
}

static void values(void **state) {
    (void)state;
    for_each_case(check_value, 0.7);
}

static void check_gradient(void) {
    if (p.D == 1)
        return; /* with one component, every cosine is 1 or -1 and every softmax is 1, so the loss is constant */
    evaluate(p.v, p.grad, NULL);
    test_gradient(loss, NULL, p.v, p.grad, p.arity * p.B * p.D, 1e-7);
}

static void finite_differences(void **state) {
    (void)state;
    for_each_case(check_gradient, 1.3);
}

/* Tests that the gradient of a vector has no component in the direction that does not change the loss. For cosines,
 * this is the direction of the vector. For distributions, it is (1, 1, ..., 1), because adding a constant does not
 * change a softmax. */
static void check_directions(void) {
    evaluate(p.v, p.grad, NULL);
    for (size_t u = 0; u < p.arity * p.B; u++) {
        double along = 0, size = 0;
        for (size_t k = 0; k < p.D; k++) {
            const double step = p.d.form == AOE_DISTILL_COSINE ? p.v[u * p.D + k] : 1;
            along += step * p.grad[u * p.D + k];
            size += fabs(step * p.grad[u * p.D + k]);
        }
        assert_true(fabs(along) <= (p.D == 1 ? 1e-15 : 1e-13 * size + 1e-16));
    }
}

static void directions(void **state) {
    (void)state;
    for_each_case(check_directions, 1);
}

/* Tests that float vectors give exactly the same loss as equal double vectors. The gradient must be added to the stored
 * value in double and then rounded once. The results must be bitwise independent of the number of threads. */
static void check_float(void) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    static float v[MAX_CELLS], grad[2][MAX_CELLS];
    const size_t cells = p.arity * p.B * p.D;
    for (size_t threads = 1; threads <= 2; threads++) {
        aoe_context *ctx = test_context(AOEI_TIER_C, threads);
        aoe_objective_result r = {0}, in_double = {0};
        for (size_t i = 0; i < cells; i++) {
            v[i] = (float)p.v[i];
            p.v[i] = (double)v[i];
            grad[threads - 1][i] = (float)i - 7;
            p.grad[i] = (double)i - 7;
        }
        const aoei_example_batch b = {.B = p.B, .D = p.D, .arity = p.arity, .v = v, .grad = grad[threads - 1]};
        assert_int_equal(aoei_distill_objective(&p.d, &b, workspace, sizeof workspace, ctx, &r, NULL), 0);
        evaluate(p.v, p.grad, &in_double);
        assert_memory_equal(&r, &in_double, sizeof r);
        for (size_t i = 0; i < cells; i++)
            assert_true(grad[threads - 1][i] == (float)p.grad[i]);
        aoe_context_destroy(ctx);
    }
    assert_memory_equal(grad[0], grad[1], cells * sizeof(float));
}

static void floats(void **state) {
    (void)state;
    for_each_case(check_float, 1);
}

/* Tests that the loss and the gradient are exactly 0 if the student equals its teacher. For cosines, the student's
 * vectors are 4 times the teacher's, which does not change the cosines. */
static void equal_vectors(void **state) {
    (void)state;
    for (int form = AOE_DISTILL_COSINE; form <= AOE_DISTILL_KL; form++) {
        set_up((aoe_distill)form, 5, 8, 3, 1);
        p.d.dims = p.D;
        for (size_t u = 0; u < 15; u++) {
            p.rows[u] = p.t + u * p.D;
            for (size_t k = 0; k < p.D; k++) {
                p.t[u * p.D + k] = (float)p.v[u * p.D + k];
                p.v[u * p.D + k] = (double)p.t[u * p.D + k] * (form == AOE_DISTILL_COSINE ? 4 : 1);
            }
        }
        assert_true(evaluate(p.v, p.grad, NULL) == 0);
        for (size_t i = 0; i < 15 * p.D; i++)
            assert_true(p.grad[i] == 0);
    }
}

/* Tests that a zero vector has cosine 0 and no gradient, even if the teacher's cosine is not 0. Also tests components
 * of 3000, for which exp(component) overflows. */
static void extremes(void **state) {
    (void)state;
    aoe_objective_result r = {0};
    set_up(AOE_DISTILL_COSINE, 1, 4, 2, 1);
    memset(p.v, 0, 4 * sizeof *p.v);
    const double cosine = aoe_cosine(p.rows[0], p.rows[1], p.d.dims);
    evaluate(p.v, p.grad, &r);
    assert_true(r.teacher == cosine * cosine);
    for (size_t i = 0; i < 8; i++)
        assert_true(p.grad[i] == 0);
    set_up(AOE_DISTILL_KL, 1, 2, 2, 1);
    const double s[] = {3000, 0, 0, 0};
    const float t[] = {0, 3000, 0, 0};
    memcpy(p.v, s, sizeof s);
    memcpy(p.t, t, sizeof t);
    r = (aoe_objective_result){0};
    evaluate(p.v, p.grad, &r);
    /* the loss is log 1 - log exp(-3000) = 3000 for the first text and 0 for the second; the mean is 1500 */
    assert_true(r.teacher == 1500);
    assert_true(p.grad[0] == 0.5 && p.grad[1] == -0.5 && p.grad[2] == 0 && p.grad[3] == 0);
}

static void invalid_arguments(void **state) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[MAX_WORKSPACE];
    (void)state;
    aoe_objective_result r = {0};
    aoe_error err = {0};
    set_up(AOE_DISTILL_KL, 2, 4, 2, 1);
    aoei_example_batch b = {.B = p.B, .D = p.D, .arity = p.arity, .v64 = p.v, .grad64 = p.grad};
    const size_t need = aoei_distill_objective_workspace(2, 4, 2);
    assert_true(need > 0);
    assert_int_equal(aoei_distill_objective(&p.d, &b, workspace, need - 1, NULL, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "workspace"));
    assert_int_equal(aoei_distill_objective(&p.d, &b, workspace, need, NULL, &r, &err), 0);
    p.d.dims = 3;
    assert_int_equal(aoei_distill_objective(&p.d, &b, workspace, need, NULL, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "components"));
    p.d.dims = 4;
    p.v[2 * 4 + 1] = (double)NAN;
    assert_int_equal(aoei_distill_objective(&p.d, &b, workspace, need, NULL, &r, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "pair 1: vector x"));
    assert_int_equal(aoei_distill_objective_workspace(2, 4, 1), 0);
    assert_true(aoei_distill_objective_workspace(2, 4, 4) > need); /* two negatives per example */
    assert_int_equal(aoei_distill_objective_workspace(SIZE_MAX / 2, 4, 2), 0);
    assert_int_equal(aoei_distill_objective_workspace(2, SIZE_MAX / 2, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(directions),
        cmocka_unit_test(floats),
        cmocka_unit_test(equal_vectors),
        cmocka_unit_test(extremes),
        cmocka_unit_test(invalid_arguments),
    };
    return cmocka_run_group_tests_name("distill", tests, NULL, NULL);
}
