/* SPDX-License-Identifier: MIT
 * covers: base/sort loss/ranking_terms
 * Tests the ranking loss, on which the cosine and angle losses are based. The loss is compared with its definition,
 * computed in long double over all ordered pairs. Also tests the stable sort that the loss uses.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "base/sort.h"
#include "loss/rank_loss.h"

enum { MAX = 300 };

typedef struct problem {
    size_t n;
    double label[MAX], s[MAX];
    size_t order[MAX], start[MAX + 1], scratch[MAX];
    double work[4 * MAX], grad[MAX];
    aoei_ranking ranking;
} problem;

/* Returns the loss L and writes dL/ds to grad[n]. Both are computed as sums over all ordered pairs. The largest
 * exponent is subtracted from all exponents, so that exp does not overflow. */
static long double naive(const problem *p, long double *grad) {
    long double max = 0.0L, sum;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            if (p->label[i] < p->label[j])
                max = fmaxl(max, (long double)p->s[i] - (long double)p->s[j]);
    sum = expl(-max);
    for (size_t i = 0; i < p->n; i++)
        grad[i] = 0.0L;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            if (p->label[i] < p->label[j])
                sum += expl((long double)p->s[i] - (long double)p->s[j] - max);
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->n; j++) {
            if (!(p->label[i] < p->label[j]))
                continue;
            long double e = expl((long double)p->s[i] - (long double)p->s[j] - max) / sum;
            grad[i] += e;
            grad[j] -= e;
        }
    }
    return max + logl(sum);
}

static void check(problem *p) {
    long double grad[MAX], value = naive(p, grad), norm = 0.0L, error = 0.0L;
    size_t pairs = 0;
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < p->n; j++)
            pairs += p->label[i] < p->label[j];
    aoei_ranking_build(&p->ranking, p->label, p->n, p->order, p->start, p->scratch);
    assert_int_equal(aoei_ranking_pairs(&p->ranking), pairs);
    double got = aoei_rank_loss(&p->ranking, p->s, p->grad, p->work);
    assert_true(fabsl((long double)got - value) <= 2e-13L * fmaxl(1.0L, fabsl(value)));
    for (size_t i = 0; i < p->n; i++) {
        norm += grad[i] * grad[i];
        error += ((long double)p->grad[i] - grad[i]) * ((long double)p->grad[i] - grad[i]);
    }
    /* A score of 1e4 has a rounding error of 2e-12. After the exponential, this is the relative error of a term. */
    assert_true(sqrtl(error) <= 1e-11L * sqrtl(norm) + 1e-300L);
    assert_true(aoei_rank_loss(&p->ranking, p->s, NULL, p->work) == got);
}

static void fill(problem *p, aoei_rng *rng, size_t n, uint32_t labels, double spread) {
    *p = (problem){.n = n};
    for (size_t i = 0; i < n; i++) {
        p->label[i] = labels ? (double)aoei_rng_below(rng, labels) : aoei_rng_normal(rng);
        p->s[i] = spread * aoei_rng_normal(rng);
    }
}

static void matches_definition(void **state) {
    static const size_t sizes[] = {1, 2, 3, 7, 32, 129, MAX};
    static const uint32_t labels[] = {1, 2, 3, 6, 0};
    static const double spreads[] = {0.0, 1e-3, 1.0, 20.0, 1e3, 1e4};
    problem p;
    aoei_rng rng;
    (void)state;
    aoei_rng_init(&rng, 7, AOEI_STREAM_TEST, 0);
    for (size_t a = 0; a < sizeof sizes / sizeof *sizes; a++)
        for (size_t b = 0; b < sizeof labels / sizeof *labels; b++)
            for (size_t c = 0; c < sizeof spreads / sizeof *spreads; c++) {
                fill(&p, &rng, sizes[a], labels[b], spreads[c]);
                check(&p);
            }
}

static void extreme_scores(void **state) {
    problem p = {.n = 6, .label = {0, 0, 1, 1, 2, 2}, .s = {1e4, -1e4, 1e4, -1e4, 1e4, -1e4}};
    (void)state;
    check(&p);
    double value = aoei_rank_loss(&p.ranking, p.s, NULL, p.work);
    /* three pairs have the score difference 2e4, so the loss is 2e4 + log 3 */
    assert_true(fabs(value - (2e4 + log(3.0))) < 1e-11);
}

/* Tests the loss log(1 + x) for scores in the right order, for which x is tiny. Adding x to 1 would lose the digits of
 * x. */
static void small_loss_is_precise(void **state) {
    problem p = {.n = 2, .label = {0, 1}, .s = {0, 100}};
    (void)state;
    check(&p);
    double value = aoei_rank_loss(&p.ranking, p.s, p.grad, p.work);
    assert_true(fabs(value / exp(-100.0) - 1.0) < 1e-14);
    assert_true(fabs(p.grad[0] / exp(-100.0) - 1.0) < 1e-14);
    assert_true(p.grad[1] == -p.grad[0]);
}

/* Tests that every element of the gradient has a small relative error, even if another element is larger by a factor of
 * e^80. */
static void small_gradients_are_precise(void **state) {
    problem p = {.n = 4, .label = {0, 1, 1, 1}, .s = {0, -40, 0, 40}};
    long double grad[MAX];
    (void)state;
    check(&p);
    naive(&p, grad);
    for (size_t i = 0; i < p.n; i++)
        assert_true(fabsl((long double)p.grad[i] / grad[i] - 1.0L) < 1e-13L);
}

static void equal_labels_give_zero(void **state) {
    problem p = {.n = 3, .label = {-0.0, 0.0, 0.0}, .s = {3, 1, 2}, .grad = {9, 9, 9}};
    (void)state;
    check(&p);
    assert_int_equal(p.ranking.tiers, 1);
    assert_true(aoei_rank_loss(&p.ranking, p.s, p.grad, p.work) == 0.0);
    assert_true(p.grad[0] == 0.0 && p.grad[1] == 0.0 && p.grad[2] == 0.0);
}

static void sort_is_stable(void **state) {
    aoei_rng rng;
    double key[MAX];
    size_t index[MAX], scratch[MAX];
    (void)state;
    aoei_rng_init(&rng, 11, AOEI_STREAM_TEST, 0);
    for (size_t n = 0; n < MAX; n++) {
        int seen[MAX] = {0};
        for (size_t i = 0; i < n; i++)
            key[i] = (double)aoei_rng_below(&rng, 17) - 8.0;
        aoei_argsort(key, n, index, scratch);
        for (size_t i = 0; i < n; i++) {
            assert_true(index[i] < n && !seen[index[i]]);
            seen[index[i]] = 1;
            if (i > 0)
                assert_true(key[index[i - 1]] < key[index[i]] ||
                            (key[index[i - 1]] == key[index[i]] && index[i - 1] < index[i]));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_definition),     cmocka_unit_test(extreme_scores),
        cmocka_unit_test(small_loss_is_precise),  cmocka_unit_test(small_gradients_are_precise),
        cmocka_unit_test(equal_labels_give_zero), cmocka_unit_test(sort_is_stable),
    };
    return cmocka_run_group_tests_name("objective_rank_loss", tests, NULL, NULL);
}
