/* SPDX-License-Identifier: MIT
 * tags: numbers threads
 * Tests settings of sentence-transformers that change the vectors of a model: truncate_dim and
 * include_prompt. The vectors must be those that sentence-transformers computes, and a saved model must have the same settings.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_train.h"
#include "model/model.h"
#include "model/open.h"
#include "model/save.h"

enum { TEXTS = 3, MAX_DIMS = 32 };
static const char *const texts[TEXTS] = {"a b c", "d", "e f g h i j k a b c d e f g"}; /* the last text is truncated */

static char *dir;

static aoe_model *open_model(const char *from, const aoe_model_options *o) {
    aoe_model *m;
    aoe_error err;
    if (aoe_model_open(&m, test_model_context, from, o, &err))
        fail_msg("%s", err.message);
    return m;
}

/* Computes the embeddings of `texts` with the model in `from`. Returns the number of components. v: [TEXTS, MAX_DIMS]; the rows
 * of the embeddings are consecutive. */
static size_t embed(const char *from, const aoe_model_options *o, aoe_chunk chunk, float *v) {
    aoe_model *m = open_model(from, o);
    aoe_embedder *e;
    aoe_embedder_options options;
    aoe_error err;
    aoe_text t[TEXTS];
    aoe_embedder_options_defaults(&options);
    options.chunk = chunk;
    for (size_t i = 0; i < TEXTS; i++)
        t[i] = aoe_text_of(texts[i]);
    const size_t dims = aoe_model_dims(m);
    assert_true(dims <= MAX_DIMS);
    if (aoe_embedder_create(&e, m, &options, &err) || aoe_embed(e, t, TEXTS, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return dims;
}

/* Opens the model in `dir` for training and saves it to `to`. */
static void resave(const char *to) {
    aoe_model *m;
    aoe_error err;
    if (aoei_model_open_trainable(&m, test_model_context, dir, NULL, &err) || aoei_model_save(m, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
}

static void expect_rejected(const char *file, const char *text, int code, const char *fragment) {
    aoe_model *m;
    aoe_error err;
    free(test_write_text(dir, file, text));
    assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, &err), code);
    FRAGMENT(err, file);
    FRAGMENT(err, fragment);
    char *path = test_path(dir, file);
    remove(path);
    free(path);
}

static void put_modules(const char *modules) {
    free(test_write_text(dir, "modules.json", modules));
    free(test_write_text(dir, "1_Pooling/config.json", "{\"word_embedding_dimension\": 8, \"pooling_mode\": \"mean\"}"));
}

#define MODULE(path, type) "{\"path\": \"" path "\", \"type\": \"sentence_transformers.models." type "\"}"

/* The embeddings are the first components of the normalized embeddings. They are normalized again only if the caller requests
 * normalization. */
static void truncates_after_all_modules(void **state) {
    (void)state;
    static const char *const modules[] = {
        "[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]",
        "[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") ", " MODULE("2_Normalize", "Normalize") "]"};
    char *folder = test_path(dir, "1_Pooling"), *to = test_path(dir, "saved");
    float whole[TEXTS * MAX_DIMS], got[TEXTS * MAX_DIMS];
    aoe_model_options o;
    aoe_model_info info;
    mkdir(folder, 0777);
    test_model_write(dir, NULL);
    for (size_t k = 0; k < 4; k++) {
        const aoe_chunk chunk = k / 2 ? AOE_CHUNK_MEAN : AOE_CHUNK_FIRST;
        put_modules(modules[k % 2]);
        free(test_write_text(dir, "config_sentence_transformers.json", "{}"));
        assert_int_equal(embed(dir, NULL, chunk, whole), 8);
        free(test_write_text(dir, "config_sentence_transformers.json", "{\"truncate_dim\": 5}"));
        assert_int_equal(embed(dir, NULL, chunk, got), 5);
        for (size_t i = 0; i < TEXTS; i++)
            assert_memory_equal(got + 5 * i, whole + 8 * i, 5 * sizeof *got);

        aoe_model *m = open_model(dir, NULL);
        aoe_model_get_info(m, &info);
        assert_true(info.dims == 5 && info.hidden == 8);
        aoe_model_close(m);

        aoe_model_options_defaults(&o);
        o.normalize = 1;
        assert_int_equal(embed(dir, &o, chunk, got), 5);
        for (size_t i = 0; i < TEXTS; i++) {
            double squares = 0, slice = 0;
            for (size_t c = 0; c < 5; c++) {
                squares += (double)got[5 * i + c] * (double)got[5 * i + c];
                slice += (double)whole[8 * i + c] * (double)whole[8 * i + c];
            }
            assert_true(fabs(squares - 1) < 1e-6);
            for (size_t c = 0; c < 5; c++)
                assert_true(fabs((double)got[5 * i + c] - (double)whole[8 * i + c] / sqrt(slice)) < 1e-6);
        }
        resave(to);
        for (int pass = 0; pass < 2; pass++) {
            char *own = test_path(to, "aoe.json");
            assert_int_equal(embed(to, NULL, chunk, got), 5);
            for (size_t i = 0; i < TEXTS; i++)
                assert_memory_equal(got + 5 * i, whole + 8 * i, 5 * sizeof *got);
            remove(own); /* the files of sentence-transformers contain the same settings */
            free(own);
        }
    }
    free(test_write_text(dir, "config_sentence_transformers.json", "{\"truncate_dim\": 100}"));
    assert_int_equal(embed(dir, NULL, AOE_CHUNK_FIRST, got), 8);
    expect_rejected("config_sentence_transformers.json", "{\"truncate_dim\": 0}", AOE_EFORMAT, "truncate_dim is 0");
    expect_rejected("config_sentence_transformers.json", "{\"truncate_dim\": \"5\"}", AOE_EFORMAT, "truncate_dim");
    free(to);
    free(folder);
}

/* Writes a model with a pooling mode of sentence-transformers and computes the vector v[8] of "d" with the prompt "a b ". */
static void embed_prompted(const char *mode, int include_prompt, float *v) {
    char text[200];
    aoe_embedder *e;
    aoe_model_options o;
    const aoe_text t = aoe_text_of("d");
    aoe_model_options_defaults(&o);
    o.prompt_name = "query";
    put_modules("[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]");
    snprintf(text, sizeof text, "{\"pooling_mode\": \"%s\", \"include_prompt\": %s}", mode, include_prompt ? "true" : "false");
    free(test_write_text(dir, "1_Pooling/config.json", text));
    free(test_write_text(dir, "config_sentence_transformers.json", "{\"prompts\": {\"query\": \"a b \"}}"));
    aoe_model *m = open_model(dir, &o);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, &t, 1, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

/* The tokens are [CLS] a b d [SEP]. Without the prompt, the pooling uses the hidden states of d and [SEP], which depend on the
 * prompt. */
static void leaves_out_the_prompt(void **state) {
    (void)state;
    char *folder = test_path(dir, "1_Pooling"), *to = test_path(dir, "saved");
    float d[8], sep[8], got[8], all[8];
    mkdir(folder, 0777);
    test_model_write(dir, NULL);
    embed_prompted("cls", 0, d);
    embed_prompted("lasttoken", 1, sep);
    embed_prompted("lasttoken", 0, got);
    assert_memory_equal(got, sep, sizeof sep);
    embed_prompted("max", 0, got);
    for (size_t c = 0; c < 8; c++)
        assert_true(got[c] == (d[c] > sep[c] ? d[c] : sep[c]));
    embed_prompted("weightedmean", 0, got); /* the positions of the two tokens are 4 and 5 */
    for (size_t c = 0; c < 8; c++)
        assert_true(fabs((double)got[c] - (4 * (double)d[c] + 5 * (double)sep[c]) / 9) < 1e-6);
    embed_prompted("mean", 1, all);
    embed_prompted("mean", 0, got);
    assert_memory_not_equal(got, all, sizeof got);
    for (size_t c = 0; c < 8; c++)
        assert_true(got[c] == (float)(((double)d[c] + (double)sep[c]) / 2));

    resave(to);
    static const char *const files[] = {"aoe.json", "1_Pooling/config.json"};
    for (size_t i = 0; i < 2; i++) {
        char *path = test_path(to, files[i]), *text = test_read(path, NULL);
        assert_non_null(strstr(text, "\"include_prompt\": false"));
        free(text);
        free(path);
    }
    free(to);
    free(folder);
}

static void keeps_the_similarity(void **state) {
    (void)state;
    static const char *const names[] = {"cosine", "dot", "euclidean", "manhattan"};
    char *to = test_path(dir, "saved"), text[80];
    test_model_write(dir, NULL);
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "{\"similarity_fn_name\": \"%s\"}", names[i]);
        free(test_write_text(dir, "config_sentence_transformers.json", text));
        resave(to);
        for (int pass = 0; pass < 2; pass++) {
            char *own = test_path(to, "aoe.json");
            aoe_model *m = open_model(to, NULL);
            assert_string_equal(aoei_similarity_name(m->settings.similarity), names[i]);
            aoe_model_close(m);
            remove(own);
            free(own);
        }
    }
    expect_rejected("config_sentence_transformers.json", "{\"similarity_fn_name\": \"maxsim\"}", AOE_EUNSUPPORTED,
                    "similarity_fn_name 'maxsim' is not supported (supported: cosine, dot, euclidean, manhattan)");
    free(to);
}

static int set_up(void **state) {
    (void)state;
    dir = test_dir_create();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(truncates_after_all_modules, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_out_the_prompt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_the_similarity, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
