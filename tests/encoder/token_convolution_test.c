/* SPDX-License-Identifier: MIT
 * Tests the module CNN of sentence-transformers between the transformer and the pooling: the embeddings, saved models,
 * and the rejection of wrong directories. tests/peers compares the embeddings with sentence-transformers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"
#include "modeldir/safetensors_writer.h"

enum { TEXTS = 3, MAX_DIMS = 32, D = TEST_HIDDEN };
static const char *const texts[TEXTS] = {"a b c", "d", "e f g h i j k a b c d e f g"};

static size_t embed(const char *from, const aoe_model_options *o, float *v) {
    aoe_model *m = test_model_open(test_model_context, from, o);
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

#define MODULE(path, type) "{\"path\": \"" path "\", \"type\": \"sentence_transformers.models." type "\"}"
static const char modules[] =
    "[" MODULE("", "Transformer") ", " MODULE("1_CNN", "CNN") ", " MODULE("2_Pooling", "Pooling") "]";

/* Writes the modules of a model. dims: width of the token vectors that are pooled. */
static void put_modules(size_t dims) {
    char text[100], *folder = test_path(test_dir, "2_Pooling");
    mkdir(folder, 0777);
    snprintf(text, sizeof text, "{\"word_embedding_dimension\": %zu, \"pooling_mode\": \"mean\"}", dims);
    free(test_write_text(test_dir, "modules.json", modules));
    free(test_write_text(folder, "config.json", text));
    free(folder);
}

/* Writes the module CNN with two convolutions of the kernel sizes 1 and 3. Output c of the first one is component c of
 * its input. Output c of the second one is the sum of component c of the previous token, twice that of the token and
 * three times that of the next token. */
static void put_cnn(const char *config) {
    static const aoei_st_entry entries[4] = {{"convs.0.weight", AOEI_ST_F32, 3, {D, D, 1}},
                                             {"convs.0.bias", AOEI_ST_F32, 1, {D}},
                                             {"convs.1.weight", AOEI_ST_F32, 3, {D, D, 3}},
                                             {"convs.1.bias", AOEI_ST_F32, 1, {D}}};
    float one[D * D] = {0}, three[D * D * 3] = {0};
    const float zero[D] = {0}, bias[D] = {1, 2, 3, 4, 5, 6, 7, 8};
    char *folder = test_path(test_dir, "1_CNN"), *path = test_path(folder, "model.safetensors");
    aoei_st_writer *w;
    for (size_t c = 0; c < D; c++) {
        one[c * D + c] = 1;
        for (size_t o = 0; o < 3; o++)
            three[(c * D + c) * 3 + o] = (float)(o + 1);
    }
    mkdir(folder, 0777);
    free(test_write_text(folder, "cnn_config.json", config));
    assert_int_equal(aoei_st_writer_open(&w, path, entries, 4, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, one, sizeof one, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, zero, sizeof zero, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, three, sizeof three, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, bias, sizeof bias, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
    free(folder);
}

static const char valid[] = "{\"in_word_embedding_dimension\": 8, \"out_channels\": 8, \"kernel_sizes\": [1, 3]}";

static void open_trainable_and_save(const char *to) {
    aoe_model *m;
    aoe_error err;
    if (aoei_model_open_trainable(&m, test_model_context, test_dir, NULL, &err) || aoei_model_save(m, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
}

/* The mean of the second convolution is computed from the sum s of the tokens, the first token f and the last token l:
 * bias + ((s - l) + 2 s + 3 (s - f)) / n. A saved model gives the same bits, also without aoe.json. */
static void applies_the_convolutions(void **state) {
    (void)state;
    static const size_t tokens[TEXTS] = {5, 3, TEST_POSITIONS}; /* with [CLS] and [SEP] */
    float plain[TEXTS * MAX_DIMS] = {0}, first[TEXTS * MAX_DIMS] = {0}, last[TEXTS * MAX_DIMS] = {0},
                        got[TEXTS * MAX_DIMS] = {0}, saved[TEXTS * MAX_DIMS];
    aoe_model_options o;
    char *to = test_path(test_dir, "saved"), *own = test_path(to, "aoe.json");
    test_model_write(test_dir, NULL);
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.pooling = AOE_POOLING_LAST_AVG;
    embed(test_dir, &o, plain);
    o.pooling = AOE_POOLING_CLS;
    embed(test_dir, &o, first);
    o.pooling = AOE_POOLING_LAST_TOKEN;
    embed(test_dir, &o, last);
    o.pooling = AOE_POOLING_AUTO;
    put_modules(2 * (size_t)D);
    put_cnn(valid);
    assert_int_equal(embed(test_dir, &o, got), 2 * D);
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t c = 0; c < D; c++) {
            const double n = (double)tokens[i], s = n * (double)plain[i * D + c], f = first[i * D + c],
                         l = last[i * D + c];
            assert_true(fabs((double)got[i * 2 * D + c] - s / n) < 1e-5);
            assert_true(fabs((double)got[i * 2 * D + D + c] - ((double)c + 1 + (6 * s - l - 3 * f) / n)) < 1e-4);
        }
    open_trainable_and_save(to);
    for (int pass = 0; pass < 2; pass++) {
        assert_int_equal(embed(to, &o, saved), 2 * D);
        assert_memory_equal(got, saved, (size_t)TEXTS * 2 * D * sizeof *got);
        remove(own);
    }
    free(own);
    free(to);
}

static void expect_rejected(const char *config, int code, const char *fragment) {
    aoe_model *m;
    aoe_error err;
    put_cnn(config);
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
        {"{\"in_embedding_dimension\": 9, \"out_channels\": 8, \"kernel_sizes\": [1, 3]}", AOE_EFORMAT,
         "in_embedding_dimension is 9, but the model's hidden size is 8"},
        {"{\"kernel_sizes\": [1, 3]}", AOE_EFORMAT, "out_channels"},
        {"{\"out_channels\": 8}", AOE_EUNSUPPORTED, "kernel_sizes is not a list"},
        {"{\"out_channels\": 8, \"kernel_sizes\": [1, 2]}", AOE_EUNSUPPORTED,
         "element 1 of kernel_sizes is not an odd number"},
        {"{\"out_channels\": 8, \"kernel_sizes\": [1, 3], \"stride_sizes\": [1, 2]}", AOE_EUNSUPPORTED,
         "element 1 of stride_sizes is not 1"},
        {"{\"out_channels\": 8, \"kernel_sizes\": [1, 5]}", AOE_EFORMAT,
         "tensor 'convs.1.weight' of the module CNN does not have the shape"},
    };
    aoe_model *m;
    aoe_error err;
    aoe_model_options o;
    test_model_write(test_dir, NULL);
    put_modules(2 * (size_t)D);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_rejected(cases[i].config, cases[i].code, cases[i].fragment);
    put_cnn(valid);
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_FIRST_LAST_AVG;
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, &o, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "the module CNN uses only the last hidden state");
    assert_int_equal(aoei_model_open_mlm(&m, test_model_context, test_dir, NULL, 1, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "a model with the module CNN cannot be pretrained");
    put_modules(D);
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "word_embedding_dimension is 8, but the model's hidden size is 16");
}

static void reports_failed_allocations(void **state) {
    (void)state;
    test_model_write(test_dir, NULL);
    put_modules(2 * (size_t)D);
    put_cnn(valid);
    test_alloc_failures(test_model_open_once, test_dir, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(applies_the_convolutions, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_invalid_modules, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(reports_failed_allocations, test_dir_set_up, test_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
