/* SPDX-License-Identifier: MIT
 * Tests that aoe_grid and aoe_compare handle a failed allocation. Each test calls one of them repeatedly, and in each
 * call a different allocation fails. The training runs were finished before the test. A call therefore starts no
 * process: it only checks the inputs, reads the records of the runs and computes the results. The call must report that
 * memory ran out, must not leak a block, and must keep all records. The check of a run that is not finished is tested
 * separately. The same holds for parts and for joins, for which operations that change the disk also fail. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_experiment.h"
#include "aoe_train.h"
#include "base/dir.h"

static char *dir, *model, *train_path, *dev_path, *grid_output, *compare_output;
static char *results; /* contents of results.jsonl of the grid */
static size_t results_bytes;
static aoe_train_data data;
static aoe_evaluation_file dev;
static aoe_configuration configurations[2];
static const uint64_t seeds[2] = {7, 8};

static void configure(aoe_experiment_options *o, const char *output) {
    o->output = output;
    o->configurations = configurations;
    o->n_configurations = 2;
    o->shared = &configurations[0].train;
    o->seeds = seeds;
    o->n_seeds = 2;
    o->dev = &dev;
    o->threads = 1;
}

static void check(int code, const aoe_error *err, size_t rows, size_t finished) {
    assert_int_equal(err->code, code);
    if (code && !strstr(err->message, "memory"))
        fail_msg("expected a message about memory, found: %s", err->message);
    if (!code && (rows != 2 || finished != 4))
        fail_msg("expected 2 rows and 4 finished runs, found %zu and %zu", rows, finished);
}

static int run_grid(void *arg) {
    aoe_grid_options o;
    aoe_grid_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    (void)arg;
    aoe_grid_options_defaults(&o);
    configure(&o.experiment, grid_output);
    const int code = aoe_grid(&o, &result, &err);
    check(code, &err, result.n, result.finished);
    aoe_grid_result_free(&result);
    return code;
}

static int run_compare(void *arg) {
    aoe_compare_options o;
    aoe_compare_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    (void)arg;
    aoe_compare_options_defaults(&o);
    configure(&o.experiment, compare_output);
    o.experiment.files = &dev;
    o.experiment.n_files = 1;
    o.bootstrap.replicates = 20;
    const int code = aoe_compare(&o, &result, &err);
    check(code, &err, result.n, result.finished);
    aoe_compare_result_free(&result);
    return code;
}

/* Runs a part, whose runs are finished (arg: not NULL), or joins the parts (arg: NULL). */
static int run_parts(void *arg) {
    aoe_grid_options o;
    aoe_grid_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    configure(&o.experiment, grid_output);
    o.experiment.parts = arg ? 2 : 0;
    o.experiment.part = arg ? 1 : 0;
    o.experiment.join = !arg;
    const int code = aoe_grid(&o, &result, &err);
    assert_int_equal(err.code, code);
    if (code == AOE_ENOSPC || code == AOE_EIO)
        assert_non_null(strstr(err.message, grid_output)); /* the message names the file */
    else if (code && !strstr(err.message, "memory"))
        fail_msg("expected a message about memory, found: %s", err.message);
    aoe_grid_result_free(&result);
    return code;
}

/* After a failure, the results are those of before, and all runs are still finished. */
static void check_results(void *arg, int code) {
    size_t bytes;
    (void)arg;
    (void)code;
    char *path = test_path(grid_output, "results.jsonl"), *now = test_read(path, &bytes);
    assert_int_equal(bytes, results_bytes);
    assert_memory_equal(now, results, bytes);
    free(now);
    free(path);
}

/* Checks a configuration with a teacher, as an experiment does before its first run. */
static int run_check(void *arg) {
    aoe_context_options one;
    aoe_context *ctx;
    aoe_train_options o = configurations[0].train;
    aoe_train_sizes sizes = {.struct_size = sizeof sizes};
    aoe_context_options_defaults(&one);
    one.threads = 1;
    o.args.output = grid_output;
    o.teachers[0] = model;
    int code = aoe_context_create(&ctx, &one, arg);
    if (code)
        return code;
    code = aoe_train_check_data(ctx, &o, &sizes, arg);
    aoe_context_destroy(ctx);
    return code;
}

static int set_up(void **state) {
    (void)state;
    static const char *const names[] = {"lr=0.001", "lr=0.01"};
    tiny_model shape = tiny_defaults();
    shape.hidden = 8;
    shape.layers = 1;
    dir = tiny_dir_create();
    model = test_path(dir, "start");
    tiny_model_write(model, &shape);
    train_path = tiny_table(dir, "train.tsv", 8, 1);
    dev_path = tiny_table(dir, "dev.tsv", 8, 2);
    grid_output = test_path(dir, "grid");
    compare_output = test_path(dir, "compare");
    aoe_train_data_defaults(&data, train_path);
    aoe_evaluation_file_defaults(&dev);
    dev.path = dev_path;
    for (size_t i = 0; i < 2; i++) {
        aoe_configuration_defaults(&configurations[i]);
        configurations[i].name = names[i];
        configurations[i].train.args.model = model;
        configurations[i].train.args.model_options.dtype = AOE_DTYPE_F32;
        configurations[i].train.args.lr = i ? 1e-2 : 1e-3;
        configurations[i].train.data = &data;
        configurations[i].train.n_data = 1;
        configurations[i].train.batch_size = 8;
    }
    return run_grid(NULL) || run_compare(NULL);
}

static int tear_down(void **state) {
    (void)state;
    free(model);
    free(train_path);
    free(dev_path);
    free(grid_output);
    free(compare_output);
    test_dir_remove(dir);
    return 0;
}

static void out_of_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(run_grid, NULL, 200) > 100);
    assert_true(test_alloc_failures(run_compare, NULL, 200) > 100);
    assert_true(test_alloc_failures(run_check, NULL, 200) > 100);
}

static void parts_fail_cleanly(void **state) {
    (void)state;
    static int part;
    char *path = test_path(grid_output, "results.jsonl");
    results = test_read(path, &results_bytes);
    assert_true(test_alloc_failures(run_parts, &part, 200) > 100);
    assert_true(test_alloc_failures(run_parts, NULL, 200) > 100);
    check_results(NULL, 0);
    assert_int_equal(test_io_failures(run_parts, check_results, &part, ENOSPC), 0); /* a complete part writes nothing */
    assert_true(test_io_failures(run_parts, check_results, NULL, ENOSPC) > 3);
    free(results);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_memory), cmocka_unit_test(parts_fail_cleanly)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
