/* SPDX-License-Identifier: MIT
 * tags: numbers
 * covers: model/logit_score_head model/reranker_template tokenizer/pair
 * Tests cross-encoders: the outputs of the classification heads of several architectures are compared with float64
 * values of the library transformers (tests/peers/cross_encoders.py; jina_bert: tests/peers/jina_reference.py), and
 * errors of aoe_score_pairs and of the options are tested.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "base/json.h"

#define GOLDEN "tests/golden/cross_encoders/"

enum { MAX_PAIRS = 16, CLASSES = 2 };

static const char *const names[] = {"albert", "bert",       "deberta", "distilbert", "electra",    "gte",
                                    "mpnet",  "modernbert", "qwen3",   "roberta",    "nomic_bert", "jina_bert"};

static aoe_model *open_model(aoe_context *ctx, const char *dir, aoe_dtype dtype) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    o.activation = AOE_SCORE_LOGIT;
    o.dtype = dtype;
    return test_model_open(ctx, dir, &o);
}

/* Computes the scores of the pairs in `cases`. batch_tokens: option of the embedder. */
static size_t score(aoe_model *m, const json_t *cases, size_t batch_tokens, float *scores) {
    const json_t *pairs = json_object_get(cases, "pairs");
    aoe_text first[MAX_PAIRS], second[MAX_PAIRS];
    aoe_embedder_options o;
    aoe_embedder *e;
    aoe_error err = {0};
    const size_t n = json_array_size(pairs);
    assert_true(n > 0 && n <= MAX_PAIRS);
    for (size_t i = 0; i < n; i++) {
        first[i] = aoe_text_of(json_string_value(json_array_get(json_array_get(pairs, i), 0)));
        second[i] = aoe_text_of(json_string_value(json_array_get(json_array_get(pairs, i), 1)));
    }
    aoe_embedder_options_defaults(&o);
    o.batch_tokens = batch_tokens;
    if (aoe_embedder_create(&e, m, &o, &err) || aoe_score_pairs(e, first, second, n, scores, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    return n;
}

/* Returns the maximum error in bf16, relative to the largest expected value. Rounding to bf16 affects three values of
 * each matmul: the weights, the inputs (including attention probabilities), and the stored outputs. bf16_deviation is
 * the change of the outputs if only the weights are rounded, which expected.json contains, computed in float64. If the
 * three roundings are independent and have effects of equal size, the error is sqrt(3) = 1.7 times this deviation. The
 * factor 3 also allows for the fact that both numbers are maxima of few outputs, which depend on a few roundings. No
 * error may be larger than `highest`. */
static double bf16_tolerance(const json_t *cases, double highest) {
    const double deviation = json_number_value(json_object_get(cases, "bf16_deviation"));
    assert_true(deviation > 0);
    return fmin(3 * deviation, highest);
}

/* Compares the `classes` outputs of a model with the expected values. tolerance: maximum error, relative to the largest
 * expected value; in bf16, see bf16_tolerance. */
static void expect_logits(const char *name, size_t classes, aoe_dtype dtype, double tolerance) {
    char dir[128], path[160];
    float scores[2][MAX_PAIRS * CLASSES] = {{0}};
    aoe_error err = {0};
    json_t *cases;
    snprintf(dir, sizeof dir, GOLDEN "%s", name);
    snprintf(path, sizeof path, "%s/expected.json", dir);
    if (aoei_json_load(&cases, path, &err))
        fail_msg("%s", err.message);
    const json_t *logits = json_object_get(cases, "logits");
    if (dtype == AOE_DTYPE_BF16)
        tolerance = bf16_tolerance(cases, tolerance);
    for (size_t run = 0; run < 2; run++) { /* one pair per batch and one thread; all pairs in one batch and three
                                              threads */
        aoe_context *ctx = tiny_context(run ? 3 : 1);
        aoe_model *m = open_model(ctx, dir, dtype);
        assert_int_equal(aoe_model_classes(m), classes);
        const size_t n = score(m, cases, run ? 4096 : 1, scores[run]);
        double worst = 0, largest = 0;
        for (size_t i = 0; i < n * classes; i++) {
            const double want = json_number_value(json_array_get(json_array_get(logits, i / classes), i % classes));
            worst = fmax(worst, fabs((double)scores[run][i] - want));
            largest = fmax(largest, fabs(want));
        }
        if (!(worst <= tolerance * largest))
            fail_msg("%s: error %.2e of outputs up to %.2f, more than %.2e of the largest", name, worst, largest,
                     tolerance);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
        assert_memory_equal(scores[run], scores[0], n * classes * sizeof(float));
    }
    json_decref(cases);
}

static void test_f32(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_logits(names[i], CLASSES, AOE_DTYPE_F32, 4e-6);
}

/* Tests adapters that PEFT wrote, with a saved classifier and an adapter of the pooler. */
static void test_adapters(void **state) {
    (void)state;
    expect_logits("bert_adapters", CLASSES, AOE_DTYPE_F32, 4e-6);
    expect_logits("bert_dora", CLASSES, AOE_DTYPE_F32, 4e-6);
}

static void test_bf16(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_logits(names[i], CLASSES, AOE_DTYPE_BF16, 4e-2);
}

/* Scores one pair. activation: value of options.activation. */
static void score_with(aoe_context *ctx, int activation, float out[CLASSES]) {
    const aoe_text a = aoe_text_of("w1 w2"), b = aoe_text_of("w3");
    aoe_model_options o;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    o.activation = activation;
    if (aoe_model_open(&m, ctx, GOLDEN "bert", &o, &err) || aoe_embedder_create(&e, m, NULL, &err) ||
        aoe_score_pairs(e, &a, &b, 1, out, NULL, &err))
        fail_msg("%s", err.message);
    if (activation != AOE_AUTO)
        assert_int_equal(aoe_model_activation(m), activation);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

/* options.activation replaces the activation function of the model. */
static void test_activation(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    float x[CLASSES], y[CLASSES];
    score_with(ctx, AOE_AUTO, x);
    score_with(ctx, AOE_SCORE_LOGIT, y);
    assert_memory_equal(x, y, sizeof x);
    score_with(ctx, AOE_SCORE_SIGMOID, y);
    assert_float_equal(y[1], (float)(1 / (1 + exp(-(double)x[1]))), 1e-6);
    score_with(ctx, AOE_SCORE_TANH, y);
    assert_float_equal(y[1], (float)tanh((double)x[1]), 1e-6);
    score_with(ctx, AOE_SCORE_SOFTMAX, y);
    assert_float_equal(y[0] + y[1], 1, 1e-6);
    assert_float_equal(y[1], (float)(1 / (1 + exp((double)x[0] - (double)x[1]))), 1e-6);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    aoe_error err = {0};
    aoe_model *m;
    o.activation = AOE_SCORE_TANH;
    assert_int_equal(aoe_model_open(&m, ctx, GOLDEN "bert", &o, &err), AOE_EARG);
    o.cross_encoder = 1;
    o.activation = 4;
    assert_int_equal(aoe_model_open(&m, ctx, GOLDEN "bert", &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.activation"));
    aoe_context_destroy(ctx);
}

/* Names of outputs are read from id2label. */
static void test_class_names(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m = open_model(ctx, GOLDEN "bert", AOE_DTYPE_F32);
    assert_null(aoe_model_class_name(m, 0)); /* the file has num_labels, but no id2label */
    assert_null(aoe_model_class_name(m, CLASSES));
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* A language model is a reranker: the score is the difference of two logits. */
static void test_language_model(void **state) {
    (void)state;
    expect_logits("qwen3_reranker", 1, AOE_DTYPE_F32, 1e-5);
    expect_logits("qwen3_reranker", 1, AOE_DTYPE_BF16, 4e-2);
}

/* Heads that modules.json describes: the logit of one token of a language model, and a Pooling module with further
 * modules. */
static void test_modules(void **state) {
    (void)state;
    expect_logits("logit_score", 1, AOE_DTYPE_F32, 1e-5);
    expect_logits("pooled_modules", 3, AOE_DTYPE_F32, 4e-6);
}

/* Copies a golden directory, replaces one of its files, and expects that the directory is rejected with the given
 * message. */
static void expect_rejected(const char *name, const char *file, const char *content, const char *part) {
    char from[128];
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model *m;
    aoe_error err = {0};
    snprintf(from, sizeof from, GOLDEN "%s", name);
    char *dir = test_dir_create();
    test_copy_dir(from, dir);
    free(test_write_text(dir, file, content));
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    assert_int_not_equal(aoe_model_open(&m, ctx, dir, &o, &err), 0);
    if (!strstr(err.message, part))
        fail_msg("the message is \"%s\"", err.message);
    test_dir_remove(dir);
    aoe_context_destroy(ctx);
}

static void test_bad_modules(void **state) {
    (void)state;
    expect_rejected("logit_score", "1_LogitScore/config.json", "{\"true_token_id\": 352, \"false_token_id\": null}",
                    "names token 352");
    expect_rejected("logit_score", "1_LogitScore/config.json", "{\"true_token_id\": 1, \"false_token_id\": 9000}",
                    "names token 9000");
    expect_rejected("logit_score", "1_LogitScore/config.json", "{\"false_token_id\": 3}", "true_token_id");
    expect_rejected("logit_score", "1_LogitScore/config.json", "{\"true_token_id\": 3, \"module_input_name\": \"x\"}",
                    "module_input_name 'x'");
    expect_rejected("logit_score", "sentence_bert_config.json",
                    "{\"transformer_task\": \"text-generation\", \"modality_config\": {"
                    "\"text\": {\"method\": \"forward\", \"method_output_name\": \"logits\"},"
                    "\"message\": {\"method\": \"forward\", \"method_output_name\": \"logits\"}}}",
                    "there is no chat template");
    expect_rejected(
        "logit_score", "modules.json",
        "[{\"type\": \"sentence_transformers.base.modules.transformer.Transformer\", \"path\": \"\"},"
        " {\"type\": \"sentence_transformers.cross_encoder.modules.logit_score.LogitScore\", \"path\": \"../x\"}]",
        "must be a subfolder");
    expect_rejected(
        "pooled_modules", "3_Dense/config.json",
        "{\"in_features\": 40, \"out_features\": 3, \"activation_function\": \"torch.nn.modules.linear.Identity\"}",
        "in_features is 40");
    expect_rejected(
        "pooled_modules", "3_Dense/config.json",
        "{\"in_features\": 32, \"out_features\": 4, \"activation_function\": \"torch.nn.modules.linear.Identity\"}",
        "does not have the shape");
    expect_rejected("pooled_modules", "config_sentence_transformers.json", "{\"model_type\": \"SentenceTransformer\"}",
                    "not a cross-encoder");
    expect_rejected("pooled_modules", "config_sentence_transformers.json",
                    "{\"model_type\": \"CrossEncoder\", \"activation_fn\": \"mine.Sigmoid\"}", "mine.Sigmoid");
}

/* An embedding model has no head, and a cross-encoder computes no embeddings. */
static void test_errors(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    aoe_error err = {0};
    aoe_model *m;
    aoe_embedder *e;
    float out[64];
    const aoe_text text = aoe_text_of("w1 w2");
    o.cross_encoder = 1;
    assert_int_equal(aoe_model_open(&m, ctx, "tests/golden/data/mpnet", &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "not a cross-encoder"));
    o.pooling = AOE_POOLING_CLS;
    assert_int_equal(aoe_model_open(&m, ctx, GOLDEN "bert", &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.pooling"));
    m = open_model(ctx, GOLDEN "bert", AOE_DTYPE_F32);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, &err), 0);
    assert_int_equal(aoe_embed(e, &text, 1, out, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "aoe_score_pairs"));
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    assert_int_equal(aoe_model_open(&m, ctx, GOLDEN "bert", NULL, &err), 0); /* the head is ignored */
    assert_int_equal(aoe_model_dims(m), 16);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, &err), 0);
    assert_int_equal(aoe_score_pairs(e, &text, &text, 1, out, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.cross_encoder"));
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32),        cmocka_unit_test(test_bf16),        cmocka_unit_test(test_language_model),
        cmocka_unit_test(test_modules),    cmocka_unit_test(test_bad_modules), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_activation), cmocka_unit_test(test_class_names), cmocka_unit_test(test_adapters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
