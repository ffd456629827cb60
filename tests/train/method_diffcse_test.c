/* SPDX-License-Identifier: MIT
 * Tests the method diffcse: the losses decrease, the results are bit-identical for any number of threads, with chunked
 * batches and after an interruption, only the encoder is saved, adapters can be trained, and wrong models and options
 * are rejected.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/path.h"
#include "model/model.h"

static char *generator; /* of the current run */

static void begin(train_run *r) {
    train_run_create(r);
    generator = tiny_mlm(r->dir, "generator", r->model, 3);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_DIFFCSE);
    assert_int_equal(r->o.batch_size, 64);
    assert_int_equal(r->o.args.epochs, 2);
    assert_int_equal(r->o.args.model_options.max_length, 32);
    assert_int_equal(r->o.args.model_options.pooling, AOE_POOLING_CLS);
    assert_true(r->o.w_detection >= 0.005 && r->o.w_detection <= 0.005 && r->o.mask_rate >= 0.3 &&
                r->o.mask_rate <= 0.3);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
    r->o.generator = generator;
}

static void end(train_run *r) {
    free(generator);
    train_run_destroy(r);
}

static void again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

static void expect_result(const train_run *r, const char *want, size_t size) {
    size_t n;
    char *got = train_run_read(r, "model.safetensors", &n);
    assert_non_null(got);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void results_are_bit_identical(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    size_t size, other;
    begin(&r);
    r.o.w_detection = 0.5;
    train_run_ok(&r, 1);
    assert_int_equal(r.evaluations + r.start_evaluations, train_run_count(&r, AOE_TRAIN_EVAL)); /* the discriminator is
                                                                                                   not evaluated */
    char *want = train_run_read(&r, "model.safetensors", &size);
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
    again(&r, "accumulate");
    r.o.cache_chunk = 0;
    r.o.accumulate = 2;
    train_run_ok(&r, 1);
    char *accumulated = train_run_read(&r, "model.safetensors", &other);
    assert_non_null(accumulated);
    assert_memory_not_equal(accumulated, want, size);
    again(&r, "accumulate-threads");
    r.o.cache_chunk = 2;
    train_run_ok(&r, 3);
    expect_result(&r, accumulated, other);
    r.o.accumulate = 1;
    r.o.cache_chunk = 0;
    r.o.w_detection = 0; /* the detection loss changes the encoder */
    again(&r, "without");
    train_run_ok(&r, 1);
    char *without = train_run_read(&r, "model.safetensors", &other);
    assert_non_null(without);
    assert_memory_not_equal(without, want, size);
    free(without);
    free(accumulated);
    free(want);
    end(&r);
}

static void losses_decrease(void **state) {
    (void)state;
    train_run r;
    double first[2] = {0}, last[2] = {0};
    size_t steps = 0;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.epochs = 40;
    r.o.args.lr = 3e-3;
    r.o.args.save_every = 1000;
    r.o.batch_size = 11;
    train_run_ok(&r, 2);
    const size_t n = train_run_count(&r, AOE_TRAIN_STEP), tenth = n / 10;
    for (size_t k = 0; k < r.n; k++) {
        if (r.events[k].kind != AOE_TRAIN_STEP)
            continue;
        const aoe_objective_result *l = r.events[k].loss;
        assert_true(fabs(l->total - l->contrastive - 0.005 * l->detection) < 1e-12);
        first[0] += steps < tenth ? l->contrastive : 0;
        first[1] += steps < tenth ? l->detection : 0;
        last[0] += steps >= n - tenth ? l->contrastive : 0;
        last[1] += steps >= n - tenth ? l->detection : 0;
        steps++;
    }
    if (!(last[0] < 0.8 * first[0] && last[1] < 0.9 * first[1]))
        fail_msg("the sums of the losses changed from %g and %g to %g and %g", first[0], first[1], last[0], last[1]);
    char *log = train_run_read(&r, "train-log.jsonl", NULL);
    assert_non_null(strstr(log, "\"detection\":"));
    free(log);
    end(&r);
}

/* Tests the losses of the first three steps against stored values. Instruction sets round sums differently, which
 * changes a loss by less than the tolerance. */
static void trace(void **state) {
    (void)state;
    static const double want[3][2] = {{5.9347040, 0.7254677}, {5.9825605, 0.7094613}, {10.3778000, 0.6947190}};
    train_run r;
    size_t step = 0;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 3;
    train_run_ok(&r, 1);
    for (size_t k = 0; k < r.n && step < 3; k++) {
        if (r.events[k].kind != AOE_TRAIN_STEP)
            continue;
        const aoe_objective_result *l = r.events[k].loss;
        if (!(fabs(l->contrastive - want[step][0]) <= 1e-5 * (1 + want[step][0]) &&
              fabs(l->detection - want[step][1]) <= 1e-5 * (1 + want[step][1])))
            fail_msg("step %zu: the losses are %.7f and %.7f, expected %.7f and %.7f", step, l->contrastive,
                     l->detection, want[step][0], want[step][1]);
        step++;
    }
    assert_int_equal(step, 3);
    end(&r);
}

/* The saved model has the tensors of the start model. The record names the parts that were only used in training. */
static void saves_the_encoder(void **state) {
    (void)state;
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 3;
    train_run_ok(&r, 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, NULL), 0);
    assert_int_equal(aoe_model_open(&m, ctx, r.o.args.output, NULL, NULL), 0);
    assert_int_equal(m->config.modules.n, 0);
    assert_int_equal(m->settings.pooling, AOE_POOLING_CLS);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    static const char *const files[] = {"twin.safetensors", "head.safetensors"};
    for (size_t i = 0; i < 2; i++) { /* only the checkpoint contains the other parts */
        char name[64];
        size_t n;
        snprintf(name, sizeof name, "checkpoints/step-3/%s", files[i]);
        char *part = train_run_read(&r, name, &n), *saved = train_run_read(&r, files[i], &n);
        assert_non_null(part);
        assert_null(saved);
        free(part);
    }
    char *record = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(record);
    static const char *const keys[] = {"\"dropped_parts\"", "\"discriminator\"", "\"w_detection\": 0.005",
                                       "\"mask_rate\": 0.3", "\"generator_fingerprint\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(strstr(record, keys[i]));
    free(record);
    end(&r);
}

/* A run with adapters trains the adapters of both encoders. */
static void trains_adapters(void **state) {
    (void)state;
    train_run r;
    size_t size;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.lora.r = 3;
    r.o.args.max_steps = 3;
    train_run_ok(&r, 1);
    char *want = train_run_read(&r, "adapter_model.safetensors", &size);
    assert_non_null(want);
    again(&r, "chunks");
    r.o.cache_chunk = 2;
    train_run_ok(&r, 2);
    size_t n;
    char *got = train_run_read(&r, "adapter_model.safetensors", &n);
    assert_non_null(got);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, n);
    free(got);
    free(want);
    end(&r);
}

static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("found code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
}

static void rejects_wrong_options(void **state) {
    (void)state;
    train_run r;
    const aoe_prefix prefix = {.dims = 8, .weight = 1};
    begin(&r);
    const aoe_train_options valid = r.o;
    r.o.generator = NULL;
    expect_rejected(&r, AOE_EARG, "options.method diffcse needs a generator");
    r.o.generator = r.o.args.model;
    expect_rejected(&r, AOE_EFORMAT, "has no masked-LM head");
    r.o = valid;
    r.o.w_detection = -1;
    expect_rejected(&r, AOE_EARG, "options.w_detection is -1");
    r.o = valid;
    r.o.mask_rate = 0;
    expect_rejected(&r, AOE_EARG, "options.mask_rate is 0");
    r.o = valid;
    r.o.teachers[0] = r.o.args.model;
    expect_rejected(&r, AOE_EARG, "options.teachers");
    r.o = valid;
    r.o.matryoshka = &prefix;
    r.o.n_matryoshka = 1;
    expect_rejected(&r, AOE_EARG, "options.matryoshka");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "options.layers");
    r.o = valid;
    r.o.args.dropout = 0;
    expect_rejected(&r, AOE_EARG, "set options.dropout to 0.1");
    r.o = valid;
    r.o.args.model_options.pooling = AOE_POOLING_LAST_TWO_AVG;
    expect_rejected(&r, AOE_EUNSUPPORTED,
                    "must be a transformer without convolutions whose pooling uses the last hidden state");
    r.o = valid;
    r.source.kind = AOE_EXAMPLES_PAIRS;
    expect_rejected(&r, AOE_EARG, "the method reads plain texts");
    end(&r);
}

/* A run cannot be resumed with another generator. */
static void rejects_another_generator(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r);
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 4;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    char *other = tiny_mlm(r.dir, "other", r.model, 4);
    char *from = test_path(other, "model.safetensors"), *to = test_path(generator, "model.safetensors");
    assert_int_equal(rename(from, to), 0);
    expect_rejected(&r, AOE_EARG, "options.generator is another model, or its files have changed");
    free(from);
    free(to);
    free(other);
    end(&r);
}

static int run_failing(void *arg) {
    train_run *r = arg;
    aoe_context *ctx;
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = 1;
    int code = aoe_context_create(&ctx, &c, NULL);
    if (code)
        return code;
    r->n = r->evaluations = 0;
    code = aoe_train(ctx, &r->o, NULL);
    aoe_context_destroy(ctx);
    return code;
}

static void out_of_memory(void **state) {
    (void)state;
    train_run r;
    begin(&r);
    r.o.evaluate = NULL;
    r.o.args.max_steps = 1;
    r.o.args.force = 1;
    assert_true(test_alloc_failures(run_failing, &r, 40) > 200);
    end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(results_are_bit_identical),
                                       cmocka_unit_test(losses_decrease),
                                       cmocka_unit_test(trace),
                                       cmocka_unit_test(saves_the_encoder),
                                       cmocka_unit_test(trains_adapters),
                                       cmocka_unit_test(rejects_wrong_options),
                                       cmocka_unit_test(rejects_another_generator),
                                       cmocka_unit_test(out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
