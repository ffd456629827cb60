/* SPDX-License-Identifier: MIT
 * Tests the modules WordEmbeddings and LSTM of sentence-transformers: the embeddings against a direct computation in
 * double, saved models, and the rejection of wrong directories. tests/peers compares the embeddings with
 * sentence-transformers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"
#include "modeldir/safetensors_writer.h"

enum { TEXTS = 3, V = 12, D = 6, H = 4, MAX_TOKENS = 40, MAX_DIMS = 2 * H };
static const char *const texts[TEXTS] = {"a b c", "d", "e f g h a b c d a"};
static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\nd\ne\nf\ng\nh\n";

#define MODULE(path, type) "{\"path\": \"" path "\", \"type\": \"sentence_transformers.models." type "\"}"
static const char modules[] =
    "[" MODULE("", "WordEmbeddings") ", " MODULE("1_LSTM", "LSTM") ", " MODULE("2_Pooling", "Pooling") "]";
static const char words_config[] =
    "{\"tokenizer_class\": \"sentence_transformers.models.tokenizer.TransformersTokenizerWrapper\", "
    "\"update_embeddings\": false, \"max_seq_length\": 20}";

/* Returns value i of the tensor number `tensor`. */
static float value(size_t tensor, size_t i) {
    return (float)sin(0.7 * (double)(tensor + 1) + 1.3 * (double)i + 0.01 * (double)(i * i));
}

/* Writes tensors with the values value(first + 0), value(first + 1), ... */
static void put_tensors(const char *folder, const aoei_st_entry *entries, size_t n, size_t first) {
    char *path = test_path(folder, "model.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, entries, n, NULL), 0);
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < entries[t].shape[0] * (entries[t].n_dims > 1 ? entries[t].shape[1] : 1); i++) {
            const float v = value(first + t, i);
            assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
        }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
}

/* Writes the module LSTM. layers: 1 or 2; directions: 1 or 2; config: contents of lstm_config.json, NULL: those of this
 * module. */
static void put_lstm(size_t layers, size_t directions, const char *config) {
    static const char *const parts[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    aoei_st_entry entries[16];
    char names[16][40], text[200], *folder = test_path(test_dir, "1_LSTM");
    size_t n = 0;
    for (size_t cell = 0; cell < layers * directions; cell++)
        for (size_t part = 0; part < 4; part++, n++) {
            const size_t in = cell / directions ? directions * H : D;
            snprintf(names[n], sizeof names[n], "encoder.%s_l%zu%s", parts[part], cell / directions,
                     cell % directions ? "_reverse" : "");
            entries[n] = (aoei_st_entry){names[n], AOEI_ST_F32, part < 2 ? 2 : 1, {(size_t)4 * H, part ? H : in}};
        }
    snprintf(text, sizeof text,
             "{\"word_embedding_dimension\": %d, \"hidden_dim\": %d, \"num_layers\": %zu, \"dropout\": 0.5, "
             "\"bidirectional\": %s}",
             D, H, layers, directions == 2 ? "true" : "false");
    mkdir(folder, 0777);
    free(test_write_text(folder, "lstm_config.json", config ? config : text));
    put_tensors(folder, entries, n, 1);
    free(folder);
}

/* Writes the module WordEmbeddings, the list of modules and the pooling. */
static void put_words(const char *config, const char *pooling, size_t width) {
    const aoei_st_entry entry = {"emb_layer.weight", AOEI_ST_F32, 2, {V, D}};
    char text[100], *folder = test_path(test_dir, "2_Pooling");
    mkdir(folder, 0777);
    snprintf(text, sizeof text, "{\"word_embedding_dimension\": %zu, \"pooling_mode\": \"%s\"}", width, pooling);
    free(test_write_text(folder, "config.json", text));
    free(test_write_text(test_dir, "modules.json", modules));
    free(test_write_text(test_dir, "wordembedding_config.json", config));
    free(test_write_text(test_dir, "vocab.txt", vocabulary));
    put_tensors(test_dir, &entry, 1, 0);
    free(folder);
}

static size_t embed(const char *from, float *v) {
    aoe_model *m = test_model_open(test_model_context, from, NULL);
    aoe_embedder *e;
    aoe_error err;
    aoe_text t[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        t[i] = aoe_text_of(texts[i]);
    const size_t dims = aoe_model_dims(m);
    assert_true(dims <= MAX_DIMS);
    if (aoe_embedder_create(&e, m, NULL, &err) || aoe_embed(e, t, TEXTS, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return dims;
}

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

/* Computes one direction of a layer: y[n] with `stride` columns from x[n, in]. first: number of its first tensor. */
static void direction(double *y, size_t stride, const double *x, size_t n, size_t in, size_t first, int reverse) {
    double h[H] = {0}, c[H] = {0};
    for (size_t t = 0; t < n; t++) {
        const size_t at = reverse ? n - 1 - t : t;
        double a[4 * H];
        for (size_t k = 0; k < 4 * H; k++) {
            a[k] = (double)value(first + 2, k) + (double)value(first + 3, k);
            for (size_t i = 0; i < in; i++)
                a[k] += (double)value(first, k * in + i) * x[at * in + i];
            for (size_t i = 0; i < H; i++)
                a[k] += (double)value(first + 1, k * H + i) * h[i];
        }
        for (size_t k = 0; k < H; k++) {
            c[k] = logistic(a[H + k]) * c[k] + logistic(a[k]) * tanh(a[2 * H + k]);
            y[at * stride + k] = h[k] = logistic(a[3 * H + k]) * tanh(c[k]);
        }
    }
}

/* Computes the embedding of a text in double. max: 1: maximum, 0: mean over the tokens. Returns the number of
 * components. */
static size_t reference(double *v, const char *text, size_t layers, size_t directions, int max) {
    double x[MAX_TOKENS * MAX_DIMS] = {0}, y[MAX_TOKENS * MAX_DIMS] = {0};
    size_t n = 0, in = D, width = directions * H;
    int32_t ids[MAX_TOKENS];
    ids[n++] = 2;
    for (const char *p = text; *p; p++)
        if (*p != ' ')
            ids[n++] = 4 + (*p - 'a');
    ids[n++] = 3;
    for (size_t t = 0; t < n; t++)
        for (size_t i = 0; i < D; i++)
            x[t * D + i] = (double)value(0, (size_t)ids[t] * D + i);
    for (size_t layer = 0; layer < layers; layer++) {
        for (size_t d = 0; d < directions; d++)
            direction(y + d * H, width, x, n, in, 1 + 4 * (layer * directions + d), d == 1);
        memcpy(x, y, sizeof x);
        in = width;
    }
    for (size_t k = 0; k < width; k++) {
        v[k] = max ? -2 : 0;
        for (size_t t = 0; t < n; t++)
            v[k] = max ? fmax(v[k], x[t * width + k]) : v[k] + x[t * width + k] / (double)n;
    }
    return width;
}

/* A saved model gives the same bits, also without aoe.json. */
static void check_saved(const float *want, size_t dims) {
    aoe_model *m;
    aoe_error err;
    float saved[TEXTS * MAX_DIMS];
    char *to = test_path(test_dir, "saved"), *own = test_path(to, "aoe.json");
    if (aoei_model_open_trainable(&m, test_model_context, test_dir, NULL, &err) || aoei_model_save(m, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(embed(to, saved), dims);
        assert_memory_equal(want, saved, TEXTS * dims * sizeof *want);
        remove(own);
    }
    free(own);
    free(to);
}

static void equals_reference(void **state) {
    (void)state;
    for (size_t layers = 1; layers <= 2; layers++)
        for (size_t directions = 1; directions <= 2; directions++) {
            float got[TEXTS * MAX_DIMS] = {0};
            const int max = layers == 1;
            put_words(words_config, max ? "max" : "mean", directions * H);
            put_lstm(layers, directions, NULL);
            const size_t dims = embed(test_dir, got);
            assert_int_equal(dims, directions * H);
            for (size_t i = 0; i < TEXTS; i++) {
                double want[MAX_DIMS] = {0};
                reference(want, texts[i], layers, directions, max);
                for (size_t k = 0; k < dims; k++)
                    if (!(fabs((double)got[i * dims + k] - want[k]) < 2e-6))
                        fail_msg("%zu layers, %zu directions, text %zu, [%zu]: %g, expected %g", layers, directions, i,
                                 k, (double)got[i * dims + k], want[k]);
            }
            check_saved(got, dims);
        }
}

/* The table is trained only if update_embeddings is true. */
static void freezes_the_words(void **state) {
    (void)state;
    static const char *const configs[] = {words_config, "{\"update_embeddings\": true}"};
    put_lstm(1, 2, NULL);
    for (int update = 0; update < 2; update++) {
        aoe_model *m;
        aoei_slot s;
        put_words(configs[update], "max", 2 * (size_t)H);
        assert_int_equal(aoei_model_open_trainable(&m, test_model_context, test_dir, NULL, NULL), 0);
        aoei_slot_describe(&m->config, AOEI_W_WORD, &s);
        assert_int_equal(s.frozen, !update);
        assert_int_equal(m->settings.max_length, update ? 1 << 20 : 20);
        aoe_model_close(m);
    }
}

static void expect_rejected(int code, const char *fragment) {
    aoe_model *m;
    aoe_error err;
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, NULL, &err), code);
    FRAGMENT(err, fragment);
}

static void rejects_invalid_modules(void **state) {
    (void)state;
    static const struct {
        const char *config;
        int code;
        const char *fragment;
    } cases[] = {
        {"[]", AOE_EFORMAT, "not a JSON object"},
        {"{\"embedding_dimension\": 9, \"hidden_dim\": 4}", AOE_EFORMAT,
         "embedding_dimension is 9, but the model's hidden size is 6"},
        {"{\"num_layers\": 1}", AOE_EFORMAT, "hidden_dim"},
        {"{\"hidden_dim\": 0}", AOE_EFORMAT, "hidden_dim"},
        {"{\"hidden_dim\": 4, \"num_layers\": 5}", AOE_EFORMAT, "num_layers"},
        {"{\"hidden_dim\": 4, \"dropout\": 2}", AOE_EFORMAT, "dropout"},
        {"{\"hidden_dim\": 4, \"num_layers\": 2}", AOE_EFORMAT,
         "tensor 'encoder.weight_ih_l1' of the module LSTM is missing"},
    };
    put_words(words_config, "max", 2 * (size_t)H);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_lstm(1, 2, cases[i].config);
        expect_rejected(cases[i].code, cases[i].fragment);
    }
    put_lstm(1, 2, "{\"hidden_dim\": 4}"); /* the defaults are one layer and two directions */
    assert_int_equal(test_model_open_once(test_dir), 0);
    put_words("{\"tokenizer_class\": \"sentence_transformers.models.tokenizer.PhraseTokenizer\"}", "max",
              2 * (size_t)H);
    expect_rejected(AOE_EUNSUPPORTED, "PhraseTokenizer");
    put_words(words_config, "max", H);
    expect_rejected(AOE_EFORMAT, "word_embedding_dimension is 4, but the model's hidden size is 8");
    free(test_write_text(test_dir, "aoe.json", "{\"format_version\": 8, \"cnn\": \"1_CNN\", \"lstm\": \"1_LSTM\"}"));
    expect_rejected(AOE_EFORMAT, "\"cnn\" and \"lstm\" are both given");
}

static void reports_failed_allocations(void **state) {
    (void)state;
    put_words(words_config, "max", 2 * (size_t)H);
    put_lstm(1, 2, NULL);
    test_alloc_failures(test_model_open_once, test_dir, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equals_reference, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(freezes_the_words, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_invalid_modules, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(reports_failed_allocations, test_dir_set_up, test_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
