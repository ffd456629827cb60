/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests a Qwen2 model against golden values of an independent float64 implementation. The model is causal, and has
 * grouped-query attention and biases in the query, key and value projections. The vocabulary of the model contains only
 * the tokens of the texts in cases.json. The tests are:
 * - On every instruction set, the hidden states are compared, with causal and with bidirectional attention, for a batch
 *   and for single texts.
 * - On every instruction set, the losses and gradient norms of ten training steps are compared.
 * - If the shared data is available, every check of aoe_verify is run for RoBERTa, LLaMA and Qwen2.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/json.h"
#include "model/model.h"
#include "model/text_batch.h"
#include "nn/batch.h"
#include "nn/optimizer.h"
#include "train/pair_step.h"
#include "model/open.h"

#define GOLDEN "tests/golden/qwen2"

enum { TEXTS = 8, PAIRS = 8, MAX_TOKENS = 128, TOKENS = 2 * PAIRS * MAX_TOKENS };

/* Maximum relative error for each data type. The value for bf16 is also the tolerance of aoe_verify. */
static const double tolerance[] = {[AOEI_F32] = 2e-6, [AOEI_BF16] = 2e-2};

typedef struct golden {
    aoe_context *ctx;
    aoe_model *model;
    json_t *cases;
    aoei_safetensors *expected;
} golden;

static void golden_open(golden *g, aoei_tier tier, aoe_dtype dtype, int plain) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    aoe_error err = {0};
    g->ctx = test_context(tier, 2);
    if (aoei_model_open_for(&g->model, g->ctx, GOLDEN, &o, &(aoei_open_mode){.packed = !plain}, &err) ||
        aoei_json_load(&g->cases, GOLDEN "/cases.json", &err) ||
        aoei_safetensors_open(&g->expected, GOLDEN "/expected.safetensors", &err))
        fail_msg("%s", err.message);
}

static void golden_close(golden *g) {
    aoei_safetensors_close(g->expected);
    json_decref(g->cases);
    aoe_model_close(g->model);
    aoe_context_destroy(g->ctx);
}

/* Adds a text to the buffer. `list` contains its token ids. Returns the group of the text, which is the index of the
 * first equal text. */
static uint32_t add(aoei_batch_buffer *buffer, const json_t *list) {
    static int32_t ids[MAX_TOKENS];
    const size_t n = json_array_size(list), index = buffer->batch.n_texts;
    assert_true(n > 0 && n <= MAX_TOKENS);
    for (size_t t = 0; t < n; t++)
        ids[t] = (int32_t)json_integer_value(json_array_get(list, t));
    aoei_batch_add(buffer, ids, n, (uint32_t)index);
    const aoei_batch *b = &buffer->batch;
    size_t k = 0;
    while (k < index && (b->offsets[k + 1] - b->offsets[k] != n ||
                         memcmp(b->ids + b->offsets[k], b->ids + b->offsets[index], n * sizeof *ids) != 0))
        k++;
    return (uint32_t)k;
}

/* Compares rows [tokens, D] with the golden tensor whose name is `kind`, ".", the number of the text, and `layer`. For
 * example, "hidden.3.2" is the output of layer 2 for text 3. Returns 0 if the golden file has no tensor with this name,
 * otherwise 1. */
static int check_rows(const golden *g, const char *kind, size_t text, const char *layer, aoei_tensor rows) {
    char name[64];
    snprintf(name, sizeof name, "%s.%zu%s", kind, text, layer);
    const aoei_st_tensor *t = aoei_safetensors_find(g->expected, name);
    if (!t)
        return 0;
    const size_t n = aoei_st_elements(t);
    float *floats = malloc(n * sizeof *floats);
    double *want = malloc(n * sizeof *want);
    assert_true(floats && want && n == rows.rows * rows.cols);
    aoei_st_to_float(floats, t);
    for (size_t i = 0; i < n; i++)
        want[i] = (double)floats[i];
    test_close(rows, want, tolerance[g->model->type]);
    free(floats);
    free(want);
    return 1;
}

static int layout(const golden *g, aoei_encoder_state *s, aoei_arena *arena) {
    return aoei_encoder_layout(s, g->ctx, &g->model->config, arena, TOKENS, TEXTS, MAX_TOKENS,
                               (aoei_encoder_mode){.type = g->model->type}, NULL);
}

/* Compares the hidden states of the texts in b with the golden values, first in one batch and then for single texts.
 * `count` is the number of texts that have golden values. */
static void check_texts(const golden *g, const aoei_encoder_config *c, aoei_encoder_state *s, const aoei_batch *b,
                        const char *kind, const char *layer, size_t count) {
    size_t found = 0;
    aoei_tensor last = aoei_encoder_forward(g->ctx, c, g->model->weights, b, s, NULL);
    for (size_t i = 0; i < b->n_texts; i++)
        check_rows(g, kind, i, layer, aoei_tensor_rows(last, b->offsets[i], b->offsets[i + 1] - b->offsets[i]));
    for (size_t i = 0; i < b->n_texts; i++) {
        const aoei_batch one = test_batch_text(b, i);
        last = aoei_encoder_forward(g->ctx, c, g->model->weights, &one, s, NULL);
        found += (size_t)check_rows(g, kind, i, layer, aoei_tensor_rows(last, 0, one.n_tokens));
        test_batch_free(one, 1);
    }
    assert_int_equal(found, count);
}

static void test_inference(void **state) {
    (void)state;
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1); k++) {
        golden g;
        aoei_batch_buffer buffer;
        aoei_arena plan, arena;
        aoei_encoder_state s;
        golden_open(&g, (aoei_tier)(k / 2), k % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32, 0);
        assert_int_equal(g.model->settings.pooling, AOE_POOLING_LAST_TOKEN);
        assert_int_equal(aoei_batch_buffer_create(&buffer, TOKENS, TEXTS, NULL), 0);
        for (size_t i = 0; i < TEXTS; i++)
            add(&buffer, json_array_get(json_object_get(g.cases, "texts"), i));
        aoei_arena_measure(&plan);
        assert_int_equal(layout(&g, &s, &plan), 0);
        assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
        assert_int_equal(layout(&g, &s, &arena), 0);
        aoei_encoder_config both = g.model->config;
        both.bidirectional_from = 0;
        check_texts(&g, &g.model->config, &s, &buffer.batch, "hidden", ".2", TEXTS);
        check_texts(&g, &both, &s, &buffer.batch, "bidirectional", "", 2);
        aoei_arena_destroy(&arena);
        aoei_batch_buffer_destroy(&buffer);
        golden_close(&g);
    }
}

/* Computes the gradient of a loss and returns the loss. If ibn is 0, the loss is the sum of the cosine and the angle
 * objective. If ibn is 1, the loss is the in-batch negatives objective with detection of identical sentence pairs. */
static double gradient(const golden *g, aoei_pair_step *step, const uint32_t *groups, int ibn) {
    double label[PAIRS];
    aoe_objective_options o;
    aoe_objective_result r;
    for (size_t i = 0; i < PAIRS; i++)
        label[i] = json_number_value(json_array_get(json_object_get(g->cases, ibn ? "binary" : "graded"), i));
    aoe_objective_options_defaults(&o);
    o.w_cosine = o.w_angle = !ibn;
    o.w_ibn = o.isp = ibn;
    o.ibn_threshold = 1;
    assert_int_equal(aoei_pair_step_gradient(step, AOE_POOLING_LAST_TOKEN, &o, label, groups, NULL, 1, &r, NULL), 0);
    return r.total;
}

static void check_near(double got, double want, double bound, const char *what, size_t i) {
    if (!(fabs(got - want) <= bound * fabs(want)))
        fail_msg("%s of step %zu is %.9g, expected %.9g", what, i, got, want);
}

/* Checks the loss and the gradient norm of each of ten training steps in float32. */
static void test_trace(void **state) {
    (void)state;
    for (int tier = 0; tier <= (int)test_best_tier(); tier++) {
        golden g;
        aoei_pair_step step;
        uint32_t groups[2 * PAIRS];
        golden_open(&g, (aoei_tier)tier, AOE_DTYPE_F32, 1);
        const aoei_pair_step_options o = {.pairs = PAIRS, .tokens = TOKENS, .longest = MAX_TOKENS, .type = AOEI_F32};
        assert_int_equal(aoei_pair_step_create(&step, g.ctx, &g.model->config, &o, NULL), 0);
        for (size_t s = 0; s < step.params.n_slots; s++)
            step.params.segments[s].decay = 1; /* the golden values were computed with weight decay for norms and biases
                                                  also */
        aoei_params_load(g.ctx, &step.params, g.model->weights);
        aoei_batch_clear(&step.buffer);
        for (size_t i = 0; i < 2 * PAIRS; i++)
            groups[i] =
                add(&step.buffer, json_array_get(json_array_get(json_object_get(g.cases, "pairs"), i / 2), i % 2));
        const json_t *adamw = json_object_get(g.cases, "adamw"), *trace = json_object_get(adamw, "trace");
        const json_t *betas = json_object_get(adamw, "betas");
        aoei_optimizer a = {.lr = json_number_value(json_object_get(adamw, "lr")),
                            .beta1 = json_number_value(json_array_get(betas, 0)),
                            .beta2 = json_number_value(json_array_get(betas, 1)),
                            .eps = json_number_value(json_object_get(adamw, "eps")),
                            .weight_decay = json_number_value(json_object_get(adamw, "weight_decay"))};
        assert_int_equal(json_array_size(trace), 10);
        for (size_t i = 0; i < 10; i++) {
            const json_t *want = json_array_get(trace, i);
            const double loss = gradient(&g, &step, groups, 0) + gradient(&g, &step, groups, 1);
            check_near(loss, json_number_value(json_object_get(want, "loss")), 1e-5, "loss", i);
            a.step = i + 1;
            check_near(aoei_params_update(g.ctx, &step.params, &a, 0),
                       json_number_value(json_object_get(want, "grad_norm")), 1e-4, "gradient norm", i);
        }
        aoei_pair_step_destroy(&step);
        golden_close(&g);
    }
}

static void test_shared_cases(void **state) {
    (void)state;
    static const char *const names[] = {"golden/roberta", "golden/llama", "golden/qwen2"};
    for (size_t i = 0; i < 3; i++)
        for (int type = AOE_DTYPE_F32; type <= AOE_DTYPE_INT8; type++) {
            char *dir = test_shared_path(names[i]);
            aoe_error err = {0};
            if (!dir)
                skip();
            aoe_context *ctx = test_context(test_best_tier(), 2);
            if (aoe_verify(ctx, dir, (aoe_dtype)type, NULL, NULL, &err))
                fail_msg("%s: %s", names[i], err.message);
            aoe_context_destroy(ctx);
            free(dir);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inference), cmocka_unit_test(test_trace),
                                       cmocka_unit_test(test_shared_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
