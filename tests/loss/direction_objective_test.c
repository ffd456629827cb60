/* SPDX-License-Identifier: MIT
 * Tests in-batch negatives in several directions, with and without a guide: values that were computed independently, a
 * direct implementation of the definition, and properties of the loss.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../support/example_rows.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "loss/direction_objective.h"

enum { MAX_B = 130, MAX_D = 26, MAX_ROWS = 5 * MAX_B };

typedef struct problem {
    size_t B, D, arity;
    double v[MAX_ROWS * MAX_D], grad[MAX_ROWS * MAX_D]; /* [arity B, D] vectors, and gradients of the loss */
    float guide[MAX_ROWS * MAX_D];                      /* [arity B, D] vectors of the guide */
    const float *guide_rows[MAX_ROWS];
    aoei_guide g;
    aoei_direction_options o;
    aoe_objective_result r;
} problem;

static void solve(problem *p, const aoe_context *ctx) {
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = p->arity, .v64 = p->v, .grad64 = p->grad};
    const size_t bytes = aoei_direction_objective_workspace(p->B, p->D, p->arity, p->o.guide ? p->g.dims : 0);
    aoe_error err = {0};
    void *workspace = aoei_aligned(bytes);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes); /* NaN, so that reading uninitialized memory changes the result */
    memset(p->grad, 0xff, sizeof p->grad);
    if (aoei_direction_objective(&p->o, &b, workspace, bytes, ctx, &p->r, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(workspace);
}

/* Fills a problem with random vectors. The guide has vectors with as many components as the model. */
static void create(problem *p, size_t B, size_t D, size_t arity, uint32_t seed) {
    aoei_rng rng;
    p->B = B, p->D = D, p->arity = arity;
    p->o = (aoei_direction_options){.directions = AOE_QUERY_TO_DOCUMENT, .weight = 1, .tau = 0.2};
    p->g = (aoei_guide){.dims = D, .vectors = p->guide_rows};
    aoei_rng_init(&rng, 1, AOEI_STREAM_TEST, seed);
    for (size_t u = 0; u < arity * B; u++) {
        p->guide_rows[u] = p->guide + u * D;
        for (size_t k = 0; k < D; k++) {
            p->v[u * D + k] = aoei_rng_normal(&rng);
            p->guide[u * D + k] = (float)aoei_rng_normal(&rng);
        }
    }
}

static double cosine_of(const double *x, const double *y, size_t D) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < D; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx * yy);
}

static double guide_cosine(const problem *p, size_t u, size_t w) {
    double x[MAX_D], y[MAX_D];
    for (size_t k = 0; k < p->D; k++) {
        x[k] = (double)p->guide_rows[u][k];
        y[k] = (double)p->guide_rows[w][k];
    }
    return cosine_of(x, y, p->D);
}

/* Adds exp(score) of the candidates of example i in one direction to *sum. Returns the number of candidates left
 * out. */
static size_t add_direction(const problem *p, unsigned direction, size_t i, double *sum) {
    const int from_query = direction == AOE_QUERY_TO_DOCUMENT || direction == AOE_QUERY_TO_QUERY,
              to_query = direction == AOE_QUERY_TO_QUERY || direction == AOE_DOCUMENT_TO_QUERY,
              others = direction == AOE_QUERY_TO_QUERY || direction == AOE_DOCUMENT_TO_DOCUMENT;
    const size_t anchor = p->arity * i + (from_query ? 0 : 1);
    const double own = p->o.guide ? guide_cosine(p, p->arity * i, p->arity * i + 1) : 0,
                 threshold = own - (p->g.relative ? fabs(own) : 1) * p->g.margin;
    const size_t last = to_query ? 0 : p->o.guide && direction == AOE_DOCUMENT_TO_DOCUMENT ? 1 : p->arity - 1;
    size_t left_out = 0;
    for (size_t j = 0; j < p->B; j++)
        for (size_t a = to_query ? 0 : 1; a <= last; a++) {
            const size_t candidate = p->arity * j + a;
            const int target = i == j && ((direction == AOE_QUERY_TO_DOCUMENT && a == 1) ||
                                          (direction == AOE_DOCUMENT_TO_QUERY && !p->o.joint));
            if ((others && i == j) || (p->o.guide && !target && guide_cosine(p, anchor, candidate) > threshold))
                left_out++;
            else
                *sum += exp(cosine_of(p->v + anchor * p->D, p->v + candidate * p->D, p->D) / p->o.tau);
        }
    return left_out;
}

/* Computes the loss from its definition. *left_out receives the number of candidates that are left out. */
static double naive(const problem *p, size_t *left_out) {
    double total = 0, directions = 0;
    *left_out = 0;
    for (unsigned d = 1; d < AOE_ALL_DIRECTIONS; d *= 2)
        directions += p->o.directions & d ? 1 : 0;
    for (size_t i = 0; i < p->B; i++) {
        const double target = cosine_of(p->v + p->arity * i * p->D, p->v + (p->arity * i + 1) * p->D, p->D) / p->o.tau;
        double joint = 0;
        for (unsigned d = 1; d < AOE_ALL_DIRECTIONS; d *= 2) {
            double sum = 0;
            if (!(p->o.directions & d))
                continue;
            *left_out += add_direction(p, d, i, &sum);
            total += p->o.joint ? 0 : (log(sum) - target) / directions;
            joint += sum;
        }
        total += p->o.joint ? log(joint) - target : 0;
    }
    return total / (double)p->B;
}

/* Returns the number of candidates of all examples that are left out in any case, because they belong to the example
 * itself. */
static size_t own_candidates(const problem *p) {
    const size_t documents = p->o.guide ? 1 : p->arity - 1;
    return p->B * ((p->o.directions & AOE_QUERY_TO_QUERY ? 1 : 0) +
                   (p->o.directions & AOE_DOCUMENT_TO_DOCUMENT ? documents : 0));
}

/* Returns the number of negatives of all examples before the guide leaves any out: all candidates of other examples,
 * and the candidates of the example itself other than the target of each softmax. */
static size_t negatives(const problem *p) {
    const size_t documents = p->B * (p->arity - 1),
                 targets = p->o.joint || p->o.directions == AOE_QUERY_TO_DOCUMENT ? 1 : 2;
    size_t n = p->B * (p->o.directions & AOE_QUERY_TO_DOCUMENT ? documents : 0);
    n += p->B * (p->o.directions & AOE_QUERY_TO_QUERY ? p->B : 0);
    n += p->B * (p->o.directions & AOE_DOCUMENT_TO_QUERY ? p->B : 0);
    n += p->B * (p->o.directions & AOE_DOCUMENT_TO_DOCUMENT ? p->o.guide ? p->B : documents : 0);
    return n - own_candidates(p) - p->B * targets;
}

static void assert_close(double got, double want, double tolerance) {
    if (!(isfinite(want) && fabs(got - want) <= tolerance * fmax(1, fabs(want))))
        fail_msg("found %.15g, expected %.15g", got, want);
}

/* Fills the vectors with three queries, rows 0 to 2, and three positives, rows 3 to 5. The guide has the rows 1 to 3
 * and 4 to 6. */
static void fill_rows(problem *p) {
    create(p, 3, 4, 2, 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 4; k++) {
            p->v[2 * i * 4 + k] = test_example_row(i, k);
            p->v[(2 * i + 1) * 4 + k] = test_example_row(i + 3, k);
            p->guide[2 * i * 4 + k] = (float)test_example_row(i + 1, k);
            p->guide[(2 * i + 1) * 4 + k] = (float)test_example_row(i + 4, k);
        }
    p->o.tau = 0.05;
}

/* Compares values with values that were computed independently in float64. */
static void known_values(void **state) {
    static problem p;
    (void)state;
    fill_rows(&p);
    solve(&p, NULL);
    assert_close(p.r.contrastive, 8.062589150700, 1e-11);
    p.o.directions = AOE_QUERY_TO_DOCUMENT | AOE_DOCUMENT_TO_QUERY;
    solve(&p, NULL);
    assert_close(p.r.contrastive, 6.799582271800, 1e-11);
    p.o.directions = AOE_ALL_DIRECTIONS;
    p.o.joint = 1;
    solve(&p, NULL);
    assert_close(p.r.contrastive, 10.767517367602, 1e-11);
    p.o.directions = AOE_QUERY_TO_DOCUMENT | AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT;
    p.o.guide = &p.g;
    solve(&p, NULL);
    assert_close(p.r.contrastive, 8.062563296706, 1e-11);
    p.o.tau = 0.01;
    solve(&p, NULL);
    assert_close(p.r.contrastive, 40.312786717701, 1e-11);
    p.o.weight = 0.5;
    solve(&p, NULL);
    assert_close(p.r.total, 40.312786717701 / 2, 1e-11);
}

/* Compares the loss with its definition for all directions, batches beyond several tiles, pairs and triplets, and
 * guides. */
static void matches_definition(void **state) {
    static const size_t batches[] = {1, 2, 3, 25, 97, MAX_B};
    static problem p;
    aoe_context *ctx = test_context(test_best_tier(), 2);
    size_t left_out, guided = 0;
    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        for (unsigned directions = 1; directions <= AOE_ALL_DIRECTIONS; directions += 2)
            for (size_t arity = 2; arity <= 5; arity++)
                for (int guide = 0; guide < 3; guide++) {
                    create(&p, batches[i], i % 2 ? 7 : MAX_D, arity, directions);
                    p.o.directions = directions;
                    p.o.joint = (directions & (AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT)) || guide == 1;
                    p.o.guide = guide ? &p.g : NULL;
                    p.g.relative = guide == 2;
                    p.g.margin = guide == 2 ? 0.3 : 0.1;
                    solve(&p, ctx);
                    assert_close(p.r.contrastive, naive(&p, &left_out), 1e-12);
                    guided += guide ? left_out : 0;
                    assert_int_equal(p.r.negatives, guide ? negatives(&p) : 0);
                    assert_int_equal(p.r.left_out, guide ? left_out - own_candidates(&p) : 0);
                }
    assert_true(guided > 100000);
    aoe_context_destroy(ctx);
}

/* Tests that neither the value nor the gradient depends on the number of threads. */
static void threads_do_not_change_bits(void **state) {
    static problem one, many;
    aoe_context *serial = test_context(test_best_tier(), 1), *parallel = test_context(test_best_tier(), 4);
    (void)state;
    create(&one, MAX_B, MAX_D, 3, 5);
    one.o = (aoei_direction_options){
        .directions = AOE_ALL_DIRECTIONS, .joint = 1, .weight = 1, .tau = 0.1, .guide = &one.g};
    create(&many, MAX_B, MAX_D, 3, 5);
    many.o = one.o;
    many.o.guide = &many.g;
    solve(&one, serial);
    solve(&many, parallel);
    assert_true(one.r.total == many.r.total);
    assert_memory_equal(one.grad, many.grad, 3 * MAX_B * MAX_D * sizeof *one.grad);
    aoe_context_destroy(serial);
    aoe_context_destroy(parallel);
}

/* Tests that exchanging queries and positives exchanges the gradients and does not change the loss, if the loss
 * contains both directions and there are no negatives. */
static void symmetric_in_both_sides(void **state) {
    static problem p, q;
    (void)state;
    create(&p, 40, 10, 2, 8);
    p.o.directions = AOE_QUERY_TO_DOCUMENT | AOE_DOCUMENT_TO_QUERY;
    memcpy(&q, &p, sizeof q);
    for (size_t u = 0; u < 80; u++)
        memcpy(q.v + (u ^ 1) * 10, p.v + u * 10, 10 * sizeof *p.v);
    solve(&p, NULL);
    solve(&q, NULL);
    assert_close(q.r.total, p.r.total, 1e-14);
    for (size_t u = 0; u < 80; u++)
        for (size_t k = 0; k < 10; k++)
            assert_close(q.grad[(u ^ 1) * 10 + k], p.grad[u * 10 + k], 1e-14);
}

/* Tests the margin with a guide that finds all texts equal. With a margin above 0, only the target remains, so the loss
 * and the gradient are 0. With the margin 0, no candidate is left out except the text itself. */
static void guide_that_finds_all_texts_equal(void **state) {
    static problem p;
    size_t left_out;
    (void)state;
    create(&p, 20, 6, 3, 3);
    p.o.directions = AOE_QUERY_TO_DOCUMENT | AOE_QUERY_TO_QUERY | AOE_DOCUMENT_TO_DOCUMENT;
    p.o.joint = 1;
    p.o.guide = &p.g;
    for (size_t u = 0; u < 3 * p.B; u++)
        for (size_t k = 0; k < p.D; k++)
            p.guide[u * p.D + k] = 1;
    p.g.margin = 0.1;
    solve(&p, NULL);
    assert_close(p.r.total, 0, 1e-15);
    assert_int_equal(p.r.left_out, p.r.negatives);
    assert_int_equal(p.r.negatives, negatives(&p));
    for (size_t i = 0; i < 3 * p.B * p.D; i++)
        assert_close(p.grad[i], 0, 1e-14);
    p.g.margin = 0;
    solve(&p, NULL);
    assert_close(p.r.total, naive(&p, &left_out), 1e-12);
    assert_int_equal(left_out, 2 * p.B);
    assert_int_equal(p.r.left_out, 0);
}

static void assert_rejected(const problem *p, const char *part) {
    static _Alignas(AOEI_ALIGN) unsigned char workspace[1 << 18];
    const aoei_example_batch b = {.B = p->B, .D = p->D, .arity = p->arity, .v64 = p->v};
    aoe_objective_result r;
    aoe_error err = {0};
    const int code = aoei_direction_objective(&p->o, &b, workspace, sizeof workspace, NULL, &r, &err);
    assert_true(code == AOE_EARG || code == AOE_ENUMERIC);
    if (!strstr(err.message, part))
        fail_msg("the message is \"%s\"", err.message);
}

static void wrong_arguments(void **state) {
    static problem p;
    aoe_error err;
    aoe_objective_result r;
    (void)state;
    create(&p, 3, 4, 2, 1);
    p.o.directions = AOE_DOCUMENT_TO_QUERY;
    assert_rejected(&p, "options.directions is 4");
    p.o.directions = AOE_QUERY_TO_DOCUMENT | AOE_QUERY_TO_QUERY;
    assert_rejected(&p, "set options.joint");
    p.o.directions = 16 | AOE_QUERY_TO_DOCUMENT;
    assert_rejected(&p, "options.directions is 17");
    p.o.directions = AOE_QUERY_TO_DOCUMENT;
    p.o.tau = 0;
    assert_rejected(&p, "temperature");
    p.o.tau = 0.1;
    p.v[6] = (double)NAN;
    assert_rejected(&p, "example 0: the vector of the positive is not finite");
    assert_int_equal(aoei_direction_objective_workspace(3, 4, 1, 0), 0);
    assert_int_equal(aoei_direction_objective_workspace(SIZE_MAX, 4, 2, 0), 0);
    assert_int_equal(aoei_direction_objective_workspace(8, 4, 2, SIZE_MAX / 8), 0);
    const aoei_example_batch b = {.B = 3, .D = 4, .arity = 2, .v64 = p.v};
    unsigned char small[8];
    assert_int_equal(aoei_direction_objective(&p.o, &b, small, sizeof small, NULL, &r, &err), AOE_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),
                                       cmocka_unit_test(matches_definition),
                                       cmocka_unit_test(threads_do_not_change_bits),
                                       cmocka_unit_test(symmetric_in_both_sides),
                                       cmocka_unit_test(guide_that_finds_all_texts_equal),
                                       cmocka_unit_test(wrong_arguments)};
    return cmocka_run_group_tests_name("objective_direction", tests, NULL, NULL);
}
