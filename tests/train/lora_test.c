/* SPDX-License-Identifier: MIT
 * Tests the training of LoRA adapters. Results are bit-identical for any number of threads, with recomputation of
 * activations, and if a run is interrupted and resumed. Checkpoints contain only the adapters and the state of the
 * optimizer. The base model does not change. The embeddings of saved adapters equal the embeddings during the last
 * evaluation. Training can continue from saved adapters. Changed options are rejected when a run resumes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "model/model.h"
#include "modeldir/peft.h"
#include "modeldir/layout.h"

static void begin(train_run *r) {
    train_run_create(r);
    r->o.lora.r = 3;
    r->o.lora.dropout = 0.2;
}

typedef struct result {
    char *weights, *settings; /* owned */
    size_t size;
} result;

static result read_result(const train_run *r) {
    result e;
    e.weights = train_run_read(r, AOEI_PEFT_WEIGHTS, &e.size);
    e.settings = train_run_read(r, "aoe.json", NULL);
    assert_true(e.weights && e.settings);
    return e;
}

static void result_free(result e) {
    free(e.weights);
    free(e.settings);
}

static int equal_results(const result *a, const result *b) {
    return a->size == b->size && !memcmp(a->weights, b->weights, a->size) && !strcmp(a->settings, b->settings);
}

/* Returns the contents of the file dir/name; the caller frees them. */
static char *bytes_of(const char *dir, const char *name, size_t *size) {
    char *path = test_path(dir, name), *data = test_read(path, size);
    free(path);
    return data;
}

/* Tests that results do not depend on the number of threads or on the recomputation of activations. Covers float32 and
 * bf16, with frozen weights as they are stored and with frozen weights converted to int8. */
static void results_are_bit_identical(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    size_t size, again;
    char *base = bytes_of(r.model, "model.safetensors", &size);
    result first = {0};
    for (int variant = 0; variant < 4; variant++) {
        r.o.args.model_options.dtype = variant % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        r.o.lora.load_8bit = variant / 2;
        result e[3];
        for (int i = 0; i < 3; i++) {
            char name[32];
            snprintf(name, sizeof name, "out-%d-%d", variant, i);
            train_run_output(&r, name);
            r.n = r.evaluations = 0;
            r.o.args.recompute = i == 2;
            train_run_ok(&r, i == 1 ? 3 : 1);
            e[i] = read_result(&r);
        }
        assert_true(equal_results(&e[0], &e[1]) && equal_results(&e[0], &e[2]));
        if (variant == 0)
            first = read_result(&r);
        else /* bf16 and int8 change the results, so the weights must differ from the first variant */
            assert_true(first.size == e[0].size && memcmp(first.weights, e[0].weights, first.size) != 0);
        for (int i = 0; i < 3; i++)
            result_free(e[i]);
    }
    char *after = bytes_of(r.model, "model.safetensors", &again);
    assert_true(size == again && !memcmp(base, after, size));
    free(base);
    free(after);
    result_free(first);
    train_run_destroy(&r);
}

/* Asserts that the checkpoint of step `step` contains the adapters, two optimizer moments per value of the adapters,
 * and no weights of the base model. */
static void check_checkpoint(const train_run *r, size_t step) {
    char name[32];
    snprintf(name, sizeof name, "step-%zu", step);
    char *checkpoints = test_path(r->output, "checkpoints"), *dir = test_path(checkpoints, name);
    assert_true(aoei_is_adapter_dir(dir) && aoei_is_model_dir(dir));
    assert_false(aoei_entry_exists(dir, "model.safetensors") || aoei_entry_exists(dir, "config.json"));
    size_t adapters, moments, base;
    free(bytes_of(dir, AOEI_PEFT_WEIGHTS, &adapters));
    free(bytes_of(dir, "optimizer.safetensors", &moments));
    free(bytes_of(r->model, "model.safetensors", &base));
    assert_true(moments < 3 * adapters && adapters < base);
    free(dir);
    free(checkpoints);
}

static void resumes_after_interruption(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r);
    r.o.lora.targets = "query,value";
    train_run_ok(&r, 2);
    const result whole = read_result(&r);
    for (size_t step = 2; step <= 7; step += 5) {
        char name[32];
        snprintf(name, sizeof name, "stop-%zu", step);
        train_run_output(&r, name);
        r.n = r.evaluations = 0;
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = step;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
        check_checkpoint(&r, step);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.n = 0;
        train_run_ok(&r, 3);
        r.o.args.resume = 0;
        const result e = read_result(&r);
        assert_true(equal_results(&whole, &e));
        result_free(e);
    }
    result_free(whole);
    train_run_destroy(&r);
}

/* Asserts that the run fails with AOE_EARG and a message that contains `fragment`. */
static void expect_rejected(train_run *r, const char *fragment) {
    aoe_error err = {0};
    const int code = train_run_go(r, 1, &err);
    if (code != AOE_EARG || !strstr(err.message, fragment))
        fail_msg("found code %d and the message \"%s\", expected AOE_EARG and \"%s\"", code, err.message, fragment);
}

static void rejects_changed_options(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r);
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 4;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    const aoe_lora lora = r.o.lora;
    r.o.lora.r = 4;
    expect_rejected(&r, "options.lora.r was 3 and is now 4");
    r.o.lora.r = 0;
    expect_rejected(&r, "the run trains adapters (options.lora.r)");
    r.o.lora = lora;
    r.o.lora.alpha = 64;
    expect_rejected(&r, "options.lora.alpha was 32.0 and is now 64.0");
    r.o.lora = lora;
    r.o.lora.dropout = 0.3;
    expect_rejected(&r, "options.lora.dropout was");
    r.o.lora = lora;
    r.o.lora.targets = "query";
    expect_rejected(&r, "options.lora.targets was");
    r.o.lora = lora;
    r.o.lora.load_8bit = 1;
    expect_rejected(&r, "options.lora.load_8bit was false and is now true");
    r.o.lora = lora;
    train_run_ok(&r, 1);
    train_run_destroy(&r);
}

/* Sets v [TRAIN_DIMS] to the embedding of a fixed text, computed with the model in dir. If dir contains adapters,
 * `base` is the directory of their base model. If base is NULL, the directory recorded with the adapters is used. */
static void probe(const char *dir, const char *base, float *v) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.base = base;
    const aoe_text text = aoe_text_of("the old cat");
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    memset(v, 0, TRAIN_DIMS * sizeof *v);
    if (aoe_model_open(&m, ctx, dir, &o, &err) || aoe_embedder_create(&e, m, NULL, &err) ||
        aoe_embed(e, &text, 1, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Returns the norm of a - b divided by the norm of b, for vectors of TRAIN_DIMS elements. */
static double distance(const float *a, const float *b) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < TRAIN_DIMS; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / norm);
}

/* Tests a second run that starts with the adapters saved by a first run. It must use the rank, the scale, the values
 * and the base model of these adapters. The embeddings of the saved adapters must equal the embeddings in the last
 * evaluation of the first run. */
static void continues_from_saved_adapters(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float start[TRAIN_DIMS], once[TRAIN_DIMS], twice[TRAIN_DIMS], elsewhere[TRAIN_DIMS];
    const double scores[] = {0.1, 0.2, 0.3, 0.4};
    begin(&r);
    r.scores = scores; /* the scores increase, so the last evaluation is the best */
    r.o.args.max_steps = 8;
    char *base = test_path(r.dir, "model"), *first = test_path(r.dir, "out");
    train_run_ok(&r, 1);
    assert_int_equal(r.evaluations, 2);
    probe(base, NULL, start);
    probe(first, NULL, once);
    assert_true(distance(start, once) > 1e-3);
    assert_true(distance(r.probe[1], once) < 1e-5);
    aoe_lora_defaults(&r.o.lora);
    r.o.args.model = first;
    r.o.args.model_options.base = base;
    r.evaluations = r.n = 0;
    train_run_output(&r, "again");
    r.o.args.lr = 0;
    train_run_ok(&r, 1);
    probe(r.output, NULL, twice);
    assert_memory_equal(once, twice, sizeof once);
    r.o.args.lr = 1e-3;
    r.o.args.model_options.base = NULL;
    r.evaluations = r.n = 0;
    train_run_output(&r, "more");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    train_run_ok(&r, 1);
    r.o.args.resume = 0;
    probe(r.output, NULL, twice);
    probe(r.output, base, elsewhere);
    assert_memory_equal(twice, elsewhere, sizeof twice);
    assert_true(distance(once, twice) > 1e-4 && distance(once, twice) < distance(start, twice));
    char *text = train_run_read(&r, AOEI_PEFT_CONFIG, NULL);
    assert_true(strstr(text, "\"r\": 3") && strstr(text, "\"lora_dropout\": 0.2") && strstr(text, base));
    free(text);
    r.o.lora.r = 5;
    train_run_output(&r, "other");
    expect_rejected(&r, "contains adapters of rank 3");
    free(first);
    free(base);
    train_run_destroy(&r);
}

/* Tests that adapters can replace a full model in a directory, and that a full model can replace adapters. No file of
 * the replaced model may remain. */
static void replaces_models_and_adapters(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    r.o.args.max_steps = 2;
    r.o.args.save_every = 9;
    r.o.args.force = 1;
    for (int pass = 0; pass < 3; pass++) {
        const int adapters = pass != 1;
        r.o.lora.r = adapters ? 2 : 0;
        r.n = r.evaluations = 0;
        if (!adapters)
            aoe_lora_defaults(&r.o.lora);
        train_run_ok(&r, 1);
        assert_int_equal(aoei_is_adapter_dir(r.output), adapters);
        assert_int_equal(aoei_entry_exists(r.output, AOEI_PEFT_CONFIG), adapters);
        assert_int_equal(aoei_entry_exists(r.output, AOEI_PEFT_WEIGHTS), adapters);
        assert_int_equal(aoei_entry_exists(r.output, "model.safetensors"), !adapters);
        assert_int_equal(aoei_entry_exists(r.output, "modules.json"), 1);
    }
    train_run_destroy(&r);
}

/* Tests that the output never replaces the base model of the adapters, even if options.force is set. */
static void never_replaces_the_base(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    r.o.args.max_steps = 2;
    char *base = test_path(r.dir, "model"), *inside = test_path(r.dir, "model/checkpoints/step-1"), *saved, *merged;
    train_run_ok(&r, 1);
    saved = aoei_strdup(r.output);
    r.o.args.force = 1;
    r.o.args.output = base;
    expect_rejected(&r, "which the adapters need");
    aoe_lora_defaults(&r.o.lora);
    r.o.args.model = saved;
    expect_rejected(&r, "which the adapters need");
    assert_true(aoei_entry_exists(base, "model.safetensors") && !aoei_entry_exists(base, AOEI_PEFT_CONFIG));
    aoe_context *ctx = tiny_context(1);
    aoe_convert_options o;
    aoe_error err = {0};
    aoe_convert_options_defaults(&o);
    o.force = o.merge = 1;
    assert_int_equal(aoe_convert(ctx, saved, base, &o, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "the base model of the adapters is in this directory"));
    /* a base model in a subdirectory of the output */
    assert_int_equal(aoei_make_dir(inside, NULL), 0);
    merged = test_path(inside, "whole");
    assert_int_equal(aoe_convert(ctx, base, merged, NULL, NULL, &err), 0);
    aoe_context_destroy(ctx);
    r.o.args.model = merged;
    r.o.lora.r = 2;
    expect_rejected(&r, "which the adapters need");
    assert_true(aoei_entry_exists(merged, "model.safetensors"));
    aoei_free(saved);
    free(merged);
    free(inside);
    free(base);
    train_run_destroy(&r);
}

/* Tests that a resumed run uses the base model recorded in its checkpoint, even if the adapters from which the run
 * started record another base model. */
static void resumes_with_the_base_of_the_checkpoint(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float want[TRAIN_DIMS], got[TRAIN_DIMS];
    begin(&r);
    r.o.args.max_steps = 2;
    char *base = test_path(r.dir, "model"), *other = test_path(r.dir, "other"), *adapters = test_path(r.dir, "out");
    train_run_ok(&r, 1);
    aoe_context *ctx = tiny_context(1);
    /* a base model with equal shapes but different weights */
    assert_int_equal(aoe_convert(ctx, adapters, other, NULL, NULL, &err), 0);
    aoe_context_destroy(ctx);
    aoe_lora_defaults(&r.o.lora);
    r.o.args.model = adapters;
    r.o.args.model_options.base = other;
    r.o.args.max_steps = 8;
    train_run_output(&r, "whole");
    train_run_ok(&r, 1);
    probe(r.output, NULL, want);
    train_run_output(&r, "stopped");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.model_options.base = NULL;
    r.o.args.resume = 1;
    train_run_ok(&r, 1);
    probe(r.output, NULL, got);
    assert_memory_equal(want, got, sizeof want);
    free(adapters);
    free(other);
    free(base);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_bit_identical),
        cmocka_unit_test(resumes_after_interruption),
        cmocka_unit_test(rejects_changed_options),
        cmocka_unit_test(continues_from_saved_adapters),
        cmocka_unit_test(replaces_models_and_adapters),
        cmocka_unit_test(never_replaces_the_base),
        cmocka_unit_test(resumes_with_the_base_of_the_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
