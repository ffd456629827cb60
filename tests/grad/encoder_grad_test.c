/* SPDX-License-Identifier: MIT
 * tags: numbers
 * covers: encoder/layer_pooling encoder/relative_embeddings encoder/transformer_layer_backward nn/layer_mean
 * Tests the gradient of a whole training step (encoder, pooling and objective) against finite differences of a
 * double-precision model. The tests cover every pooling and objective, both forms of the angle loss and of GELU, and
 * the options of every architecture. Dropout is tested with fixed masks. For each weight tensor, the directional
 * derivative is compared in the direction of the gradient and in a random direction.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "loss/pair_objective.h"
#include "nn/optimizer.h"
#include "train/pair_step.h"
#include "train/views.h"

enum { PAIRS = 5, TEXTS = 2 * PAIRS, LONGEST = 9, TOKENS = 50 };

/* Tolerances. A forward and a backward pass through two layers have about 60 consecutive roundings of 6e-8. The error
 * of the gradient of a weight tensor may be at most the larger of TENSOR_TOLERANCE times the norm of this gradient and
 * WHOLE_TOLERANCE times the norm of the gradient of all weights. The second bound is for gradients that are small
 * differences of large terms; for example, the gradient of key biases is zero in exact arithmetic. */
#define TENSOR_TOLERANCE 4e-6
#define WHOLE_TOLERANCE  4e-7
#define LOSS_TOLERANCE   2e-6
#define STEP                                                                                                           \
    1e-5 /* step of the difference quotients, along directions of length 1; truncation and rounding errors are below   \
            1e-9 */

static const size_t lengths[TEXTS] = {1, 9, 5, 2, 8, 3, 5, 7, 4, 6};
static const double labels[PAIRS] = {5, 1, 3.5, 4, 0};
/* index of the first text that is equal to text i; texts 2 and 6 are equal */
static const uint32_t groups[TEXTS] = {0, 1, 2, 3, 4, 5, 2, 7, 8, 9};

typedef struct objective_case {
    const char *name;
    double w_cosine, w_ibn, w_angle;
    aoe_angle_form form;
} objective_case;

static const objective_case objectives[] = {{"cosine", 1, 0, 0, AOE_ANGLE_REFERENCE},
                                            {"ibn", 0, 1, 0, AOE_ANGLE_REFERENCE},
                                            {"angle", 0, 0, 1, AOE_ANGLE_REFERENCE},
                                            {"phase", 0, 0, 1, AOE_ANGLE_PHASE},
                                            {"all", 1, 0.5, 2, AOE_ANGLE_REFERENCE}};
enum { OBJECTIVES = sizeof objectives / sizeof *objectives };

/* The step under test and the reference model in double. */
typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config config;
    aoei_pair_step step;
    aoei_encoder_dropout drop;
    bert_reference reference;
    aoe_objective_options objective;
    aoe_pooling pooling;
    double *pooled;
    void *workspace;
    size_t workspace_bytes;
} problem;

static void fill_batch(aoei_pair_step *step) {
    int32_t ids[TEXTS][LONGEST];
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&step->buffer);
    for (size_t i = 0; i < TEXTS; i++) {
        for (size_t t = 0; t < lengths[i]; t++)
            ids[i][t] = i == 6 ? ids[2][t] : (int32_t)aoei_rng_below(&r, (uint32_t)step->config.vocab);
        aoei_batch_add(&step->buffer, ids[i], lengths[i], (uint32_t)(10 + i));
    }
    assert_int_equal(step->buffer.batch.n_tokens, TOKENS);
}

static void problem_create_of(problem *p, aoei_tier tier, const tiny_model *shape, int with_dropout) {
    memset(p, 0, sizeof *p);
    p->ctx = test_context(tier, 1);
    tiny_config(&p->config, shape);
    const aoei_pair_step_options o = {.pairs = PAIRS, .tokens = TOKENS, .longest = LONGEST, .type = AOEI_F32};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->config, &o, NULL), 0);
    tiny_fill(p->ctx, &p->step.params, &p->config, 1);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    fill_batch(&p->step);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    bert_reference_create(&p->reference, p->ctx, &p->config, p->step.params.values, &p->step.buffer.batch,
                          with_dropout ? &p->drop : NULL);
    p->pooled = malloc(TEXTS * p->config.hidden * sizeof *p->pooled);
    p->workspace_bytes = aoei_pair_objective_workspace(PAIRS, p->config.hidden);
    p->workspace = aligned_alloc(AOEI_ALIGN, p->workspace_bytes);
    assert_true(p->pooled && p->workspace);
}

static void problem_create(problem *p, aoei_tier tier, aoei_activation activation, int with_dropout) {
    tiny_model shape = tiny_defaults();
    shape.activation = activation;
    problem_create_of(p, tier, &shape, with_dropout);
}

static void problem_destroy(problem *p) {
    bert_reference_destroy(&p->reference);
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
    free(p->pooled);
    free(p->workspace);
}

static double loss(problem *p) {
    const size_t D = p->config.hidden;
    aoe_objective_result result;
    bert_reference_forward(&p->reference);
    bert_reference_pool(&p->reference, p->pooling, p->pooled);
    const aoei_pair_batch pairs = {
        .B = PAIRS, .D = D, .stride = 2 * D, .x64 = p->pooled, .y64 = p->pooled + D, .label = labels, .group = groups};
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
 * 1, it is random. Returns the length of the vector before it was scaled. */
static double choose_direction(double *direction, const float *grad, size_t n, int which, uint32_t substream) {
    aoei_rng r;
    double length = 0;
    aoei_rng_init(&r, 6, AOEI_STREAM_TEST, substream);
    for (size_t i = 0; i < n; i++) {
        direction[i] = which ? aoei_rng_normal(&r) : (double)grad[i];
        length += direction[i] * direction[i];
    }
    length = sqrt(length);
    for (size_t i = 0; i < n; i++)
        direction[i] /= length;
    return length;
}

static void check_tensor(problem *p, size_t slot, double whole, const char *what) {
    const aoei_tensor g = p->step.params.grads[slot];
    const size_t n = g.rows * g.cols;
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
        if (!(fabs(measured - expected) <= bound))
            fail_msg("%s, slot %zu, direction %d: gradient %.9g, difference quotient %.9g, bound %g", what, slot, which,
                     expected, measured, bound);
    }
    free(direction);
    free(grad);
}

static void check(problem *p, aoe_pooling pooling, const objective_case *c, int with_dropout) {
    char what[128];
    aoe_objective_result result;
    const aoei_params *params = &p->step.params;
    snprintf(what, sizeof what, "%s, %s, dropout %d, tier %s", aoe_pooling_name(pooling), c->name, with_dropout,
             aoe_context_tier(p->ctx));
    aoe_objective_options_defaults(&p->objective);
    p->objective.w_cosine = c->w_cosine;
    p->objective.w_ibn = c->w_ibn;
    p->objective.w_angle = c->w_angle;
    p->objective.angle_form = c->form;
    p->objective.ibn_threshold = 4;
    p->pooling = pooling;
    aoei_tensor_zero(p->ctx, params->grad);
    assert_int_equal(aoei_pair_step_gradient(&p->step, pooling, &p->objective, labels, groups,
                                             with_dropout ? &p->drop : NULL, 1.0, &result, NULL),
                     0);
    const double want = loss(p), whole = sqrt(aoei_sum_squares(p->ctx, params->grad));
    if (!(fabs(result.total - want) <= LOSS_TOLERANCE * fabs(want)))
        fail_msg("%s: the loss is %.9g, expected %.9g", what, result.total, want);
    assert_true(whole > 1e-3 && whole < 1e3);
    for (size_t s = 0; s < params->n_slots; s++)
        if (params->grads[s].data)
            check_tensor(p, s, whole, what);
}

static void test_on_best_tier(void **state) {
    (void)state;
    for (int with_dropout = 0; with_dropout < 2; with_dropout++) {
        problem p;
        problem_create(&p, test_best_tier(), AOEI_GELU, with_dropout);
        for (int pooling = test_next_pooling(0); pooling; pooling = test_next_pooling(pooling))
            for (size_t k = 0; k < OBJECTIVES; k++)
                check(&p, (aoe_pooling)pooling, &objectives[k], with_dropout);
        problem_destroy(&p);
    }
}

static void test_other_tiers(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier < (int)test_best_tier(); tier++) {
        if (test_skips_tier((aoei_tier)tier))
            continue;
        problem p;
        problem_create(&p, (aoei_tier)tier, AOEI_GELU, 1);
        check(&p, AOE_POOLING_FIRST_LAST_AVG, &objectives[OBJECTIVES - 1], 1);
        problem_destroy(&p);
    }
}

static void test_activations(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int activation = AOEI_GELU_TANH; activation <= AOEI_QUICK_GELU && !test_skips_tier((aoei_tier)tier);
             activation++) {
            problem p;
            problem_create(&p, (aoei_tier)tier, (aoei_activation)activation, tier % 2);
            check(&p, AOE_POOLING_CLS_LAST_AVG, &objectives[OBJECTIVES - 1], tier % 2);
            problem_destroy(&p);
        }
}

/* Tests the options of every architecture. They include norms before the layers, RMSNorm, RoPE scalings, grouped heads,
 * gated activations, biases, biases of scores, attention windows, and attention that is causal in all or in some
 * layers. */
static void test_architectures(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {
        tiny_roberta,    tiny_llama,     tiny_mistral, tiny_qwen2,         tiny_billm,     tiny_modern,
        tiny_mpnet,      tiny_jina_bert, tiny_nomic,   tiny_nomic_partial, tiny_qwen3,     tiny_gemma3,
        tiny_modernbert, tiny_new,       tiny_deberta, tiny_electra,       tiny_jina_code, tiny_albert,
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int with_dropout = 0; with_dropout < 2; with_dropout++) {
            tiny_model shape = tiny_defaults();
            problem p;
            shape.options = options[i];
            problem_create_of(&p, with_dropout ? AOEI_TIER_C : test_best_tier(), &shape, with_dropout);
            check(&p, with_dropout ? AOE_POOLING_FIRST_LAST_AVG : AOE_POOLING_LAST_TOKEN, &objectives[OBJECTIVES - 1],
                  with_dropout);
            problem_destroy(&p);
        }
}

static void all_states(aoei_encoder_config *c) {
    c->modules.layer_weights = 3;
}

static void last_states_of_llama(aoei_encoder_config *c) {
    tiny_llama(c);
    c->modules.layer_weights = 2;
}

static void all_states_of_albert(aoei_encoder_config *c) {
    tiny_albert(c);
    c->modules.layer_weights = 3;
}

/* Tests layer weights, with which the input of the pooling is the weighted mean of hidden states. */
static void test_layer_weights(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {all_states, last_states_of_llama, all_states_of_albert};
    for (size_t i = 0; i < 6; i++) {
        tiny_model shape = tiny_defaults();
        problem p;
        shape.options = options[i % 3];
        problem_create_of(&p, i / 3 ? AOEI_TIER_C : test_best_tier(), &shape, i / 3 > 0);
        check(&p, i / 3 ? AOE_POOLING_FIRST_LAST_AVG : AOE_POOLING_LAST_AVG, &objectives[OBJECTIVES - 1], i / 3 > 0);
        assert_true(p.step.params.grads[aoei_pooled_slot(&p.config, AOEI_PW_LAYER_WEIGHTS)].data != NULL);
        problem_destroy(&p);
    }
}

static void last_two_states(aoei_encoder_config *c) {
    c->modules.paired_state = c->layers - 1;
}

static void first_and_last_state(aoei_encoder_config *c) {
    c->layers = 3;
    c->modules.paired_state = 1;
}

static void last_two_states_of_llama(aoei_encoder_config *c) {
    tiny_llama(c);
    c->layers = 3;
    c->modules.paired_state = 2;
}

static void first_and_last_state_of_llama(aoei_encoder_config *c) {
    tiny_llama(c);
    c->layers = 3;
    c->modules.paired_state = 1;
}

/* Tests the poolings that compute the mean of two layers. */
static void test_paired_states(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {last_two_states, first_and_last_state,
                                                               last_two_states_of_llama, first_and_last_state_of_llama};
    for (size_t i = 0; i < 8; i++) {
        tiny_model shape = tiny_defaults();
        problem p;
        shape.options = options[i % 4];
        problem_create_of(&p, i / 4 ? AOEI_TIER_C : test_best_tier(), &shape, i / 4 > 0);
        check(&p, i % 2 ? AOE_POOLING_LAYER1_LAST_AVG : AOE_POOLING_LAST_TWO_AVG, &objectives[OBJECTIVES - 1],
              i / 4 > 0);
        problem_destroy(&p);
    }
}

/* Tests the state of one token, which has another position in every text. */
static void test_mask(void **state) {
    (void)state;
    problem p;
    problem_create(&p, test_best_tier(), 0, 1);
    p.config.mask_id = p.step.config.mask_id = 3;
    for (size_t i = 0; i < TEXTS; i++) {
        int32_t *ids = p.step.buffer.ids + p.step.buffer.batch.offsets[i];
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = t == (i == 6 ? 2 : i) % lengths[i] ? 3 : ids[t] == 3 ? 4 : ids[t];
    }
    check(&p, AOE_POOLING_MASK, &objectives[OBJECTIVES - 1], 1);
    problem_destroy(&p);
}

/* The views of the copies of a text in a test case. */
typedef struct view_case {
    aoe_view views[AOE_VIEWS];
    void (*options)(aoei_encoder_config *c); /* architecture; NULL: BERT */
} view_case;

/* Tests the gradient through both views of texts at once. The two texts of a pair have the same tokens, so both views
 * use the same rows of the token embeddings. The architectures have position embeddings or rotary positions, and
 * embeddings that are smaller than the hidden states, or that have no norm. */
static void test_views(void **state) {
    (void)state;
    static const view_case cases[] = {
        {{{AOE_VIEW_FEATURE_CUT, 0.2}, {AOE_VIEW_SHUFFLE, 0}}, NULL},
        {{{AOE_VIEW_PLAIN, 0}, {AOE_VIEW_TOKEN_CUT, 0.3}}, NULL},
        {{{AOE_VIEW_TOKEN_CUT, 0.4}, {AOE_VIEW_FEATURE_CUT, 0.5}}, tiny_mpnet},
        {{{AOE_VIEW_SHUFFLE, 0}, {AOE_VIEW_FEATURE_CUT, 0.3}}, tiny_llama},
        {{{AOE_VIEW_SHUFFLE, 0}, {AOE_VIEW_TOKEN_CUT, 0.5}}, tiny_modernbert},
        {{{AOE_VIEW_FEATURE_CUT, 0.4}, {AOE_VIEW_SHUFFLE, 0}}, tiny_electra},
        {{{AOE_VIEW_FEATURE_CUT, 0.4}, {AOE_VIEW_TOKEN_CUT, 0.5}}, tiny_deberta},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (int with_dropout = 0; with_dropout < 2; with_dropout++) {
            tiny_model shape = tiny_defaults();
            problem p;
            aoei_views views;
            shape.options = cases[n].options;
            problem_create_of(&p, with_dropout ? AOEI_TIER_C : test_best_tier(), &shape, with_dropout);
            assert_int_equal(aoei_views_create(&views, &p.config, TEXTS, TOKENS, LONGEST, NULL), 0);
            aoei_views_begin_step(&views, 7, 3);
            aoei_batch_clear(&p.step.buffer);
            for (size_t i = 0; i < TEXTS; i++) {
                int32_t ids[LONGEST];
                for (size_t t = 0; t < lengths[i / 2 + 2]; t++)
                    ids[t] = (int32_t)((5 * (i / 2) + 3 * t) % p.config.vocab);
                aoei_batch_add(&p.step.buffer, ids, lengths[i / 2 + 2], (uint32_t)(10 + i));
                aoei_views_apply(&views, &cases[n].views[i % 2], &p.step.buffer);
            }
            assert_non_null(p.step.buffer.batch.cutoffs);
            check(&p, with_dropout ? AOE_POOLING_FIRST_LAST_AVG : AOE_POOLING_LAST_AVG, &objectives[OBJECTIVES - 1],
                  with_dropout);
            aoei_views_destroy(&views);
            problem_destroy(&p);
        }
}

/* Tests the factor `scale` of the gradient and the accumulation of gradients. Two calls with a scale of 0.5 must give
 * the gradient of one call with a scale of 1. */
static void test_scale_and_sum(void **state) {
    (void)state;
    problem p;
    problem_create(&p, test_best_tier(), 0, 0);
    const size_t n = p.step.params.count;
    float *once = malloc(n * sizeof *once), *twice = malloc(n * sizeof *twice);
    aoe_objective_result result;
    assert_true(once && twice);
    aoe_objective_options_defaults(&p.objective);
    p.objective.ibn_threshold = 4;
    for (int k = 0; k < 2; k++) {
        aoei_tensor_zero(p.ctx, p.step.params.grad);
        for (int i = 0; i <= k; i++)
            assert_int_equal(aoei_pair_step_gradient(&p.step, AOE_POOLING_CLS, &p.objective, labels, groups, NULL,
                                                     k ? 0.5 : 1.0, &result, NULL),
                             0);
        aoei_tensor_read(p.ctx, k ? twice : once, p.step.params.grad);
    }
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)once[i] - (double)twice[i]) * ((double)once[i] - (double)twice[i]);
        norm += (double)once[i] * (double)once[i];
    }
    assert_true(norm > 0 && sqrt(difference) <= WHOLE_TOLERANCE * sqrt(norm));
    free(once);
    free(twice);
    problem_destroy(&p);
}

static double norm_of(const problem *p, aoei_tensor t) {
    return sqrt(aoei_sum_squares(p->ctx, t));
}

/* Tests the update of the parameters. It must clip the gradient, make an AdamW step and then set the gradient to zero.
 * The test computes the norm of the clipped gradient from the first moment of AdamW, which is 0.1 times this gradient
 * after one step. A gradient with NaN must not change any parameter. */
static void test_update(void **state) {
    (void)state;
    static const double bounds[] = {0, 1e9, 0.5};
    problem p;
    problem_create(&p, test_best_tier(), 0, 0);
    aoei_params *params = &p.step.params;
    const aoei_optimizer o = {.lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1};
    aoe_objective_result result;
    aoe_objective_options_defaults(&p.objective);
    p.objective.ibn_threshold = 4;
    for (int k = 0; k < 3; k++) {
        tiny_fill(p.ctx, params, &p.config, 1);
        aoei_tensor_zero(p.ctx, params->m);
        aoei_tensor_zero(p.ctx, params->v);
        assert_int_equal(
            aoei_pair_step_gradient(&p.step, AOE_POOLING_CLS, &p.objective, labels, groups, NULL, 1.0, &result, NULL),
            0);
        const double norm = norm_of(&p, params->grad);
        assert_true(norm > 1 && aoei_params_update(p.step.ctx, &p.step.params, &o, bounds[k]) == norm);
        const double kept = k == 2 ? bounds[k] * norm / (norm + 1e-6) : norm;
        assert_true(fabs(norm_of(&p, params->m) / (0.1 * kept) - 1) < 1e-7);
        assert_true(norm_of(&p, params->grad) == 0);
    }
    const double before = norm_of(&p, params->value), moment = norm_of(&p, params->m);
    aoei_f32(params->grad)[7] = NAN;
    assert_true(!isfinite(aoei_params_update(p.step.ctx, &p.step.params, &o, 1)));
    assert_true(norm_of(&p, params->value) == before && norm_of(&p, params->m) == moment &&
                norm_of(&p, params->grad) == 0);
    problem_destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_on_best_tier),  cmocka_unit_test(test_other_tiers),
                                       cmocka_unit_test(test_activations),   cmocka_unit_test(test_architectures),
                                       cmocka_unit_test(test_layer_weights), cmocka_unit_test(test_paired_states),
                                       cmocka_unit_test(test_mask),          cmocka_unit_test(test_views),
                                       cmocka_unit_test(test_scale_and_sum), cmocka_unit_test(test_update)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
