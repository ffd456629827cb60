/* SPDX-License-Identifier: MIT
 * Tests the method is-bert: the loss decreases, the results are bit-identical for any number of threads, with chunked
 * batches and after an interruption, the saved model contains the convolutions, and wrong models and options are
 * rejected.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "model/model.h"

static void begin(train_run *r) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_IS_BERT);
    assert_int_equal(r->o.batch_size, 32);
    assert_int_equal(r->o.args.no_bias_correction, 1);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
}

/* Returns the weights of the encoder and of the convolutions, one after the other. The caller frees them. */
static char *result(const train_run *r, size_t *size) {
    size_t n;
    char *out = train_run_read(r, "model.safetensors", size), *cnn = train_run_read(r, "1_CNN/model.safetensors", &n);
    assert_non_null(out);
    assert_non_null(cnn);
    out = realloc(out, *size + n);
    assert_non_null(out);
    memcpy(out + *size, cnn, n);
    *size += n;
    free(cnn);
    return out;
}

static void expect_result(const train_run *r, const char *want, size_t size) {
    size_t n;
    char *got = result(r, &n);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

static void results_are_bit_identical(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    size_t size;
    begin(&r);
    train_run_ok(&r, 1);
    char *want = result(&r, &size);
    again(&r, "threads");
    r.o.args.recompute = 1;
    train_run_ok(&r, 3);
    expect_result(&r, want, size);
    again(&r, "stop");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    train_run_ok(&r, 2);
    expect_result(&r, want, size);
    r.o.args.resume = 0;
    again(&r, "chunks");
    r.o.cache_chunk = 3;
    train_run_ok(&r, 2);
    expect_result(&r, want, size);
    again(&r, "accumulate");
    r.o.cache_chunk = 0;
    r.o.accumulate = 2;
    train_run_ok(&r, 1);
    char *accumulated = result(&r, &size);
    again(&r, "accumulate-threads");
    r.o.cache_chunk = 2;
    train_run_ok(&r, 3);
    expect_result(&r, accumulated, size);
    free(accumulated);
    free(want);
    train_run_destroy(&r);
}

static void loss_decreases(void **state) {
    (void)state;
    train_run r;
    double first = 0, last = 0;
    size_t steps = 0;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.epochs = 10;
    r.o.args.lr = 3e-3;
    r.o.args.save_every = 1000;
    train_run_ok(&r, 2);
    const size_t n = train_run_count(&r, AOE_TRAIN_STEP), tenth = n / 10;
    for (size_t k = 0; k < r.n; k++) {
        if (r.events[k].kind != AOE_TRAIN_STEP)
            continue;
        const double loss = r.events[k].loss->total;
        assert_true(loss <= r.events[k].loss->contrastive && loss >= r.events[k].loss->contrastive);
        first += steps < tenth ? loss : 0;
        last += steps >= n - tenth ? loss : 0;
        steps++;
    }
    if (!(last < first - 0.1 * (double)tenth))
        fail_msg("the sum of %zu losses changed from %g to %g", tenth, first, last);
    train_run_destroy(&r);
}

static void trace(void **state) {
    (void)state;
    static const double want[3] = {109.1225355, 67.6895723, 41.8974162};
    train_run r;
    begin(&r);
    train_run_trace(&r, want);
    train_run_destroy(&r);
}

/* The saved model has the convolutions, and a second run trains them further. */
static void keeps_the_convolutions(void **state) {
    (void)state;
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    aoe_error err;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 2;
    train_run_ok(&r, 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    if (aoe_model_open(&m, ctx, r.o.args.output, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m->config.modules.n_kernels, 3);
    assert_int_equal(aoe_model_dims(m), 768);
    assert_int_equal(m->settings.pooling, AOE_POOLING_LAST_AVG);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    char *start = strdup(r.o.args.output);
    again(&r, "further");
    r.o.args.model = start;
    train_run_ok(&r, 1);
    free(start);
    train_run_destroy(&r);
}

static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    assert_int_equal(train_run_go(r, 1, &err), code);
    if (!strstr(err.message, fragment))
        fail_msg("'%s' does not contain '%s'", err.message, fragment);
}

static void rejects_wrong_options(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    const aoe_train_options valid = r.o;
    r.o.batch_size = 1;
    expect_rejected(&r, AOE_EARG, "options.batch_size is 1");
    r.o = valid;
    r.o.teachers[0] = r.o.args.model;
    expect_rejected(&r, AOE_EARG, "options.teachers");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "convolutions of the last hidden state");
    r.o = valid;
    r.o.args.model_options.pooling = AOE_POOLING_CLS;
    expect_rejected(&r, AOE_EARG, "set the pooling to mean");
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_bit_identical), cmocka_unit_test(loss_decreases),
                                       cmocka_unit_test(trace), cmocka_unit_test(keeps_the_convolutions),
                                       cmocka_unit_test(rejects_wrong_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
