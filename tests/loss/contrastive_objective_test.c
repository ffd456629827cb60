/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: loss/example_sweep loss/info_nce loss/unit_rows
 * Tests aoe_contrastive, the training loss of queries with positives and negatives, with every instruction set. The
 * expected values are computed by a simple reference implementation. The tests cover different shapes and weights, both
 * forms of the angle loss, zero vectors, several threads, and rejected arguments. Scores that do not fit in the
 * workspace are computed in strips of queries.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/info_nce.h"
#include "loss/contrastive_objective.h"
#include "loss/pair_objective.h"

typedef struct problem {
    size_t B, D;  /* B: number of examples. D: size of a vector. */
    size_t arity; /* number of vectors per example: 2 (query, positive) or more (query, positive, negatives) */
    double *v;    /* [B * arity, D], owned; vectors of an example are adjacent */
    double *grad; /* [B * arity, D], owned; gradient of v */
    aoe_objective_options o;
    aoe_objective_result r;
} problem;

static void create(problem *p, size_t B, size_t D, size_t arity, uint64_t seed) {
    aoei_rng rng;
    const size_t n = arity * B * D;
    *p = (problem){.B = B, .D = D, .arity = arity};
    p->v = test_malloc(n * sizeof *p->v);
    p->grad = test_malloc(n * sizeof *p->grad);
    aoe_objective_options_defaults(&p->o);
    aoei_rng_init(&rng, seed, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < n; i++)
        p->v[i] = aoei_rng_normal(&rng);
}

static void destroy(problem *p) {
    test_free(p->v);
    test_free(p->grad);
}

static size_t element_count(const problem *p) {
    return p->arity * p->B * p->D;
}

/* ---- reference ---- */

static double norm(const double *x, size_t n) {
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

static double cosine(const double *x, const double *y, size_t n) {
    double sum = 0.0, size = norm(x, n) * norm(y, n);
    for (size_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return size > 0.0 ? sum / size : 0.0;
}

/* Computes the gradients of the cosine of x and y. Adds scale times the gradient with respect to x to gx, and scale
 * times the gradient with respect to y to gy. */
static void add_cosine_grad(const double *x, const double *y, size_t n, double scale, double *gx, double *gy) {
    double a = norm(x, n), b = norm(y, n), c = cosine(x, y, n);
    for (size_t k = 0; k < n && a > 0.0 && b > 0.0; k++) {
        gx[k] += scale * (y[k] / b - c * x[k] / a) / a;
        gy[k] += scale * (x[k] / a - c * y[k] / b) / b;
    }
}

/* Returns the angle score of x and y. The first half of a vector is the real part of a complex vector, the second half
 * its imaginary part. Unless gx is NULL, adds scale times the gradient of the score with respect to x to gx, and with
 * respect to y to gy. */
static double angle(const double *x, const double *y, size_t D, aoe_angle_form form, double scale, double *gx,
                    double *gy) {
    const size_t h = D / 2;
    const double X = norm(x, D), Y = norm(y, D);
    double sum = 0.0, weights = 0.0;
    if (X == 0.0 || Y == 0.0)
        return 0.0;
    for (size_t k = 0; k < h; k++) {
        double re = x[k] * y[k] + x[h + k] * y[h + k], im = x[h + k] * y[k] - x[k] * y[h + k];
        double m = hypot(x[k], x[h + k]) * hypot(y[k], y[h + k]);
        sum += form == AOE_ANGLE_REFERENCE ? re + im : m * fabs(atan2(im, re));
        weights += m;
    }
    const double score = form == AOE_ANGLE_REFERENCE ? fabs(sum) / (X * Y) : -sum / weights;
    const double sign = sum > 0.0 ? 1.0 : -1.0;
    for (size_t k = 0; k < h && gx; k++) {
        const size_t l = h + k;
        const double a = x[k], b = x[l], c = y[k], d = y[l];
        if (form == AOE_ANGLE_REFERENCE) {
            gx[k] += scale * (sign * (c - d) / (X * Y) - score * a / (X * X));
            gx[l] += scale * (sign * (c + d) / (X * Y) - score * b / (X * X));
            gy[k] += scale * (sign * (a + b) / (X * Y) - score * c / (Y * Y));
            gy[l] += scale * (sign * (b - a) / (X * Y) - score * d / (Y * Y));
        } else {
            const double zz = a * a + b * b, ww = c * c + d * d, m = sqrt(zz * ww);
            const double phi = atan2(b * c - a * d, a * c + b * d), sign_phi = (phi > 0.0) - (phi < 0.0);
            /* excess: |phi| minus the weighted mean of |phi|, which is -score */
            const double s = -scale * m / weights, excess = fabs(phi) + score;
            gx[k] += s * (excess * a - sign_phi * b) / zz;
            gx[l] += s * (excess * b + sign_phi * a) / zz;
            gy[k] += s * (excess * c + sign_phi * d) / ww;
            gy[l] += s * (excess * d - sign_phi * c) / ww;
        }
    }
    return score;
}

/* Returns the offset in v and in grad of vector a of example i. a: 0 query, 1 positive, from 2 on negatives. */
static size_t offset_of(const problem *p, size_t i, size_t a) {
    return (p->arity * i + a) * p->D;
}

/* Returns the offset in v and in grad of candidate j. The candidates are first the positives of all examples, then the
 * first negatives of all examples, and so on. */
static size_t offset_of_candidate(const problem *p, size_t j) {
    return offset_of(p, j % p->B, 1 + j / p->B);
}

/* Returns the InfoNCE loss with the first M candidates. Adds weight times its gradient to grad. */
static double naive_contrastive(const problem *p, size_t M, double weight, double *grad) {
    double loss = 0.0, *s = test_malloc(M * sizeof *s);
    for (size_t i = 0; i < p->B; i++) {
        const size_t q = offset_of(p, i, 0);
        double max = -INFINITY, sum = 0.0;
        for (size_t j = 0; j < M; j++) {
            s[j] = cosine(p->v + q, p->v + offset_of_candidate(p, j), p->D) / p->o.tau_ibn;
            max = fmax(max, s[j]);
        }
        for (size_t j = 0; j < M; j++)
            sum += exp(s[j] - max);
        loss += max + log(sum) - s[i];
        for (size_t j = 0; j < M; j++) {
            double d = (exp(s[j] - max) / sum - (i == j)) * weight / p->o.tau_ibn / (double)p->B;
            add_cosine_grad(p->v + q, p->v + offset_of_candidate(p, j), p->D, d, grad + q,
                            grad + offset_of_candidate(p, j));
        }
    }
    test_free(s);
    return loss / (double)p->B;
}

/* Returns log(1 + sum over i and j of exp(s_i - s_j)), where i is a negative pair and j a positive pair, whose index is
 * a multiple of `pairs`. Writes the gradient to d[n]. */
static double naive_rank_loss(const double *s, size_t n, size_t pairs, double *d) {
    double total = 1.0;
    memset(d, 0, n * sizeof *d);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n && i % pairs; j += pairs) {
            const double e = exp(s[i] - s[j]);
            total += e;
            d[i] += e;
            d[j] -= e;
        }
    for (size_t i = 0; i < n; i++)
        d[i] /= total;
    return log(total);
}

/* Returns the weighted sum of the cosine loss and the angle loss over the pairs of query i with its positive and with
 * each of its negatives. Adds the gradient of the sum to grad. Writes the two losses to *r. */
static double naive_pair_terms(const problem *p, double *grad, aoe_objective_result *r) {
    const size_t pairs = p->arity - 1, n = pairs * p->B, D = p->D;
    const aoe_objective_options *o = &p->o;
    double *s = test_malloc(2 * n * sizeof *s), *d = s + n;
    for (size_t u = 0; u < n; u++)
        s[u] =
            cosine(p->v + offset_of(p, u / pairs, 0), p->v + offset_of(p, u / pairs, 1 + u % pairs), D) / o->tau_cosine;
    r->cosine = o->w_cosine > 0.0 ? naive_rank_loss(s, n, pairs, d) : 0.0;
    for (size_t u = 0; u < n && o->w_cosine > 0.0; u++) {
        const size_t x = offset_of(p, u / pairs, 0), y = offset_of(p, u / pairs, 1 + u % pairs);
        add_cosine_grad(p->v + x, p->v + y, D, o->w_cosine * d[u] / o->tau_cosine, grad + x, grad + y);
    }
    for (size_t u = 0; u < n && o->w_angle > 0.0; u++)
        s[u] = angle(p->v + offset_of(p, u / pairs, 0), p->v + offset_of(p, u / pairs, 1 + u % pairs), D, o->angle_form,
                     0.0, NULL, NULL) /
               o->tau_angle;
    r->angle = o->w_angle > 0.0 ? naive_rank_loss(s, n, pairs, d) : 0.0;
    for (size_t u = 0; u < n && o->w_angle > 0.0; u++) {
        const size_t x = offset_of(p, u / pairs, 0), y = offset_of(p, u / pairs, 1 + u % pairs);
        angle(p->v + x, p->v + y, D, o->angle_form, o->w_angle * d[u] / o->tau_angle, grad + x, grad + y);
    }
    test_free(s);
    return o->w_cosine * r->cosine + o->w_angle * r->angle;
}

/* Computes the objective as documented in aoe_train.h. Overwrites grad and *r. */
static void naive(const problem *p, double *grad, aoe_objective_result *r) {
    *r = (aoe_objective_result){.positive_pairs = p->B};
    memset(grad, 0, element_count(p) * sizeof *grad);
    if (p->arity == 2) {
        r->contrastive = p->o.w_ibn > 0.0 ? naive_contrastive(p, p->B, p->o.w_ibn, grad) : 0.0;
        r->total = p->o.w_ibn * r->contrastive;
        return;
    }
    r->ordered_pairs = p->B * p->B * (p->arity - 2);
    r->contrastive = (p->o.w_ibn * naive_contrastive(p, p->B, p->o.w_ibn / 2.0, grad) +
                      p->o.w_cln * naive_contrastive(p, (p->arity - 1) * p->B, p->o.w_cln / 2.0, grad)) /
                     2.0;
    r->total = r->contrastive + naive_pair_terms(p, grad, r);
}

/* ---- comparison with the library ---- */

static void solve(problem *p, const aoe_context *ctx) {
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = p->arity, .v64 = p->v, .grad64 = p->grad};
    aoe_error err = {0};
    const size_t bytes = aoei_contrastive_objective_workspace(p->B, p->D, p->arity);
    void *workspace = aoei_aligned(bytes);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes); /* fills the workspace with NaN, so that reading uninitialized memory changes the
                                       result */
    memset(p->grad, 0xff, element_count(p) * sizeof *p->grad);
    if (aoei_contrastive_objective(&p->o, &b, workspace, bytes, ctx, &p->r, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(workspace);
}

static void assert_close(double got, double want) {
    if (!(fabs(got - want) <= 1e-13 * fmax(1.0, fabs(want))))
        fail_msg("found %.17g, expected %.17g", got, want);
}

/* Returns the smallest norm of a nonzero vector of p. If all norms are greater than 1, returns 1. */
static double smallest_norm(const problem *p) {
    double smallest = 1.0;
    for (size_t i = 0; i < p->arity * p->B; i++) {
        const double size = norm(p->v + i * p->D, p->D);
        smallest = size > 0.0 ? fmin(smallest, size) : smallest;
    }
    return smallest;
}

static void check(problem *p, const aoe_context *ctx) {
    const size_t n = element_count(p);
    double *want = test_malloc(n * sizeof *want), size = 0.0, error = 0.0;
    aoe_objective_result r = {.struct_size = sizeof r};
    naive(p, want, &r);
    solve(p, ctx);
    assert_close(p->r.total, r.total);
    assert_close(p->r.contrastive, r.contrastive);
    assert_close(p->r.cosine, r.cosine);
    assert_close(p->r.angle, r.angle);
    assert_true(p->r.ibn == 0.0);
    assert_int_equal(p->r.positive_pairs, r.positive_pairs);
    assert_int_equal(p->r.ordered_pairs, r.ordered_pairs);
    for (size_t i = 0; i < n; i++) {
        size += want[i] * want[i];
        error += (p->grad[i] - want[i]) * (p->grad[i] - want[i]);
    }
    /* If there is only one candidate or D = 1, the gradient is a sum of terms of magnitude 1 / norm that cancel. Only
     * their rounding errors remain. */
    if (!(sqrt(error) <= 1e-12 * fmax(sqrt(size), 1.0 / smallest_norm(p))))
        fail_msg("B %zu, D %zu, arity %zu: gradient of norm %g, error of norm %g", p->B, p->D, p->arity, sqrt(size),
                 sqrt(error));
    test_free(want);
}

static void set_weights(problem *p, double ibn, double cln, double cosine_weight, double angle_weight) {
    p->o.w_ibn = ibn;
    p->o.w_cln = cln;
    p->o.w_cosine = cosine_weight;
    p->o.w_angle = p->arity >= 3 && p->D % 2 ? 0.0 : angle_weight;
}

static void check_shapes(const aoe_context *ctx) {
    static const size_t batches[] = {1, 2, 3, 12, 23, 24, 25, 48, 49, 70}, sizes[] = {1, 2, 7, 8, 25, 64, 200};
    problem p;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t arity = 2; arity <= 5; arity++) {
                create(&p, batches[i], sizes[k], arity, 10 * i + k);
                p.o.angle_form = (i + k) % 2 ? AOE_ANGLE_PHASE : AOE_ANGLE_REFERENCE;
                set_weights(&p, 1.0, 1.0, 1.0, 1.0);
                check(&p, ctx);
                destroy(&p);
            }
}

static void check_weights(const aoe_context *ctx) {
    static const double weights[][4] = {{1, 0, 0, 0}, {0, 1, 0, 0},     {0, 0, 1, 0},      {0, 0, 0, 1},
                                        {0, 0, 0, 0}, {3, 0.5, 0, 0.2}, {0.7, 2, 0.1, 0.3}};
    problem p;
    for (size_t arity = 2; arity <= 4; arity++) {
        create(&p, 37, 30, arity, 77);
        for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
            set_weights(&p, weights[w][0], weights[w][1], weights[w][2], weights[w][3]);
            p.o.tau_ibn = 0.05;
            check(&p, ctx);
            p.o.tau_ibn = w % 2 ? 0.7 : 1e-3; /* 1e-3 gives exponents of up to 1000 */
            p.o.tau_angle = 0.1;
            check(&p, ctx);
        }
        destroy(&p);
    }
}

/* Checks batches whose scores do not fit in the workspace at once, with and without negatives. */
static void check_large(const aoe_context *ctx) {
    static const size_t shapes[][3] = {{3100, 3, 2}, {2200, 4, 3}, {1800, 4, 4}};
    problem p;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        create(&p, shapes[i][0], shapes[i][1], shapes[i][2], i);
        set_weights(&p, 1.0, 2.0, 0.0, 0.0);
        assert_true(aoei_contrastive_objective_workspace(p.B, p.D, p.arity) <
                    p.B * (p.arity - 1) * p.B * sizeof(double));
        check(&p, ctx);
        destroy(&p);
    }
}

static void matches_definition(void **state) {
    (void)state;
    test_each_tier(check_shapes);
}

static void weights(void **state) {
    (void)state;
    test_each_tier(check_weights);
}

static void large_batches(void **state) {
    aoe_context *ctx = test_context(test_best_tier(), 2);
    (void)state;
    check_large(ctx);
    aoe_context_destroy(ctx);
}

/* Tests that the cosine and angle losses are bit-identical to the losses that aoe_objective computes for the same
 * pairs. */
static void pair_terms_match_pair_objective(void **state) {
    problem p;
    (void)state;
    create(&p, 19, 26, 3, 5);
    set_weights(&p, 0.0, 0.0, 0.4, 1.3);
    solve(&p, NULL);
    const size_t B = 2 * p.B, D = p.D, bytes = aoei_pair_objective_workspace(B, D);
    double *x = test_malloc(4 * B * D * sizeof *x), *y = x + B * D, *gx = y + B * D, *gy = gx + B * D;
    double label[38];
    void *workspace = aoei_aligned(bytes);
    for (size_t u = 0; u < B; u++) {
        memcpy(x + u * D, p.v + offset_of(&p, u / 2, 0), D * sizeof *x);
        memcpy(y + u * D, p.v + offset_of(&p, u / 2, 1 + u % 2), D * sizeof *y);
        label[u] = u % 2 == 0;
    }
    const aoei_pair_batch b = {
        .B = B, .D = D, .stride = D, .x64 = x, .y64 = y, .grad_x64 = gx, .grad_y64 = gy, .label = label};
    aoe_objective_result r = {.struct_size = sizeof r};
    assert_int_equal(aoei_pair_objective(&p.o, &b, workspace, bytes, NULL, &r, NULL), 0);
    assert_true(r.total == p.r.total && r.cosine == p.r.cosine && r.angle == p.r.angle && r.total > 0.0);
    assert_int_equal(r.ordered_pairs, p.r.ordered_pairs);
    for (size_t u = 0; u < B; u++)
        assert_memory_equal(gy + u * D, p.grad + offset_of(&p, u / 2, 1 + u % 2), D * sizeof *gy);
    aoei_aligned_free(workspace);
    test_free(x);
    destroy(&p);
}

/* Tests zero vectors. They must have the cosine 0 with every vector, and their gradient must be 0. */
static void zero_vectors(void **state) {
    problem p;
    (void)state;
    for (size_t arity = 2; arity <= 3; arity++) {
        create(&p, 5, 6, arity, arity);
        /* zeroes the query of example 0, the positive of example 1 and the negative of example 2 */
        for (size_t a = 0; a < arity; a++)
            memset(p.v + offset_of(&p, a, a), 0, p.D * sizeof *p.v);
        check(&p, NULL);
        for (size_t a = 0; a < arity; a++)
            for (size_t k = 0; k < p.D; k++)
                assert_true(p.grad[offset_of(&p, a, a) + k] == 0.0);
        memset(p.v, 0, element_count(&p) * sizeof *p.v);
        set_weights(&p, 2.0, 4.0, 0.0, 0.0);
        solve(&p, NULL);
        assert_close(p.r.total, arity == 2 ? 2.0 * log(5.0) : log(5.0) + 2.0 * log(10.0));
        for (size_t i = 0; i < element_count(&p); i++)
            assert_true(p.grad[i] == 0.0);
        destroy(&p);
    }
}

/* Tests a batch of one example. Without a negative, the positive is the only candidate, so the loss is 0. With a
 * negative, there are two candidates. */
static void one_example(void **state) {
    problem p;
    (void)state;
    create(&p, 1, 4, 2, 3);
    solve(&p, NULL);
    assert_true(p.r.total == 0.0);
    for (size_t k = 0; k < element_count(&p); k++)
        assert_true(p.grad[k] == 0.0);
    destroy(&p);
    create(&p, 1, 4, 3, 3);
    check(&p, NULL);
    assert_true(p.r.contrastive > 0.0 && p.r.ordered_pairs == 1);
    destroy(&p);
}

/* Tests that results are bit-identical for any number of threads, and without a context. */
static void bits_do_not_depend_on_threads(void **state) {
    static const size_t shapes[][3] = {{37, 10, 2}, {150, 210, 3}, {3100, 4, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        problem p;
        create(&p, shapes[i][0], shapes[i][1], shapes[i][2], i);
        solve(&p, NULL);
        const aoe_objective_result r = p.r;
        double *grad = test_malloc(element_count(&p) * sizeof *grad);
        memcpy(grad, p.grad, element_count(&p) * sizeof *grad);
        for (size_t threads = TEST_SANITIZED ? 3 : 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context(test_best_tier(), threads);
            solve(&p, ctx);
            assert_memory_equal(&r, &p.r, sizeof r);
            assert_memory_equal(grad, p.grad, element_count(&p) * sizeof *grad);
            aoe_context_destroy(ctx);
        }
        test_free(grad);
        destroy(&p);
    }
}

enum { LONG_B = 300, LONG_M = 450, LONG_D = 31 };

/* Returns the InfoNCE loss. The scores are computed in strips of `blocks` blocks of 96 queries, or of all queries if
 * blocks is
 * 0. Writes the gradients of the queries and then of the candidates to dz[LONG_B + LONG_M][LONG_D]. */
static double loss_in_strips(const aoe_context *ctx, size_t blocks, size_t candidates, double *dz) {
    aoei_arena a;
    aoei_info_nce c;
    aoei_unit_rows queries, targets;
    aoei_rng rng;
    double v[LONG_D];
    aoei_arena_measure(&a);
    for (int measured = 0; measured < 2; measured++) {
        if (measured)
            assert_int_equal(aoei_arena_create(&a, a.used, NULL), 0);
        aoei_unit_rows_lay_out(&queries, &a, LONG_B, LONG_D);
        aoei_unit_rows_lay_out(&targets, &a, LONG_M, LONG_D);
        aoei_info_nce_lay_out(&c, &a, LONG_B, LONG_M, 1);
    }
    const aoei_nce_block block = {.anchors = &queries, .candidates = &targets, .M = candidates};
    assert_int_equal(a.overflow, 0);
    c.ctx = ctx;
    c.tau = 0.1;
    if (blocks)
        c.score_size = blocks * 96 * (candidates + 23) / 24 * 24;
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, 0);
    for (size_t u = 0; u < LONG_B + LONG_M; u++) {
        for (size_t k = 0; k < LONG_D; k++)
            v[k] = aoei_rng_normal(&rng);
        aoei_unit_rows_set(u < LONG_B ? &queries : &targets, u < LONG_B ? u : u - LONG_B, v);
    }
    const double loss = aoei_info_nce_loss(&c, LONG_B, &block, 1, 0.5, 1);
    assert_true(aoei_info_nce_loss(&c, LONG_B, &block, 1, 0.5, 0) == loss);
    memset(dz, 0, (LONG_B + LONG_M) * LONG_D * sizeof *dz);
    for (size_t u = 0; u < LONG_B + LONG_M; u++)
        aoei_unit_rows_grad(u < LONG_B ? &queries : &targets, u < LONG_B ? u : u - LONG_B, 1.0, dz + u * LONG_D);
    aoei_arena_destroy(&a);
    return loss;
}

/* Tests that results are bit-identical for any number of queries per strip, and that unused candidates have gradient
 * 0. */
static void bits_do_not_depend_on_strips(void **state) {
    static const size_t used[] = {LONG_B, 401, LONG_M};
    static double want[(LONG_B + LONG_M) * LONG_D], got[(LONG_B + LONG_M) * LONG_D];
    aoe_context *ctx = test_context(test_best_tier(), 2);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const double loss = loss_in_strips(ctx, 0, used[i], want);
        assert_true(loss > 0.0);
        for (size_t k = (LONG_B + used[i]) * LONG_D; k < sizeof want / sizeof *want; k++)
            assert_true(want[k] == 0.0);
        for (size_t blocks = 1; blocks <= 3; blocks++) {
            assert_true(loss_in_strips(ctx, blocks, used[i], got) == loss);
            assert_memory_equal(got, want, sizeof want);
        }
    }
    aoe_context_destroy(ctx);
}

/* ---- float32 interface and rejected arguments ---- */

enum { B = 6, D = 8 };

typedef struct fixture {
    float v[3 * B * D], grad[3 * B * D];
    size_t arity;
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err;
} fixture;

static void set_up(fixture *f, size_t arity) {
    *f = (fixture){.arity = arity};
    f->r.struct_size = sizeof f->r;
    aoe_objective_options_defaults(&f->o);
    test_fill_normal(f->v, 3 * B * D, 1.0, 4);
    for (size_t i = 0; i < 3 * B * D; i++)
        f->grad[i] = -77.0f;
}

static int run(fixture *f) {
    f->r.struct_size = sizeof f->r;
    return aoe_contrastive(&f->o, f->v, f->arity, B, D, f->grad, &f->r, &f->err);
}

static void float32(void **state) {
    fixture f;
    (void)state;
    for (size_t arity = 2; arity <= 3; arity++) {
        problem p;
        set_up(&f, arity);
        create(&p, B, D, arity, 0);
        for (size_t i = 0; i < element_count(&p); i++)
            p.v[i] = (double)f.v[i];
        solve(&p, NULL);
        assert_int_equal(run(&f), 0);
        p.r.struct_size = sizeof p.r;
        assert_memory_equal(&f.r, &p.r, sizeof f.r);
        for (size_t i = 0; i < 3 * B * D; i++)
            assert_true(f.grad[i] == (i < element_count(&p) ? (float)p.grad[i] : -77.0f));
        /* without gradients and with NULL options, the losses must be bit-identical */
        assert_int_equal(aoe_contrastive(NULL, f.v, arity, B, D, NULL, &f.r, NULL), 0);
        p.r.struct_size = sizeof p.r;
        assert_memory_equal(&f.r, &p.r, sizeof f.r);
        destroy(&p);
    }
}

/* Asserts that the objective fails with the error `code` and a message that contains `part`. Then sets all arguments in
 * f to valid values again. */
static void expect_error(fixture *f, int code, const char *part) {
    assert_int_equal(run(f), code);
    assert_int_equal(f->err.code, code);
    if (!strstr(f->err.message, part))
        fail_msg("the message \"%s\" does not contain \"%s\"", f->err.message, part);
    set_up(f, 3);
}

static void rejected_values(void **state) {
    fixture f;
    (void)state;
    set_up(&f, 1);
    expect_error(&f, AOE_EARG, "1 vectors");
    f.o.w_cln = -1.0;
    expect_error(&f, AOE_EARG, "w_cln");
    f.o.w_cln = NAN;
    expect_error(&f, AOE_EARG, "w_cln");
    f.o.w_ibn = INFINITY;
    expect_error(&f, AOE_EARG, "w_ibn");
    f.o.tau_ibn = 0.0;
    expect_error(&f, AOE_EARG, "tau_ibn");
    f.o.angle_form = (aoe_angle_form)7;
    expect_error(&f, AOE_EARG, "angle_form");
    f.v[(3 * 4 + 0) * D + 2] = INFINITY;
    expect_error(&f, AOE_ENUMERIC, "example 4: the vector of the query");
    f.v[(3 * 2 + 1) * D] = NAN;
    expect_error(&f, AOE_ENUMERIC, "example 2: the vector of the positive");
    f.v[(3 * 5 + 2) * D + 7] = NAN;
    expect_error(&f, AOE_ENUMERIC, "example 5: the vector of the negative");
    f.o.tau_ibn = 3e-308; /* the scores are near 1e307, so the loss multiplied by its weight exceeds DBL_MAX */
    f.o.w_ibn = 1e300;
    expect_error(&f, AOE_ENUMERIC, "loss");
    for (size_t k = 0; k < D; k++)
        /* the components are subnormal, so the gradient, which is about 1 / norm, overflows a float */
        f.v[(3 * 1 + 1) * D + k] *= 1e-43f;
    expect_error(&f, AOE_ENUMERIC, "example 1: the gradient");
    f.o.ibn_threshold = NAN; /* aoe_contrastive ignores this option, so NaN is not rejected */
    assert_int_equal(run(&f), 0);
    aoe_objective_options o = f.o;
    const double label[1] = {1.0};
    o.ibn_threshold = 1.0;
    o.w_cln = -2.0;
    assert_int_equal(aoe_objective(&o, f.v, f.v, D, label, NULL, 1, D, NULL, NULL, NULL, &f.err), AOE_EARG);
    assert_non_null(strstr(f.err.message, "w_cln"));
}

static void rejected_shapes(void **state) {
    fixture f;
    (void)state;
    set_up(&f, 3);
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, 0, D, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, B, 0, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_contrastive(&f.o, NULL, 3, B, D, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, SIZE_MAX / 4, D, NULL, &f.r, &f.err), AOE_EARG);
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, B, SIZE_MAX / 16, NULL, &f.r, &f.err), AOE_EARG);
    /* Vectors of odd size are rejected if the angle loss is used, and accepted otherwise. */
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, B, 7, f.grad, &f.r, &f.err), AOE_EARG);
    assert_non_null(strstr(f.err.message, "the vectors have 7"));
    assert_int_equal(aoe_contrastive(&f.o, f.v, 2, B, 7, f.grad, &f.r, &f.err), 0);
    f.o.w_angle = 0.0;
    assert_int_equal(aoe_contrastive(&f.o, f.v, 3, B, 7, f.grad, &f.r, &f.err), 0);
}

static void workspace_sizes(void **state) {
    static const size_t sizes[] = {1, 2, 3, 32, 95, 96, 97, 2048, 2900, 4096, 4097};
    fixture f;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof sizes / sizeof *sizes; i++)
        for (size_t d = 1; d < 70; d += 7)
            for (size_t arity = 2; arity <= 5; arity++) {
                const size_t bytes = aoei_contrastive_objective_workspace(sizes[i], d, arity);
                assert_true(bytes > 0);
                assert_true(bytes <= aoei_contrastive_objective_workspace(sizes[i + 1], d, arity));
                assert_true(bytes <= aoei_contrastive_objective_workspace(sizes[i], d + 1, arity));
                assert_true(bytes <= aoei_contrastive_objective_workspace(sizes[i], d, arity + 1));
            }
    assert_int_equal(aoei_contrastive_objective_workspace(B, D, 1), 0);
    assert_int_equal(aoei_contrastive_objective_workspace(B, D, 0), 0);
    assert_int_equal(aoei_contrastive_objective_workspace(SIZE_MAX, 1, 2), 0);
    assert_int_equal(aoei_contrastive_objective_workspace(SIZE_MAX / 64, 1u << 20, 3), 0);
    assert_int_equal(aoei_contrastive_objective_workspace(1, SIZE_MAX / 2, 2), 0);

    set_up(&f, 3);
    const aoei_example_batch b = {.B = B, .D = D, .arity = 3, .v = f.v, .grad = f.grad};
    const size_t bytes = aoei_contrastive_objective_workspace(B, D, 3);
    void *workspace = aoei_aligned(bytes);
    assert_int_equal(aoei_contrastive_objective(&f.o, &b, workspace, bytes - 1, NULL, &f.r, &f.err), AOE_EARG);
    assert_non_null(strstr(f.err.message, "workspace"));
    const uint64_t before = (aoei_alloc_fail_at(0), aoei_alloc_count());
    assert_int_equal(aoei_contrastive_objective(&f.o, &b, workspace, bytes, NULL, NULL, &f.err), 0);
    assert_int_equal(aoei_alloc_count(), before);
    aoei_aligned_free(workspace);
}

static void memory_failure(void **state) {
    fixture f;
    (void)state;
    set_up(&f, 3);
    const int64_t live = aoei_alloc_live();
    aoei_alloc_fail_at(1);
    assert_int_equal(run(&f), AOE_ENOMEM);
    aoei_alloc_fail_at(0);
    assert_int_equal(run(&f), 0);
    assert_true(aoei_alloc_live() == live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_definition),
        cmocka_unit_test(weights),
        cmocka_unit_test(large_batches),
        cmocka_unit_test(pair_terms_match_pair_objective),
        cmocka_unit_test(zero_vectors),
        cmocka_unit_test(one_example),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(bits_do_not_depend_on_strips),
        cmocka_unit_test(float32),
        cmocka_unit_test(rejected_values),
        cmocka_unit_test(rejected_shapes),
        cmocka_unit_test(workspace_sizes),
        cmocka_unit_test(memory_failure),
    };
    return cmocka_run_group_tests_name("objective_contrastive", tests, NULL, NULL);
}
