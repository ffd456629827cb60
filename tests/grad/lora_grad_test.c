/* SPDX-License-Identifier: MIT
 * tags: numbers
 * covers: encoder/classification_head
 * Tests a whole training step with LoRA adapters. The reference is a step without adapters, in which each weight W is
 * replaced by the merged weight W + scale B A. The losses of both steps must agree. By the chain rule, the gradients of
 * an adapter must be dB = scale dW A^T and dA = scale B^T dW, where dW is the gradient of the merged weight. The tests
 * cover BERT, LLaMA and DeBERTa models and a classification head, adapters for all and for some linear layers, chunks,
 * and recomputation. The bits of the results must not depend on the number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/random.h"
#include "encoder/arch_llama.h"
#include "encoder/classification_head.h"
#include "encoder/slots.h"
#include "train/pair_step.h"

enum { PAIRS = 4, TEXTS = 2 * PAIRS, LONGEST = 9, TOKENS = 40, MOST = 1 << 16 };

static const size_t lengths[TEXTS] = {1, 9, 5, 2, 8, 3, 5, 7};
static const double labels[PAIRS] = {5, 1, 3.5, 0}, targets_of_scores[PAIRS] = {1, 0.25, 0.75, 0};

enum { BERT, LLAMA, DEBERTA, CROSS_ENCODER, KINDS };

/* Returns the configuration of a tiny BERT, of a tiny LLaMA with grouped heads, or of a tiny DeBERTa, whose query and
 * key layers have two inputs, or of a tiny BERT with a classification head. targets: bit set of the adapted linear
 * layers. */
static aoei_encoder_config config_of(int kind, unsigned targets) {
    aoei_encoder_config c;
    tiny_model shape = tiny_defaults();
    shape.options = kind == DEBERTA ? tiny_deberta : NULL;
    tiny_config(&c, &shape);
    if (kind == LLAMA) {
        const aoei_encoder_config sizes = c;
        aoei_arch_llama.defaults(&c);
        c.arch = &aoei_arch_llama;
        c.hidden = sizes.hidden;
        c.layers = sizes.layers;
        c.heads = sizes.heads;
        c.kv_heads = 1;
        c.intermediate = sizes.intermediate;
        c.vocab = sizes.vocab;
        c.positions = sizes.positions;
    }
    if (kind == CROSS_ENCODER) {
        json_t *none = json_object();
        assert_int_equal(aoei_head_read(&c, 1, none, "config.json", NULL), 0);
        json_decref(none);
    }
    c.lora = (aoei_lora){.r = 3, .alpha = 6, .targets = targets};
    return c;
}

/* Returns an array with one tensor for each weight of the configuration. An index of the array is a slot
 * (encoder/slots.h). The caller frees the array with weights_free. */
static aoei_tensor *weights_create(const aoei_encoder_config *c) {
    static float host[MOST];
    const size_t n = aoei_slot_count(c);
    aoei_tensor *w = calloc(n, sizeof *w);
    assert_non_null(w);
    for (size_t i = 0; i < n; i++) {
        aoei_slot d;
        aoei_slot_describe(c, i, &d);
        if (d.absent)
            continue;
        assert_true(d.rows * d.cols <= MOST);
        tiny_weight(host, c, i, 3);
        w[i] = test_tensor(d.rows, d.cols, 0, 1, 1);
        memcpy(w[i].data, host, d.rows * d.cols * sizeof *host);
    }
    return w;
}

static void weights_free(aoei_tensor *w, const aoei_encoder_config *c) {
    for (size_t i = 0; i < aoei_slot_count(c); i++)
        if (w[i].data)
            test_tensor_free(w[i]);
    free(w);
}

/* Adds scale B A of each adapter to the weight that it adapts. */
static void merge(aoei_tensor *w, const aoei_encoder_config *c) {
    const double scale = c->lora.alpha / (double)c->lora.r;
    for (size_t layer = 0; layer < c->layers; layer++)
        for (size_t index = 0; index < AOEI_ADAPTERS; index++) {
            const aoei_tensor *slots = w + aoei_layer_slot(layer, 0), to = slots[aoei_adapter_kind(index)];
            const aoei_tensor down = slots[AOEI_LW_ADAPTERS + 2 * index], up = slots[AOEI_LW_ADAPTERS + 2 * index + 1];
            for (size_t o = 0; down.data && o < to.rows; o++)
                for (size_t i = 0; i < to.cols; i++) {
                    double sum = 0;
                    for (size_t r = 0; r < c->lora.r; r++)
                        sum += (double)test_at(up, o, r) * (double)test_at(down, r, i);
                    *(float *)aoei_tensor_at(to, o, i) += (float)(scale * sum);
                }
        }
}

typedef struct run {
    aoe_context *ctx;
    aoei_pair_step step;
    aoe_objective_result result;
} run;

static void run_step(run *r, const aoei_encoder_config *c, const aoei_tensor *weights, size_t threads,
                     const aoei_pair_step_options *options, const aoei_encoder_dropout *drop) {
    aoe_objective_options objective;
    aoe_objective_options_defaults(&objective);
    int32_t ids[LONGEST];
    aoei_rng random;
    aoei_pair_step_options o = *options;
    o.loss = c->modules.classes ? &aoei_loss_of_scores : NULL;
    r->ctx = test_context(test_best_tier(), threads);
    assert_int_equal(aoei_pair_step_create(&r->step, r->ctx, c, &o, NULL), 0);
    aoei_params_load(r->ctx, &r->step.params, weights);
    aoei_rng_init(&random, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&r->step.buffer);
    for (size_t i = 0; i < (c->modules.classes ? PAIRS : TEXTS); i++) {
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = (int32_t)aoei_rng_below(&random, (uint32_t)c->vocab);
        aoei_batch_add(&r->step.buffer, ids, lengths[i], (uint32_t)i);
    }
    r->step.arity = c->modules.classes ? 1 : 2;
    const aoe_pooling pooling = c->modules.classes ? c->pooling : AOE_POOLING_LAST_AVG;
    assert_int_equal(aoei_pair_step_gradient(&r->step, pooling, &objective,
                                             c->modules.classes ? targets_of_scores : labels, NULL, drop, 1, &r->result,
                                             NULL),
                     0);
}

static void run_end(run *r) {
    aoei_pair_step_destroy(&r->step);
    aoe_context_destroy(r->ctx);
}

static double relative(const double *got, const double *want, size_t n) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return norm > 1e-20 ? sqrt(error / norm) : sqrt(error);
}

/* Compares the gradients of one adapter with scale dw A^T and scale B^T dw. dw is the gradient of the merged weight. */
static void check_adapter(const aoei_encoder_config *c, aoei_tensor dw, const aoei_tensor *adapter,
                          const aoei_tensor *grad, double tolerance) {
    const double scale = c->lora.alpha / (double)c->lora.r;
    static double want[MOST], got[MOST];
    for (int up = 0; up < 2; up++) {
        const size_t rows = grad[up].rows, cols = grad[up].cols;
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < cols; k++) {
                double sum = 0;
                for (size_t m = 0; m < (up ? dw.cols : dw.rows); m++)
                    sum += up ? (double)test_at(dw, i, m) * (double)test_at(adapter[0], k, m)
                              : (double)test_at(adapter[1], m, i) * (double)test_at(dw, m, k);
                want[i * cols + k] = scale * sum;
            }
        test_to_double(got, grad[up]);
        const double error = relative(got, want, rows * cols);
        if (!(error < tolerance))
            fail_msg("gradient of %s of a weight [%zu, %zu]: relative difference %g", up ? "lora_B" : "lora_A", dw.rows,
                     dw.cols, error);
    }
}

/* Compares the gradients of a weight of the classification head. */
static void expect_equal(aoei_tensor got, aoei_tensor want, double tolerance) {
    static double a[MOST], b[MOST];
    test_to_double(a, got);
    test_to_double(b, want);
    const double error = relative(a, b, want.rows * want.cols);
    if (!(error < tolerance))
        fail_msg("gradient of a weight [%zu, %zu] of the head: relative difference %g", want.rows, want.cols, error);
}

static void check(int kind, unsigned targets, size_t chunk, int recompute, aoei_dtype type, double tolerance) {
    const aoei_encoder_config c = config_of(kind, targets);
    aoei_encoder_config whole = c;
    whole.lora.r = 0;
    aoei_tensor *w = weights_create(&c), *merged = weights_create(&c);
    merge(merged, &c);
    aoei_pair_step_options o = {
        .pairs = PAIRS, .tokens = TOKENS, .longest = LONGEST, .type = type, .arity = kind == CROSS_ENCODER};
    run full, adapted;
    run_step(&full, &whole, merged, 1, &o, NULL);
    o.recompute = recompute;
    o.chunk_pairs = chunk;
    o.chunk_tokens = TOKENS;
    run_step(&adapted, &c, w, 1, &o, NULL);
    assert_true(adapted.step.params.count < full.step.params.count);
    assert_true(fabs(adapted.result.total - full.result.total) <= tolerance * fabs(full.result.total));
    size_t adapters = 0;
    for (size_t layer = 0; layer < c.layers; layer++)
        for (size_t index = 0; index < AOEI_ADAPTERS; index++) {
            const size_t slot = aoei_layer_slot(layer, AOEI_LW_ADAPTERS + 2 * index);
            if (!w[slot].data)
                continue;
            check_adapter(&c, full.step.params.grads[aoei_layer_slot(layer, aoei_adapter_kind(index))], w + slot,
                          adapted.step.params.grads + slot, 4 * tolerance);
            adapters++;
        }
    assert_true(adapters >= c.layers);
    for (size_t i = 0; i < aoei_slot_count(&c); i++) {
        aoei_slot d;
        aoei_slot_describe(&c, i, &d);
        const int trained = (d.adapter || d.classifier) && !d.absent;
        assert_int_equal(adapted.step.params.grads[i].data != NULL, trained);
        if (trained && d.classifier)
            expect_equal(adapted.step.params.grads[i], full.step.params.grads[i], 4 * tolerance);
    }
    run_end(&full);
    run_end(&adapted);
    weights_free(w, &c);
    weights_free(merged, &c);
}

static const unsigned all = (1u << AOEI_ADAPTERS) - 1, q_and_v = 1u << 0 | 1u << 2;

static void test_float32(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        check(kind, all, 0, 0, AOEI_F32, 5e-6);
        check(kind, q_and_v, 0, 0, AOEI_F32, 5e-6);
        check(kind, all, 1, 0, AOEI_F32, 5e-6);
        check(kind, all, 0, 1, AOEI_F32, 5e-6);
    }
}

static void test_bf16(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        check(kind, all, 0, 0, AOEI_BF16, 0.03);
}

static void test_threads_and_dropout(void **state) {
    (void)state;
    aoei_encoder_config c = config_of(LLAMA, all);
    c.lora.dropout = 0.2;
    const aoei_encoder_dropout drop = {.key = {3, 4}};
    aoei_tensor *w = weights_create(&c);
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        run r[3];
        for (size_t i = 0; i < 3; i++) { /* run 0: one thread; run 1: three threads, chunks, recomputation; run 2: no
                                            dropout */
            const aoei_pair_step_options o = {.pairs = PAIRS,
                                              .tokens = TOKENS,
                                              .longest = LONGEST,
                                              .type = (aoei_dtype)type,
                                              .recompute = i == 1,
                                              .chunk_pairs = i == 1 && type == AOEI_F32 ? 1 : 0,
                                              .chunk_tokens = TOKENS};
            run_step(&r[i], &c, w, i == 1 ? 3 : 1, &o, i == 2 ? NULL : &drop);
        }
        test_same_bits(r[0].step.params.grad, r[1].step.params.grad);
        assert_true(r[0].result.total == r[1].result.total);
        assert_true(r[0].result.total != r[2].result.total);
        for (size_t i = 0; i < 3; i++)
            run_end(&r[i]);
    }
    weights_free(w, &c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_float32), cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_threads_and_dropout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
