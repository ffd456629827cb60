/* SPDX-License-Identifier: MIT
 * tags: threads emulated
 * Tests sequences, which are tokenized before they are embedded. Their embeddings must be bit-identical to those of
 * aoe_embed with a model that was opened with the same settings, also if sequences with different settings are embedded
 * in one call. Other tests cover token ids, truncation at both ends, pairs, hidden states and errors.
 */
#include <aoe_sequence.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "modeldir/safetensors.h"

#define CROSS_ENCODER "tests/golden/cross_encoders/bert"

enum { TEXTS = 12, D = 16, KINDS = 6 };

static char *model_dir;
static aoe_context *ctx;
static aoe_text texts[TEXTS];

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    ctx = tiny_context(2);
    for (uint32_t i = 0; i < TEXTS; i++)
        texts[i] = aoe_text_of(strdup(tiny_text(i)));
    return code;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)texts[i].data);
    aoe_context_destroy(ctx);
    free(model_dir);
    return test_dir_tear_down(state);
}

static aoe_embedder *embedder_open(const char *dir, const aoe_model_options *o) {
    aoe_model *m;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, dir, o, &err) || aoe_embedder_create(&e, m, NULL, &err))
        fail_msg("%s", err.message);
    return e;
}

static void embedder_close(aoe_embedder *e) {
    aoe_model *m = aoe_embedder_model(e);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

/* Settings of kind k, for a sequence and for a model that is opened with them. */
static void settings(int k, aoe_sequence_options *s, aoe_model_options *m) {
    aoe_sequence_options_defaults(s);
    aoe_model_options_defaults(m);
    if (k == 1)
        s->prompt = m->prompt = "the cat: {text}";
    if (k == 2)
        s->normalize = m->normalize = 1;
    if (k == 3) {
        s->normalize = m->normalize = 0;
        s->dims = m->dims = 5;
    }
    if (k == 4) {
        s->normalize = m->normalize = 1;
        s->dims = m->dims = 7;
    }
    if (k == 5) {
        s->max_length = m->max_length = 6;
        s->prompt_name = m->prompt_name = "query"; /* the model has no such prompt, so it is empty */
    }
}

static size_t dims_of(const aoe_sequence *s) {
    aoe_sequence_info info = {.struct_size = sizeof info};
    aoe_sequence_get_info(s, &info);
    return info.dims;
}

static void test_same_bits(void **state) {
    (void)state;
    aoe_model_options mo;
    aoe_sequence_options so;
    aoe_sequence *sequences[KINDS * TEXTS];
    float expected[KINDS][TEXTS][D], got[KINDS * TEXTS][D], *rows[KINDS * TEXTS];
    memset(expected, 0, sizeof expected);
    memset(got, 0, sizeof got);
    aoe_error err = {0};
    aoe_embedder *shared = embedder_open(model_dir, NULL);
    for (int k = 0; k < KINDS; k++) {
        settings(k, &so, &mo);
        aoe_embedder *own = embedder_open(model_dir, &mo);
        const size_t dims = aoe_embedder_dims(own);
        float v[TEXTS * D];
        assert_int_equal(aoe_embed(own, texts, TEXTS, v, NULL, &err), 0);
        for (size_t i = 0; i < TEXTS; i++)
            memcpy(expected[k][i], v + i * dims, dims * sizeof *v);
        embedder_close(own);
        aoe_sequence *created[TEXTS];
        assert_int_equal(aoe_sequences_create(shared, texts, TEXTS, &so, created, &err), 0);
        for (size_t i = 0; i < TEXTS; i++) { /* the kinds alternate in the batch */
            const size_t at = i * KINDS + (size_t)k;
            sequences[at] = created[i];
            rows[at] = got[at];
            assert_int_equal(dims_of(created[i]), dims);
        }
    }
    const aoe_sequence *const *all = (const aoe_sequence *const *)sequences;
    assert_int_equal(aoe_embed_sequences(shared, all, KINDS * TEXTS, rows, &err), 0);
    for (size_t k = 0; k < KINDS; k++)
        for (size_t i = 0; i < TEXTS; i++)
            assert_memory_equal(got[i * KINDS + k], expected[k][i], sizeof expected[k][i]);
    for (size_t i = 0; i < KINDS * TEXTS; i++)
        aoe_sequence_destroy(sequences[i]);
    embedder_close(shared);
}

/* A prompt that is selected by its name, from the file of the model directory. */
static void test_prompt_name(void **state) {
    (void)state;
    char *file = test_write_text(model_dir, "config_sentence_transformers.json",
                                 "{\"prompts\": {\"query\": \"the dog: \", \"passage\": \"a cat: \"}}");
    aoe_error err = {0};
    aoe_embedder *e = embedder_open(model_dir, NULL);
    float expected[D], v[D], *row = v;
    aoe_sequence *s;
    aoe_sequence_options o;
    aoe_sequence_options_defaults(&o);
    for (int k = 0; k < 2; k++) {
        o.prompt_name = k ? "document" : "query";
        assert_int_equal((k ? aoe_embed_documents : aoe_embed_queries)(e, texts, 1, expected, NULL, &err), 0);
        assert_int_equal(aoe_sequences_create(e, texts, 1, &o, &s, &err), 0);
        assert_int_equal(aoe_embed_sequences(e, (const aoe_sequence *const *)&s, 1, &row, &err), 0);
        assert_memory_equal(v, expected, sizeof v);
        aoe_sequence_destroy(s);
    }
    o.prompt_name = "other";
    assert_int_equal(aoe_sequences_create(e, texts, 1, &o, &s, &err), AOE_EARG);
    assert_string_equal(err.message, "the model has no prompt 'other'; its prompts: query, passage");
    o.prompt = "{text}";
    assert_int_equal(aoe_sequences_create(e, texts, 1, &o, &s, &err), AOE_EARG);
    embedder_close(e);
    remove(file);
    free(file);
}

/* Truncation at the start keeps [CLS] and the prompt, and the last tokens of the text. */
static void test_truncation(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_embedder *e = embedder_open(model_dir, NULL);
    const aoe_text text = aoe_text_of("the cat old dog the cat old dog the dog");
    aoe_sequence *whole, *start, *end, *none;
    aoe_sequence_options o;
    aoe_sequence_info info = {.struct_size = sizeof info};
    aoe_sequence_options_defaults(&o);
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &whole, &err), 0);
    size_t n, kept;
    const int32_t *ids = aoe_sequence_ids(whole, &n), *cut;
    o.max_length = 6;
    assert_true(n > o.max_length);
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &end, &err), 0);
    cut = aoe_sequence_ids(end, &kept);
    assert_int_equal(kept, 6);
    assert_memory_equal(cut, ids, 5 * sizeof *ids);
    assert_int_equal(cut[5], ids[n - 1]);
    o.truncation = AOE_TRUNCATE_START;
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &start, &err), 0);
    cut = aoe_sequence_ids(start, &kept);
    assert_int_equal(kept, 6);
    assert_int_equal(cut[0], ids[0]);
    assert_memory_equal(cut + 1, ids + n - 5, 5 * sizeof *ids);
    aoe_sequence_get_info(start, &info);
    assert_int_equal(info.truncated, 1);
    o.truncation = AOE_TRUNCATE_NONE;
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &none, &err), 0);
    aoe_sequence_get_info(none, &info);
    assert_int_equal(info.tokens, n);
    assert_int_equal(info.max_length, 6);
    assert_int_equal(info.truncated, 0);
    float v[2][D], *rows[2] = {v[0], v[1]};
    const aoe_sequence *both[2] = {start, none};
    assert_int_equal(aoe_embed_sequences(e, both, 2, rows, &err), AOE_EARG);
    assert_int_equal(aoe_embed_failed_text(e), 1);
    o.truncation = AOE_TRUNCATE_START;
    o.max_length = 2;
    aoe_sequence *bad = NULL;
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &bad, &err), AOE_EARG);
    assert_null(bad);
    o.max_length = 1 << 20;
    assert_int_equal(aoe_sequences_create(e, &text, 1, &o, &bad, &err), AOE_EARG);
    aoe_sequence_destroy(whole);
    aoe_sequence_destroy(start);
    aoe_sequence_destroy(end);
    aoe_sequence_destroy(none);
    embedder_close(e);
}

static void test_ids(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_embedder *e = embedder_open(model_dir, NULL);
    aoe_sequence *text, *ids;
    size_t n;
    float expected[D], v[D], *row = expected;
    assert_int_equal(aoe_sequences_create(e, texts + 1, 1, NULL, &text, &err), 0);
    const int32_t *id = aoe_sequence_ids(text, &n);
    assert_int_equal(aoe_sequence_create_ids(e, id, n, NULL, &ids, &err), 0);
    assert_int_equal(aoe_embed_sequences(e, (const aoe_sequence *const *)&text, 1, &row, &err), 0);
    row = v;
    assert_int_equal(aoe_embed_sequences(e, (const aoe_sequence *const *)&ids, 1, &row, &err), 0);
    assert_memory_equal(v, expected, sizeof v);
    aoe_sequence_destroy(ids);
    const int32_t wrong[2] = {2, 1 << 20}, negative = -1;
    assert_int_equal(aoe_sequence_create_ids(e, wrong, 2, NULL, &ids, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "token id 1048576 is not in the vocabulary"));
    assert_int_equal(aoe_sequence_create_ids(e, &negative, 1, NULL, &ids, &err), AOE_EARG);
    assert_int_equal(aoe_sequence_create_ids(e, NULL, 0, NULL, &ids, &err), AOE_EARG);
    assert_null(ids);
    aoe_sequence_options o;
    aoe_sequence_options_defaults(&o);
    o.prompt = "the {text}";
    assert_int_equal(aoe_sequence_create_ids(e, id, n, &o, &ids, &err), AOE_EARG);
    o.prompt = NULL;
    o.max_length = 3;
    o.truncation = AOE_TRUNCATE_START;
    assert_int_equal(aoe_sequence_create_ids(e, id, n, &o, &ids, &err), 0);
    size_t kept;
    assert_memory_equal(aoe_sequence_ids(ids, &kept), id + n - 3, 3 * sizeof *id);
    assert_int_equal(kept, 3);
    aoe_sequence_destroy(ids);
    aoe_sequence_destroy(text);
    embedder_close(e);
}

/* The mean of the hidden states is the embedding of a model with mean pooling. */
static void test_states(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_LAST_AVG;
    o.normalize = 0;
    o.dtype = AOE_DTYPE_F32;
    aoe_embedder *e = embedder_open(model_dir, &o);
    aoe_sequence *s;
    aoe_sequence_info info = {.struct_size = sizeof info};
    assert_int_equal(aoe_sequences_create(e, texts + 2, 1, NULL, &s, &err), 0);
    aoe_sequence_get_info(s, &info);
    assert_int_equal(info.token_dims, D);
    float *h = malloc(info.tokens * D * sizeof *h), v[D];
    assert_int_equal(aoe_embed_tokens(e, s, h, &err), 0);
    assert_int_equal(aoe_embed(e, texts + 2, 1, v, NULL, &err), 0);
    for (size_t k = 0; k < D; k++) {
        double sum = 0;
        for (size_t t = 0; t < info.tokens; t++)
            sum += (double)h[t * D + k];
        assert_float_equal((float)(sum / (double)info.tokens), v[k], 1e-5F);
    }
    free(h);
    aoe_sequence_destroy(s);
    embedder_close(e);
}

static void test_pairs(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    aoe_embedder *e = embedder_open(CROSS_ENCODER, &o), *embedding = embedder_open(model_dir, NULL);
    const size_t classes = aoe_model_classes(aoe_embedder_model(e));
    const aoe_text first[2] = {aoe_text_of("what is a cat"), aoe_text_of("dog")};
    const aoe_text second[2] = {aoe_text_of("a cat is an animal"), aoe_text_of("the old dog sleeps")};
    float expected[2][8], got[2][8], *rows[2] = {got[0], got[1]};
    aoe_sequence *s[2], *text;
    assert_in_range(classes, 1, 4);
    float flat[16];
    assert_int_equal(aoe_score_pairs(e, first, second, 2, flat, NULL, &err), 0);
    memcpy(expected[0], flat, classes * sizeof *flat);
    memcpy(expected[1], flat + classes, classes * sizeof *flat);
    assert_int_equal(aoe_sequences_create_pairs(e, first, second, 2, NULL, s, &err), 0);
    const aoe_sequence *const *pairs = (const aoe_sequence *const *)s;
    assert_int_equal(aoe_score_sequences(e, pairs, 2, AOE_AUTO, rows, &err), 0);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(got[i], expected[i], classes * sizeof(float));
    assert_int_equal(aoe_embed_sequences(e, pairs, 2, rows, &err), AOE_EARG);
    assert_int_equal(aoe_sequences_create(e, first, 1, NULL, &text, &err), AOE_EARG);
    assert_int_equal(aoe_sequences_create_pairs(embedding, first, second, 1, NULL, &text, &err), AOE_EARG);
    assert_int_equal(aoe_embed_sequences(embedding, pairs, 1, rows, &err), AOE_EARG); /* of another model */
    assert_int_equal(aoe_score_sequences(e, pairs, 2, 9, rows, &err), AOE_EARG);
    aoe_sequence_options so;
    aoe_sequence_options_defaults(&so);
    so.truncation = AOE_TRUNCATE_NONE;
    so.max_length = 5;
    assert_int_equal(aoe_sequences_create_pairs(e, first, second, 1, &so, &text, &err), 0);
    aoe_sequence_info info = {.struct_size = sizeof info};
    aoe_sequence_get_info(text, &info);
    assert_true(info.tokens > 5);
    aoe_sequence_destroy(text);
    aoe_sequence_destroy(s[0]);
    aoe_sequence_destroy(s[1]);
    embedder_close(e);
    embedder_close(embedding);
}

/* Tokenizes a pair, or a text if second is NULL, and copies its ids to id[64]. Returns their number. */
static size_t pair_ids(aoe_embedder *e, const char *first, const char *second, int truncation, size_t max_length,
                       int32_t *id) {
    aoe_error err = {0};
    aoe_sequence_options o;
    aoe_sequence *s;
    aoe_sequence_options_defaults(&o);
    o.truncation = truncation;
    o.max_length = max_length;
    const aoe_text a = aoe_text_of(first), b = aoe_text_of(second ? second : "");
    if (aoe_sequences_create_pairs(e, &a, second ? &b : NULL, 1, &o, &s, &err))
        fail_msg("%s", err.message);
    size_t n;
    const int32_t *ids = aoe_sequence_ids(s, &n);
    assert_in_range(n, 1, 64);
    memcpy(id, ids, n * sizeof *id);
    aoe_sequence_destroy(s);
    return n;
}

/* The first tokens of the longer text of a pair are removed, and then those of both, as the strategy longest_first of
 * the tokenizers library does with the direction "left". */
static void test_pairs_start(void **state) {
    (void)state;
    static const char first[] = "the cat", second[] = "the old dog and the small cat sleep";
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    aoe_embedder *e = embedder_open(CROSS_ENCODER, &o);
    int32_t all[64], part[64], alone[64], expected[64];
    const size_t a = pair_ids(e, first, NULL, AOE_TRUNCATE_NONE, 0, alone) - 2; /* without [CLS] and [SEP] */
    const size_t n = pair_ids(e, first, second, AOE_TRUNCATE_NONE, 0, all), b = n - a - 3;
    assert_true(a >= 2 && b > a + 2);
    for (size_t max = n - 1; max > 2 * a + 3; max--) { /* the second text remains the longer one */
        const size_t kept = max - a - 3;
        memcpy(expected, all, (a + 2) * sizeof *all);
        memcpy(expected + a + 2, all + n - 1 - kept, (kept + 1) * sizeof *all);
        assert_int_equal(pair_ids(e, first, second, AOE_TRUNCATE_START, max, part), max);
        assert_memory_equal(part, expected, max * sizeof *part);
    }
    expected[0] = all[0]; /* [CLS] last token [SEP] last token [SEP] */
    expected[1] = all[a];
    expected[2] = all[a + 1];
    expected[3] = all[n - 2];
    expected[4] = all[n - 1];
    assert_int_equal(pair_ids(e, first, second, AOE_TRUNCATE_START, 5, part), 5);
    assert_memory_equal(part, expected, 5 * sizeof *part);
    const size_t m = pair_ids(e, second, NULL, AOE_TRUNCATE_NONE, 0, alone);
    assert_int_equal(pair_ids(e, second, NULL, AOE_TRUNCATE_START, 4, part), 4);
    assert_true(part[0] == alone[0] && !memcmp(part + 1, alone + m - 3, 3 * sizeof *part));
    assert_int_equal(pair_ids(e, first, second, AOE_TRUNCATE_START, n, part), n);
    assert_memory_equal(part, all, n * sizeof *part);
    embedder_close(e);
}

/* Returns the product of row `row` of a matrix with n columns and x[n], plus the element `row` of a vector. */
static double linear(const aoei_safetensors *s, const char *name, size_t row, const double *x, size_t n) {
    char tensor[64];
    float w[D * D], b[D];
    snprintf(tensor, sizeof tensor, "%s.weight", name);
    aoei_st_to_float(w, aoei_safetensors_find(s, tensor));
    snprintf(tensor, sizeof tensor, "%s.bias", name);
    aoei_st_to_float(b, aoei_safetensors_find(s, tensor));
    double sum = (double)b[row];
    for (size_t k = 0; k < n; k++)
        sum += (double)w[row * n + k] * x[k];
    return sum;
}

/* Computes the hidden states of a pair with a copy of the cross-encoder. types: 1: its tokenizer passes token types to
 * the model. logits: [2] those of aoe_score_sequences. Returns the states [*n, D], which the caller frees. */
static float *pair_states(const char *name, int types, size_t *n, float *logits) {
    aoe_error err = {0};
    aoe_model_options o;
    aoe_sequence *s;
    aoe_sequence_info info = {.struct_size = sizeof info};
    const aoe_text first = aoe_text_of("w1 w2 w3"), second = aoe_text_of("w4 w5");
    char *dir = test_path(test_dir, name);
    assert_int_equal(mkdir(dir, 0700), 0);
    test_copy_dir(CROSS_ENCODER, dir);
    if (!types)
        free(test_write_text(dir, "tokenizer_config.json",
                             "{\"model_input_names\": [\"input_ids\", \"attention_mask\"]}"));
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    o.dtype = AOE_DTYPE_F32;
    aoe_embedder *e = embedder_open(dir, &o);
    assert_int_equal(aoe_sequences_create_pairs(e, &first, &second, 1, NULL, &s, &err), 0);
    aoe_sequence_get_info(s, &info);
    float *h = malloc(info.tokens * D * sizeof *h);
    assert_int_equal(info.token_dims, D);
    assert_int_equal(aoe_embed_tokens(e, s, h, &err), 0);
    assert_int_equal(aoe_score_sequences(e, (const aoe_sequence *const *)&s, 1, AOE_SCORE_LOGIT, &logits, &err), 0);
    *n = info.tokens;
    aoe_sequence_destroy(s);
    embedder_close(e);
    free(dir);
    return h;
}

/* The hidden states of a pair depend on the token types: the head of the model (pooler and classifier), applied to the
 * first of them, gives the logits of the pair. */
static void test_pair_states(void **state) {
    (void)state;
    size_t n[2];
    float logits[2][2], *states[2];
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open(&s, CROSS_ENCODER "/model.safetensors", NULL), 0);
    for (int types = 0; types < 2; types++) {
        states[types] = pair_states(types ? "typed" : "untyped", types, &n[types], logits[types]);
        double h[D], pooled[D];
        for (size_t k = 0; k < D; k++)
            h[k] = (double)states[types][k];
        for (size_t k = 0; k < D; k++)
            pooled[k] = tanh(linear(s, "bert.pooler.dense", k, h, D));
        for (size_t k = 0; k < 2; k++)
            assert_float_equal((float)linear(s, "classifier", k, pooled, D), logits[types][k], 1e-5F);
    }
    assert_int_equal(n[0], 8);
    assert_int_equal(n[1], 8);
    assert_memory_not_equal(states[0], states[1], n[0] * D * sizeof *states[0]);
    assert_true(fabsf(logits[0][0] - logits[1][0]) > 1e-4F);
    free(states[0]);
    free(states[1]);
    aoei_safetensors_close(s);
}

/* Texts that a cross-encoder reads alone. */
static void test_single_texts(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    aoe_embedder *e = embedder_open(CROSS_ENCODER, &o);
    const aoe_text text = aoe_text_of("w1 w2 w3"), empty = aoe_text_of("");
    aoe_sequence *s[2];
    size_t n[2];
    float scores[2][2], *rows[2] = {scores[0], scores[1]};
    assert_int_equal(aoe_sequences_create_pairs(e, &text, NULL, 1, NULL, &s[0], &err), 0);
    assert_int_equal(aoe_sequences_create_pairs(e, &text, &empty, 1, NULL, &s[1], &err), 0);
    const int32_t *ids = aoe_sequence_ids(s[0], &n[0]), *pair = aoe_sequence_ids(s[1], &n[1]);
    assert_int_equal(n[0], 5); /* [CLS] w1 w2 w3 [SEP]; a pair has a second [SEP] */
    assert_int_equal(n[1], 6);
    assert_memory_equal(ids, pair, 5 * sizeof *ids);
    assert_int_equal(aoe_score_sequences(e, (const aoe_sequence *const *)s, 2, AOE_AUTO, rows, &err), 0);
    assert_memory_not_equal(scores[0], scores[1], sizeof scores[0]);
    aoe_sequence_destroy(s[0]);
    aoe_sequence_destroy(s[1]);
    embedder_close(e);
    e = embedder_open("tests/golden/cross_encoders/qwen3_reranker", &o);
    assert_int_equal(aoe_sequences_create_pairs(e, &text, NULL, 1, NULL, &s[0], &err), AOE_EARG);
    assert_non_null(strstr(err.message, "scores only pairs"));
    embedder_close(e);
}

static void test_errors(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_embedder *e = embedder_open(model_dir, NULL);
    const aoe_text bad[3] = {aoe_text_of("the"), aoe_text_of("\xff"), aoe_text_of("cat")};
    aoe_sequence *s[3] = {NULL, NULL, NULL};
    assert_int_equal(aoe_sequences_create(e, bad, 3, NULL, s, &err), AOE_EFORMAT);
    assert_int_equal(aoe_embed_failed_text(e), 1);
    assert_null(s[0]);
    aoe_sequence_options o;
    aoe_sequence_options_defaults(&o);
    o.dims = D + 1;
    assert_int_equal(aoe_sequences_create(e, bad, 1, &o, s, &err), AOE_EARG);
    o.dims = 0;
    o.normalize = 2;
    assert_int_equal(aoe_sequences_create(e, bad, 1, &o, s, &err), AOE_EARG);
    o.normalize = AOE_AUTO;
    o.truncation = 3;
    assert_int_equal(aoe_sequences_create(e, bad, 1, &o, s, &err), AOE_EARG);
    assert_int_equal(aoe_sequences_create(e, NULL, 0, NULL, NULL, &err), 0);
    assert_int_equal(aoe_embed_sequences(e, NULL, 0, NULL, &err), 0);
    aoe_sequence_destroy(NULL);
    embedder_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),    cmocka_unit_test(test_prompt_name), cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_ids),          cmocka_unit_test(test_states),      cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pairs_start),  cmocka_unit_test(test_errors),      cmocka_unit_test(test_pair_states),
        cmocka_unit_test(test_single_texts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
