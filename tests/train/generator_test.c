/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/argmax
 * Tests the generator of DiffCSE (train/generator.h): the masks, the predicted tokens against a double-precision model,
 * with and without dropout, the bits for several batches and numbers of threads, and wrong directories.
 */
#include "train/generator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/tiny_model.h"
#include "aoe_train.h"
#include "base/json.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "model/open.h"
#include "model/text_batch.h"
#include "tokenizer/tokenizer.h"

enum { MASK = 4, CLS = 2, SEP = 3, TEXTS = 8, LONGEST = 9, TOKENS = 43 };

static const size_t lengths[TEXTS] = {3, 9, 5, 4, 8, 3, 5, 6};
static const uint32_t key[2] = {31, 32};

static char *dir, *start, *mlm, *distil, *distil_mlm;
static aoe_context *ctx;
static aoe_model *model;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    ctx = tiny_context(1);
    tiny_model shape = tiny_defaults();
    start = test_path(dir, "start");
    tiny_model_write(start, &shape);
    mlm = tiny_mlm(dir, "mlm", start, 2);
    shape.options = tiny_distilbert;
    distil = test_path(dir, "distil");
    tiny_model_write(distil, &shape);
    distil_mlm = tiny_mlm(dir, "distil-mlm", distil, 2);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    assert_int_equal(aoei_model_open_trainable(&model, ctx, start, &o, NULL), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    free(start);
    free(mlm);
    free(distil);
    free(distil_mlm);
    return 0;
}

static void open_generator(aoei_generator *g, const char *path, double rate) {
    aoe_error err = {0};
    if (aoei_generator_open(g, model, path, rate, &err) || aoei_generator_lay_out(g, TOKENS, TEXTS, LONGEST, &err))
        fail_msg("%s", err.message);
}

/* Fills the buffer with the texts [first, last): [CLS], random tokens, and [SEP]. */
static void fill(aoei_batch_buffer *b, size_t first, size_t last) {
    aoei_batch_clear(b);
    for (size_t i = first; i < last; i++) {
        int32_t ids[LONGEST];
        aoei_rng r;
        aoei_rng_init(&r, 5, AOEI_STREAM_TEST, (uint32_t)i);
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = t == 0               ? CLS
                     : t + 1 < lengths[i] ? 5 + (int32_t)aoei_rng_below(&r, (uint32_t)tiny_vocab() - 5)
                                          : SEP;
        aoei_batch_add(b, ids, lengths[i], (uint32_t)(10 + i));
    }
}

/* Special tokens are never masked. The other tokens are selected with the given rate; of those, 80 % become [MASK] and
 * about 10 % another token. The masks are a function of the key, the text and the position only. */
static void masks(void **state) {
    (void)state;
    enum { N = 20000 };
    aoei_generator g;
    open_generator(&g, mlm, 0.3);
    int32_t *ids = malloc(N * sizeof *ids), *again = malloc(N * sizeof *again);
    assert_true(ids && again);
    size_t masked = 0, random = 0;
    for (size_t i = 0; i < N; i++)
        ids[i] = again[i] = i % 10 == 0 ? (int32_t)(i / 10 % 5) : 40;
    aoei_generator_mask(&g, key, 7, ids, N);
    for (size_t i = 0; i < N; i++) {
        if (i % 10 == 0) {
            assert_int_equal(ids[i], i / 10 % 5);
            continue;
        }
        masked += ids[i] == MASK;
        random += ids[i] != MASK && ids[i] != 40;
        assert_true(ids[i] == MASK || ids[i] >= 5);
    }
    const double n = 0.9 * N;
    assert_true(fabs((double)masked - 0.24 * n) < 4 * sqrt(0.24 * n));
    assert_true(fabs((double)random - 0.03 * n) < 4 * sqrt(0.03 * n));
    aoei_generator_mask(&g, key, 7, again, 50); /* the first tokens of the same text */
    assert_memory_equal(ids, again, 50 * sizeof *ids);
    for (size_t i = 0; i < 50; i++)
        again[i] = i % 10 ? 40 : 2;
    aoei_generator_mask(&g, key, 8, again, 50);
    assert_true(memcmp(ids, again, 50 * sizeof *ids) != 0);
    const uint32_t other[2] = {31, 33};
    for (size_t i = 0; i < 50; i++)
        again[i] = i % 10 ? 40 : 2;
    aoei_generator_mask(&g, other, 7, again, 50);
    assert_true(memcmp(ids, again, 50 * sizeof *ids) != 0);
    free(ids);
    free(again);
    aoei_generator_destroy(&g);
}

/* Returns the token with the largest logit for a hidden state x[D], in double precision. */
static int32_t best_token(const bert_reference *r, const double *x, size_t vocab) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden;
    double *const *w = r->weights + aoei_head_slot(c, 0), h[64], mean = 0, variance = 0, most = -INFINITY;
    size_t best = 0;
    assert_true(D <= 64);
    for (size_t i = 0; i < D; i++) {
        double sum = w[AOEI_HW_TRANSFORM_BIAS][i];
        for (size_t k = 0; k < D; k++)
            sum += w[AOEI_HW_TRANSFORM][i * D + k] * x[k];
        h[i] = bert_reference_activation(sum, c->mlm_activation == AOEI_IDENTITY ? c->activation : c->mlm_activation);
        mean += h[i] / (double)D;
    }
    for (size_t i = 0; i < D; i++)
        variance += (h[i] - mean) * (h[i] - mean) / (double)D;
    for (size_t i = 0; i < D; i++)
        h[i] = (h[i] - mean) / sqrt(variance + c->norm_eps) * w[AOEI_HW_NORM][i] + w[AOEI_HW_NORM_BIAS][i];
    for (size_t v = 0; v < vocab; v++) {
        double logit = w[AOEI_HW_DECODER_BIAS][v];
        for (size_t i = 0; i < D; i++)
            logit += r->weights[AOEI_W_WORD][v * D + i] * h[i];
        if (logit > most) {
            most = logit;
            best = v;
        }
    }
    return (int32_t)best;
}

/* Compares the predicted tokens with those of the double-precision model for the same masks and dropout. */
static void check_tokens(const char *path, double dropout) {
    aoei_generator g;
    aoei_batch_buffer b;
    bert_reference r;
    int32_t got[TOKENS], masked[TOKENS];
    size_t different = 0;
    aoe_model *weights;
    assert_int_equal(aoei_model_open_mlm(&weights, ctx, path, NULL, 1, NULL), 0);
    assert_int_equal(aoei_batch_buffer_create(&b, TOKENS, TEXTS, NULL), 0);
    open_generator(&g, path, 0.3);
    g.model->config.hidden_dropout = g.model->config.attention_dropout = dropout;
    fill(&b, 0, TEXTS);
    assert_int_equal(b.batch.n_tokens, TOKENS);
    aoei_generator_replace(&g, &b.batch, key, got);
    uint32_t mask_key[2];
    aoei_encoder_dropout drop = {.hidden = dropout, .attention = dropout};
    aoei_replacement_key(mask_key, key, 0);
    aoei_replacement_key(drop.key, key, 1);
    memcpy(masked, b.ids, sizeof masked);
    for (size_t i = 0; i < TEXTS; i++)
        aoei_generator_mask(&g, mask_key, (uint32_t)(10 + i), masked + b.offsets[i], lengths[i]);
    aoei_batch batch = b.batch;
    batch.ids = masked;
    bert_reference_create(&r, ctx, &weights->config, weights->weights, &batch, dropout > 0 ? &drop : NULL);
    bert_reference_forward(&r);
    for (size_t t = 0; t < TOKENS; t++) {
        assert_int_equal(got[t], best_token(&r, r.last + t * weights->config.hidden, tiny_vocab()));
        different += got[t] != b.ids[t];
    }
    assert_true(different > 5);
    bert_reference_destroy(&r);
    aoei_generator_destroy(&g);
    aoei_batch_buffer_destroy(&b);
    aoe_model_close(weights);
}

static void tokens(void **state) {
    (void)state;
    check_tokens(mlm, 0);
    check_tokens(mlm, 0.3);
    check_tokens(distil_mlm, 0);
    check_tokens(distil_mlm, 0.3);
}

/* The tokens of a text depend neither on the other texts of the batch nor on the number of threads. */
static void same_tokens(void **state) {
    (void)state;
    int32_t want[TOKENS], got[TOKENS];
    aoei_batch_buffer b;
    aoei_generator g;
    assert_int_equal(aoei_batch_buffer_create(&b, TOKENS, TEXTS, NULL), 0);
    open_generator(&g, mlm, 0.3);
    const uint64_t fingerprint = g.fingerprint;
    fill(&b, 0, TEXTS);
    aoei_generator_replace(&g, &b.batch, key, want);
    size_t at = 0;
    for (size_t first = 0; first < TEXTS; first += 3) {
        fill(&b, first, first + 3 < TEXTS ? first + 3 : TEXTS);
        aoei_generator_replace(&g, &b.batch, key, got + at);
        at += b.batch.n_tokens;
    }
    assert_memory_equal(got, want, sizeof want);
    aoei_generator_destroy(&g);
    aoe_context *threads = tiny_context(3), *saved = model->ctx;
    model->ctx = threads;
    open_generator(&g, mlm, 0.3);
    assert_true(g.fingerprint == fingerprint);
    fill(&b, 0, TEXTS);
    aoei_generator_replace(&g, &b.batch, key, got);
    assert_memory_equal(got, want, sizeof want);
    aoei_generator_destroy(&g);
    model->ctx = saved;
    open_generator(&g, distil_mlm, 0.3);
    assert_true(g.fingerprint != fingerprint);
    aoei_generator_destroy(&g);
    aoe_context_destroy(threads);
    aoei_batch_buffer_destroy(&b);
}

/* The first token of each text must be a special token. */
static void first_tokens(void **state) {
    (void)state;
    aoei_generator g;
    aoe_error err;
    int32_t ids[] = {CLS, 40, SEP, CLS, SEP, 41};
    size_t offsets[] = {0, 3, 5};
    const aoei_token_lists texts = {.n = 2, .ids = ids, .offsets = offsets};
    open_generator(&g, mlm, 0.3);
    assert_int_equal(aoei_generator_check_texts(&g, &texts, "t.txt", &err), 0);
    ids[3] = 40;
    assert_int_equal(aoei_generator_check_texts(&g, &texts, "t.txt", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "t.txt: the first token of a text is '##"));
    aoei_generator_destroy(&g);
}

static void expect_rejected(const char *path, int code, const char *fragment) {
    aoei_generator g;
    aoe_error err = {0};
    const int got = aoei_generator_open(&g, model, path, 0.3, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("found code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
    aoei_generator_destroy(&g);
}

/* Writes text to the file vocab.txt of the model, and removes tokenizer.json, which takes precedence. */
static void write_vocab(const char *path, const char *text) {
    char *json = test_path(path, "tokenizer.json");
    remove(json);
    free(json);
    free(test_write_text(path, "vocab.txt", text));
}

static void rejected(void **state) {
    (void)state;
    aoei_generator g;
    aoe_error err;
    expect_rejected(start, AOE_EFORMAT, "has no masked-LM head; give a pretrained masked language model");
    expect_rejected("nowhere", AOE_ENOENT, "options.generator: nowhere");
    open_generator(&g, mlm, 0.3);
    aoei_generator_destroy(&g);
    assert_int_equal(aoei_generator_open(&g, model, mlm, 0.3, NULL), 0);
    assert_int_equal(aoei_generator_lay_out(&g, 100, 2, 50, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "supports texts of 32 tokens, but the training texts have up to 50"));
    aoei_generator_destroy(&g);
    char *vocab = test_path(mlm, "vocab.txt"), *text = test_read(vocab, NULL), *cat = strstr(text, "\ncat\n");
    assert_non_null(cat);
    memcpy(cat, "\ncar\n", 5);
    write_vocab(mlm, text);
    expect_rejected(mlm, AOE_EARG, "is 'car', but in the model it is 'cat'");
    expect_rejected(mlm, AOE_EARG, "; the generator must have the vocabulary of the model");
    memcpy(cat, "\ncat\n", 5);
    text[strlen(text) - 1] = '\0';
    strrchr(text, '\n')[1] = '\0'; /* removes the last token */
    write_vocab(mlm, text);
    expect_rejected(mlm, AOE_EARG, "token 72 is missing, but in the model it is '##ing'");
    free(text);
    free(vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(masks), cmocka_unit_test(tokens), cmocka_unit_test(same_tokens),
                                       cmocka_unit_test(first_tokens), cmocka_unit_test(rejected)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
