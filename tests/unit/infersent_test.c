/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * Tests the method infersent: the loss decreases, the results are bit-identical for any number of threads, with chunked batches
 * and after an interruption, the saved model consists of the unchanged word embeddings and the LSTM, further training continues
 * with them, and wrong models and options are rejected.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "encoder/arch_words.h"
#include "model/model.h"

static void begin(train_run *r) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_INFERSENT);
    assert_int_equal(r->o.batch_size, 64);
    assert_int_equal(r->o.lstm_dims, 2048);
    assert_int_equal(r->o.args.optimizer, AOE_OPTIMIZER_SGD);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.min_lr = 0;
    r->o.lstm_dims = 6;
}

static void again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

static void expect_result(const train_run *r, const char *want, size_t size) {
    size_t n;
    char *got = train_run_read(r, "1_LSTM/model.safetensors", &n);
    assert_non_null(got);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void results_are_bit_identical(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    size_t size;
    begin(&r);
    train_run_ok(&r, 1);
    char *want = train_run_read(&r, "1_LSTM/model.safetensors", &size);
    assert_non_null(want);
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
    r.o.args.epochs = 30;
    r.o.args.lr = 0.5;
    r.o.args.save_every = 1000;
    train_run_ok(&r, 2);
    const size_t n = train_run_count(&r, AOE_TRAIN_STEP), tenth = n / 10;
    for (size_t k = 0; k < r.n; k++) {
        if (r.events[k].kind != AOE_TRAIN_STEP)
            continue;
        const double loss = r.events[k].loss.total;
        assert_true(fabs(loss - r.events[k].loss.classification) <= 0);
        first += steps < tenth ? loss : 0;
        last += steps >= n - tenth ? loss : 0;
        steps++;
    }
    if (!(last < 0.9 * first))
        fail_msg("the sum of %zu losses changed from %g to %g", tenth, first, last);
    train_run_destroy(&r);
}

/* Checks the structure of the trained model, and that its word embeddings are those of the start model. */
static void check_model(const train_run *r) {
    aoe_context *ctx;
    aoe_model *m, *start;
    aoe_error err;
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    if (aoe_model_open(&m, ctx, r->o.args.output, NULL, &err))
        fail_msg("%s", err.message);
    if (aoe_model_open(&start, ctx, r->o.args.model, NULL, &err))
        fail_msg("%s", err.message);
    assert_ptr_equal(m->config.arch, &aoei_arch_words);
    assert_int_equal(m->config.lstm_dims, 6);
    assert_int_equal(m->config.n_projection + m->config.head_rows, 0);
    assert_int_equal(aoe_model_dims(m), 12);
    assert_int_equal(m->settings.pooling, AOE_POOLING_LAST_MAX);
    const size_t n = start->config.vocab * start->config.hidden;
    float *words = malloc(n * sizeof *words), *was = malloc(n * sizeof *was);
    aoei_tensor_read(ctx, words, m->weights[0]);
    aoei_tensor_read(ctx, was, start->weights[0]);
    assert_memory_equal(words, was, n * sizeof *words);
    free(words);
    free(was);
    aoe_model_close(m);
    aoe_model_close(start);
    aoe_context_destroy(ctx);
}

/* The saved model has the word embeddings of the start model, and a second run trains its LSTM further. */
static void keeps_the_words(void **state) {
    (void)state;
    train_run r;
    size_t n, more;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 2;
    train_run_ok(&r, 1);
    check_model(&r);
    char *start = strdup(r.o.args.output), *before = train_run_read(&r, "1_LSTM/model.safetensors", &n);
    again(&r, "further");
    r.o.args.model = start;
    train_run_ok(&r, 1);
    check_model(&r);
    char *after = train_run_read(&r, "1_LSTM/model.safetensors", &more);
    assert_true(n == more && memcmp(before, after, n) != 0);
    free(before);
    free(after);
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
    static const aoe_prefix prefix = {.dims = 4, .weight = 1};
    train_run r;
    begin(&r);
    const aoe_train_options valid = r.o;
    r.o.lstm_dims = 0;
    expect_rejected(&r, AOE_EARG, "options.lstm_dims is 0");
    r.o = valid;
    r.o.lora.r = 2;
    expect_rejected(&r, AOE_EARG, "options.lora.r");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "options.layers");
    r.o = valid;
    r.o.matryoshka = &prefix;
    r.o.n_matryoshka = 1;
    expect_rejected(&r, AOE_EARG, "options.matryoshka");
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_bit_identical), cmocka_unit_test(loss_decreases),
                                       cmocka_unit_test(keeps_the_words), cmocka_unit_test(rejects_wrong_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
