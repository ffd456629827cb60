/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests a BERT model against golden values of an independent float64 implementation. On every instruction set, the
 * hidden states and the pooled vectors are compared, for a batch and for single texts. Another test runs every check of
 * aoe_verify. A third test compares bert_reference.h, the double-precision model that other tests use, with the golden
 * values.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/json.h"
#include "model/model.h"
#include "model/open.h"
#include "model/text_batch.h"
#include "nn/batch.h"
#include "nn/pooling.h"

#define GOLDEN "tests/golden/data/bert"

/* maximum relative error of the results of bert_reference.h; it is not 0, because the golden values are rounded to
 * float32 */
#define DOUBLE_TOLERANCE 1e-7

static const double tolerance[] = {[AOEI_F32] = 2e-6, [AOEI_BF16] = 1e-2}; /* maximum relative error for each data
                                                                              type */

/* The golden values, and the model opened for inference. */
typedef struct golden {
    aoe_context *ctx;
    aoe_model *model;
    aoei_safetensors *expected;
    aoei_batch_buffer buffer; /* batch of all texts */
    aoei_arena arena;         /* memory of `state` and `pooled` */
    aoei_encoder_state state;
    aoei_tensor pooled; /* [texts, D] */
} golden;

static void read_texts(golden *g) {
    json_t *cases;
    int32_t ids[128];
    assert_int_equal(aoei_json_load(&cases, GOLDEN "/cases.json", NULL), 0);
    const json_t *texts = json_object_get(cases, "texts");
    assert_int_equal(json_array_size(texts), 8);
    assert_int_equal(aoei_batch_buffer_create(&g->buffer, 1024, 8, NULL), 0);
    for (size_t i = 0; i < 8; i++) {
        const json_t *text = json_array_get(texts, i);
        const size_t n = json_array_size(text);
        assert_true(n > 0 && n <= 128);
        for (size_t t = 0; t < n; t++)
            ids[t] = (int32_t)json_integer_value(json_array_get(text, t));
        aoei_batch_add(&g->buffer, ids, n, (uint32_t)i);
    }
    json_decref(cases);
}

static int layout(golden *g, aoei_arena *arena) {
    const aoei_batch *b = &g->buffer.batch;
    g->pooled = aoei_tensor_take(arena, b->n_texts, g->model->config.hidden);
    return aoei_encoder_layout(&g->state, g->ctx, &g->model->config, arena, b->n_tokens, b->n_texts, b->longest,
                               (aoei_encoder_mode){.type = g->model->type}, NULL);
}

static void golden_open(golden *g, aoei_tier tier, size_t threads, aoe_dtype dtype) {
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    aoei_arena plan;
    memset(g, 0, sizeof *g);
    g->ctx = test_context(tier, threads);
    if (aoei_model_open_for(&g->model, g->ctx, GOLDEN, &o, &(aoei_open_mode){.packed = 1}, &err) ||
        aoei_safetensors_open(&g->expected, GOLDEN "/expected.safetensors", &err))
        fail_msg("%s", err.message);
    read_texts(g);
    aoei_arena_measure(&plan);
    assert_int_equal(layout(g, &plan), 0);
    assert_int_equal(aoei_arena_create(&g->arena, plan.used, NULL), 0);
    assert_int_equal(layout(g, &g->arena), 0);
}

static void golden_close(golden *g) {
    aoei_batch_buffer_destroy(&g->buffer);
    aoei_arena_destroy(&g->arena);
    aoei_safetensors_close(g->expected);
    aoe_model_close(g->model);
    aoe_context_destroy(g->ctx);
}

/* Returns the n golden values of a tensor as doubles. The caller frees them. */
static double *expected(const golden *g, const char *name, size_t n) {
    const aoei_st_tensor *t = aoei_safetensors_find(g->expected, name);
    if (!t || aoei_st_elements(t) != n)
        fail_msg("no tensor %s of %zu values", name, n);
    float *floats = malloc(n * sizeof *floats);
    double *doubles = malloc(n * sizeof *doubles);
    assert_true(floats && doubles);
    aoei_st_to_float(floats, t);
    for (size_t i = 0; i < n; i++)
        doubles[i] = (double)floats[i];
    free(floats);
    return doubles;
}

/* Compares the hidden states of the last layer and the vectors of all poolings with the golden values, for one text.
 * `row` is the index of the text in the batch b, and `index` is its index in the golden file. `last` contains the
 * hidden states of the whole batch. */
static void check_text(const golden *g, const aoei_batch *b, size_t row, size_t index, aoei_tensor last) {
    const size_t D = g->model->config.hidden, n = b->offsets[row + 1] - b->offsets[row];
    char name[64];
    snprintf(name, sizeof name, "hidden.%zu.%zu", index, g->model->config.layers);
    double *want = expected(g, name, n * D);
    test_close(aoei_tensor_rows(last, b->offsets[row], n), want, tolerance[g->model->type]);
    free(want);
    for (int p = test_next_pooling(0); p; p = test_next_pooling(p)) {
        aoei_pool_forward(g->ctx, aoei_tensor_rows(g->pooled, 0, b->n_texts), (aoe_pooling)p,
                          aoei_encoder_hidden(&g->state, &g->model->config, 0, b->n_tokens), last, b);
        snprintf(name, sizeof name, "pooled.%zu.%s", index, aoe_pooling_name((aoe_pooling)p));
        if (!aoei_safetensors_find(g->expected, name)) /* the golden file does not contain vectors for all poolings */
            continue;
        want = expected(g, name, D);
        test_close(aoei_tensor_rows(g->pooled, row, 1), want, tolerance[g->model->type]);
        free(want);
    }
}

static void test_inference(void **state) {
    (void)state;
    for (int tier = 0; tier < 2 * ((int)test_best_tier() + 1); tier++) {
        if (test_skips_tier((aoei_tier)(tier / 2)))
            continue;
        golden g;
        golden_open(&g, (aoei_tier)(tier / 2), 2, tier % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32);
        const aoei_batch *b = &g.buffer.batch;
        const aoei_tensor last = aoei_encoder_forward(g.ctx, &g.model->config, g.model->weights, b, &g.state, NULL);
        for (size_t i = 0; i < b->n_texts; i++)
            check_text(&g, b, i, i, last);
        for (size_t i = 0; i < b->n_texts; i++) {
            const aoei_batch one = test_batch_text(b, i);
            check_text(&g, &one, 0, i,
                       aoei_encoder_forward(g.ctx, &g.model->config, g.model->weights, &one, &g.state, NULL));
            test_batch_free(one, 1);
        }
        golden_close(&g);
    }
}

static void test_reference(void **state) {
    (void)state;
    golden g;
    bert_reference r;
    golden_open(&g, test_best_tier(), 1, AOE_DTYPE_F32);
    const aoei_batch *b = &g.buffer.batch;
    const size_t D = g.model->config.hidden;
    bert_reference_create(&r, g.ctx, &g.model->config, g.model->weights, b, NULL);
    bert_reference_forward(&r);
    for (size_t i = 0; i < b->n_texts; i++) {
        const size_t n = b->offsets[i + 1] - b->offsets[i];
        for (int end = 0; end < 2; end++) {
            char name[64];
            snprintf(name, sizeof name, "hidden.%zu.%zu", i, end ? g.model->config.layers : 0);
            double *want = expected(&g, name, n * D), difference = 0, norm = 0;
            const double *got = (end ? r.last : r.first) + b->offsets[i] * D;
            for (size_t k = 0; k < n * D; k++) {
                difference += (got[k] - want[k]) * (got[k] - want[k]);
                norm += want[k] * want[k];
            }
            assert_true(sqrt(difference) <= DOUBLE_TOLERANCE * sqrt(norm));
            free(want);
        }
    }
    bert_reference_destroy(&r);
    golden_close(&g);
}

/* Summary of the results of aoe_verify. */
typedef struct report {
    size_t results; /* number of results */
    size_t checks;  /* number of checks in all results */
    double worst;   /* largest error divided by its tolerance */
} report;

static void on_result(void *user, const aoe_verify_result *result) {
    report *r = user;
    assert_memory_equal(result->name, "bert/", 5);
    assert_true(result->tolerance > 0 && result->checks > 0);
    if (!result->passed)
        printf("%s: error %g, tolerance %g\n", result->name, result->error, result->tolerance);
    r->results++;
    r->checks += result->checks;
    if (!(result->error / result->tolerance <= r->worst))
        r->worst = result->error / result->tolerance;
}

static void test_verify(void **state) {
    (void)state;
    static const aoe_dtype types[] = {AOE_DTYPE_F32, AOE_DTYPE_BF16, AOE_DTYPE_INT8};
    for (int tier = 0; tier < 3 * ((int)test_best_tier() + 1); tier++) {
        report r = {0};
        aoe_error err = {0};
        aoe_context *ctx = test_context((aoei_tier)(tier / 3), 2);
        const aoe_dtype type = types[tier % 3];
        if (aoe_verify(ctx, GOLDEN, type, on_result, &r, &err))
            fail_msg("tier %s: %s", aoe_context_tier(ctx), err.message);
        assert_true(r.worst <= 1);
        if (type == AOE_DTYPE_INT8) { /* 6 results for poolings, each of which has 8 texts */
            assert_true(r.results == 6 && r.checks == 8 * 6);
            aoe_context_destroy(ctx);
            continue;
        }
        /* 4 results for hidden states, 6 for poolings, 2 for each of 4 objectives, and 2 for the training steps */
        assert_int_equal(r.results, 4 + 6 + 4 * 2 + 2);
        /* each result for hidden states and poolings has 8 texts; each objective has 1 loss and 5 + 3 * 16 gradients;
         * there are 10 training steps */
        assert_int_equal(r.checks, 8 * (4 + 6) + 4 * (1 + 53) + 2 * 10);
        aoe_context_destroy(ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_inference), cmocka_unit_test(test_reference),
                                       cmocka_unit_test(test_verify)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
