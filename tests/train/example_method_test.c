/* SPDX-License-Identifier: MIT
 * Tests the example of a training method in docs/methods.md: finite differences of its loss, a training run that
 * decreases the loss, identical bits for threads, chunks and a resumed run, and the listing in the documentation, which
 * has fewer than 60 lines.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "../support/train_run.h"
#include "train/pair_task.h"

extern const aoei_method aoei_method_triplet_margin; /* tests/support/method_triplet_margin.c */

enum { B = 5, D = 4, CELLS = 3 * B * D };

static double distance(const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k < D; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

static double loss_of(void *arg, const double *x) {
    double sum = 0;
    (void)arg;
    for (size_t i = 0; i < B; i++) {
        const double *q = x + 3 * i * D;
        const double loss = distance(q, q + D) - distance(q, q + 2 * D) + 1;
        sum += loss > 0 ? loss / B : 0;
    }
    return sum;
}

static void finite_differences(void **state) {
    (void)state;
    float v[CELLS], grad[CELLS];
    double x[CELLS], g[CELLS];
    aoe_objective_result r;
    test_fill_normal(v, CELLS, 0.8, 1);
    const aoei_loss_batch b = {.examples = {.B = B, .D = D, .arity = 3, .v = v, .grad = grad}};
    assert_int_equal(aoei_method_triplet_margin.step_loss->compute(&b, &r, NULL), 0);
    for (size_t i = 0; i < CELLS; i++) {
        x[i] = (double)v[i];
        g[i] = (double)grad[i];
    }
    assert_true(r.total > 0.1 && fabs(r.total - loss_of(NULL, x)) < 1e-12);
    test_gradient(loss_of, NULL, x, g, CELLS, TEST_GRAD_TOLERANCE);
    v[7] = NAN;
    aoe_error err = {0};
    assert_int_equal(aoei_method_triplet_margin.step_loss->compute(&b, &r, &err), AOE_ENUMERIC);
}

/* Trains with the example. Returns the error code. */
static int train(train_run *r, size_t threads, aoe_error *err) {
    aoe_context *ctx = tiny_context(threads);
    const int code = aoei_train_with_method(ctx, &r->o, &aoei_method_triplet_margin, err);
    aoe_context_destroy(ctx);
    return code;
}

/* Trains into the directory `name` and asserts that the weights are equal to want[size]. */
static void expect_weights(train_run *r, const char *name, size_t threads, const char *want, size_t size) {
    aoe_error err = {0};
    size_t n;
    train_run_output(r, name);
    if (train(r, threads, &err))
        fail_msg("%s", err.message);
    char *got = train_run_read(r, "model.safetensors", &n);
    assert_true(n == size && !memcmp(got, want, n));
    free(got);
}

static void training_run(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    size_t size;
    char rows[2000] = "query\tpositive\tnegative\n";
    train_run_create(&r);
    for (int i = 0; i < 20; i++)
        snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "the cat %c\ta cat %c\tthe house %c\n", 'a' + i,
                 'a' + i, 'b' + i);
    char *path = test_write_text(r.dir, "triplets.tsv", rows);
    r.source.path = path;
    r.o.evaluate = NULL;
    r.o.args.epochs = 8;
    if (train(&r, 1, &err))
        fail_msg("%s", err.message);
    const double first = r.events[1].loss->contrastive, last = r.events[r.n - 2].kind == AOE_TRAIN_CHECKPOINT
                                                                   ? r.events[r.n - 3].loss->contrastive
                                                                   : r.events[r.n - 2].loss->contrastive;
    assert_true(first > 0.5 && last < 0.5 * first);
    char *want = train_run_read(&r, "model.safetensors", &size), *record = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(record, "\"triplet-margin\""));
    expect_weights(&r, "threads", 3, want, size);
    r.o.cache_chunk = 1;
    expect_weights(&r, "chunks", 2, want, size);
    r.o.cache_chunk = 0;
    train_run_output(&r, "stop");
    r.n = 0;
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    r.n = 0;
    assert_int_equal(train(&r, 2, &err), 0);
    size_t n;
    char *got = train_run_read(&r, "model.safetensors", &n);
    assert_true(n == size && !memcmp(got, want, n));
    r.source.path = r.data; /* labeled pairs */
    r.o.args.resume = 0;
    train_run_output(&r, "pairs");
    assert_int_equal(train(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.method triplet-margin trains on triplets, not on labeled pairs"));
    free(path);
    free(want);
    free(record);
    free(got);
    train_run_destroy(&r);
}

/* The first listing of the documentation is the file of the example without changes. */
static void listing(void **state) {
    (void)state;
    size_t lines = 0, size;
    char *page = test_read("docs/methods.md", NULL), *code = test_read("tests/support/method_triplet_margin.c", &size);
    if (!page || !code)
        fail_msg("the current directory is not that of the sources");
    for (size_t i = 0; i < size; i++)
        lines += code[i] == '\n';
    assert_true(lines < 60);
    const char *block = strstr(page, "```c\n");
    assert_non_null(block);
    block += strlen("```c\n");
    assert_true(!strncmp(block, code, size) && !strncmp(block + size, "```\n", 4));
    free(page);
    free(code);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(training_run),
        cmocka_unit_test(listing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
