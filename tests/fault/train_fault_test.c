/* SPDX-License-Identifier: MIT
 * Tests that training handles a failed allocation or disk operation. The test trains repeatedly, and in each run a
 * different allocation or disk operation fails. A failed run must report one error, must not leak a block, and must not
 * leave an incomplete model in the output directory. Resuming the failed run must give the same files as a run without
 * failures.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/path.h"
#include "model/model.h"
#include "modeldir/layout.h"

/* Number of failures that training may ignore. Training writes each of the two checkpoints and the model to a temporary
 * folder first (the staging folder). It ignores a failure to remove such a folder, because the next run removes the
 * folder. */
enum { MAX_IGNORED_FAILURES = 3, SHARDS = 4 };

/* A small training run of two steps, with an evaluation and a checkpoint after each step. */
typedef struct work {
    train_run run;
    char *weights, *settings; /* model.safetensors and aoe.json of a run without failures; owned */
    /* model.safetensors in the output directory before training; owned; NULL: the output directory does not exist
     * then */
    char *earlier;
    size_t size, earlier_size;
    uint64_t n; /* number of the allocation or disk operation that fails, counted from 1 */
} work;

static void work_create(work *w, aoe_dtype dtype, size_t shards) {
    memset(w, 0, sizeof *w);
    train_run *r = &w->run;
    train_run_create(r);
    tiny_model shape = tiny_defaults();
    shape.layers = 1;
    shape.intermediate = 16;
    shape.pooler = 1;
    tiny_model_write(r->model, &shape);
    r->o.args.model_options.dtype = dtype;
    r->o.cache_chunk = dtype == AOE_DTYPE_BF16 ? 2 : 0;
    r->o.teachers[0] = dtype == AOE_DTYPE_BF16 ? r->model : NULL;
    r->o.args.shards = shards;
    r->o.args.max_steps = 2;
    r->o.args.save_every = r->o.args.eval_every = 1;
    train_run_output(r, "whole");
    train_run_ok(r, 1);
    w->weights = train_run_read(r, "model.safetensors", &w->size);
    w->settings = train_run_read(r, "aoe.json", NULL);
}

static void work_destroy(work *w) {
    free(w->weights);
    free(w->settings);
    free(w->earlier);
    train_run_destroy(&w->run);
}

/* Removes the output directory. If w->earlier is set, writes the earlier model to it again. */
static void renew_output(work *w) {
    train_run *r = &w->run;
    assert_int_equal(aoei_remove_tree(r->output, NULL), 0);
    if (!w->earlier)
        return;
    tiny_model shape = tiny_defaults();
    shape.seed = 99;
    tiny_model_write(r->output, &shape);
}

/* Asserts that a model in the output directory is either the earlier model or the complete result. Also asserts that
 * every checkpoint is complete. */
static void check_output(work *w) {
    train_run *r = &w->run;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    if (aoei_is_model_dir(r->output)) {
        size_t size;
        char *weights = train_run_read(r, "model.safetensors", &size);
        const int finished = size == w->size && memcmp(weights, w->weights, size) == 0;
        assert_true(finished || (w->earlier && size == w->earlier_size && memcmp(weights, w->earlier, size) == 0));
        assert_int_equal(aoe_model_open(&m, ctx, r->output, NULL, NULL), 0);
        aoe_model_close(m);
        free(weights);
    }
    char *dir = test_path(r->output, "checkpoints"), **names;
    size_t n = 0;
    if (aoei_is_dir(dir)) {
        assert_int_equal(aoei_list_dir(&names, &n, dir, NULL), 0);
        for (size_t i = 0; i < n; i++) {
            char *path = test_path(dir, names[i]);
            if (strncmp(names[i], "step-", 5) == 0) {
                assert_int_equal(aoe_model_open(&m, ctx, path, NULL, NULL), 0);
                aoe_model_close(m);
            }
            free(path);
        }
        aoei_list_free(names, n);
    }
    free(dir);
    aoe_context_destroy(ctx);
}

/* Resumes the run after a failure. If the output directory contains only the earlier model, trains from the
 * beginning. */
static void recover(work *w) {
    train_run *r = &w->run;
    aoe_error err = {0};
    r->o.args.resume = 1;
    r->evaluations = r->n = 0;
    int code = train_run_go(r, 1, &err);
    r->o.args.resume = 0;
    if (code == AOE_ENOENT && w->earlier)
        code = train_run_go(r, 1, &err);
    if (code)
        fail_msg("allocation or disk operation %llu failed, then resuming failed: %s", (unsigned long long)w->n,
                 err.message);
    train_run_assert_output(r, w->weights, w->size, w->settings);
}

/* Calls aoe_train with one failure. If errnum is 0, allocation w->n fails. Otherwise, disk operation w->n fails with
 * errnum. Sets *count to the number of allocations or disk operations in aoe_train. Creating the context is not counted
 * and cannot fail. */
static int train(work *w, int errnum, uint64_t *count, aoe_error *err) {
    aoe_context *ctx = tiny_context(1);
    w->run.evaluations = w->run.n = 0;
    if (errnum)
        aoei_io_fail_at(w->n, errnum);
    else
        aoei_alloc_fail_at(w->n);
    const int code = aoe_train(ctx, &w->run.o, err);
    *count = errnum ? aoei_io_count() : aoei_alloc_count();
    aoei_io_fail_at(0, 0);
    aoei_alloc_fail_at(0);
    aoe_context_destroy(ctx);
    return code;
}

static void check_error(const aoe_error *err, int code, const char *part) {
    assert_int_equal(err->code, code);
    assert_true(err->message[0] && !strchr(err->message, '\n'));
    if (!strstr(err->message, part))
        fail_msg("%s", err->message);
}

static void fail_memory(size_t shards) {
    enum { DENSE = 200 };
    work w;
    size_t ignored_failures = 0;
    work_create(&w, AOE_DTYPE_BF16, shards); /* training in bf16 needs more allocations than training in float32 */
    train_run_output(&w.run, "out");
    for (w.n = 1;; w.n += w.n < DENSE ? 1 : 7) {
        aoe_error err = {0};
        renew_output(&w);
        const int64_t live = aoei_alloc_live();
        uint64_t count;
        const int code = train(&w, 0, &count, &err);
        if (aoei_alloc_live() != live)
            fail_msg("allocation %llu failed: %lld blocks were leaked", (unsigned long long)w.n,
                     (long long)(aoei_alloc_live() - live));
        if (w.n > count) {
            assert_int_equal(code, 0);
            break;
        }
        if (code == 0) {
            ignored_failures++;
            train_run_assert_output(&w.run, w.weights, w.size, w.settings);
            continue;
        }
        if (code != AOE_ENOMEM)
            fail_msg("allocation %llu of %llu failed: code %d: %s", (unsigned long long)w.n, (unsigned long long)count,
                     code, err.message);
        check_error(&err, AOE_ENOMEM, "memory");
        if (w.n % 5 == 0) {
            check_output(&w);
            recover(&w);
        }
    }
    assert_true(ignored_failures <= MAX_IGNORED_FAILURES);
    work_destroy(&w);
}

static void test_memory(void **state) {
    (void)state;
    fail_memory(1);
}

static void test_memory_shards(void **state) {
    (void)state;
    fail_memory(SHARDS);
}

/* Trains repeatedly. The first run fails in disk operation 1, the second run in operation 1 + stride, and so on. Each
 * failure must be reported with the error `code`. */
static void fail_disk(work *w, const char *output, int errnum, int code, uint64_t stride) {
    size_t ignored_failures = 0;
    train_run_output(&w->run, output);
    for (w->n = 1;; w->n += stride) {
        aoe_error err = {0};
        uint64_t count;
        renew_output(w);
        const int got = train(w, errnum, &count, &err);
        check_output(w);
        if (w->n > count) {
            assert_int_equal(got, 0);
            break;
        }
        if (got != 0 && got != code)
            fail_msg("operation %llu of %llu failed: code %d: %s", (unsigned long long)w->n, (unsigned long long)count,
                     got, err.message);
        if (got == 0) {
            ignored_failures++;
            train_run_assert_output(&w->run, w->weights, w->size, w->settings);
            continue;
        }
        check_error(&err, code, w->run.dir);
        recover(w);
        check_output(w);
    }
    assert_true(ignored_failures <= MAX_IGNORED_FAILURES);
}

static void test_disk(void **state) {
    (void)state;
    work w;
    work_create(&w, AOE_DTYPE_F32, 1);
    fail_disk(&w, "full", ENOSPC, AOE_ENOSPC, 1);
    fail_disk(&w, "broken", EIO, AOE_EIO, 5);
    work_destroy(&w);
}

/* Tests disk failures in training runs that replace an earlier model in the output directory (options.args.force). */
static void test_disk_over_model(void **state) {
    (void)state;
    work w;
    work_create(&w, AOE_DTYPE_F32, 1);
    train_run_output(&w.run, "earlier");
    w.earlier = strdup("");
    assert_non_null(w.earlier);
    renew_output(&w);
    free(w.earlier);
    w.earlier = train_run_read(&w.run, "model.safetensors", &w.earlier_size);
    assert_int_equal(aoei_remove_tree(w.run.output, NULL), 0);
    w.run.o.args.force = 1;
    fail_disk(&w, "over", ENOSPC, AOE_ENOSPC, 1);
    work_destroy(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_shards),
                                       cmocka_unit_test(test_disk), cmocka_unit_test(test_disk_over_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
