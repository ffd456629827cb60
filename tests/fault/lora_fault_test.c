/* SPDX-License-Identifier: MIT
 * Tests that functions for LoRA adapters handle a failed allocation or I/O operation. The tested functions open
 * adapters for inference and for training, merge them, save them over a complete model, and train them. Each test calls
 * its function repeatedly, and in each call a different allocation or I/O operation fails. The error code must match
 * the failure, no block may be leaked, and after a failed save the directory must still contain the complete model.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "../support/train_run.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/json.h"
#include "modeldir/peft.h"
#include "model/open.h"
#include "model/save.h"
#include "modeldir/layout.h"

static aoe_context *ctx;
static char *base, *adapters, *to;

static int set_up(void **state) {
    if (test_dir_set_up(state))
        return -1;
    tiny_model shape = tiny_defaults();
    shape.layers = 1;
    shape.intermediate = 16;
    shape.options = tiny_llama;
    ctx = tiny_context(1);
    base = test_path(test_dir, "base");
    adapters = test_path(test_dir, "adapters");
    to = test_path(test_dir, "to");
    tiny_model_write(base, &shape);
    tiny_adapters_write(ctx, adapters, base, 2, NULL);
    return 0;
}

static int tear_down(void **state) {
    free(base);
    free(adapters);
    free(to);
    aoe_context_destroy(ctx);
    return test_dir_tear_down(state);
}

static int open_packed(void *arg) {
    (void)arg;
    aoe_model *m;
    const int rc = aoe_model_open(&m, ctx, adapters, NULL, NULL);
    aoe_model_close(m);
    return rc;
}

static int open_eight_bit(void *arg) {
    (void)arg;
    aoe_model *m;
    const int rc = aoei_model_open_for(&m, ctx, adapters, NULL, &(aoei_open_mode){.eight_bit = 1}, NULL);
    aoe_model_close(m);
    return rc;
}

/* Opens adapters whose ranks and alphas differ between layers. */
static int open_patterns(void *arg) {
    aoe_model *m;
    const int rc = aoei_model_open_for(&m, ctx, arg, NULL, &(aoei_open_mode){.packed = 1}, NULL);
    aoe_model_close(m);
    return rc;
}

/* Adds an alpha_pattern and a regular expression to adapter_config.json of the directory `adapters`. */
static void add_patterns(void) {
    char *path = test_path(adapters, AOEI_PEFT_CONFIG);
    json_t *root_json;
    assert_int_equal(aoei_json_load(&root_json, path, NULL), 0);
    assert_int_equal(json_object_set_new(root_json, "alpha_pattern", json_pack("{s:i}", "(q|x)_proj", 3)), 0);
    assert_int_equal(json_object_set_new(root_json, "exclude_modules", json_string(".*none")), 0);
    assert_int_equal(aoei_json_save(root_json, path, NULL), 0);
    json_decref(root_json);
    free(path);
}

static int open_new(void *arg) {
    (void)arg;
    aoe_lora lora;
    aoe_model *m;
    aoe_lora_defaults(&lora);
    lora.r = 2;
    lora.targets = "q_proj,down_proj";
    const int rc = aoei_model_open_for(&m, ctx, base, NULL, &(aoei_open_mode){.lora = &lora}, NULL);
    aoe_model_close(m);
    return rc;
}

static void opening_without_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(open_packed, NULL, 0) > 50);
    assert_true(test_alloc_failures(open_eight_bit, NULL, 0) > 50);
    assert_true(test_alloc_failures(open_new, NULL, 0) > 50);
    char *path = test_path(adapters, AOEI_PEFT_CONFIG);
    size_t size;
    char *saved = test_read(path, &size);
    add_patterns();
    assert_true(test_alloc_failures(open_patterns, adapters, 0) > 50);
    free(test_write(adapters, AOEI_PEFT_CONFIG, saved, size));
    free(saved);
    free(path);
}

static int merge(void *arg) {
    (void)arg;
    const aoe_convert_options o = {
        .struct_size = sizeof(aoe_convert_options), .table = {.struct_size = sizeof(aoe_table_options)}, .merge = 1};
    const int rc = aoe_convert(ctx, adapters, to, &o, NULL, NULL);
    assert_int_equal(aoei_is_model_dir(to), !rc);
    return rc;
}

static void merging_without_memory(void **state) {
    (void)state;
    const int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n += 1 + n / 32) {
        aoei_alloc_fail_at(n);
        const int rc = merge(NULL);
        const uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        /* rc is also 0 if the failed allocation was needed only to remove temporary files, because merging ignores
         * this */
        if (!rc)
            assert_int_equal(aoei_remove_tree(to, NULL), 0);
        if (n > count)
            break;
        assert_true(rc == AOE_ENOMEM || rc == 0);
    }
}

/* Saves adapters to the directory `to`, which contains a complete model. */
static int save(void *arg) {
    return aoei_model_save(arg, to, NULL, NULL);
}

static void restore_model(void) {
    const aoe_convert_options o = {
        .struct_size = sizeof(aoe_convert_options), .table = {.struct_size = sizeof(aoe_table_options)}, .force = 1};
    assert_int_equal(aoei_remove_tree(to, NULL), 0);
    assert_int_equal(aoe_convert(ctx, base, to, &o, NULL, NULL), 0);
}

static void check_saved(int rc) {
    aoe_model *m;
    assert_int_equal(aoei_is_adapter_dir(to), !rc);
    assert_int_equal(aoei_entry_exists(to, "model.safetensors"), rc != 0);
    assert_int_equal(aoei_entry_exists(to, AOEI_PEFT_WEIGHTS), !rc);
    assert_int_equal(aoe_model_open(&m, ctx, to, NULL, NULL), 0);
    aoe_model_close(m);
}

static void saving(void **state) {
    (void)state;
    aoe_model *m;
    assert_int_equal(aoei_model_open_trainable(&m, ctx, adapters, NULL, NULL), 0);
    for (int disk = 0; disk < 2; disk++) {
        const int64_t live = aoei_alloc_live();
        for (uint64_t n = 1;; n += disk ? 1 : 1 + n / 32) {
            restore_model();
            if (disk)
                aoei_io_fail_at(n, ENOSPC);
            else
                aoei_alloc_fail_at(n);
            const int rc = save(m);
            const uint64_t count = disk ? aoei_io_count() : aoei_alloc_count();
            aoei_io_fail_at(0, 0);
            aoei_alloc_fail_at(0);
            assert_int_equal(aoei_alloc_live(), live);
            check_saved(rc);
            if (n > count)
                break;
            assert_true(rc == 0 || rc == (disk ? AOE_ENOSPC : AOE_ENOMEM));
        }
    }
    aoe_model_close(m);
    assert_int_equal(aoei_remove_tree(to, NULL), 0);
}

/* A training run of two steps on existing adapters. */
typedef struct work {
    train_run run;
    char *weights; /* adapter weights after a run without failures; owned */
    size_t size;
} work;

static int train(void *arg) {
    work *w = arg;
    w->run.n = w->run.evaluations = 0;
    const int rc = aoe_train(ctx, &w->run.o, NULL);
    if (!rc) {
        size_t size;
        char *got = train_run_read(&w->run, AOEI_PEFT_WEIGHTS, &size);
        assert_true(got && size == w->size && !memcmp(got, w->weights, size));
        free(got);
    }
    return rc;
}

static void training_without_memory(void **state) {
    (void)state;
    work w = {.weights = NULL};
    train_run_create(&w.run);
    char *start = test_path(w.run.dir, "start");
    tiny_adapters_write(ctx, start, w.run.model, 2, "query");
    w.run.o.args.model = start;
    w.run.o.lora.load_8bit = 1;
    w.run.o.args.max_steps = 2;
    w.run.o.args.save_every = w.run.o.args.eval_every = 1;
    train_run_ok(&w.run, 1);
    w.weights = train_run_read(&w.run, AOEI_PEFT_WEIGHTS, &w.size);
    const int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n += 1 + n / 32) {
        assert_int_equal(aoei_remove_tree(w.run.output, NULL), 0);
        aoei_alloc_fail_at(n);
        const int rc = train(&w);
        const uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        if (n > count)
            break;
        /* rc is 0 if the failed allocation was needed only to remove temporary files, because training ignores this */
        assert_true(rc == AOE_ENOMEM || rc == 0);
    }
    free(start);
    free(w.weights);
    train_run_destroy(&w.run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(merging_without_memory),
        cmocka_unit_test(saving),
        cmocka_unit_test(training_without_memory),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
