/* SPDX-License-Identifier: MIT
 * covers: modeldir/layer_pooling
 * Tests settings of sentence-transformers that change the vectors of a model: truncate_dim,
 * include_prompt and the module WeightedLayerPooling. The vectors must be those that sentence-transformers computes,
 * and a saved model must have the same settings.
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
#include "modeldir/safetensors_writer.h"

enum { TEXTS = 3, MAX_DIMS = 32 };
static const char *const texts[TEXTS] = {"a b c", "d", "e f g h i j k a b c d e f g"}; /* the last text is truncated */

static int n_warnings;

static void on_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    n_warnings += level == AOE_LOG_WARNING && !strstr(message, "\"note\""); /* test_config_json has this key */
}

/* Computes the embeddings of `texts` with the model in `from`. Returns the number of components. v: [TEXTS, MAX_DIMS];
 * the rows of the embeddings are consecutive. */
static size_t embed(const char *from, const aoe_model_options *o, aoe_chunk chunk, float *v) {
    aoe_model *m = test_model_open(test_model_context, from, o);
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

/* Opens the model in `test_dir` for training and saves it to `to`. Neither directory may contain unknown keys. */
static void resave(const char *to) {
    aoe_context *ctx;
    aoe_model *m;
    aoe_error err;
    const aoe_context_options o = {.struct_size = sizeof o, .threads = 1, .log = on_log};
    n_warnings = 0;
    assert_int_equal(aoe_context_create(&ctx, &o, NULL), 0);
    if (aoei_model_open_trainable(&m, ctx, test_dir, NULL, &err) || aoei_model_save(m, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
    if (aoe_model_open(&m, ctx, to, NULL, &err))
        fail_msg("%s", err.message);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    assert_int_equal(n_warnings, 0);
}

static void expect_rejected(const char *file, const char *text, int code, const char *fragment) {
    aoe_model *m;
    aoe_error err;
    free(test_write_text(test_dir, file, text));
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, NULL, &err), code);
    FRAGMENT(err, file);
    FRAGMENT(err, fragment);
    char *path = test_path(test_dir, file);
    remove(path);
    free(path);
}

static void put_modules(const char *modules) {
    free(test_write_text(test_dir, "modules.json", modules));
    free(test_write_text(test_dir, "1_Pooling/config.json",
                         "{\"word_embedding_dimension\": 8, \"pooling_mode\": \"mean\"}"));
}

#define MODULE(path, type) "{\"path\": \"" path "\", \"type\": \"sentence_transformers.models." type "\"}"

/* The embeddings are the first components of the normalized embeddings. They are normalized again only if the caller
 * requests normalization. */
static void truncates_after_all_modules(void **state) {
    (void)state;
    static const char *const modules[] = {
        "[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]",
        "[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") ", " MODULE("2_Normalize", "Normalize") "]"};
    char *folder = test_path(test_dir, "1_Pooling"), *to = test_path(test_dir, "saved");
    float whole[TEXTS * MAX_DIMS], got[TEXTS * MAX_DIMS];
    aoe_model_options o;
    aoe_model_info info = {.struct_size = sizeof info};
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
    for (size_t k = 0; k < 4; k++) {
        const aoe_chunk chunk = k / 2 ? AOE_CHUNK_MEAN : AOE_CHUNK_FIRST;
        put_modules(modules[k % 2]);
        free(test_write_text(test_dir, "config_sentence_transformers.json", "{}"));
        assert_int_equal(embed(test_dir, NULL, chunk, whole), 8);
        free(test_write_text(test_dir, "config_sentence_transformers.json", "{\"truncate_dim\": 5}"));
        assert_int_equal(embed(test_dir, NULL, chunk, got), 5);
        for (size_t i = 0; i < TEXTS; i++)
            assert_memory_equal(got + 5 * i, whole + 8 * i, 5 * sizeof *got);

        aoe_model *m = test_model_open(test_model_context, test_dir, NULL);
        aoe_model_get_info(m, &info);
        assert_true(info.dims == 5 && info.hidden == 8);
        aoe_model_close(m);

        aoe_model_options_defaults(&o);
        o.normalize = 1;
        assert_int_equal(embed(test_dir, &o, chunk, got), 5);
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
    free(test_write_text(test_dir, "config_sentence_transformers.json", "{\"truncate_dim\": 100}"));
    assert_int_equal(embed(test_dir, NULL, AOE_CHUNK_FIRST, got), 8);
    expect_rejected("config_sentence_transformers.json", "{\"truncate_dim\": 0}", AOE_EFORMAT, "truncate_dim is 0");
    expect_rejected("config_sentence_transformers.json", "{\"truncate_dim\": \"5\"}", AOE_EFORMAT, "truncate_dim");
    free(to);
    free(folder);
}

/* Writes a model with a pooling mode of sentence-transformers and computes the vector v[8] of "d" with the prompt "a b
 * ". */
static void embed_prompted(const char *mode, int include_prompt, float *v) {
    char text[200];
    aoe_embedder *e;
    aoe_model_options o;
    const aoe_text t = aoe_text_of("d");
    aoe_model_options_defaults(&o);
    o.prompt_name = "query";
    put_modules("[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]");
    snprintf(text, sizeof text, "{\"pooling_mode\": \"%s\", \"include_prompt\": %s}", mode,
             include_prompt ? "true" : "false");
    free(test_write_text(test_dir, "1_Pooling/config.json", text));
    free(test_write_text(test_dir, "config_sentence_transformers.json", "{\"prompts\": {\"query\": \"a b \"}}"));
    aoe_model *m = test_model_open(test_model_context, test_dir, &o);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, &t, 1, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

/* The tokens are [CLS] a b d [SEP]. Without the prompt, the pooling uses the hidden states of d and [SEP], which depend
 * on the prompt. */
static void leaves_out_the_prompt(void **state) {
    (void)state;
    char *folder = test_path(test_dir, "1_Pooling"), *to = test_path(test_dir, "saved");
    float d[8], sep[8], got[8], all[8];
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
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

/* Writes the module WeightedLayerPooling with the weights of the last n hidden states. */
static void put_layer_weights(const float *weights, size_t n) {
    char text[200], *folder = test_path(test_dir, "1_Weights"), *path = test_path(folder, "model.safetensors");
    const aoei_st_entry entry = {"layer_weights", AOEI_ST_F32, 1, {n}};
    aoei_st_writer *w;
    mkdir(folder, 0777);
    snprintf(text, sizeof text, "{\"embedding_dimension\": 8, \"num_hidden_layers\": 2, \"layer_start\": %zu}", 3 - n);
    free(test_write_text(folder, "config.json", text));
    assert_int_equal(aoei_st_writer_open(&w, path, &entry, 1, NULL), 0);
    assert_int_equal(aoei_st_writer_write(w, weights, n * sizeof *weights, NULL), 0);
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
    free(folder);
}

static const char layer_modules[] = "[" MODULE("", "Transformer") ", " MODULE(
    "1_Weights", "WeightedLayerPooling") ", " MODULE("1_Pooling", "Pooling") "]";

/* Mean pooling is linear, so the embedding is the weighted mean of the embeddings that the hidden states give alone. */
static void computes_the_mean_of_layers(void **state) {
    (void)state;
    static const float one[3][3] = {{2, 0, 0}, {0, -1, 0}, {0, 0, 3}}, all[3] = {1, -0.5f, 2}, last[2] = {3, 1};
    char *folder = test_path(test_dir, "1_Pooling"), *to = test_path(test_dir, "saved"),
         *config = strdup(test_config_json);
    aoe_model *m;
    aoe_error err;
    float alone[3][TEXTS * MAX_DIMS], plain[TEXTS * MAX_DIMS], got[TEXTS * MAX_DIMS];
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
    put_modules("[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]");
    assert_int_equal(embed(test_dir, NULL, AOE_CHUNK_FIRST, plain), 8);
    put_modules(layer_modules);
    put_layer_weights(all, 3);
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, NULL, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "does not contain \"output_hidden_states\": true");
    config = realloc(config, strlen(config) + 100);
    strcpy(strrchr(config, '}'), ", \"output_hidden_states\": true}");
    free(test_write_text(test_dir, "config.json", config));
    for (size_t i = 0; i < 3; i++) {
        put_layer_weights(one[i], 3);
        embed(test_dir, NULL, AOE_CHUNK_FIRST, alone[i]);
    }
    assert_memory_equal(alone[2], plain, (size_t)TEXTS * 8 * sizeof *plain);
    for (int k = 0; k < 2; k++) {
        put_layer_weights(k ? last : all, k ? 2 : 3);
        for (int pass = 0; pass < 3; pass++) {
            embed(pass ? to : test_dir, NULL, AOE_CHUNK_FIRST, got);
            for (size_t i = 0; i < (size_t)TEXTS * 8; i++) {
                const double x = alone[0][i], y = alone[1][i], z = alone[2][i];
                assert_true(fabs((double)got[i] - (k ? (3 * y + z) / 4 : (x - 0.5 * y + 2 * z) / 2.5)) < 1e-5);
            }
            if (!pass)
                resave(to);
            char *own = test_path(to, "aoe.json"); /* the files of sentence-transformers contain the same settings */
            if (pass)
                remove(own);
            free(own);
        }
    }
    free(config);
    free(to);
    free(folder);
}

/* The poolings last-two-avg and layer1-last-avg are the mean of the embeddings of two hidden states.
 * sentence-transformers computes them with WeightedLayerPooling, so that the embeddings are bit-identical if aoe.json
 * is missing. */
static void computes_the_mean_of_two_layers(void **state) {
    (void)state;
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const struct {
        aoe_pooling pooling;
        size_t layer;
    } cases[] = {{AOE_POOLING_LAST_TWO_AVG, 1}, {AOE_POOLING_LAYER1_LAST_AVG, 1}};
    char *folder = test_path(test_dir, "1_Pooling"), *to = test_path(test_dir, "saved"),
         *config = strdup(test_config_json);
    float alone[3][TEXTS * MAX_DIMS], got[TEXTS * MAX_DIMS], again[TEXTS * MAX_DIMS];
    aoe_model *m;
    aoe_error err;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
    put_modules(layer_modules);
    config = realloc(config, strlen(config) + 100);
    strcpy(strrchr(config, '}'), ", \"output_hidden_states\": true}");
    free(test_write_text(test_dir, "config.json", config));
    for (size_t i = 0; i < 3; i++) {
        put_layer_weights(one[i], 3);
        embed(test_dir, NULL, AOE_CHUNK_FIRST, alone[i]);
    }
    o.pooling = AOE_POOLING_LAST_TWO_AVG;
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, &o, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "the model has the module WeightedLayerPooling");
    free(test_write_text(test_dir, "config.json", test_config_json));
    put_modules("[" MODULE("", "Transformer") ", " MODULE("1_Pooling", "Pooling") "]");
    for (size_t k = 0; k < 2; k++) {
        char text[100], *own = test_path(to, "aoe.json");
        snprintf(text, sizeof text, "{\"format_version\": 5, \"pooling\": \"%s\"}", aoe_pooling_name(cases[k].pooling));
        o.pooling = cases[k].pooling;
        embed(test_dir, &o, AOE_CHUNK_FIRST, got);
        for (size_t i = 0; i < (size_t)TEXTS * 8; i++)
            assert_true(fabs((double)got[i] - ((double)alone[cases[k].layer][i] + (double)alone[2][i]) / 2) < 1e-6);
        free(test_write_text(test_dir, "aoe.json", text));
        resave(to);
        embed(to, NULL, AOE_CHUNK_FIRST, again);
        assert_memory_equal(again, got, (size_t)TEXTS * 8 * sizeof *got);
        o.pooling = AOE_POOLING_LAST_AVG;
        embed(to, &o, AOE_CHUNK_FIRST, again);
        assert_memory_equal(again, alone[2], (size_t)TEXTS * 8 * sizeof *got);
        assert_int_equal(remove(own), 0);
        embed(to, NULL, AOE_CHUNK_FIRST, again);
        assert_memory_equal(again, got, (size_t)TEXTS * 8 * sizeof *got);
        free(own);
    }
    free(config);
    free(to);
    free(folder);
}

/* Mask pooling uses the state of the token [MASK] of the prompt, and rejects texts without or with several of them. */
static void pools_the_mask_token(void **state) {
    (void)state;
    float got[TEXTS * MAX_DIMS], cls[TEXTS * MAX_DIMS];
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err;
    aoe_model_options o;
    aoe_text t = aoe_text_of("a [MASK]");
    test_model_write(test_dir, NULL);
    aoe_model_options_defaults(&o);
    o.prompt = "{text} [MASK]";
    o.pooling = AOE_POOLING_MASK;
    embed(test_dir, &o, AOE_CHUNK_FIRST, got);
    o.pooling = AOE_POOLING_CLS;
    embed(test_dir, &o, AOE_CHUNK_FIRST, cls);
    assert_memory_not_equal(got, cls, 8 * sizeof *got);
    o.pooling = AOE_POOLING_MASK;
    for (int k = 0; k < 2; k++) {
        m = test_model_open(test_model_context, test_dir, &o);
        assert_int_equal(aoe_embedder_create(&e, m, NULL, &err), 0);
        assert_int_equal(aoe_embed(e, &t, 1, got, NULL, &err), AOE_EFORMAT);
        FRAGMENT(err, "mask pooling requires exactly one token [MASK] in every text");
        assert_int_equal(strstr(err.message, "remove the token from the text") != NULL, !k);
        aoe_embedder_destroy(e);
        aoe_model_close(m);
        o.prompt = NULL;
        t = aoe_text_of("a");
    }
}

static void rejects_invalid_layer_weights(void **state) {
    (void)state;
    static const float weights[3] = {1, 1, 1};
    static const struct {
        const char *file, *text, *fragment;
    } cases[] = {
        {"1_Weights/config.json", "{\"num_hidden_layers\": 3, \"layer_start\": 0}", "num_hidden_layers is 3"},
        {"1_Weights/config.json", "{\"num_hidden_layers\": 2, \"layer_start\": 3}", "layer_start is 3"},
        {"1_Weights/config.json", "{\"num_hidden_layers\": 2}", "layer_start is 4"},
        {"1_Weights/config.json", "{\"num_hidden_layers\": 2, \"layer_start\": 0, \"word_embedding_dimension\": 9}",
         "word_embedding_dimension is 9, but the model requires 8"},
        {"1_Weights/config.json", "[]", "not a JSON object"},
    };
    char *folder = test_path(test_dir, "1_Pooling"), *config = malloc(strlen(test_config_json) + 100);
    aoe_model *m;
    aoe_error err;
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
    put_modules(layer_modules);
    strcpy(config, test_config_json);
    strcpy(strrchr(config, '}'), ", \"output_hidden_states\": true}");
    free(test_write_text(test_dir, "config.json", config));
    put_layer_weights(weights, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_rejected(cases[i].file, cases[i].text, AOE_EFORMAT, cases[i].fragment);
    put_layer_weights(weights, 2); /* the configuration requires three weights */
    free(test_write_text(test_dir, "1_Weights/config.json", "{\"num_hidden_layers\": 2, \"layer_start\": 0}"));
    assert_int_equal(aoe_model_open(&m, test_model_context, test_dir, NULL, &err), AOE_EFORMAT);
    FRAGMENT(err, "tensor 'layer_weights' of the module WeightedLayerPooling does not have the shape");
    put_layer_weights(weights, 3);
    assert_int_equal(aoei_model_open_mlm(&m, test_model_context, test_dir, NULL, 1, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "a model with the module WeightedLayerPooling cannot be pretrained");
    free(config);
    free(folder);
}

/* Failed allocations while a model with all of these settings is opened. */
static void reports_failed_allocations(void **state) {
    (void)state;
    static const float weights[3] = {1, 1, 1};
    char *folder = test_path(test_dir, "1_Pooling"), *config = malloc(strlen(test_config_json) + 100);
    mkdir(folder, 0777);
    test_model_write(test_dir, NULL);
    put_modules(layer_modules);
    strcpy(config, test_config_json);
    strcpy(strrchr(config, '}'), ", \"output_hidden_states\": true}");
    free(test_write_text(test_dir, "config.json", config));
    put_layer_weights(weights, 3);
    free(test_write_text(test_dir, "config_sentence_transformers.json",
                         "{\"truncate_dim\": 5, \"similarity_fn_name\": \"dot\"}"));
    test_alloc_failures(test_model_open_once, test_dir, 100);
    free(config);
    free(folder);
}

static void keeps_the_similarity(void **state) {
    (void)state;
    static const char *const names[] = {"cosine", "dot", "euclidean", "manhattan"};
    char *to = test_path(test_dir, "saved"), text[80];
    test_model_write(test_dir, NULL);
    free(test_write_text(test_dir, "aoe.json", "{\"format_version\": 1}")); /* without this file, modules.json is
                                                                               required */
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "{\"similarity_fn_name\": \"%s\"}", names[i]);
        free(test_write_text(test_dir, "config_sentence_transformers.json", text));
        resave(to);
        for (int pass = 0; pass < 2; pass++) {
            char *own = test_path(to, "aoe.json");
            aoe_model *m = test_model_open(test_model_context, to, NULL);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(truncates_after_all_modules, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(leaves_out_the_prompt, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(computes_the_mean_of_layers, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(computes_the_mean_of_two_layers, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(pools_the_mask_token, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_invalid_layer_weights, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(reports_failed_allocations, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(keeps_the_similarity, test_dir_set_up, test_dir_tear_down),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
