/* SPDX-License-Identifier: MIT
 * tags: numbers slow
 * covers: encoder/ran_layer_backward
 * Tests the gradients of whole training steps of the recurrent encoder (RAN) against finite differences of a
 * double-precision model. The tests cover pair steps with every pooling, masked-language-model steps, and both
 * normalization layers. Dropout is tested with fixed masks. For each weight tensor, the directional derivative is
 * compared in the direction of the gradient and in a random direction.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/ran_reference.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "loss/pair_objective.h"
#include "nn/batch.h"
#include "nn/optimizer.h"
#include "train/mlm_step.h"
#include "train/pair_step.h"

enum { PAIRS = 4, TEXTS = 2 * PAIRS, LONGEST = 15 };

/* Tolerances. A step through two layers, whose windows are processed one after another, has about 100 consecutive
 * roundings of 6e-8. The error of the gradient of a weight tensor may be at most the larger of TENSOR_TOLERANCE times
 * the norm of this gradient and WHOLE_TOLERANCE times the norm of the gradient of all weights. The second bound is for
 * gradients that are small differences of large terms, such as those of key biases. STEP is the step of the difference
 * quotients. */
#define TENSOR_TOLERANCE 1e-5
#define WHOLE_TOLERANCE  1e-6
#define LOSS_TOLERANCE   2e-6
#define STEP             1e-5

static const size_t lengths[TEXTS] = {1, 9, 5, 4, 15, 3, 13, 6};
static const double labels[PAIRS] = {5, 1, 3.5, 0};

/* A training step on pairs or a masked-language-model step, and the reference model in double. */
typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config config;
    aoei_encoder_dropout drop;
    aoei_pair_step pair;
    aoei_mlm_step mlm;
    int masked; /* 1: masked-language-model step; 0: pair step */
    ran_reference reference;
    aoe_objective_options objective;
    aoe_pooling pooling;
    double *pooled;
    void *workspace;
    size_t workspace_bytes;
} problem;

static aoei_params *params_of(problem *p) {
    return p->masked ? &p->mlm.params : &p->pair.params;
}

static void fill_batch(aoei_batch_buffer *buffer, size_t vocab) {
    int32_t ids[LONGEST];
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(buffer);
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = (int32_t)aoei_rng_below(&r, (uint32_t)vocab);
        aoei_batch_add(buffer, ids, lengths[i], (uint32_t)(10 + i));
    }
}

/* Selects every third token for prediction. */
static void mask(problem *p) {
    const aoei_batch *b = &p->mlm.buffer.batch;
    for (size_t i = 0; i < b->n_tokens; i += 3) {
        p->mlm.index[p->mlm.n_masked] = (uint32_t)i;
        p->mlm.target[p->mlm.n_masked++] = (int32_t)((i * 7 + 1) % p->config.vocab);
    }
}

static void problem_create(problem *p, aoei_tier tier, int masked, int langml, int with_dropout) {
    size_t tokens = 0;
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < TEXTS; i++)
        tokens += lengths[i];
    p->ctx = test_context(tier, 1);
    p->masked = masked;
    p->config = ran_tiny_config();
    p->config.ran.langml_norm = langml;
    p->config.mlm_head = masked;
    const aoei_pair_step_options pair = {.pairs = PAIRS, .tokens = tokens, .longest = LONGEST, .type = AOEI_F32};
    const aoei_mlm_step_options mlm = {.tokens = tokens, .texts = TEXTS, .longest = LONGEST, .type = AOEI_F32};
    assert_int_equal(masked ? aoei_mlm_step_create(&p->mlm, p->ctx, &p->config, &mlm, NULL)
                            : aoei_pair_step_create(&p->pair, p->ctx, &p->config, &pair, NULL),
                     0);
    aoei_batch_buffer *buffer = masked ? &p->mlm.buffer : &p->pair.buffer;
    tiny_fill(p->ctx, params_of(p), &p->config, 1);
    fill_batch(buffer, p->config.vocab);
    if (masked)
        mask(p);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    ran_reference_create(&p->reference, p->ctx, &p->config, params_of(p)->values, &buffer->batch,
                         with_dropout ? &p->drop : NULL);
    p->pooled = malloc(TEXTS * p->config.hidden * sizeof *p->pooled);
    p->workspace_bytes = aoei_pair_objective_workspace(PAIRS, p->config.hidden);
    p->workspace = aligned_alloc(AOEI_ALIGN, p->workspace_bytes);
    assert_true(p->pooled && p->workspace);
    aoe_objective_options_defaults(&p->objective);
    p->objective.ibn_threshold = 4;
}

static void problem_destroy(problem *p) {
    ran_reference_destroy(&p->reference);
    aoei_pair_step_destroy(&p->pair);
    aoei_mlm_step_destroy(&p->mlm);
    aoe_context_destroy(p->ctx);
    free(p->pooled);
    free(p->workspace);
}

static double loss(problem *p) {
    const size_t D = p->config.hidden;
    aoe_objective_result result;
    ran_reference_forward(&p->reference);
    if (p->masked)
        return ran_reference_mlm_loss(&p->reference, p->mlm.index, p->mlm.target, p->mlm.n_masked);
    ran_reference_pool(&p->reference, p->pooling, p->pooled);
    const aoei_pair_batch pairs = {
        .B = PAIRS, .D = D, .stride = 2 * D, .x64 = p->pooled, .y64 = p->pooled + D, .label = labels};
    assert_int_equal(aoei_pair_objective(&p->objective, &pairs, p->workspace, p->workspace_bytes, NULL, &result, NULL),
                     0);
    return result.total;
}

/* Returns the derivative of the loss along `direction` (of length 1) for one weight tensor w[n]. */
static double directional_derivative(problem *p, double *w, const double *direction, size_t n) {
    double *base = malloc(n * sizeof *base), side[2];
    assert_non_null(base);
    memcpy(base, w, n * sizeof *base);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            w[i] = base[i] + (k ? -STEP : STEP) * direction[i];
        side[k] = loss(p);
    }
    memcpy(w, base, n * sizeof *base);
    free(base);
    return (side[0] - side[1]) / (2 * STEP);
}

/* Writes a direction of length 1 to direction[n]. If `which` is 0, it is the direction of the gradient; if `which` is
 * 1, it is random. */
static void choose_direction(double *direction, const float *grad, size_t n, int which, uint32_t substream) {
    aoei_rng r;
    double length = 0;
    aoei_rng_init(&r, 6, AOEI_STREAM_TEST, substream);
    for (size_t i = 0; i < n; i++) {
        direction[i] = which ? aoei_rng_normal(&r) : (double)grad[i];
        length += direction[i] * direction[i];
    }
    for (size_t i = 0; i < n; i++)
        direction[i] /= sqrt(length);
}

static void check_tensor(problem *p, size_t slot, double whole, const char *what) {
    const aoei_tensor g = params_of(p)->grads[slot];
    const size_t n = g.rows * g.cols;
    if (!g.data)
        return;
    float *grad = malloc(n * sizeof *grad);
    double *direction = malloc(n * sizeof *direction), norm = 0;
    assert_true(grad && direction);
    aoei_tensor_read(p->ctx, grad, g);
    for (size_t i = 0; i < n; i++)
        norm += (double)grad[i] * (double)grad[i];
    norm = sqrt(norm);
    const double bound = fmax(TENSOR_TOLERANCE * norm, WHOLE_TOLERANCE * whole);
    for (int which = norm > 0 ? 0 : 1; which < 2; which++) {
        double expected = 0;
        choose_direction(direction, grad, n, which, (uint32_t)slot);
        for (size_t i = 0; i < n; i++)
            expected += direction[i] * (double)grad[i];
        const double measured = directional_derivative(p, p->reference.weights[slot], direction, n);
        aoei_slot d;
        aoei_slot_describe(&p->config, slot, &d);
        if (!(fabs(measured - expected) <= bound))
            fail_msg("%s, %s, direction %d: gradient %.9g, difference quotient %.9g, bound %g", what, d.name, which,
                     expected, measured, bound);
    }
    free(direction);
    free(grad);
}

/* Runs the step, which stores the gradient in the parameters, and returns its loss. */
static double step(problem *p, int with_dropout) {
    const aoei_encoder_dropout *drop = with_dropout ? &p->drop : NULL;
    aoei_tensor_zero(p->ctx, params_of(p)->grad);
    if (p->masked) {
        aoei_mlm_sums sums = {0};
        aoei_mlm_step_gradient(&p->mlm, drop, 1.0, &sums);
        return sums.loss;
    }
    aoe_objective_result result;
    assert_int_equal(
        aoei_pair_step_gradient(&p->pair, p->pooling, &p->objective, labels, NULL, drop, 1.0, &result, NULL), 0);
    return result.total;
}

static void check(problem *p, aoe_pooling pooling, int with_dropout) {
    char what[128];
    snprintf(what, sizeof what, "%s, langml %d, dropout %d, tier %s",
             p->masked ? "masked words" : aoe_pooling_name(pooling), p->config.ran.langml_norm, with_dropout,
             aoe_context_tier(p->ctx));
    p->pooling = pooling;
    const double got = step(p, with_dropout), want = loss(p),
                 whole = sqrt(aoei_sum_squares(p->ctx, params_of(p)->grad));
    if (!(fabs(got - want) <= LOSS_TOLERANCE * fabs(want)))
        fail_msg("%s: the loss is %.9g, expected %.9g", what, got, want);
    assert_true(whole > 1e-3 && whole < 1e4);
    for (size_t s = 0; s < params_of(p)->n_slots; s++)
        check_tensor(p, s, whole, what);
}

static void test_pairs(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        problem p;
        problem_create(&p, test_best_tier(), 0, k / 2, k % 2);
        for (int pooling = test_next_pooling(0); pooling; pooling = test_next_pooling(pooling))
            if (k == 0 || pooling == AOE_POOLING_FIRST_LAST_AVG)
                check(&p, (aoe_pooling)pooling, k % 2);
        for (int pooling = AOE_POOLING_CELL_LAST; pooling <= AOE_POOLING_CELL_MAX; pooling++)
            check(&p, (aoe_pooling)pooling, k % 2);
        problem_destroy(&p);
    }
}

static void test_masked_words(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        problem p;
        problem_create(&p, test_best_tier(), 1, k / 2, k % 2);
        check(&p, AOE_POOLING_AUTO, k % 2);
        problem_destroy(&p);
    }
}

static void test_other_tiers(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier < (int)test_best_tier(); tier++) {
        problem p;
        problem_create(&p, (aoei_tier)tier, 0, tier % 2, 1);
        check(&p, AOE_POOLING_CELL_MEAN, 1);
        check(&p, AOE_POOLING_LAST_AVG, 1);
        problem_destroy(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_masked_words),
                                       cmocka_unit_test(test_other_tiers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
