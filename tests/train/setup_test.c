/* SPDX-License-Identifier: MIT
 * covers: train/output_dir
 * Tests inputs that training must reject. Training must reject them before it writes a file. The error message must be
 * one line that states what is wrong, where, and what to do. Also tests output directories that contain files or are in
 * use.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/lock.h"
#include "base/path.h"

/* Asserts that training returns the error `code` with a one-line message that contains `part`, and that no file is
 * written. Also asserts that training returns this error if the aoe_error argument is NULL. */
static void expect_rejected(train_run *r, int code, const char *part) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || err.code != code || !strstr(err.message, part))
        fail_msg("got code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, part);
    assert_null(strchr(err.message, '\n'));
    assert_int_equal(train_run_go(r, 1, NULL), code);
    assert_int_equal(aoei_exists(r->output), 0);
    assert_int_equal(r->n, 0);
}

static void test_options(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    const aoe_train_options good = r.o;
    const double nan = (double)NAN, inf = (double)INFINITY;
#define BAD(field, value, part)                                                                                        \
    do {                                                                                                               \
        r.o = good;                                                                                                    \
        r.o.field = value;                                                                                             \
        expect_rejected(&r, AOE_EARG, part);                                                                           \
    } while (0)
    BAD(args.model, NULL, "model");
    BAD(n_data, 0, "data");
    BAD(args.epochs, 0, "options.epochs");
    BAD(args.epochs, SIZE_MAX, "options.epochs");
    BAD(args.max_steps, SIZE_MAX, "options.max_steps");
    BAD(args.max_minutes, -1, "options.max_minutes");
    BAD(args.max_minutes, nan, "options.max_minutes");
    BAD(batch_size, 0, "options.batch_size");
    BAD(batch_size, 1, "at least 2");
    BAD(accumulate, 0, "options.accumulate");
    BAD(batch_size, SIZE_MAX, "options.batch_size");
    BAD(accumulate, SIZE_MAX, "options.accumulate");
    BAD(args.keep_checkpoints, 0, "checkpoints");
    BAD(args.lr, -1, "options.lr");
    BAD(args.lr, nan, "options.lr");
    BAD(args.weight_decay, 1e300, "options.weight_decay");
    BAD(args.weight_decay, inf, "options.weight_decay");
    BAD(args.warmup, -0.5, "options.warmup");
    BAD(args.warmup, 1e300, "options.warmup");
    BAD(args.warmup, nan, "options.warmup");
    BAD(args.max_grad_norm, nan, "options.max_grad_norm");
    BAD(args.dropout, 1, "options.dropout");
    BAD(args.dropout, nan, "options.dropout");
    BAD(objective.w_cosine, -1, "options.w_cosine");
    BAD(objective.w_ibn, nan, "options.w_ibn");
    BAD(objective.tau_angle, 0, "options.tau_angle");
    BAD(objective.tau_ibn, inf, "options.tau_ibn");
    BAD(objective.ibn_threshold, 6, "options.ibn_threshold");
    BAD(objective.ibn_threshold, nan, "options.ibn_threshold is nan; give a number");
    BAD(args.max_minutes, nan, "options.max_minutes");
    BAD(w_teacher, nan, "options.w_teacher");
    BAD(args.batch_tokens, 0, "options.batch_tokens");
    BAD(args.model_options.max_length, 33, "positions");
#undef BAD
    r.o = good;
    r.o.objective.w_cosine = r.o.objective.w_ibn = r.o.objective.w_angle = 0;
    expect_rejected(&r, AOE_EARG, "to a value above 0");
    r.o = good;
    r.o.args.max_minutes = 1;
    r.o.args.max_steps = 5;
    expect_rejected(&r, AOE_EARG, "if options.max_minutes is set, options.max_steps must not be set");
    r.o.args.max_steps = 0;
    r.o.args.warmup = 3;
    expect_rejected(&r, AOE_EARG, "options.warmup must be a fraction below 1");
    r.o = good;
    r.o.args.lr = 2;
    r.o.args.weight_decay = 0.5;
    expect_rejected(&r, AOE_EARG, "options.weight_decay");
    r.o = good;
    r.o.args.model_options.dtype = (aoe_dtype)9;
    expect_rejected(&r, AOE_EARG, "options.dtype is 9");
    train_run_destroy(&r);
}

/* Writes text to the training table and asserts that training rejects the table. */
static void expect_table_rejected(train_run *r, const char *text, size_t size, int code, const char *part) {
    free(test_write(r->dir, "train.tsv", text, size));
    expect_rejected(r, code, part);
}

static void test_data(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
#define BAD(text, code, part) expect_table_rejected(&r, text, sizeof text - 1, code, part)
    BAD("", AOE_EFORMAT, "train.tsv");
    BAD("text1\ttext2\tlabel\n", AOE_EFORMAT, "train.tsv");
    BAD("text1\tlabel\na\t1\nb\t2\n", AOE_EFORMAT, "text2");
    BAD("text1\ttext2\tlabel\na\tb\t1\na\tb\t2\na\tb\t3\na\tb\t4\na\tb\t5\na\tb\thigh\n", AOE_EFORMAT, "train.tsv:7");
    BAD("text1\ttext2\tlabel\na\tb\t1\na\t\t2\n", AOE_EFORMAT, "train.tsv:3");
    BAD("text1\ttext2\tlabel\na\tb\t1\na\tb\xff\t2\n", AOE_EFORMAT, "UTF-8");
    BAD("text1\ttext2\tlabel\na\tb\t2\nc\td\t2\n", AOE_EFORMAT, "every label is 2");
#undef BAD
    r.o.objective.w_cosine = 0; /* the angle loss alone also needs pairs with different labels */
    expect_rejected(&r, AOE_EFORMAT, "every label is 2");
    r.o.objective.w_angle = 0; /* the loss with in-batch negatives does not need different labels */
    train_run_ok(&r, 1);
    assert_true(r.events[0].ibn_threshold == 2);
    train_run_output(&r, "again");
    r.n = 0;
    r.source.path = "nowhere.tsv";
    expect_rejected(&r, AOE_ENOENT, "nowhere.tsv");
    train_run_destroy(&r);
}

static void test_model(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.args.model = "nowhere";
    expect_rejected(&r, AOE_ENOENT, "nowhere");
    r.o.args.model = r.model;
    char *vocab = test_path(r.model, "vocab.txt");
    assert_int_equal(remove(vocab), 0);
    expect_rejected(&r, AOE_ENOENT, "tokenizer");
    free(vocab);
    train_run_destroy(&r);
}

static void test_odd_hidden_size(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    tiny_model shape = tiny_defaults();
    shape.hidden = 15;
    shape.heads = 3;
    free(r.model);
    r.model = test_path(r.dir, "odd");
    tiny_model_write(r.model, &shape);
    r.o.args.model = r.model;
    expect_rejected(&r, AOE_EARG, "even embedding size, not 15");
    r.o.objective.w_angle = 0;
    r.o.evaluate = NULL;
    train_run_ok(&r, 1);
    train_run_destroy(&r);
}

/* Tests training whose weights overflow float32. The message must name the step, and no model may be saved. */
static void test_not_finite(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    r.o.args.lr = 1e38;
    r.o.args.weight_decay = 0;
    r.o.args.save_every = 1000;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ENUMERIC);
    assert_memory_equal(err.message, "step ", 5);
    assert_int_equal(aoei_exists(r.output), 1);
    char *weights = train_run_read(&r, "model.safetensors", NULL);
    assert_null(weights);
    train_run_output(&r, "again");
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ENUMERIC);
    train_run_destroy(&r);
}

static void test_existing_output(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    r.o.args.seed = 1;
    train_run_ok(&r, 1);
    free(test_write_text(r.output, "notes.txt", "mine"));
    size_t size;
    char *first = train_run_read(&r, "model.safetensors", &size);
    r.o.args.seed = 42;
    r.n = 0;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EEXIST);
    assert_true(strstr(err.message, "options.resume") && strstr(err.message, "options.force") &&
                strstr(err.message, r.output));
    assert_int_equal(r.n, 0);
    char *still = train_run_read(&r, "model.safetensors", NULL);
    assert_memory_equal(first, still, size);
    free(still);
    r.o.args.force = 1;
    r.o.args.epochs = 1; /* this run has only 6 steps, so the checkpoint step-12 of the first run must be deleted */
    train_run_ok(&r, 1);
    char *second = train_run_read(&r, "model.safetensors", NULL), *notes = train_run_read(&r, "notes.txt", NULL);
    assert_true(memcmp(first, second, size) != 0);
    assert_string_equal(notes, "mine");
    char *old = train_run_read(&r, "checkpoints/step-12/config.json", NULL),
         *now = train_run_read(&r, "checkpoints/step-6/config.json", NULL);
    assert_null(old);
    assert_non_null(now);
    free(now);
    free(notes);
    free(second);
    free(first);
    train_run_destroy(&r);
}

/* Tests that an output directory with checkpoints is rejected, even if it contains no model. A directory with other
 * files must be accepted. */
static void test_existing_checkpoints(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    assert_int_equal(aoei_make_dir(r.output, NULL), 0);
    free(test_write_text(r.output, "notes.txt", "mine"));
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 4;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "checkpoints"));
    train_run_destroy(&r);
}

/* Tests that a run that fails before it writes a file removes the directories that it created, and no other
 * directories. */
static void test_created_output(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *parent = test_path(r.dir, "parent"), *nested = test_path(r.dir, "parent/a//b/c/"),
         *a = test_path(r.dir, "parent/a");
    assert_int_equal(aoei_make_dir(parent, NULL), 0);
    r.o.args.output = nested;
    r.source.path = "missing.tsv";
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ENOENT);
    assert_int_equal(aoei_exists(a), 0);
    assert_int_equal(aoei_exists(parent), 1);
    free(parent);
    free(nested);
    free(a);
    train_run_destroy(&r);
}

static void test_unwritable_output(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    free(test_write_text(r.dir, "file", ""));
    free(r.output);
    r.output = test_path(r.dir, "file/out");
    r.o.args.output = r.output;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "file"));
    r.o.args.output = "/proc/aoe-test";
    assert_int_not_equal(train_run_go(&r, 1, &err), 0);
    assert_non_null(strstr(err.message, "/proc"));
    assert_int_equal(r.n, 0);
    train_run_destroy(&r);
}

/* Tests that file names that are not valid UTF-8 are accepted. In aoe.json, their invalid bytes must be replaced with
 * '?'. */
static void test_names(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *odd = test_path(r.dir, "caf\xe9.tsv");
    assert_int_equal(rename(r.data, odd), 0);
    r.source.path = odd;
    r.o.dev_name = "d\xe9v";
    train_run_ok(&r, 1);
    char *settings = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(settings, "caf?.tsv"));
    free(settings);
    free(odd);
    train_run_destroy(&r);
}

/* An event callback that starts a second run with the output directory of the current run and asserts that the second
 * run is rejected. */
static int start_second_run(void *user, const aoe_train_event *e) {
    train_run *r = user;
    aoe_error err = {0};
    if (e->kind != AOE_TRAIN_START && e->kind != AOE_TRAIN_EVAL)
        return 0;
    aoe_train_options o = r->o;
    o.args.event = NULL;
    o.args.force = 1;
    aoe_context *ctx = tiny_context(1);
    assert_int_equal(aoe_train(ctx, &o, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "another run"));
    aoe_context_destroy(ctx);
    r->n++;
    return 0;
}

static void test_output_in_use(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.args.event = start_second_run;
    train_run_ok(&r, 1);
    assert_int_equal(r.n, 5); /* the callback was called for the start event and four evaluation events */
    r.o.args.event = NULL;
    r.o.args.force = 1;
    train_run_ok(&r, 1); /* the first run released its lock when it ended */
    train_run_destroy(&r);
}

/* An evaluation function that fails. The run must then end and return the error of this function. */
static int failing_evaluation(void *user, aoe_embedder *e, double *score, aoe_error *err) {
    (void)user;
    (void)e;
    *score = 0;
    if (err) {
        err->code = AOE_EMISMATCH;
        snprintf(err->message, sizeof err->message, "no score today");
    }
    return AOE_EMISMATCH;
}

static void test_failing_evaluation(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    r.o.evaluate = failing_evaluation;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EMISMATCH);
    assert_string_equal(err.message, "no score today");
    train_run_destroy(&r);
}

/* Tests that files and folders in checkpoints/ that training did not create are kept, with and without
 * options.force. */
static void test_foreign_checkpoints(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char path[512];
    snprintf(path, sizeof path, "%s/checkpoints/checkpoint-500", r.output);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(test_write(path, "w.bin", "x", 1));
    train_run_ok(&r, 1);
    assert_int_equal(aoei_exists(path), 1);
    r.o.args.force = 1;
    train_run_ok(&r, 1);
    assert_int_equal(aoei_exists(path), 1);
    train_run_destroy(&r);
}

/* Tests a last update that makes the weights infinite, although every loss was finite. No checkpoint and no model may
 * be saved. */
static void test_overflow_at_the_end(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    r.o.args.max_steps = 1;
    r.o.args.warmup = 0;
    r.o.args.weight_decay = 0;
    r.o.args.lr = 3.5e38;
    r.o.evaluate = NULL;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ENUMERIC);
    assert_non_null(strstr(err.message, "weights are no longer finite"));
    assert_null(train_run_read(&r, "model.safetensors", NULL));
    assert_null(train_run_read(&r, "checkpoints/step-1/trainer.json", NULL));
    train_run_destroy(&r);
}

/* Tests that a locked output directory is rejected, and that training succeeds after the lock is released. */
static void test_locked_output(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoei_lock lock;
    aoe_error err = {0};
    assert_int_equal(aoei_make_dir(r.output, NULL), 0);
    assert_int_equal(aoei_lock_dir(&lock, r.output, NULL), 0);
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EEXIST);
    assert_non_null(strstr(err.message, "another run is writing to this directory"));
    /* training locks the directory before it reads any input, so the error must still be about the lock */
    r.source.path = "missing.tsv";
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EEXIST);
    r.source.path = r.data;
    aoei_unlock(&lock);
    train_run_ok(&r, 1);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_data),
                                       cmocka_unit_test(test_model),
                                       cmocka_unit_test(test_odd_hidden_size),
                                       cmocka_unit_test(test_not_finite),
                                       cmocka_unit_test(test_existing_output),
                                       cmocka_unit_test(test_existing_checkpoints),
                                       cmocka_unit_test(test_created_output),
                                       cmocka_unit_test(test_unwritable_output),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_foreign_checkpoints),
                                       cmocka_unit_test(test_overflow_at_the_end),
                                       cmocka_unit_test(test_locked_output),
                                       cmocka_unit_test(test_output_in_use),
                                       cmocka_unit_test(test_failing_evaluation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
