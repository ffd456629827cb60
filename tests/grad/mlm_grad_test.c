/* SPDX-License-Identifier: MIT
 * tags: slow
 * covers: nn/cross_entropy train/mlm_step
 * Tests masked-language-model steps against a double-precision model, on every instruction set. The loss is compared.
 * For every weight tensor, including the tied token embeddings, the directional derivative is compared in the direction
 * of the gradient and in a random direction. The tests cover both forms of GELU, logits that are computed in several
 * blocks, bf16, and accumulation over chunks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "nn/optimizer.h"
#include "train/mlm_step.h"

enum { TEXTS = 6, LONGEST = 19, TOKENS = 60 };

/* Tolerance for gradients, derived as in encoder_grad_test.c. A step through two layers and the head has about 70
 * consecutive roundings of 6e-8. */
#define TENSOR_TOLERANCE 4e-6
#define WHOLE_TOLERANCE  4e-7
#define LOSS_TOLERANCE   2e-6
#define STEP             1e-5
/* Tolerance for bf16: a few dozen roundings to bf16, each with a relative error of 2^-9. */
#define BF16_TOLERANCE 0.03

static const size_t lengths[TEXTS] = {1, 19, 8, 12, 14, 6};

typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config config;
    aoei_mlm_step step;
    aoei_encoder_dropout drop;
    bert_reference reference;
    int with_dropout;
} problem;

/* Fills the batch with the texts [first, last). Every `every`-th token is masked. */
static void fill(aoei_mlm_step *s, size_t first, size_t last, size_t every) {
    int32_t ids[LONGEST];
    aoei_batch_clear(&s->buffer);
    s->n_masked = 0;
    for (size_t i = first; i < last; i++) {
        aoei_rng r;
        aoei_rng_init(&r, 5, AOEI_STREAM_TEST, (uint32_t)i);
        for (size_t t = 0; t < lengths[i]; t++) {
            ids[t] = (int32_t)aoei_rng_below(&r, (uint32_t)s->config.vocab);
            if ((i + t) % every == 0) {
                s->index[s->n_masked] = (uint32_t)(s->buffer.batch.n_tokens + t);
                s->target[s->n_masked++] = (int32_t)aoei_rng_below(&r, (uint32_t)s->config.vocab);
            }
        }
        aoei_batch_add(&s->buffer, ids, lengths[i], (uint32_t)(10 + i));
    }
}

static void create_of(problem *p, aoei_tier tier, aoei_dtype type, const tiny_model *shape, size_t vocab,
                      size_t every) {
    memset(p, 0, sizeof *p);
    p->ctx = test_context(tier, 1);
    tiny_config(&p->config, shape);
    p->config.mlm_head = 1;
    if (vocab)
        p->config.vocab = vocab;
    const aoei_mlm_step_options o = {.tokens = TOKENS, .texts = TEXTS, .longest = LONGEST, .type = type};
    assert_int_equal(aoei_mlm_step_create(&p->step, p->ctx, &p->config, &o, NULL), 0);
    tiny_fill(p->ctx, &p->step.params, &p->config, 1);
    aoei_params_pack(p->ctx, &p->step.params);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    fill(&p->step, 0, TEXTS, every);
    assert_int_equal(p->step.buffer.batch.n_tokens, TOKENS);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
}

static void create(problem *p, aoei_tier tier, aoei_dtype type, aoei_activation activation, size_t vocab,
                   size_t every) {
    tiny_model shape = tiny_defaults();
    shape.activation = activation;
    create_of(p, tier, type, &shape, vocab, every);
}

static void create_reference(problem *p) {
    bert_reference_create(&p->reference, p->ctx, &p->config, p->step.params.values, &p->step.buffer.batch,
                          p->with_dropout ? &p->drop : NULL);
}

static void destroy(problem *p) {
    if (p->reference.config)
        bert_reference_destroy(&p->reference);
    aoei_mlm_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

/* Computes h[E] = norm(f(W x + b)), where f is the activation of the head, the transform before the decoder. */
static void head(const problem *p, const double *x, double *h) {
    const size_t D = p->config.hidden, E = aoei_embed_width(&p->config);
    double *const *w = p->reference.weights + aoei_head_slot(&p->config, 0);
    const aoei_activation f =
        p->config.mlm_activation == AOEI_IDENTITY ? p->config.activation : p->config.mlm_activation;
    double mean = 0, variance = 0;
    for (size_t i = 0; i < E; i++) {
        double sum = w[AOEI_HW_TRANSFORM_BIAS] ? w[AOEI_HW_TRANSFORM_BIAS][i] : 0;
        for (size_t k = 0; k < D; k++)
            sum += w[AOEI_HW_TRANSFORM][i * D + k] * x[k];
        h[i] = bert_reference_activation(sum, f);
        mean += h[i] / (double)E;
    }
    for (size_t i = 0; i < E; i++)
        variance += (h[i] - mean) * (h[i] - mean) / (double)E;
    for (size_t i = 0; i < E; i++)
        h[i] = (h[i] - mean) / sqrt(variance + p->config.norm_eps) * w[AOEI_HW_NORM][i] +
               (w[AOEI_HW_NORM_BIAS] ? w[AOEI_HW_NORM_BIAS][i] : 0);
}

/* Returns the sum of the losses of the masked tokens. *correct is set to the number of masked tokens whose target has
 * the largest logit. */
static double loss(problem *p, size_t *correct) {
    const size_t D = p->config.hidden, E = aoei_embed_width(&p->config), V = p->config.vocab;
    const double *words = p->reference.weights[AOEI_W_WORD],
                 *bias = p->reference.weights[aoei_head_slot(&p->config, AOEI_HW_DECODER_BIAS)];
    double *h = malloc(E * sizeof *h), *logit = malloc(V * sizeof *logit), total = 0;
    assert_true(h && logit);
    *correct = 0;
    bert_reference_forward(&p->reference);
    for (size_t m = 0; m < p->step.n_masked; m++) {
        const size_t target = (size_t)p->step.target[m];
        double max = -INFINITY, sum = 0;
        head(p, p->reference.last + p->step.index[m] * D, h);
        for (size_t v = 0; v < V; v++) {
            logit[v] = bias[v];
            for (size_t k = 0; k < E; k++)
                logit[v] += words[v * E + k] * h[k];
            max = fmax(max, logit[v]);
        }
        for (size_t v = 0; v < V; v++)
            sum += exp(logit[v] - max);
        total += log(sum) + max - logit[target];
        *correct += !(logit[target] < max);
    }
    free(h);
    free(logit);
    return total;
}

static double directional_derivative(problem *p, double *w, const double *direction, size_t n) {
    double *base = malloc(n * sizeof *base), side[2];
    size_t correct;
    assert_non_null(base);
    if (n)
        memcpy(base, w, n * sizeof *base);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < n; i++)
            w[i] = base[i] + (k ? -STEP : STEP) * direction[i];
        side[k] = loss(p, &correct);
    }
    memcpy(w, base, n * sizeof *base);
    free(base);
    return (side[0] - side[1]) / (2 * STEP);
}

static void check_tensor(problem *p, size_t slot, double whole, double share) {
    const aoei_tensor g = p->step.params.grads[slot];
    const size_t n = g.rows * g.cols;
    if (!n) /* the configuration does not have the weight with the index `slot` */
        return;
    float *grad = malloc(n * sizeof *grad);
    double *direction = malloc(n * sizeof *direction), norm = 0;
    assert_true(grad && direction);
    aoei_tensor_read(p->ctx, grad, g);
    for (size_t i = 0; i < n; i++)
        norm += (double)grad[i] * (double)grad[i];
    norm = sqrt(norm);
    assert_true(isfinite(norm));
    const double bound = fmax(share * TENSOR_TOLERANCE * norm, share * WHOLE_TOLERANCE * whole);
    aoei_rng r;
    aoei_rng_init(&r, 6, AOEI_STREAM_TEST, (uint32_t)slot);
    for (int which = norm > 0 ? 0 : 1; which < 2; which++) {
        double length = 0, expected = 0;
        for (size_t i = 0; i < n; i++) {
            direction[i] = which ? aoei_rng_normal(&r) : (double)grad[i];
            length += direction[i] * direction[i];
        }
        for (size_t i = 0; i < n; i++) {
            direction[i] /= sqrt(length);
            expected += direction[i] * (double)grad[i];
        }
        const double measured = directional_derivative(p, p->reference.weights[slot], direction, n);
        if (!(fabs(measured - expected) <= bound))
            fail_msg("tier %s, slot %zu, direction %d: gradient %.9g, difference quotient %.9g, bound %g",
                     aoe_context_tier(p->ctx), slot, which, expected, measured, bound);
    }
    free(direction);
    free(grad);
}

/* Compares a step with the reference. The tolerances of the gradient are multiplied by `share`. */
static void check(problem *p, double loss_tolerance, double share) {
    aoei_mlm_sums sums = {0};
    size_t correct;
    aoei_mlm_step_gradient(&p->step, p->with_dropout ? &p->drop : NULL, 1, &sums);
    const double want = loss(p, &correct), whole = sqrt(aoei_sum_squares(p->ctx, p->step.params.grad));
    assert_int_equal(sums.masked, p->step.n_masked);
    if (share <= 1)
        assert_int_equal(sums.correct, correct);
    if (!(fabs(sums.loss - want) <= loss_tolerance * fabs(want)))
        fail_msg("tier %s: the loss is %.9g, expected %.9g", aoe_context_tier(p->ctx), sums.loss, want);
    assert_true(whole > 1e-3 && whole < 1e3);
    for (size_t s = 0; s < p->step.params.n_slots; s++)
        check_tensor(p, s, whole, share);
}

static void test_gradients(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int k = AOEI_GELU; k <= AOEI_QUICK_GELU; k++) {
            problem p;
            create(&p, (aoei_tier)tier, AOEI_F32, (aoei_activation)k, 0, 3);
            p.with_dropout = k == AOEI_GELU;
            create_reference(&p);
            check(&p, LOSS_TOLERANCE, 1);
            destroy(&p);
        }
}

/* Tests ModernBERT, whose head has no biases except that of the decoder. */
static void test_without_biases(void **state) {
    (void)state;
    problem p;
    tiny_model shape = tiny_defaults();
    shape.options = tiny_modernbert;
    create_of(&p, test_best_tier(), AOEI_F32, &shape, 0, 3);
    create_reference(&p);
    assert_null(p.reference.weights[aoei_head_slot(&p.config, AOEI_HW_TRANSFORM_BIAS)]);
    check(&p, LOSS_TOLERANCE, 1);
    destroy(&p);
}

/* Tests models whose embeddings have another size than their hidden states. */
static void test_narrow_embeddings(void **state) {
    (void)state;
    static void (*const options[])(aoei_encoder_config * c) = {tiny_electra, tiny_albert};
    for (size_t k = 0; k < 4; k++) {
        problem p;
        tiny_model shape = tiny_defaults();
        shape.options = options[k % 2];
        create_of(&p, test_best_tier(), k < 2 ? AOEI_F32 : AOEI_BF16, &shape, 0, 3);
        create_reference(&p);
        check(&p, k < 2 ? LOSS_TOLERANCE : BF16_TOLERANCE, k < 2 ? 1 : BF16_TOLERANCE / TENSOR_TOLERANCE);
        destroy(&p);
    }
}

/* RoBERTa with another activation in its layers than in its head. */
static void silu_layers(aoei_encoder_config *c) {
    tiny_roberta(c);
    c->activation = AOEI_SILU;
    c->mlm_activation = AOEI_GELU;
}

static void test_head_activation(void **state) {
    (void)state;
    problem p;
    tiny_model shape = tiny_defaults();
    shape.options = silu_layers;
    create_of(&p, test_best_tier(), AOEI_F32, &shape, 0, 3);
    create_reference(&p);
    check(&p, LOSS_TOLERANCE, 1);
    destroy(&p);
}

/* Factor for the tolerance of the test with a large vocabulary of V tokens. A SIMD lane adds V / 8 exponentials. The
 * relative error of this sum is about sqrt(V / 8) * 6e-8, or 8e-6. */
#define BLOCKS_SHARE 4
static void test_blocks(void **state) {
    (void)state;
    problem p;
    create(&p, test_best_tier(), AOEI_F32, AOEI_GELU, 131072, 1);
    create_reference(&p);
    assert_int_equal(p.step.n_masked, TOKENS);
    assert_true(p.step.logits.rows < TOKENS);
    aoei_mlm_sums sums = {0};
    size_t correct;
    aoei_mlm_step_gradient(&p.step, NULL, 1, &sums);
    const double want = loss(&p, &correct), whole = sqrt(aoei_sum_squares(p.ctx, p.step.params.grad));
    assert_true(fabs(sums.loss - want) <= LOSS_TOLERANCE * want);
    check_tensor(&p, AOEI_W_WORD, whole, BLOCKS_SHARE);
    check_tensor(&p, aoei_head_slot(&p.config, AOEI_HW_TRANSFORM), whole, BLOCKS_SHARE);
    check_tensor(&p, aoei_head_slot(&p.config, AOEI_HW_DECODER_BIAS), whole, BLOCKS_SHARE);
    destroy(&p);
}

static void test_bf16(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        problem p;
        create(&p, (aoei_tier)tier, AOEI_BF16, AOEI_GELU, 0, 3);
        create_reference(&p);
        check(&p, BF16_TOLERANCE, BF16_TOLERANCE / TENSOR_TOLERANCE);
        destroy(&p);
    }
}

/* Tests a step in two chunks against a step in one chunk. The loss and the gradients must agree within rounding errors.
 * The gradient of a weight inside a layer must have the same bits. Also tests that a step with `scale` 0 leaves the
 * gradients 0. */
static void test_chunks(void **state) {
    (void)state;
    problem p;
    create(&p, test_best_tier(), AOEI_F32, AOEI_GELU, 0, 4);
    const size_t n = p.step.params.count;
    float *once = malloc(n * sizeof *once), *twice = malloc(n * sizeof *twice);
    assert_true(once && twice);
    aoei_mlm_sums whole = {0}, parts = {0}, values = {0};
    aoei_mlm_step_gradient(&p.step, &p.drop, 0, &values);
    assert_true(aoei_sum_squares(p.ctx, p.step.params.grad) == 0);
    aoei_mlm_step_gradient(&p.step, &p.drop, 0.25, &whole);
    assert_true(values.loss == whole.loss && values.correct == whole.correct);
    aoei_tensor_read(p.ctx, once, p.step.params.grad);
    aoei_tensor_zero(p.ctx, p.step.params.grad);
    fill(&p.step, 0, 2, 4);
    aoei_mlm_step_gradient(&p.step, &p.drop, 0.25, &parts);
    fill(&p.step, 2, TEXTS, 4);
    aoei_mlm_step_gradient(&p.step, &p.drop, 0.25, &parts);
    aoei_tensor_read(p.ctx, twice, p.step.params.grad);
    assert_int_equal(parts.masked, whole.masked);
    assert_true(fabs(parts.loss - whole.loss) <= 1e-12 * whole.loss);
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)once[i] - (double)twice[i]) * ((double)once[i] - (double)twice[i]);
        norm += (double)once[i] * (double)once[i];
    }
    /* Both the head and the embedding layer add to the gradient of the token embeddings. With two chunks, additions of
     * the head and of the embedding layer alternate, which changes the rounding errors. */
    assert_true(norm > 0 && sqrt(difference) <= WHOLE_TOLERANCE * sqrt(norm));
    const aoei_tensor g = p.step.params.grads[aoei_layer_slot(1, AOEI_LW_UP)];
    const size_t at = (size_t)(aoei_f32(g) - aoei_f32(p.step.params.grad));
    assert_memory_equal(once + at, twice + at, g.rows * g.cols * sizeof *once);
    free(once);
    free(twice);
    destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),       cmocka_unit_test(test_without_biases),
                                       cmocka_unit_test(test_head_activation), cmocka_unit_test(test_narrow_embeddings),
                                       cmocka_unit_test(test_blocks),          cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_chunks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
