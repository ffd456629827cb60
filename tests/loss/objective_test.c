/* SPDX-License-Identifier: MIT
 * covers: loss/angle loss/cosine loss/pair_objective
 * Tests aoe_objective, the training loss of labeled pairs: its defaults, counts of pairs, row strides, weights of the
 * loss terms, and rejected arguments. The scores of single pairs are compared with values computed by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "aoe.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/pair_objective.h"

enum { B = 5, D = 6, STRIDE = 9 };

static const double PI = 3.14159265358979323846;

typedef struct fixture {
    float x[B * STRIDE], y[B * STRIDE], gx[B * STRIDE], gy[B * STRIDE];
    double label[B];
    uint32_t group[2 * B];
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err;
} fixture;

static void set_up(fixture *f) {
    aoei_rng rng;
    memset(f, 0, sizeof *f);
    f->r.struct_size = sizeof f->r;
    aoe_objective_options_defaults(&f->o);
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < B * STRIDE; i++) {
        f->x[i] = (float)aoei_rng_normal(&rng);
        f->y[i] = (float)aoei_rng_normal(&rng);
        f->gx[i] = f->gy[i] = -77.0f;
    }
    for (size_t i = 0; i < B; i++)
        f->label[i] = (double)(i % 3) / 2.0; /* the labels are 0 0.5 1 0 0.5 */
    for (size_t u = 0; u < 2 * B; u++)
        f->group[u] = (uint32_t)(u == 7 ? 2 : u); /* the text y of pair 3 equals the text x of pair 1 */
}

static int run(fixture *f) {
    f->r.struct_size = sizeof f->r;
    return aoe_objective(&f->o, f->x, f->y, STRIDE, f->label, f->group, B, D, f->gx, f->gy, &f->r, &f->err);
}

static void defaults(void **state) {
    aoe_objective_options o;
    (void)state;
    aoe_objective_options_defaults(&o);
    assert_true(o.w_cosine == 1.0 && o.w_ibn == 1.0 && o.w_angle == 1.0);
    assert_true(o.tau_cosine == 0.05 && o.tau_ibn == 0.05 && o.tau_angle == 1.0);
    assert_true(o.isp == 1 && o.angle_form == AOE_ANGLE_REFERENCE && o.ibn_threshold == 1.0);
}

static void counts_and_total(void **state) {
    fixture f, g;
    (void)state;
    set_up(&f);
    f.o.w_cosine = 0.5;
    f.o.w_ibn = 3.0;
    f.o.w_angle = 0.25;
    f.o.ibn_threshold = 0.5;
    assert_int_equal(run(&f), 0);
    assert_int_equal(f.r.ordered_pairs, 2 * 2 + 2 * 1 + 2 * 1);
    assert_int_equal(f.r.positive_pairs, 3);
    assert_true(f.r.cosine > 0.0 && f.r.ibn > 0.0 && f.r.angle > 0.0);
    assert_true(f.r.total == 0.5 * f.r.cosine + 3.0 * f.r.ibn + 0.25 * f.r.angle);
    /* the losses must be bit-identical if no gradients are requested */
    g = f;
    assert_int_equal(aoe_objective(&g.o, g.x, g.y, STRIDE, g.label, g.group, B, D, NULL, NULL, &g.r, NULL), 0);
    assert_memory_equal(&g.r, &f.r, sizeof f.r);
    g.o.w_ibn = 0.0; /* A term with weight 0 has the value 0 and does not change the other terms. */
    assert_int_equal(run(&g), 0);
    assert_true(g.r.ibn == 0.0 && g.r.cosine == f.r.cosine && g.r.angle == f.r.angle);
    assert_int_equal(g.r.positive_pairs, 3);
    /* NULL options must give the results of the default options */
    set_up(&f);
    assert_int_equal(run(&f), 0);
    assert_int_equal(aoe_objective(NULL, f.x, f.y, STRIDE, f.label, f.group, B, D, NULL, NULL, &g.r, NULL), 0);
    assert_memory_equal(&g.r, &f.r, sizeof f.r);
}

static void all_weights_zero(void **state) {
    fixture f;
    (void)state;
    set_up(&f);
    f.o.w_cosine = f.o.w_ibn = f.o.w_angle = 0.0;
    assert_int_equal(run(&f), 0);
    assert_true(f.r.total == 0.0);
    for (size_t i = 0; i < B; i++)
        for (size_t k = 0; k < D; k++)
            assert_true(f.gx[i * STRIDE + k] == 0.0f && f.gy[i * STRIDE + k] == 0.0f);
}

/* Tests rows with padding. The padding must be neither read nor written, and rows without padding must give
 * bit-identical results. */
static void strides(void **state) {
    fixture f;
    float x[B * D], y[B * D], gx[B * D], gy[B * D];
    aoe_objective_result r = {.struct_size = sizeof r};
    (void)state;
    set_up(&f);
    for (size_t i = 0; i < B; i++) {
        memcpy(x + i * D, f.x + i * STRIDE, sizeof(float) * D);
        memcpy(y + i * D, f.y + i * STRIDE, sizeof(float) * D);
        for (size_t k = D; k < STRIDE; k++)
            f.x[i * STRIDE + k] = f.y[i * STRIDE + k] = NAN;
    }
    assert_int_equal(run(&f), 0);
    assert_int_equal(aoe_objective(&f.o, x, y, D, f.label, f.group, B, D, gx, gy, &r, NULL), 0);
    assert_memory_equal(&r, &f.r, sizeof r);
    for (size_t i = 0; i < B; i++) {
        assert_memory_equal(gx + i * D, f.gx + i * STRIDE, sizeof(float) * D);
        assert_memory_equal(gy + i * D, f.gy + i * STRIDE, sizeof(float) * D);
        for (size_t k = D; k < STRIDE; k++)
            assert_true(f.gx[i * STRIDE + k] == -77.0f && f.gy[i * STRIDE + k] == -77.0f);
    }
}

/* Asserts that the objective fails with the error `code` and a message that contains `part`. Then sets all arguments in
 * f to valid values again. */
static void expect_error(fixture *f, int code, const char *part) {
    assert_int_equal(run(f), code);
    assert_int_equal(f->err.code, code);
    if (!strstr(f->err.message, part))
        fail_msg("the message \"%s\" does not contain \"%s\"", f->err.message, part);
    set_up(f);
}

static void rejected_values(void **state) {
    fixture f;
    (void)state;
    set_up(&f);
    f.o.tau_cosine = 0.0;
    expect_error(&f, AOE_EARG, "tau_cosine");
    f.o.tau_ibn = -1.0;
    expect_error(&f, AOE_EARG, "tau_ibn");
    f.o.tau_angle = NAN;
    expect_error(&f, AOE_EARG, "tau_angle");
    f.o.w_ibn = -0.5;
    expect_error(&f, AOE_EARG, "w_ibn");
    f.o.w_angle = INFINITY;
    expect_error(&f, AOE_EARG, "w_angle");
    f.o.ibn_threshold = NAN;
    expect_error(&f, AOE_EARG, "ibn_threshold is NaN");
    f.o.ibn_threshold = AOE_AUTO;
    expect_error(&f, AOE_EARG, "ibn_threshold is AOE_AUTO");
    f.o.angle_form = (aoe_angle_form)7;
    expect_error(&f, AOE_EARG, "angle_form");
    f.label[3] = NAN;
    expect_error(&f, AOE_EARG, "pair 3");
    f.x[4 * STRIDE + 2] = INFINITY;
    expect_error(&f, AOE_ENUMERIC, "pair 4: vector x");
    f.y[2 * STRIDE] = NAN;
    expect_error(&f, AOE_ENUMERIC, "pair 2: vector y");
    f.o.tau_cosine = 3e-308; /* the scores are near 1e307, so the loss multiplied by its weight exceeds DBL_MAX */
    f.o.w_cosine = 1e300;
    expect_error(&f, AOE_ENUMERIC, "loss");
    for (size_t k = 0; k < D; k++)
        /* the components are subnormal, so the gradient, which is about 1 / norm, overflows a float */
        f.x[STRIDE + k] *= 1e-43f;
    expect_error(&f, AOE_ENUMERIC, "pair 1: the gradient");
}

static void rejected_shapes(void **state) {
    fixture f;
    (void)state;
    set_up(&f);
    const size_t huge = SIZE_MAX / 4;
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, 0, D, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, B, 0, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, D - 1, f.label, NULL, B, D, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, huge, f.label, NULL, B, D, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, NULL, STRIDE, f.label, NULL, B, D, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, NULL, NULL, B, D, NULL, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, B, D, f.gx, NULL, &f.r, &f.err), AOE_EARG);
    /* both forms of the angle loss reject vectors of odd size; the other losses accept them */
    f.o.angle_form = AOE_ANGLE_PHASE;
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, B, 5, f.gx, f.gy, &f.r, &f.err), AOE_EARG);
    f.o.angle_form = AOE_ANGLE_REFERENCE;
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, B, 5, f.gx, f.gy, &f.r, &f.err), AOE_EARG);
    assert_non_null(strstr(f.err.message, "the vectors have 5"));
    f.o.w_angle = 0.0;
    assert_int_equal(aoe_objective(&f.o, f.x, f.y, STRIDE, f.label, NULL, B, 5, f.gx, f.gy, &f.r, &f.err), 0);
}

static void workspace_sizes(void **state) {
    static const size_t sizes[] = {1, 2, 3, 32, 511, 512, 513, 600, 4096};
    fixture f;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof sizes / sizeof *sizes; i++)
        for (size_t d = 1; d < 70; d += 7) {
            assert_true(aoei_pair_objective_workspace(sizes[i], d) > 0);
            assert_true(aoei_pair_objective_workspace(sizes[i], d) <= aoei_pair_objective_workspace(sizes[i + 1], d));
            assert_true(aoei_pair_objective_workspace(sizes[i], d) <= aoei_pair_objective_workspace(sizes[i], d + 1));
        }
    assert_int_equal(aoei_pair_objective_workspace(SIZE_MAX, 1), 0);
    assert_int_equal(aoei_pair_objective_workspace(SIZE_MAX / 64, 1u << 20), 0);
    assert_int_equal(aoei_pair_objective_workspace(1, SIZE_MAX / 2), 0);

    set_up(&f);
    aoei_pair_batch b = {.B = B, .D = D, .stride = STRIDE, .x = f.x, .y = f.y, .label = f.label};
    size_t bytes = aoei_pair_objective_workspace(B, D);
    void *workspace = aoei_aligned(bytes);
    assert_int_equal(aoei_pair_objective(&f.o, &b, workspace, bytes - 1, NULL, &f.r, &f.err), AOE_EARG);
    assert_non_null(strstr(f.err.message, "workspace"));
    uint64_t before = (aoei_alloc_fail_at(0), aoei_alloc_count());
    assert_int_equal(aoei_pair_objective(&f.o, &b, workspace, bytes, NULL, &f.r, &f.err), 0);
    assert_int_equal(aoei_alloc_count(), before);
    aoei_aligned_free(workspace);
}

static void memory_failure(void **state) {
    fixture f;
    (void)state;
    set_up(&f);
    int64_t live = aoei_alloc_live();
    aoei_alloc_fail_at(1);
    assert_int_equal(run(&f), AOE_ENOMEM);
    aoei_alloc_fail_at(0);
    assert_int_equal(run(&f), 0);
    assert_true(aoei_alloc_live() == live);
}

static void cosine_by_hand(void **state) {
    const float x[] = {3, 4, 0}, y[] = {4, 3, 0}, zero[] = {0, 0, 0}, tiny[] = {1e-45f, 0, 0},
                huge[] = {3e38f, 3e38f, 3e38f};
    const float broken[] = {NAN, 0, 0};
    float back[] = {-3, -4, 0}, random[101];
    aoei_rng rng;
    (void)state;
    assert_true(aoe_cosine(x, y, 3) == 0.96);
    assert_true(aoe_cosine(x, back, 3) == -1.0);
    assert_true(aoe_cosine(x, zero, 3) == 0.0 && aoe_cosine(zero, zero, 3) == 0.0);
    assert_true(aoe_cosine(tiny, tiny, 3) == 1.0 && aoe_cosine(huge, huge, 3) == 1.0);
    assert_true(fabs(aoe_cosine(tiny, huge, 3) - 1.0 / sqrt(3.0)) < 1e-15);
    assert_true(isnan(aoe_cosine(x, broken, 3)));
    assert_true(aoe_cosine(x, y, 0) == 0.0);
    aoei_rng_init(&rng, 9, AOEI_STREAM_TEST, 0);
    for (size_t n = 1; n <= 101; n++) {
        double wide[101];
        for (size_t k = 0; k < n; k++)
            wide[k] = random[k] = (float)aoei_rng_normal(&rng);
        assert_true(aoe_cosine(random, random, n) == 1.0 && wide[0] != 0.0);
    }
}

/* Tests angle scores of vectors that represent complex numbers. For z = 1 and w = e^(i t), the product z conj(w) has
 * the real part cos t and the imaginary part -sin t. */
static void angle_by_hand(void **state) {
    const float one[] = {1, 0}, i_[] = {0, 1}, minus[] = {-1, 0}, diagonal[] = {1, 1}, zero[] = {0, 0};
    (void)state;
    assert_true(aoe_angle_score(one, one, 2, AOE_ANGLE_REFERENCE) == 1.0);
    assert_true(aoe_angle_score(one, minus, 2, AOE_ANGLE_REFERENCE) == 1.0); /* the sign of a vector must have no
                                                                                effect */
    assert_true(aoe_angle_score(one, i_, 2, AOE_ANGLE_REFERENCE) == 1.0);
    assert_true(aoe_angle_score(one, diagonal, 2, AOE_ANGLE_REFERENCE) == 0.0);
    /* the reference form of the score is not symmetric in x and y */
    assert_true(fabs(aoe_angle_score(diagonal, one, 2, AOE_ANGLE_REFERENCE) - sqrt(2.0)) < 1e-15);
    assert_true(aoe_angle_score(one, zero, 2, AOE_ANGLE_REFERENCE) == 0.0);

    assert_true(aoe_angle_score(one, one, 2, AOE_ANGLE_PHASE) == 0.0);
    assert_true(fabs(aoe_angle_score(one, i_, 2, AOE_ANGLE_PHASE) + PI / 2) < 1e-15);
    assert_true(fabs(aoe_angle_score(one, diagonal, 2, AOE_ANGLE_PHASE) + PI / 4) < 1e-15);
    assert_true(aoe_angle_score(diagonal, one, 2, AOE_ANGLE_PHASE) ==
                aoe_angle_score(one, diagonal, 2, AOE_ANGLE_PHASE));
    assert_true(fabs(aoe_angle_score(one, minus, 2, AOE_ANGLE_PHASE) + PI) < 1e-15);
    assert_true(aoe_angle_score(one, zero, 2, AOE_ANGLE_PHASE) == 0.0);
    assert_true(isnan(aoe_angle_score(one, one, 1, AOE_ANGLE_PHASE)) &&
                isnan(aoe_angle_score(one, one, 1, AOE_ANGLE_REFERENCE)));

    /* The complex vectors are z = (1, 2i) and w = (1, 2). In the phase form, the angles 0 and pi/2 have the weights 1
     * and 4. In the reference form, the score is (1 + 4) / (sqrt(5) sqrt(5)). */
    const float x[] = {1, 0, 0, 2}, y[] = {1, 2, 0, 0};
    assert_true(fabs(aoe_angle_score(x, y, 4, AOE_ANGLE_PHASE) + 4.0 * (PI / 2) / 5.0) < 1e-15);
    assert_true(fabs(aoe_angle_score(x, y, 4, AOE_ANGLE_REFERENCE) - 1.0) < 1e-15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),        cmocka_unit_test(counts_and_total), cmocka_unit_test(all_weights_zero),
        cmocka_unit_test(strides),         cmocka_unit_test(rejected_values),  cmocka_unit_test(rejected_shapes),
        cmocka_unit_test(workspace_sizes), cmocka_unit_test(memory_failure),   cmocka_unit_test(cosine_by_hand),
        cmocka_unit_test(angle_by_hand),
    };
    return cmocka_run_group_tests_name("objective_api", tests, NULL, NULL);
}
