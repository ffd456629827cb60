/* SPDX-License-Identifier: MIT
 * covers: model/empty_prompt train/template_batch
 * Tests the methods promptbert and promptbert-sup: the batches of texts in two templates with their references, the
 * results of training, which are bit-identical for any number of threads, with chunked batches and after an
 * interruption, the saved models, and the rejection of wrong templates and options.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "model/model.h"
#include "table/texts.h"
#include "train/template_batch.h"

static void begin(train_run *r) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_PROMPTBERT);
    assert_int_equal(r->o.batch_size, 256);
    assert_int_equal(r->o.args.model_options.max_length, 42);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
    r->o.args.model_options.prompt = "the \"{text}\" [MASK] cat";
    r->o.second_prompt = "{text} : a [MASK]";
    r->o.args.model_options.max_length = 20;
}

/* Prepares a run of promptbert-sup, which starts from a model with a masked-LM head. */
static void begin_sup(train_run *r) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, AOE_METHOD_PROMPTBERT_SUP);
    assert_int_equal(r->o.batch_size, 512);
    assert_int_equal(r->o.args.epochs, 3);
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
    r->o.args.model_options.prompt = "the \"{text}\" [MASK] cat";
    r->o.args.model_options.max_length = 20;
    char *mlm = tiny_mlm(r->dir, "mlm", r->model, 2);
    free(r->model);
    r->o.args.model = r->model = mlm;
    train_run_use_triplets(r);
}

static void again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

/* The references of texts of the same length and template are equal, and the positions of the tokens after the place of
 * the text continue after the text. */
static void batches(void **state) {
    (void)state;
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    aoei_dataset d;
    aoei_examples e;
    aoei_templates t;
    aoei_batch_buffer b;
    aoe_error err;
    uint32_t reference[6];
    const size_t texts[3] = {0, 1, 2};
    begin(&r);
    aoe_table_options table;
    aoe_table_options_defaults(&table);
    char *path = test_write_text(r.dir, "texts.txt", "cat dog\ndog\nhouse cat\n");
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    assert_int_equal(aoe_model_open(&m, ctx, r.o.args.model, &r.o.args.model_options, &err), 0);
    assert_int_equal(aoei_texts_load(&e, path, &table, &err), 0);
    assert_int_equal(aoei_dataset_create(&d, m, &e, NULL, NULL, &err), 0);
    assert_int_equal(aoei_templates_create(&t, m, r.o.second_prompt, d.longest, &err), 0);
    assert_int_equal(aoei_batch_buffer_create(&b, 200, 20, &err), 0);
    const size_t own[3] = {aoei_token_count(&d.tokens, 0) - t.empty[0].n, aoei_token_count(&d.tokens, 1) - t.empty[0].n,
                           aoei_token_count(&d.tokens, 2) - t.empty[0].n};
    const size_t n = aoei_templates_fill(&t, &b, reference, &d, texts, 3, 10), same = own[0] == own[2];
    assert_int_equal(n, own[0] == own[1] ? 2 : same ? 4 : 6);
    assert_int_equal(b.batch.n_texts, 6 + n);
    assert_true(n <= aoei_templates_references(&t, 3));
    for (size_t i = 0; i < 6; i++) {
        const size_t row = reference[i], length = own[i / 2], k = i % 2, first = b.offsets[row];
        assert_true(row >= 6 && row < 6 + n);
        assert_int_equal(b.offsets[row + 1] - first, t.empty[k].n);
        for (size_t j = 0; j < t.empty[k].n; j++) {
            const size_t at = b.offsets[i] + j + (j < t.empty[k].before ? 0 : length);
            assert_int_equal(b.ids[first + j], b.ids[at]);
            assert_int_equal(b.positions[first + j], b.positions[at]);
        }
        for (size_t j = 0; j < 6; j++)
            assert_int_equal(reference[j] == row, own[j / 2] == length && j % 2 == k);
    }
    aoei_batch_buffer_destroy(&b);
    aoei_templates_destroy(&t);
    aoei_dataset_destroy(&d);
    aoei_examples_free(&e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(path);
    train_run_destroy(&r);
}

static void check_bits(void (*prepare)(train_run *r), const char *file) {
    train_run r;
    aoe_error err = {0};
    size_t size, other;
    prepare(&r);
    train_run_ok(&r, 1);
    char *want = train_run_read(&r, file, &size);
    for (int run = 0; run < 3; run++) {
        again(&r, run == 0 ? "threads" : run == 1 ? "stop" : "chunks");
        r.o.args.recompute = run == 0;
        if (run == 1) {
            r.stop_kind = AOE_TRAIN_STEP;
            r.stop_step = 5;
            assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
            r.stop_kind = -1;
        }
        r.o.args.resume = run == 1;
        r.o.cache_chunk = run == 2 ? 3 : 0;
        train_run_ok(&r, 3);
        char *got = train_run_read(&r, file, &other);
        assert_true(size == other && !memcmp(got, want, size));
        free(got);
    }
    free(want);
    train_run_destroy(&r);
}

static void results_are_bit_identical(void **state) {
    (void)state;
    check_bits(begin, "model.safetensors");
    check_bits(begin_sup, "model.safetensors");
    check_bits(begin_sup, "2_Dense/model.safetensors");
}

static void check_loss(void (*prepare)(train_run *r)) {
    train_run r;
    double first = 0, last = 0;
    size_t steps = 0;
    prepare(&r);
    r.o.evaluate = NULL;
    r.o.args.epochs = 20;
    r.o.args.save_every = 1000;
    r.o.args.lr = 3e-3;
    train_run_ok(&r, 2);
    const size_t n = train_run_count(&r, AOE_TRAIN_STEP), tenth = n / 10;
    for (size_t k = 0; k < r.n; k++) {
        if (r.events[k].kind != AOE_TRAIN_STEP)
            continue;
        first += steps < tenth ? r.events[k].loss->contrastive : 0;
        last += steps >= n - tenth ? r.events[k].loss->contrastive : 0;
        steps++;
    }
    if (!(last < 0.9 * first))
        fail_msg("the sum of %zu losses changed from %g to %g", tenth, first, last);
    train_run_destroy(&r);
}

static void loss_decreases(void **state) {
    (void)state;
    check_loss(begin);
    check_loss(begin_sup);
}

/* The saved model has the first template as its prompt, mask pooling, and no projection. */
static void saves_the_template(void **state) {
    (void)state;
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    aoe_error err;
    begin(&r);
    r.o.args.max_steps = 2;
    train_run_ok(&r, 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    if (aoe_model_open(&m, ctx, r.o.args.output, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m->settings.pooling, AOE_POOLING_MASK);
    assert_string_equal(m->settings.prompt, r.o.args.model_options.prompt);
    assert_null(m->config.training);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    train_run_destroy(&r);
}

/* The saved model contains the transform and subtracts the vector of the empty template. A text without tokens
 * therefore has the embedding 0, and embeddings do not depend on the other texts and on the size of batches. Further
 * training starts from the saved layers. */
static void subtracts_the_template(void **state) {
    (void)state;
    static const char *const texts[] = {"", "a cat", "the cat a house dog", "cat", "a house", "the dog"};
    enum { N = sizeof texts / sizeof *texts };
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err;
    aoe_text text[N];
    size_t n, more;
    begin_sup(&r);
    r.o.args.max_steps = 2;
    train_run_ok(&r, 1);
    assert_int_equal(aoe_context_create(&ctx, NULL, &err), 0);
    if (aoe_model_open(&m, ctx, r.o.args.output, NULL, &err))
        fail_msg("%s", err.message);
    assert_true(m->settings.subtract_empty_prompt);
    assert_int_equal(m->config.modules.n, 2);
    assert_true(m->config.modules.list[1].norm_eps < 2e-12);
    const size_t D = aoe_model_dims(m);
    float *all = malloc(N * D * sizeof *all), *one = malloc(D * sizeof *one);
    for (size_t i = 0; i < N; i++)
        text[i] = aoe_text_of(texts[i]);
    for (size_t batch_tokens = 1; batch_tokens <= 64; batch_tokens *= 8) {
        aoe_embedder_options o;
        aoe_embedder_options_defaults(&o);
        o.batch_tokens = batch_tokens;
        assert_int_equal(aoe_embedder_create(&e, m, &o, &err), 0);
        if (aoe_embed(e, text, N, all, NULL, &err))
            fail_msg("%s", err.message);
        for (size_t k = 0; k < D; k++)
            assert_true(fabsf(all[k]) <= 0);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(aoe_embed(e, &text[i], 1, one, NULL, &err), 0);
            assert_memory_equal(one, all + i * D, D * sizeof *one);
        }
        assert_true(fabsf(all[D]) > 0);
        aoe_embedder_destroy(e);
    }
    free(all);
    free(one);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    char *start = strdup(r.o.args.output), *before = train_run_read(&r, "2_Dense/model.safetensors", &n);
    again(&r, "further");
    r.o.args.model = start;
    train_run_ok(&r, 1);
    char *after = train_run_read(&r, "2_Dense/model.safetensors", &more);
    assert_true(n == more && memcmp(before, after, n) != 0);
    again(&r, "angle");
    r.o.method = AOE_METHOD_CONTRASTIVE;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "only options.method promptbert-sup"));
    free(before);
    free(after);
    free(start);
    train_run_destroy(&r);
}

static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("error %d, '%s' does not contain '%s'", got, err.message, fragment);
}

static void rejects_wrong_options(void **state) {
    (void)state;
    static const aoe_prefix prefix = {.dims = 4, .weight = 1};
    train_run r;
    begin(&r);
    const aoe_train_options valid = r.o;
    const aoe_train_data source = r.source;
    r.o.second_prompt = NULL;
    expect_rejected(&r, AOE_EARG, "options.second_prompt");
    r.o.second_prompt = "a [MASK]";
    expect_rejected(&r, AOE_EARG, "the template \"a [MASK]\" does not contain {text}");
    r.o.second_prompt = "{text} a";
    expect_rejected(&r, AOE_EARG, "the template '{text} a' contains the mask token of the tokenizer 0 times");
    r.o = valid;
    r.o.args.model_options.pooling = AOE_POOLING_CLS;
    expect_rejected(&r, AOE_EARG, "but the pooling is cls");
    r.o = valid;
    r.o.teachers[0] = r.o.args.model;
    expect_rejected(&r, AOE_EARG, "options.teachers");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "options.layers");
    r.o = valid;
    r.o.matryoshka = &prefix;
    r.o.n_matryoshka = 1;
    expect_rejected(&r, AOE_EARG, "options.matryoshka");
    r.o = valid;
    r.source.prompt = "x {text}";
    expect_rejected(&r, AOE_EARG, "leave out the prompt of the file");
    r.source = source;
    train_run_destroy(&r);
}

static void rejects_wrong_options_of_sup(void **state) {
    (void)state;
    train_run r;
    begin_sup(&r);
    const aoe_train_options valid = r.o;
    r.o.args.model_options.prompt = "{text} a";
    expect_rejected(&r, AOE_EFORMAT, "mask pooling requires exactly one token [MASK] in every text");
    r.o = valid;
    r.o.args.model_options.pooling = AOE_POOLING_CLS;
    expect_rejected(&r, AOE_EARG, "but the pooling is cls");
    r.o = valid;
    r.o.teachers[0] = r.o.args.model;
    expect_rejected(&r, AOE_EARG, "options.teachers");
    r.o = valid;
    r.o.layers.adaptive = 1;
    expect_rejected(&r, AOE_EARG, "options.layers");
    train_run_destroy(&r);
    begin(&r);
    r.o.method = AOE_METHOD_PROMPTBERT_SUP;
    train_run_use_triplets(&r);
    expect_rejected(&r, AOE_EUNSUPPORTED, "the model has no masked-LM head");
    train_run_destroy(&r);
}

static void traces(void **state) {
    (void)state;
    static const double want[3] = {8.5248284, 6.0004860, 7.2380013}, want_sup[3] = {4.2793982, 4.8278309, 11.5529031};
    train_run r;
    begin(&r);
    train_run_trace(&r, want);
    train_run_destroy(&r);
    begin_sup(&r);
    train_run_trace(&r, want_sup);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(traces),
                                       cmocka_unit_test(batches),
                                       cmocka_unit_test(results_are_bit_identical),
                                       cmocka_unit_test(loss_decreases),
                                       cmocka_unit_test(saves_the_template),
                                       cmocka_unit_test(subtracts_the_template),
                                       cmocka_unit_test(rejects_wrong_options_of_sup),
                                       cmocka_unit_test(rejects_wrong_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
