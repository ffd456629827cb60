/* SPDX-License-Identifier: MIT
 * covers: base/io_fault
 * Tests that functions for model directories handle a failed allocation or I/O operation. The tested functions open,
 * save, create, convert and average models. Each test calls its function repeatedly, and in each call a different
 * allocation or I/O operation fails. The error code must match the failure, no block may be leaked, and an older model
 * in the output directory must be intact.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/path.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"
#include "model/weight_view.h"
#include "modeldir/layout.h"

static aoe_context *ctx;

static int open_context(void **state) {
    (void)state;
    return aoe_context_create(&ctx, &(aoe_context_options){.struct_size = sizeof(aoe_context_options), .threads = 1},
                              NULL);
}

static int close_context(void **state) {
    (void)state;
    aoe_context_destroy(ctx);
    return 0;
}

static int open_and_close(void *dir) {
    aoe_model *m, *view = NULL;
    int rc = aoe_model_open(&m, ctx, dir, NULL, NULL);
    if (!rc)
        rc = aoei_model_view(&view, m, m->weights, NULL);
    aoe_model_close(view);
    aoe_model_close(m);
    return rc;
}

static void opening_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create();
    test_model_write(dir, &(test_model_spec){.dtype = AOEI_ST_F16, .shards = 2});
    free(test_write_text(dir, "config_sentence_transformers.json",
                         "{\"prompts\":{\"a\":\"x \"},\"default_prompt_name\":\"a\"}"));
    free(test_write_text(dir, "sentence_bert_config.json", "{\"max_seq_length\":9}"));
    assert_true(test_alloc_failures(open_and_close, dir, 0) > 100);
    test_dir_remove(dir);
}

/* A model that is saved over an older model with other weights. */
typedef struct saving {
    aoe_model *m; /* new model */
    char *to;     /* path of the directory that contains the older model and receives the new one */
    char *older;  /* path of a copy of the older model */
    char *newer;  /* path of the new model, saved without failures */
    aoe_storage storage;
    json_t *record;
} saving;

static void begin(saving *s, const char *dir, aoe_storage storage) {
    static const char *const parts[] = {"new", "old", "to"};
    char *path[3];
    for (size_t i = 0; i < 3; i++) {
        path[i] = test_path(dir, parts[i]);
        assert_int_equal(aoei_make_dir(path[i], NULL), 0);
        test_model_write(path[i], i ? &(test_model_spec){.shards = 2} : &(test_model_spec){.pooler = 1});
        free(test_write_text(path[i], "LICENSE", i ? "older terms\n" : "terms\n"));
    }
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_CLS_LAST_AVG;
    o.prompt = "x {text}";
    o.normalize = 1;
    assert_int_equal(aoei_model_open_trainable(&s->m, ctx, path[0], &o, NULL), 0);
    s->record = json_pack("{s:i}", "steps", 3);
    s->older = path[1];
    s->to = path[2];
    s->newer = test_path(dir, "newer");
    s->storage = storage;
    assert_int_equal(aoei_model_save_as(s->m, s->newer, s->record, storage, NULL), 0);
    free(path[0]);
}

static void end(saving *s) {
    aoe_model_close(s->m);
    json_decref(s->record);
    free(s->to);
    free(s->older);
    free(s->newer);
}

static int run_save(void *arg) {
    saving *s = arg;
    return aoei_model_save_as(s->m, s->to, s->record, s->storage, NULL);
}

/* Asserts that `dir` contains every file of `want` with equal bytes. If `alone` is set, also asserts that `dir`
 * contains no other files. */
static void assert_equal_files(const char *want, const char *dir, int alone) {
    char **names;
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, want, NULL), 0);
    if (alone)
        assert_int_equal(test_count_entries(dir), n);
    for (size_t i = 0; i < n; i++) {
        size_t na = 0, nb = 0;
        char *a = test_path(want, names[i]), *b = test_path(dir, names[i]);
        if (aoei_is_dir(a)) {
            assert_equal_files(a, b, 1);
        } else {
            char *x = test_read(a, &na), *y = test_read(b, &nb);
            if (!y)
                fail_msg("%s is missing", b);
            assert_int_equal(na, nb);
            assert_memory_equal(x, y, na);
            free(x);
            free(y);
        }
        free(a);
        free(b);
    }
    aoei_list_free(names, n);
}

static void check_older(const saving *s) {
    assert_equal_files(s->older, s->to, 1);
}

/* Asserts that the directory s->to contains the complete new model. The directory may also contain the temporary folder
 * that saving uses (the staging folder), because the removal of this folder may have failed. */
static void check_newer(const saving *s) {
    assert_equal_files(s->newer, s->to, 0);
    assert_false(aoei_entry_exists(s->to, "model.safetensors.index.json"));
}

static void restore_older(const saving *s) {
    assert_int_equal(aoei_remove_tree(s->to, NULL), 0);
    assert_int_equal(aoei_make_dir(s->to, NULL), 0);
    test_model_write(s->to, &(test_model_spec){.shards = 2});
    free(test_write_text(s->to, "LICENSE", "older terms\n"));
}

static void saving_without_memory(void **state) {
    char *dir = test_dir_create();
    saving s;
    begin(&s, dir, *(aoe_storage *)*state);
    int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n++) {
        aoei_alloc_fail_at(n);
        int rc = run_save(&s);
        uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        if (rc) {
            assert_int_equal(rc, AOE_ENOMEM);
            check_older(&s);
            continue;
        }
        check_newer(&s);
        if (n > count)
            break;
        restore_older(&s); /* run_save saved the model and ignored that it could not remove temporary files */
    }
    end(&s);
    test_dir_remove(dir);
}

static void saving_on_a_failing_disk(void **state) {
    char *dir = test_dir_create();
    saving s;
    begin(&s, dir, *(aoe_storage *)*state);
    for (int full = 0; full < 2; full++) {
        restore_older(&s);
        for (uint64_t n = 1;; n++) {
            aoei_io_fail_at(n, full ? ENOSPC : EIO);
            int rc = run_save(&s);
            uint64_t count = aoei_io_count();
            aoei_io_fail_at(0, 0);
            if (rc) {
                assert_int_equal(rc, full ? AOE_ENOSPC : AOE_EIO);
                check_older(&s);
                continue;
            }
            check_newer(&s);
            if (n > count)
                break;
            restore_older(&s);
        }
        assert_int_equal(run_save(&s), 0); /* saves the model over the result of the last run_save */
        check_newer(&s);
    }
    end(&s);
    test_dir_remove(dir);
}

/* Saves the model to a new directory. Asserts that the directory does not exist if saving failed. */
static int save_elsewhere(void *arg) {
    saving *s = arg;
    char *to = test_path(s->to, "fresh");
    int rc = aoei_model_save_as(s->m, to, s->record, s->storage, NULL);
    assert_int_equal(aoei_entry_exists(s->to, "fresh"), !rc);
    if (!rc)
        assert_int_equal(aoei_remove_tree(to, NULL), 0);
    free(to);
    return rc;
}

static void saving_to_a_new_directory(void **state) {
    (void)state;
    char *dir = test_dir_create();
    saving s;
    begin(&s, dir, AOE_STORAGE_F32);
    for (uint64_t n = 1;; n++) {
        aoei_io_fail_at(n, EIO);
        int rc = save_elsewhere(&s);
        aoei_io_fail_at(0, 0);
        if (!rc)
            break;
        assert_int_equal(rc, AOE_EIO);
    }
    end(&s);
    test_dir_remove(dir);
}

static const char *architecture; /* architecture of the model that init_once creates */

static int init_once(void *dir) {
    char *text = test_path(dir, "a.txt"), *to = test_path(dir, "made");
    aoe_init_options o;
    aoe_init_options_defaults(&o);
    o.shape = (aoe_shape){
        .struct_size = sizeof(aoe_shape), .hidden = 4, .layers = 1, .heads = 2, .intermediate = 4, .positions = 8};
    o.shape.architecture = architecture;
    o.texts = (const char *const[]){text};
    o.n_texts = 1;
    o.vocab_size = 30;
    o.force = 1;
    int rc = aoe_init(ctx, to, &o, NULL, NULL);
    assert_int_equal(aoei_is_model_dir(to), !rc);
    int removed = aoei_remove_tree(to, NULL); /* the failure may occur in this call */
    free(text);
    free(to);
    return rc ? rc : removed;
}

static void making_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create(), *made = test_path(dir, "made");
    free(test_write_text(dir, "a.txt", "a small plane\na smaller plane\n"));
    int64_t live = aoei_alloc_live();
    static const char *const types[] = {NULL, "roberta", "mistral", "qwen2"};
    size_t type = 0;
    for (uint64_t n = 1;; n += n / 64 + 1) {
        architecture = types[type];
        aoei_alloc_fail_at(n);
        int rc = init_once(dir);
        uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        assert_int_equal(aoei_remove_tree(made, NULL), 0); /* the directory still exists if its removal in init_once
                                                              failed */
        if (n > count) {
            assert_int_equal(rc, 0);
            if (++type == sizeof types / sizeof *types)
                break;
            n = 0;
        }
        assert_true(rc == AOE_ENOMEM || rc == 0);
    }
    free(made);
    test_dir_remove(dir);
}

/* Converts a model from int8 to bf16. */
static int convert_once(void *dir) {
    char *from = test_path(dir, "small"), *to = test_path(dir, "made");
    int rc = aoe_convert(ctx, from, to,
                         &(aoe_convert_options){.struct_size = sizeof(aoe_convert_options),
                                                .table = {.struct_size = sizeof(aoe_table_options)},
                                                .storage = AOE_STORAGE_BF16},
                         NULL, NULL);
    assert_int_equal(aoei_is_model_dir(to), !rc);
    free(from);
    free(to);
    return rc;
}

static void converting_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create(), *from = test_path(dir, "wide"), *to = test_path(dir, "small"),
         *made = test_path(dir, "made");
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    test_model_write(from, &(test_model_spec){.pooler = 1, .prefix = "bert."});
    assert_int_equal(aoe_convert(ctx, from, to,
                                 &(aoe_convert_options){.struct_size = sizeof(aoe_convert_options),
                                                        .table = {.struct_size = sizeof(aoe_table_options)},
                                                        .storage = AOE_STORAGE_INT8,
                                                        .embedding_storage = AOE_EMBEDDING_STORAGE_INT5},
                                 NULL, NULL),
                     0);
    int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n++) {
        aoei_alloc_fail_at(n);
        int rc = convert_once(dir);
        uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        if (n > count) {
            assert_int_equal(rc, 0);
            break;
        }
        /* rc is 0 if the failed allocation was needed only to remove temporary files, because aoe_convert ignores
         * this */
        assert_true(rc == AOE_ENOMEM || rc == 0);
        if (!rc)
            assert_int_equal(aoei_remove_tree(made, NULL), 0);
    }
    free(made);
    free(from);
    free(to);
    test_dir_remove(dir);
}

/* Converts a model to a model with one of its layers and with some of its tokens. */
static int reduce_once(void *dir) {
    static const size_t layer = 1;
    char *from = test_path(dir, "wide"), *to = test_path(dir, "made"), *texts = test_path(dir, "texts.txt");
    const char *path = texts;
    aoe_convert_options o;
    aoe_convert_options_defaults(&o);
    o.force = 1;
    o.take_layers = &layer;
    o.n_take_layers = 1;
    o.vocab_size = 16;
    o.count_on = &path;
    o.n_count_on = 1;
    const int rc = aoe_convert(ctx, from, to, &o, NULL, NULL);
    assert_true(rc || aoei_is_model_dir(to));
    free(from);
    free(to);
    free(texts);
    return rc;
}

static void reducing_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create(), *from = test_path(dir, "wide");
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    test_model_write(from, NULL);
    free(test_write_text(dir, "texts.txt", "a b\nc\n"));
    free(test_write_text(from, "aoe.json", "{\"format_version\": 1, \"prompts\": {\"default\": \"q: {text}\"}}"));
    assert_true(test_alloc_failures_published(reduce_once, dir, 0) > 100);
    free(from);
    test_dir_remove(dir);
}

static int average_once(void *dir) {
    char *from = test_path(dir, "one"), *other = test_path(dir, "two"), *to = test_path(dir, "made");
    int rc = aoe_average(ctx, (const char *const[]){from, other}, 2, to, NULL, NULL, NULL);
    assert_int_equal(aoei_is_model_dir(to), !rc);
    assert_int_equal(aoei_entry_exists(to, "LICENSE"), !rc);
    free(from);
    free(other);
    free(to);
    return rc;
}

static void averaging_without_memory(void **state) {
    (void)state;
    char *dir = test_dir_create(), *from = test_path(dir, "one"), *made = test_path(dir, "made");
    char *other = test_path(dir, "two");
    assert_int_equal(aoei_make_dir(from, NULL), 0);
    assert_int_equal(aoei_make_dir(other, NULL), 0);
    test_model_write(from, NULL);
    test_model_write(other, NULL);
    free(test_write_text(from, "LICENSE", "terms\n"));
    free(test_write_text(from, "aoe.json", "{\"format_version\": 1, \"training\": {\"lr\": 0.1}}"));
    int64_t live = aoei_alloc_live();
    for (uint64_t n = 1;; n++) {
        aoei_alloc_fail_at(n);
        int rc = average_once(dir);
        uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(aoei_alloc_live(), live);
        if (n > count) {
            assert_int_equal(rc, 0);
            break;
        }
        /* rc is 0 if the failed allocation was needed only to remove temporary files, because averaging ignores this */
        assert_true(rc == AOE_ENOMEM || rc == 0);
        if (!rc)
            assert_int_equal(aoei_remove_tree(made, NULL), 0);
    }
    free(made);
    free(other);
    free(from);
    test_dir_remove(dir);
}

int main(void) {
    aoe_storage f32 = AOE_STORAGE_F32, int8 = AOE_STORAGE_INT8;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test_prestate(saving_without_memory, &f32),
        cmocka_unit_test_prestate(saving_without_memory, &int8),
        cmocka_unit_test_prestate(saving_on_a_failing_disk, &f32),
        cmocka_unit_test_prestate(saving_on_a_failing_disk, &int8),
        cmocka_unit_test(saving_to_a_new_directory),
        cmocka_unit_test(making_without_memory),
        cmocka_unit_test(converting_without_memory),
        cmocka_unit_test(reducing_without_memory),
        cmocka_unit_test(averaging_without_memory),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, open_context, close_context);
}
