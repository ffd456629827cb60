/* SPDX-License-Identifier: MIT
 * covers: model/generated_weights
 * Tests LoRA adapters of cross-encoders: training with a new and an existing head, equal results for all numbers of
 * threads, chunks and after a resumed run, the files of the saved directory, merging, further training, and errors.
 */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/json.h"
#include "modeldir/safetensors.h"

static void create(train_run *r) {
    train_run_create(r);
    r->o.method = AOE_METHOD_CROSS_ENCODER;
    r->o.evaluate = NULL;
    r->o.lora.r = 2;
    r->o.args.lr = 0.02;
}

/* Opens the cross-encoder in dir and computes the scores of all pairs of the file `data`. Returns the number of
 * scores. */
static size_t scores_of(const char *dir, const char *data, float *scores) {
    aoe_context *ctx = tiny_context(2);
    aoe_model_options o;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_pairs *p = NULL;
    aoe_error err = {0};
    aoe_text first[TRAIN_PAIRS] = {{0}}, second[TRAIN_PAIRS] = {{0}};
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.cross_encoder = 1;
    if (aoe_pairs_load(&p, data, NULL, &err) || aoe_model_open(&m, ctx, dir, &o, &err) ||
        aoe_embedder_create(&e, m, NULL, &err))
        fail_msg("%s", err.message);
    const size_t n = aoe_pairs_count(p), classes = aoe_model_classes(m);
    assert_true(n <= TRAIN_PAIRS);
    assert_true(aoe_model_is_cross_encoder(m));
    for (size_t i = 0; i < n; i++) {
        first[i] = aoe_pairs_text1(p, i);
        second[i] = aoe_pairs_text2(p, i);
    }
    if (aoe_score_pairs(e, first, second, n, scores, NULL, &err))
        fail_msg("%s", err.message);
    aoe_pairs_free(p);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return n * classes;
}

static void test_threads_chunks_and_resume(void **state) {
    (void)state;
    static const char *const names[] = {"one", "three", "chunks", "recompute", "resumed"};
    train_run r;
    char *weights = NULL;
    size_t size = 0, got_size;
    create(&r);
    for (size_t k = 0; k < 5; k++) {
        aoe_error err = {0};
        train_run_output(&r, names[k]);
        r.o.cache_chunk = k == 2 ? 3 : 0;
        r.o.args.recompute = k == 3;
        if (k == 4) {
            r.stop_kind = AOE_TRAIN_STEP;
            r.stop_step = 7;
            assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
            r.stop_kind = -1;
            r.o.args.resume = 1;
        }
        train_run_ok(&r, k == 1 ? 3 : 1);
        char *got = train_run_read(&r, "adapter_model.safetensors", &got_size);
        if (k == 0) {
            weights = got;
            size = got_size;
            continue;
        }
        assert_int_equal(got_size, size);
        assert_memory_equal(got, weights, size);
        free(got);
    }
    free(weights);
    train_run_destroy(&r);
}

/* Asserts that the saved file contains the tensors of the head and of one adapter, and nothing of the encoder. */
static void expect_tensors(const train_run *r, size_t classes) {
    aoei_safetensors *file;
    aoe_error err = {0};
    char *path = test_path(r->output, "adapter_model.safetensors");
    if (aoei_safetensors_open(&file, path, &err))
        fail_msg("%s", err.message);
    const aoei_st_tensor *t = aoei_safetensors_find(file, "base_model.model.classifier.weight");
    assert_non_null(t);
    assert_true(t->n_dims == 2 && t->shape[0] == classes);
    assert_non_null(aoei_safetensors_find(file, "base_model.model.classifier.bias"));
    assert_non_null(aoei_safetensors_find(file, "base_model.model.bert.pooler.dense.weight"));
    assert_non_null(aoei_safetensors_find(file, "base_model.model.bert.pooler.dense.bias"));
    assert_non_null(
        aoei_safetensors_find(file, "base_model.model.bert.encoder.layer.1.attention.self.query.lora_A.weight"));
    assert_int_equal(aoei_safetensors_count(file), 4 + 2 * 6 * 2); /* head, and six linear layers in two layers */
    aoei_safetensors_close(file);
    free(path);
}

/* Asserts that the adapters in the output directory and the model into which they are merged give equal scores. */
static void expect_merged(const train_run *r, const float *scores, size_t n) {
    aoe_context *ctx = tiny_context(1);
    aoe_convert_options o;
    aoe_error err = {0};
    float merged[3 * TRAIN_PAIRS];
    char *to = test_path(r->dir, "merged");
    aoe_convert_options_defaults(&o);
    o.merge = 1;
    o.force = 1;
    if (aoe_convert(ctx, r->output, to, &o, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(scores_of(to, r->data, merged), n);
    assert_memory_equal(merged, scores, n * sizeof *merged);
    aoe_context_destroy(ctx);
    free(to);
}

/* The base model is an embedding model, which gets a new head. */
static void test_new_head(void **state) {
    (void)state;
    train_run r;
    float before[TRAIN_PAIRS], after[TRAIN_PAIRS];
    create(&r);
    train_run_ok(&r, 1);
    expect_tensors(&r, 1);
    char *text = train_run_read(&r, "adapter_config.json", NULL);
    json_t *config = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(config, "task_type")), "SEQ_CLS");
    const json_t *saved = json_object_get(config, "modules_to_save");
    assert_int_equal(json_array_size(saved), 2);
    assert_string_equal(json_string_value(json_array_get(saved, 0)), "pooler");
    assert_string_equal(json_string_value(json_array_get(saved, 1)), "classifier");
    json_decref(config);
    free(text);
    text = train_run_read(&r, "README.md", NULL);
    assert_non_null(strstr(text, "Adapters of a cross-encoder"));
    assert_non_null(strstr(text, "aoe rerank -m DIR"));
    free(text);
    assert_int_equal(scores_of(r.output, r.data, before), TRAIN_PAIRS);
    expect_merged(&r, before, TRAIN_PAIRS);
    char *first = test_path(r.dir, "out");
    r.o.args.model = first; /* the saved adapters and the saved head are trained further; with rate 0, nothing
                               changes */
    r.o.lora.r = 0;
    r.o.args.lr = 0;
    train_run_output(&r, "second");
    train_run_ok(&r, 1);
    expect_tensors(&r, 1);
    assert_int_equal(scores_of(r.output, r.data, after), TRAIN_PAIRS);
    assert_memory_equal(after, before, sizeof after);
    r.o.args.lr = 0.02;
    train_run_output(&r, "third");
    train_run_ok(&r, 1);
    scores_of(r.output, r.data, after);
    assert_memory_not_equal(after, before, sizeof after);
    free(first);
    train_run_destroy(&r);
}

/* A head with another number of outputs replaces the saved head, and its activation is saved with the adapters. */
static void test_classes(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float scores[3 * TRAIN_PAIRS];
    create(&r);
    train_run_ok(&r, 1);
    char *first = test_path(r.dir, "out");
    char *data = test_write_text(r.dir, "classes.tsv",
                                 "text1\ttext2\tlabel\na\tb\t0\na\tc\t2\nb\tc\tneutral\nc\tc\tentailment\nb\ta\t0\n");
    r.source.path = data;
    r.o.args.model = first;
    r.o.lora.r = 0;
    r.o.classes = 3;
    train_run_output(&r, "second");
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.new_head"));
    r.o.new_head = 1;
    train_run_ok(&r, 1);
    expect_tensors(&r, 3);
    char *text = train_run_read(&r, "config_sentence_transformers.json", NULL);
    assert_non_null(strstr(text, "torch.nn.modules.linear.Identity"));
    free(text);
    text = train_run_read(&r, "sentence_bert_config.json", NULL);
    assert_non_null(strstr(text, "\"num_labels\": 3"));
    free(text);
    assert_int_equal(scores_of(r.output, r.data, scores), 3 * TRAIN_PAIRS);
    expect_merged(&r, scores, 3 * TRAIN_PAIRS);
    free(data);
    free(first);
    train_run_destroy(&r);
}

/* Writes to dir a copy of adapters that PEFT wrote for the classification head of tests/golden/cross_encoders/bert. In
 * adapter_config.json, `key` has the JSON value `value`. If `damaged` is 1, a matrix of the head contains NaN. */
static void write_golden(const char *dir, const char *key, const char *value, int damaged) {
    static const char from[] = "tests/golden/cross_encoders/bert_adapters";
    json_t *config = NULL;
    aoei_safetensors *file;
    aoe_error err = {0};
    size_t size = 0;
    char *weights = test_path(from, "adapter_model.safetensors"), *path = test_path(from, "adapter_config.json"),
         *base = realpath("tests/golden/cross_encoders/bert", NULL), *bytes = test_read(weights, &size);
    if (aoei_json_load(&config, path, &err) || aoei_safetensors_open(&file, weights, &err))
        fail_msg("%s", err.message);
    json_object_set_new(config, "base_model_name_or_path", json_string(base));
    if (key)
        json_object_set_new(config, key, json_loads(value, JSON_DECODE_ANY, NULL));
    const aoei_st_tensor *t = aoei_safetensors_find(file, "base_model.model.bert.pooler.dense.lora_B.weight");
    assert_non_null(t);
    const float bad = (float)NAN;
    size_t at = 0;
    while (memcmp(bytes + at, t->data, t->bytes) != 0)
        at++;
    if (damaged)
        memcpy(bytes + at, &bad, sizeof bad);
    free(path);
    free(weights);
    char *text = json_dumps(config, 0);
    free(test_write_text(dir, "adapter_config.json", text));
    free(test_write(dir, "adapter_model.safetensors", bytes, size));
    aoei_safetensors_close(file);
    json_decref(config);
    free(text);
    free(base);
    free(bytes);
}

static void expect_not_opened(const char *dir, const char *part) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model *m;
    aoe_error err = {0};
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    assert_int_not_equal(aoe_model_open(&m, ctx, dir, &o, &err), 0);
    if (!strstr(err.message, part))
        fail_msg("'%s' does not contain '%s'", err.message, part);
    aoe_context_destroy(ctx);
}

/* Adapters of a layer of the head can be used and merged, but not trained. */
static void test_adapted_head(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float scores[2 * TRAIN_PAIRS];
    create(&r);
    char *start = test_path(r.dir, "out");
    assert_int_equal(mkdir(r.output, 0777), 0);
    write_golden(start, NULL, NULL, 0);
    assert_int_equal(scores_of(r.output, r.data, scores), 2 * TRAIN_PAIRS);
    expect_merged(&r, scores, 2 * TRAIN_PAIRS);
    r.o.args.model = start;
    r.o.lora.r = 0;
    r.o.classes = 2;
    train_run_output(&r, "second");
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "a layer of the classification head has an adapter"));
    write_golden(start, "rank_pattern", "{\"query\": 1, \"pooler.dense\": 1}", 0);
    expect_not_opened(start, "pooler.dense.lora_A.weight' does not have the shape [1, ");
    write_golden(start, "alpha_pattern", "{\"pooler.dense\": -1}", 0);
    expect_not_opened(start, "alpha_pattern contains -1");
    write_golden(start, "target_modules", "[\"query\", \"intermediate.dense\"]", 0);
    expect_not_opened(start, "does not belong to an adapter");
    write_golden(start, NULL, NULL, 1);
    expect_not_opened(start, "the adapter of 'pooler.dense.weight' contains NaN or infinity");
    free(start);
    train_run_destroy(&r);
}

/* Returns the memory of the trained parameters of adapters for the golden BERT. Sets *hidden to its hidden size. */
static size_t planned(int cross_encoder, size_t *hidden) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_plan_options p;
    aoe_train_options train;
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model *m;
    aoe_error err = {0};
    aoe_model_options_defaults(&o);
    aoe_plan_options_defaults(&p);
    o.cross_encoder = cross_encoder;
    o.dtype = AOE_DTYPE_F32;
    aoe_train_options_defaults(&train);
    train.lora.r = 2;
    p.train = &train;
    if (aoe_model_open(&m, ctx, "tests/golden/cross_encoders/bert", &o, &err) || aoe_model_plan(m, &p, &plan, &err))
        fail_msg("%s", err.message);
    aoe_model_get_info(m, &info);
    *hidden = info.hidden;
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return plan.parameters;
}

/* The memory plan includes the head: a dense layer with bias, and a dense layer with bias and two outputs. Each weight
 * takes a multiple of 16 floats. */
static void test_plan(void **state) {
    (void)state;
    size_t D;
    const size_t without = planned(0, &D), with = planned(1, &D), vector = (D + 15) / 16 * 16;
    assert_int_equal(with - without, ((D * D + 15) / 16 * 16 + vector + (2 * D + 15) / 16 * 16 + 16) * sizeof(float));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_chunks_and_resume),
        cmocka_unit_test(test_new_head),
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_adapted_head),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
