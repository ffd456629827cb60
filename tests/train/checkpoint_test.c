/* SPDX-License-Identifier: MIT
 * Tests checkpoints on disk: finding the newest complete checkpoint, removing old checkpoints, opening a checkpoint as
 * a model, and resuming from truncated and damaged checkpoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/path.h"
#include "train/checkpoint.h"

/* Creates the directory dir/name. */
static void make(const char *dir, const char *name) {
    char *path = test_path(dir, name);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(path);
}

static void test_find(void **state) {
    (void)state;
    char *dir = tiny_dir_create(), *path;
    assert_int_equal(aoei_checkpoint_find(&path, dir, NULL), 0);
    assert_null(path);
    static const char *const others[] = {"checkpoints",         "checkpoints/.step-99", "checkpoints/step-",
                                         "checkpoints/step-7x", "checkpoints/step--7",  "checkpoints/step-+7",
                                         "checkpoints/step- 7", "checkpoints/step-x7",  "checkpoints/xstep-700",
                                         "checkpoints/Step-700"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        make(dir, others[i]);
        assert_int_equal(aoei_checkpoint_find(&path, dir, NULL), 0);
        assert_null(path);
    }
    static const char *const steps[] = {"step-0", "step-9", "step-10", "step-100"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char name[64];
        snprintf(name, sizeof name, "checkpoints/%s", steps[i]);
        make(dir, name);
        assert_int_equal(aoei_checkpoint_find(&path, dir, NULL), 0);
        char *want = test_path(dir, name);
        assert_string_equal(path, want);
        free(want);
        aoei_free(path);
    }
    test_dir_remove(dir);
}

static void test_prune(void **state) {
    (void)state;
    char *dir = tiny_dir_create();
    static const char *const names[] = {"step-9", "step-10", "step-100", "step-8", ".step-101", "mine", "step-x"};
    for (size_t i = 0; i < 7; i++)
        make(dir, names[i]);
    assert_int_equal(aoei_checkpoints_prune(dir, 2, NULL), 0);
    static const int remaining[] = {0, 1, 1, 0, 0, 1, 1};
    for (size_t i = 0; i < 7; i++) {
        char *path = test_path(dir, names[i]);
        assert_int_equal(aoei_exists(path), remaining[i]);
        free(path);
    }
    assert_int_equal(aoei_checkpoints_prune(dir, 1, NULL), 0);
    assert_int_equal(test_count_entries(dir), 3);
    test_dir_remove(dir);
}

/* Creates a run and stops it after step 7. It writes a checkpoint at step 7; its best evaluation was at step 4. */
static void stopped_run(train_run *r) {
    static const double scores[] = {0.9, 0.1, 0.2};
    train_run_create(r);
    r->scores = scores;
    r->stop_kind = AOE_TRAIN_STEP;
    r->stop_step = 7;
    assert_int_equal(train_run_go(r, 1, NULL), AOE_ECANCELLED);
    r->stop_kind = -1;
    r->o.args.resume = 1;
}

static void test_is_a_model(void **state) {
    (void)state;
    train_run r;
    stopped_run(&r);
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_embedder *e;
    float v[TRAIN_DIMS];
    const aoe_text text = aoe_text_of("the old cat");
    char *path = test_path(r.output, "checkpoints/step-7");
    assert_int_equal(aoe_model_open(&m, ctx, path, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, &text, 1, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(path);
    train_run_destroy(&r);
}

/* Truncates a file of the output directory to half its size. */
static void truncate_file(const train_run *r, const char *name) {
    size_t size;
    char *data = train_run_read(r, name, &size);
    assert_non_null(data);
    free(test_write(r->output, name, data, size / 2));
    free(data);
}

/* Tests resuming if the newest checkpoint is truncated. The run must resume from the previous checkpoint and give the
 * result of an uninterrupted run. If there is no previous checkpoint, the error message must name the directory that
 * the user must delete. */
static void test_truncated(void **state) {
    (void)state;
    static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "trainer.json", "config.json"};
    train_run r;
    train_run_create(&r);
    size_t size;
    train_run_ok(&r, 1);
    char *weights = train_run_read(&r, "model.safetensors", &size), *settings = train_run_read(&r, "aoe.json", NULL);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char output[32], name[64];
        aoe_error err = {0};
        snprintf(output, sizeof output, "fetched-%zu", i); /* the message must contain the whole path */
        train_run_output(&r, output);
        r.o.args.resume = 0;
        r.o.args.keep_checkpoints = 2;
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 7;
        r.evaluations = 0;
        assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
        snprintf(name, sizeof name, "checkpoints/step-7/%s", files[i]);
        truncate_file(&r, name);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.o.args.keep_checkpoints = 1;
        r.n = 0;
        train_run_ok(&r, 1);
        assert_int_equal(r.events[0].step, 6);
        train_run_assert_output(&r, weights, size, settings);
        char *path = test_path(r.output, "checkpoints/damaged-step-7");
        assert_int_equal(aoei_exists(path), 1);
        free(path);
        snprintf(name, sizeof name, "checkpoints/step-12/%s", files[i]);
        truncate_file(&r, name);
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EFORMAT);
        if (!strstr(err.message, name) || !strstr(err.message, "delete ") || strstr(err.message, "download"))
            fail_msg("%s", err.message);
    }
    free(weights);
    free(settings);
    train_run_destroy(&r);
}

/* Replaces a file of the checkpoint step-7 by `content`, or removes it if content is NULL. Asserts that resuming then
 * fails with this code and a message that contains the name of the file and `part`. Restores the file. */
static void expect_damage(train_run *r, const char *file, const char *content, size_t size, int code,
                          const char *part) {
    char name[128];
    aoe_error err = {0};
    snprintf(name, sizeof name, "checkpoints/step-7/%s", file);
    char *path = test_path(r->output, name);
    size_t kept_size;
    char *kept = test_read(path, &kept_size);
    assert_non_null(kept);
    if (content)
        free(test_write(r->output, name, content, size));
    else
        assert_int_equal(remove(path), 0);
    const int got = train_run_go(r, 1, &err);
    if (got != code || !strstr(err.message, file) || !strstr(err.message, part))
        fail_msg("%s: expected code %d, found %d: %s", file, code, got, err.message);
    free(test_write(r->output, name, kept, kept_size));
    free(kept);
    free(path);
}

static void test_damage(void **state) {
    (void)state;
    train_run r;
    stopped_run(&r);
    size_t size;
    expect_damage(&r, "trainer.json", NULL, 0, AOE_ENOENT, "");
    expect_damage(&r, "trainer.json", "{", 1, AOE_EFORMAT, "");
    expect_damage(&r, "trainer.json", "{}", 2, AOE_EFORMAT, "format_version");
    static const char newer[] = "{\"format_version\": 2}", bare[] = "{\"format_version\": 1, \"step\": 7}";
    expect_damage(&r, "trainer.json", newer, sizeof newer - 1, AOE_EUNSUPPORTED, "format_version 2");
    expect_damage(&r, "trainer.json", bare, sizeof bare - 1, AOE_EARG, "not set");
    expect_damage(&r, "optimizer.safetensors", NULL, 0, AOE_ENOENT, "");
    expect_damage(&r, "optimizer.safetensors", "abc", 3, AOE_EFORMAT, "");
    expect_damage(&r, "best.safetensors", NULL, 0, AOE_ENOENT, "");
    char *best = train_run_read(&r, "checkpoints/step-7/best.safetensors", &size);
    expect_damage(&r, "optimizer.safetensors", best, size, AOE_EFORMAT, "\"m\"");
    expect_damage(&r, "best.safetensors", best, size - 1, AOE_EFORMAT, "");
    free(best);
    expect_damage(&r, "config.json", "{}", 2, AOE_EFORMAT, "");
    train_run_ok(&r, 1); /* all files are restored, so the run can resume */
    assert_int_equal(r.events[r.n - 1].best_step, 4);
    train_run_destroy(&r);
}

/* Tests that a checkpoint is rejected if its step or its best step is impossible with the options of the run. */
static void test_impossible_progress(void **state) {
    (void)state;
    train_run r;
    stopped_run(&r);
    char *text = train_run_read(&r, "checkpoints/step-7/trainer.json", NULL), changed[8192];
    static const struct {
        const char *from, *to;
    } edits[] = {{"\"step\": 7", "\"step\": 13"}, {"\"best_step\": 4", "\"best_step\": 8"}};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(text, edits[i].from);
        assert_non_null(at);
        const int n = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, edits[i].to,
                               at + strlen(edits[i].from));
        assert_true(n > 0 && (size_t)n < sizeof changed);
        expect_damage(&r, "trainer.json", changed, (size_t)n, AOE_EFORMAT, "step");
    }
    free(text);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_find),       cmocka_unit_test(test_prune),
                                       cmocka_unit_test(test_is_a_model), cmocka_unit_test(test_truncated),
                                       cmocka_unit_test(test_damage),     cmocka_unit_test(test_impossible_progress)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
