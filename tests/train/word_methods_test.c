/* SPDX-License-Identifier: MIT
 * covers: encoder/arch_words model/word_table train/method_dan train/method_infersent
 * Tests the methods that train on word embeddings, infersent and dan: the losses of the first steps, the results, which
 * are bit-identical for any number of threads, with chunked batches and after an interruption, the saved model, which
 * consists of the word embeddings (infersent does not change them) and the layers of the method, further training, and
 * the rejection of wrong models and options. tests/cli/infersent.sh and dan.sh test that the loss decreases.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "encoder/arch_words.h"
#include "encoder/slot_layout.h"
#include "model/model.h"

/* A method, and a file of the saved model with weights that it trains. */
typedef struct word_method {
    aoe_method method;
    const char *file;
    double losses[3]; /* of the first steps */
} word_method;

static const word_method methods[] = {
    {AOE_METHOD_INFERSENT, "1_LSTM/model.safetensors", {1.7782208, 1.9068248, 1.8477868}},
    {AOE_METHOD_DAN, "model.safetensors", {1.7880862, 1.8433429, 1.7923564}}};
enum { METHODS = sizeof methods / sizeof *methods, BIGRAMS = 16 };

static void begin(train_run *r, aoe_method method) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, method);
    assert_int_equal(r->o.batch_size, 64);
    assert_true(r->o.lstm_dims == AOE_AUTO);
    assert_true(r->o.bigrams == AOE_AUTO);
    assert_int_equal(r->o.args.optimizer, method == AOE_METHOD_DAN ? AOE_OPTIMIZER_ADAMW : AOE_OPTIMIZER_SGD);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.min_lr = 0;
    r->o.lstm_dims = 6;
    r->o.bigrams = BIGRAMS;
}

static void again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

static void expect_result(const train_run *r, const char *file, const char *want, size_t size) {
    size_t n;
    char *got = train_run_read(r, file, &n);
    assert_non_null(got);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void traces(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        train_run r;
        begin(&r, methods[i].method);
        train_run_trace(&r, methods[i].losses);
        train_run_destroy(&r);
    }
}

static void check_bits(const word_method *m) {
    train_run r;
    aoe_error err = {0};
    size_t size;
    begin(&r, m->method);
    r.o.args.epochs = 1;
    train_run_ok(&r, 1);
    char *want = train_run_read(&r, m->file, &size);
    assert_non_null(want);
    again(&r, "threads");
    r.o.args.recompute = 1;
    train_run_ok(&r, 3);
    expect_result(&r, m->file, want, size);
    again(&r, "stop");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    train_run_ok(&r, 2);
    expect_result(&r, m->file, want, size);
    r.o.args.resume = 0;
    again(&r, "chunks");
    r.o.cache_chunk = 3;
    train_run_ok(&r, 2);
    expect_result(&r, m->file, want, size);
    free(want);
    train_run_destroy(&r);
}

static void results_are_bit_identical(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++)
        check_bits(&methods[i]);
}

/* Checks the structure of the trained model, and whether its word embeddings are those of the start model. */
static void check_model(const train_run *r, const char *initial) {
    const int is_dan = r->o.method == AOE_METHOD_DAN;
    aoe_context *ctx;
    aoe_model *m, *start;
    aoe_error err;
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    if (aoe_model_open(&m, ctx, r->o.args.output, NULL, &err))
        fail_msg("%s", err.message);
    if (aoe_model_open(&start, ctx, initial, NULL, &err))
        fail_msg("%s", err.message);
    assert_ptr_equal(m->config.arch, &aoei_arch_words);
    assert_int_equal(m->config.modules.lstm_dims, is_dan ? 0 : 6);
    assert_int_equal(m->config.bigrams, is_dan ? BIGRAMS : 0);
    assert_int_equal(m->config.modules.n, is_dan ? 2 : 0);
    assert_int_equal(m->config.frozen_words, !is_dan);
    assert_null(m->config.training);
    assert_int_equal(aoe_model_dims(m), is_dan ? 512 : 12);
    assert_int_equal(m->settings.pooling, is_dan ? AOE_POOLING_LAST_AVG : AOE_POOLING_LAST_MAX);
    const size_t n = start->config.vocab * start->config.hidden;
    float *words = malloc(n * sizeof *words), *was = malloc(n * sizeof *was);
    aoei_tensor_read(ctx, words, m->weights[AOEI_W_WORD]);
    aoei_tensor_read(ctx, was, start->weights[AOEI_W_WORD]);
    assert_int_equal(memcmp(words, was, n * sizeof *words) == 0, !is_dan);
    free(words);
    free(was);
    aoe_model_close(m);
    aoe_model_close(start);
    aoe_context_destroy(ctx);
}

static void check_further_training(const word_method *m) {
    train_run r;
    size_t n, more;
    begin(&r, m->method);
    const char *initial = r.o.args.model;
    r.o.evaluate = NULL;
    r.o.args.max_steps = 2;
    train_run_ok(&r, 1);
    check_model(&r, initial);
    char *start = strdup(r.o.args.output), *before = train_run_read(&r, m->file, &n);
    again(&r, "further");
    r.o.args.model = start;
    train_run_ok(&r, 1);
    check_model(&r, initial);
    char *after = train_run_read(&r, m->file, &more);
    assert_true(n == more && memcmp(before, after, n) != 0);
    free(before);
    free(after);
    free(start);
    train_run_destroy(&r);
}

/* A second run trains the layers of the saved model further. */
static void training_continues(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++)
        check_further_training(&methods[i]);
}

static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    assert_int_equal(train_run_go(r, 1, &err), code);
    if (!strstr(err.message, fragment))
        fail_msg("'%s' does not contain '%s'", err.message, fragment);
}

static void check_options(aoe_method method) {
    static const aoe_prefix prefix = {.dims = 4, .weight = 1};
    train_run r;
    begin(&r, method);
    const aoe_train_options valid = r.o;
    if (method == AOE_METHOD_INFERSENT) {
        r.o.lstm_dims = 0;
        expect_rejected(&r, AOE_EARG, "options.lstm_dims is 0");
    } else {
        r.o.bigrams = 48;
        expect_rejected(&r, AOE_EARG, "options.bigrams is 48; give 0, or a power of two");
    }
    r.o = valid;
    r.o.lora.r = 2;
    expect_rejected(&r, AOE_EARG, "options.lora.r");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "options.layers");
    r.o = valid;
    r.o.args.model_options.pooling = AOE_POOLING_CLS;
    expect_rejected(&r, AOE_EARG, "options.pooling is cls");
    r.o = valid;
    r.o.matryoshka = &prefix;
    r.o.n_matryoshka = 1;
    expect_rejected(&r, AOE_EARG, "options.matryoshka");
    train_run_destroy(&r);
}

static void rejects_wrong_options(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++)
        check_options(methods[i].method);
}

/* dan without bigrams has the modules of sentence-transformers only, and dan does not train an LSTM. */
static void dan_without_bigrams(void **state) {
    (void)state;
    train_run r;
    size_t n;
    begin(&r, AOE_METHOD_DAN);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 1;
    r.o.bigrams = 0;
    train_run_ok(&r, 1);
    char *modules = train_run_read(&r, "modules.json", &n);
    assert_non_null(modules);
    free(modules);
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_INFERSENT);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 1;
    train_run_ok(&r, 1);
    char *start = strdup(r.o.args.output);
    again(&r, "dan");
    r.o.method = AOE_METHOD_DAN;
    r.o.args.model = start;
    expect_rejected(&r, AOE_EUNSUPPORTED, "the model has an LSTM after its word embeddings");
    free(start);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(traces), cmocka_unit_test(results_are_bit_identical),

                                       cmocka_unit_test(training_continues), cmocka_unit_test(rejects_wrong_options),
                                       cmocka_unit_test(dan_without_bigrams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
