/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * Training adapters: the same bits for any number of threads, with recomputation and after a stop; checkpoints hold adapters
 * and their optimiser's state alone; the base is left as it is; saved adapters go on; a merged result gives the vectors that
 * were evaluated; changed options are refused.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
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

static int same(const result *a, const result *b) {
    return a->size == b->size && !memcmp(a->weights, b->weights, a->size) && !strcmp(a->settings, b->settings);
}

static char *bytes_of(const char *dir, const char *name, size_t *size) {
    char *path = test_path(dir, name), *data = test_read(path, size);
    free(path);
    return data;
}

/* Any number of threads, and recomputation: in every type, with the frozen weights as stored and as int8. */
static void same_bits(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    size_t size, again;
    char *base = bytes_of(r.model, "model.safetensors", &size);
    result first = {0};
    for (int way = 0; way < 4; way++) {
        r.o.args.model_options.dtype = way % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        r.o.lora.load_8bit = way / 2;
        result e[3];
        for (int i = 0; i < 3; i++) {
            char name[32];
            snprintf(name, sizeof name, "out-%d-%d", way, i);
            train_run_output(&r, name);
            r.n = r.evaluations = 0;
            r.o.args.recompute = i == 2;
            train_run_ok(&r, i == 1 ? 3 : 1);
            e[i] = read_result(&r);
        }
        assert_true(same(&e[0], &e[1]) && same(&e[0], &e[2]));
        if (way == 0)
            first = read_result(&r);
        else /* and every way is another */
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

/* A checkpoint: adapters, two moments of each of their values, progress. */
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

static void stops_and_goes_on(void **state) {
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
        assert_true(same(&whole, &e));
        result_free(e);
    }
    result_free(whole);
    train_run_destroy(&r);
}

static void refuse(train_run *r, const char *fragment) {
    aoe_error err = {0};
    const int code = train_run_go(r, 1, &err);
    if (code != AOE_EARG || !strstr(err.message, fragment))
        fail_msg("%d: %s, not %s", code, err.message, fragment);
}

static void refuses_changed_options(void **state) {
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
    refuse(&r, "\"lora_r\" was 3 and is now 4");
    r.o.lora.r = 0;
    refuse(&r, "the run trains adapters (options.lora.r)");
    r.o.lora = lora;
    r.o.lora.alpha = 64;
    refuse(&r, "\"lora_alpha\" was 32.0 and is now 64.0");
    r.o.lora = lora;
    r.o.lora.dropout = 0.3;
    refuse(&r, "\"lora_dropout\"");
    r.o.lora = lora;
    r.o.lora.targets = "query";
    refuse(&r, "\"lora_targets\"");
    r.o.lora = lora;
    r.o.lora.load_8bit = 1;
    refuse(&r, "\"load_8bit\" was false and is now true");
    r.o.lora = lora;
    train_run_ok(&r, 1);
    train_run_destroy(&r);
}

/* A text's vector in an opened directory. */
static void probe(const char *dir, const char *base, float *v) {
    aoe_context *ctx = tiny_context(1);
    const aoe_model_options o = {
        .struct_size = sizeof(aoe_model_options), .dtype = AOE_DTYPE_F32, .normalize = -1, .base = base};
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

static double distance(const float *a, const float *b) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < TRAIN_DIMS; i++) {
        difference += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        norm += (double)b[i] * (double)b[i];
    }
    return sqrt(difference / norm);
}

/* Adapters that were saved go on: their rank and scale stay, they do not begin anew, and the base is still that of the first
 * run. What is saved is what was evaluated. */
static void goes_on_from_saved_adapters(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float start[TRAIN_DIMS], once[TRAIN_DIMS], twice[TRAIN_DIMS], elsewhere[TRAIN_DIMS];
    const double scores[] = {0.1, 0.2, 0.3, 0.4};
    begin(&r);
    r.scores = scores; /* the last evaluation is the best */
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
    refuse(&r, "contains adapters of rank 3");
    free(first);
    free(base);
    train_run_destroy(&r);
}

/* A directory that holds a whole model can become one of adapters, and the other way round; nothing of the other is left. */
static void takes_the_place_of_a_model(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    r.o.args.max_steps = 2;
    r.o.args.save_every = 9;
    r.o.args.force = 1;
    for (int turn = 0; turn < 3; turn++) {
        const int adapters = turn != 1;
        r.o.lora.r = adapters ? 2 : 0;
        r.n = r.evaluations = 0;
        if (!adapters)
            aoe_lora_defaults(&r.o.lora);
        train_run_ok(&r, 1);
        assert_int_equal(aoei_is_adapter_dir(r.output), adapters);
        assert_int_equal(aoei_entry_exists(r.output, AOEI_PEFT_CONFIG), adapters);
        assert_int_equal(aoei_entry_exists(r.output, AOEI_PEFT_WEIGHTS), adapters);
        assert_int_equal(aoei_entry_exists(r.output, "model.safetensors"), !adapters);
        assert_int_equal(aoei_entry_exists(r.output, "modules.json"), !adapters);
    }
    train_run_destroy(&r);
}

/* The base is what adapters are for: no output takes its place, with force or without. */
static void keeps_the_base(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    r.o.args.max_steps = 2;
    char *base = test_path(r.dir, "model"), *inside = test_path(r.dir, "model/checkpoints/step-1"), *saved, *merged;
    train_run_ok(&r, 1);
    saved = aoei_strdup(r.output);
    r.o.args.force = 1;
    r.o.args.output = base;
    refuse(&r, "which the adapters need");
    aoe_lora_defaults(&r.o.lora);
    r.o.args.model = saved;
    refuse(&r, "which the adapters need");
    assert_true(aoei_entry_exists(base, "model.safetensors") && !aoei_entry_exists(base, AOEI_PEFT_CONFIG));
    aoe_context *ctx = tiny_context(1);
    aoe_convert_options o;
    aoe_error err = {0};
    aoe_convert_options_defaults(&o);
    o.force = o.merge = 1;
    assert_int_equal(aoe_convert(ctx, saved, base, &o, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "the adapters are for"));
    /* a base below the output */
    assert_int_equal(aoei_make_dir(inside, NULL), 0);
    merged = test_path(inside, "whole");
    assert_int_equal(aoe_convert(ctx, base, merged, NULL, NULL, &err), 0);
    aoe_context_destroy(ctx);
    r.o.args.model = merged;
    r.o.lora.r = 2;
    refuse(&r, "which the adapters need");
    assert_true(aoei_entry_exists(merged, "model.safetensors"));
    aoei_free(saved);
    free(merged);
    free(inside);
    free(base);
    train_run_destroy(&r);
}

/* A run that goes on takes the base of its checkpoint, wherever its start says the base is. */
static void goes_on_beside_its_base(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    float want[TRAIN_DIMS], got[TRAIN_DIMS];
    begin(&r);
    r.o.args.max_steps = 2;
    char *base = test_path(r.dir, "model"), *other = test_path(r.dir, "other"), *adapters = test_path(r.dir, "out");
    train_run_ok(&r, 1);
    aoe_context *ctx = tiny_context(1);
    assert_int_equal(aoe_convert(ctx, adapters, other, NULL, NULL, &err), 0); /* the same shape, other weights */
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
        cmocka_unit_test(same_bits),
        cmocka_unit_test(stops_and_goes_on),
        cmocka_unit_test(refuses_changed_options),
        cmocka_unit_test(goes_on_from_saved_adapters),
        cmocka_unit_test(takes_the_place_of_a_model),
        cmocka_unit_test(keeps_the_base),
        cmocka_unit_test(goes_on_beside_its_base),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
