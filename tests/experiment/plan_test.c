/* SPDX-License-Identifier: MIT
 * Tests the memory estimates of the runs of an experiment: they depend on the number of tokens of the texts, for files
 * of every kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "experiment/plan.h"

static char *model;

static int set_up(void **state) {
    test_dir_set_up(state);
    const tiny_model m = tiny_defaults();
    model = test_path(test_dir, "start");
    tiny_model_write(model, &m);
    return 0;
}

static int tear_down(void **state) {
    free(model);
    return test_dir_tear_down(state);
}

static size_t file_size(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

/* Sets the options of a run with this method. */
static void set_options(aoe_train_options *o, const aoe_train_data *data, aoe_method method) {
    aoe_train_options_defaults(o);
    o->args.model = model;
    o->args.output = "none";
    o->args.model_options.dtype = AOE_DTYPE_F32;
    o->data = data;
    o->n_data = 1;
    o->method = method;
    o->batch_size = 4;
}

/* Returns the estimate for a run that trains on the file or folder with this path, without the memory for the bytes of
 * the file. */
static size_t estimate(aoe_method method, const char *path) {
    aoe_train_options o;
    aoe_train_data data;
    aoei_plans *plans;
    aoe_error err = {0};
    size_t bytes = 0, again = 0;
    aoe_train_data_defaults(&data, path);
    set_options(&o, &data, method);
    assert_int_equal(aoei_plans_create(&plans, &err), 0);
    if (aoei_plan_memory(plans, &o, 0, 0, &bytes, &err) || aoei_plan_memory(plans, &o, 0, 0, &again, &err))
        fail_msg("%s", err.message);
    assert_int_equal(bytes, again);
    aoei_plans_free(plans);
    return bytes - 3 * file_size(path);
}

static size_t estimate_text(aoe_method method, const char *name, const char *text) {
    char *path = test_write_text(test_dir, name, text);
    const size_t bytes = estimate(method, path);
    free(path);
    return bytes;
}

/* The same texts need the same memory in a .txt file, in a table, and in a folder of SentEval's STS data. */
static void texts_are_measured(void **state) {
    (void)state;
    char *folder = test_path(test_dir, "sts");
    assert_int_equal(aoei_make_dir(folder, NULL), 0);
    free(test_write_text(folder, "STS.input.a.txt", "the cat\ta dog\nthe bird\tthe old dog\n"));
    const size_t plain = estimate_text(AOE_METHOD_SIMCSE_UNSUP, "a.txt", "the cat\na dog\nthe bird\nthe old dog\n"),
                 table =
                     estimate_text(AOE_METHOD_SIMCSE_UNSUP, "a.tsv", "text\nthe cat\na dog\nthe bird\nthe old dog\n"),
                 longer = estimate_text(
                     AOE_METHOD_SIMCSE_UNSUP, "b.txt",
                     "the cat\na dog\nthe bird\nthe old dog and the cat and the bird and the old house\n");
    assert_int_equal(plain, table);
    assert_int_equal(plain, estimate(AOE_METHOD_SIMCSE_UNSUP, folder));
    assert_true(plain < longer);
    free(folder);
}

/* The texts of pairs, positives and triplets are also measured. A triplet has one text more than a positive pair. */
static void examples_are_measured(void **state) {
    (void)state;
    static const char *const header[] = {"text1\ttext2\tlabel\n", "query\tpositive\n", "query\tpositive\tnegative\n"},
                             *const end[] = {"\t%d\n", "\n", "\tthe bird\n"};
    size_t bytes[3];
    for (size_t kind = 0; kind < 3; kind++) {
        for (int is_long = 0; is_long < 2; is_long++) {
            char text[1024], last[64];
            size_t at = (size_t)snprintf(text, sizeof text, "%s", header[kind]);
            for (int i = 0; i < 6; i++) {
                snprintf(last, sizeof last, end[kind], i % 2);
                at += (size_t)snprintf(text + at, sizeof text - at, "the cat\t%s%s",
                                       is_long ? "the old dog and the cat and the bird and the old house" : "the dog",
                                       last);
            }
            const size_t estimated = estimate_text(AOE_METHOD_ANGLE, "examples.tsv", text);
            if (is_long)
                assert_true(bytes[kind] < estimated);
            else
                bytes[kind] = estimated;
        }
    }
    assert_true(bytes[1] < bytes[2]);
}

/* A run that only evaluates the initial model needs more memory if its batches have more tokens. */
static void evaluations_are_measured(void **state) {
    static const size_t tokens[] = {64, 4096, 64};
    aoe_train_options o;
    aoe_train_data data;
    aoei_plans *plans;
    aoe_error err = {0};
    size_t bytes[3];
    (void)state;
    aoe_train_data_defaults(&data, "none.tsv");
    set_options(&o, &data, AOE_METHOD_ANGLE);
    assert_int_equal(aoei_plans_create(&plans, &err), 0);
    for (size_t i = 0; i < 3; i++) {
        o.args.batch_tokens = tokens[i];
        if (aoei_plan_memory(plans, &o, 0, 1, &bytes[i], &err))
            fail_msg("%s", err.message);
    }
    aoei_plans_free(plans);
    assert_true(bytes[0] < bytes[1]);
    assert_int_equal(bytes[0], bytes[2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_measured), cmocka_unit_test(examples_are_measured),
                                       cmocka_unit_test(evaluations_are_measured)};
    return cmocka_run_group_tests_name("experiment_plan", tests, set_up, tear_down);
}
