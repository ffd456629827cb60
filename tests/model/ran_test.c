/* SPDX-License-Identifier: MIT
 * Tests model directories of RANs (recurrent additive networks): creation, conversion to other storage types,
 * embedding, pretraining and training. An embedding must not depend on the other texts of a batch. Trained weights must
 * not depend on the number of threads, on interruptions, on recomputation of activations, or on the division of batches
 * into chunks. Invalid values in config.json must be rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "encoder/ran.h"
#include "encoder/ran_slots.h"
#include "encoder/shapes.h"
#include "encoder/slots.h"
#include "model/model.h"

enum { D = 16, TEXTS = 24 };

static char *dir, *bert, *ran; /* dir: test directory. bert, ran: directories of a BERT model and a RAN. */
static char *texts, *table;    /* texts: path of a text file. table: path of a table of labeled pairs. */

static const aoe_shape shape = {.struct_size = sizeof(aoe_shape),
                                .hidden = D,
                                .layers = 2,
                                .heads = 2,
                                .positions = 32,
                                .architecture = "ran",
                                .head_size = 6,
                                .window = 4};

/* Creates a model directory with random weights and the tokenizer of the BERT model. */
static void create_model(const char *to, const aoe_shape *s) {
    aoe_context *ctx = tiny_context(1);
    aoe_init_options o;
    aoe_error err;
    aoe_init_options_defaults(&o);
    o.shape = *s;
    o.tokenizer_from = bert;
    if (aoe_init(ctx, to, &o, NULL, &err))
        fail_msg("%s", err.message);
    aoe_context_destroy(ctx);
}

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    bert = test_path(dir, "bert");
    ran = test_path(dir, "ran");
    const tiny_model source = tiny_defaults();
    tiny_model_write(bert, &source);
    create_model(ran, &shape);
    char *all = malloc(TEXTS * 256);
    size_t at = 0;
    for (uint32_t i = 0; i < TEXTS; i++)
        at += (size_t)sprintf(all + at, "%s\n", tiny_text(i));
    texts = test_write_text(dir, "texts.txt", all);
    free(all);
    table = tiny_table(dir, "train.tsv", 10, 1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    free(bert);
    free(ran);
    free(texts);
    free(table);
    return 0;
}

static int has_file(const char *in, const char *name) {
    char *path = test_path(in, name);
    const int exists = aoei_exists(path);
    free(path);
    return exists;
}

static void test_directory(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_model_info info = {.struct_size = sizeof info};
    assert_int_equal(aoe_model_open(&m, ctx, ran, NULL, NULL), 0);
    aoe_model_get_info(m, &info);
    assert_string_equal(info.architecture, "ran");
    assert_true(info.window == 4 && info.min_window == 4 && info.head_size == 6 && info.heads == 2 && info.layers == 2);
    assert_true(!info.positions && !info.intermediate && !info.token_types && info.max_length == 32 && info.dims == D);
    assert_int_equal(info.pooling, AOE_POOLING_CELL_MEAN);
    /* D is the hidden size, and H = 2 * 6 = 12 is the total size of the heads. Each layer has matrices with 4 D H + 10
     * D^2 elements, biases with 3 H + 11 D elements, and normalization weights with 8 D elements. The model also has an
     * initial cell with D elements, and token embeddings. */
    assert_int_equal(info.parameters,
                     2 * (4 * D * 12 + 10 * D * D + 3 * 12 + 11 * D + 8 * D) + D + tiny_vocab() * D + 2 * D);
    assert_false(has_file(ran, "modules.json"));
    char *readme = test_path(ran, "README.md"), *text = test_read(readme, NULL);
    assert_non_null(strstr(text, "windows of 4 tokens"));
    assert_non_null(strstr(text, "other programs do not support its architecture"));
    free(text);
    free(readme);
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot a, b;
        aoei_slot_describe(&m->config, i, &a);
        for (size_t k = 0; k < i && !a.absent; k++) {
            aoei_slot_describe(&m->config, k, &b);
            assert_true(b.absent || strcmp(a.name, b.name) != 0);
        }
    }
    aoei_slot s;
    aoei_slot_describe(&m->config, aoei_slot_of_layer(&m->config, 1, AOEI_RW_O), &s);
    assert_string_equal(s.name, "ran.1.encode_attn.dense_o.weight");
    assert_true(s.rows == D && s.cols == 12 && s.decay && s.linear);
    aoei_slot_describe(&m->config, aoei_slot_of_layer(&m->config, 0, AOEI_RW_FIRST_CELL), &s);
    assert_string_equal(s.name, "ran.0.cell_initializer_layernorm.bias");
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Returns the embeddings [TEXTS, D] of all texts. The caller frees the array. */
static float *embed(const char *model, size_t threads, size_t batch_tokens, const aoe_model_options *o) {
    aoe_context *ctx = tiny_context(threads);
    aoe_model *m;
    aoe_embedder *e = NULL;
    aoe_embedder_options options;
    aoe_text text[TEXTS];
    char *copies[TEXTS];
    float *v = malloc(TEXTS * D * sizeof *v);
    aoe_error err;
    for (uint32_t i = 0; i < TEXTS; i++) {
        copies[i] = malloc(256);
        snprintf(copies[i], 256, "%s", tiny_text(i));
        text[i] = aoe_text_of(copies[i]);
    }
    aoe_embedder_options_defaults(&options);
    options.batch_tokens = batch_tokens;
    if (aoe_model_open(&m, ctx, model, o, &err) || aoe_embedder_create(&e, m, &options, &err) ||
        aoe_embed(e, text, TEXTS, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    for (size_t i = 0; i < TEXTS; i++)
        free(copies[i]);
    return v;
}

static void test_embed(void **state) {
    (void)state;
    for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++)
        for (int pooling = AOE_POOLING_CLS; pooling <= AOE_POOLING_CELL_MAX; pooling++) { /* the others need a
                                                                                             transformer */
            aoe_model_options o;
            aoe_model_options_defaults(&o);
            o.dtype = (aoe_dtype)dtype;
            o.pooling = (aoe_pooling)pooling;
            float *a = embed(ran, 1, 1, &o), *b = embed(ran, 2, 4096, &o);
            assert_memory_equal(a, b, TEXTS * D * sizeof *a);
            double norm = 0;
            for (size_t i = 0; i < D; i++)
                norm += (double)a[i] * (double)a[i];
            assert_true(norm > 0 && isfinite(norm));
            free(a);
            free(b);
        }
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_error err;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.pooling = AOE_POOLING_CELL_LAST;
    assert_int_equal(aoe_model_open(&m, ctx, bert, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "pooling 'cell-last' (option) is not supported by architecture"));
    aoe_context_destroy(ctx);
}

/* Tests the conversion of models. A model stored in bf16 or int8 must give similar embeddings. A model stored in
 * float32 must give bit-identical embeddings. */
static void test_convert(void **state) {
    (void)state;
    static const char *const names[] = {"as-f32", "as-bf16", "as-int8"};
    aoe_context *ctx = tiny_context(1);
    aoe_model_options mo;
    aoe_model_options_defaults(&mo);
    mo.dtype = AOE_DTYPE_F32;
    float *want = embed(ran, 1, 4096, &mo);
    for (int storage = AOE_STORAGE_F32; storage <= AOE_STORAGE_INT8; storage++) {
        char *to = test_path(dir, names[storage]);
        aoe_convert_options o = {.struct_size = sizeof(aoe_convert_options),
                                 .table = {.struct_size = sizeof(aoe_table_options)},
                                 .storage = (aoe_storage)storage};
        aoe_error err;
        if (aoe_convert(ctx, ran, to, &o, NULL, &err))
            fail_msg("%s", err.message);
        float *got = embed(to, 1, 4096, &mo);
        double difference = 0, norm = 0;
        for (size_t i = 0; i < TEXTS * D; i++) {
            difference += pow((double)got[i] - (double)want[i], 2);
            norm += pow((double)want[i], 2);
        }
        assert_true(sqrt(difference / norm) < (storage == AOE_STORAGE_F32 ? 1e-30 : 0.1));
        free(got);
        free(to);
    }
    free(want);
    aoe_context_destroy(ctx);
}

static int stop_at_3(void *user, const aoe_train_event *e) {
    (void)user;
    return e->kind == AOE_TRAIN_STEP && e->step == 3;
}

/* Settings of a training run that must not change its result. */
typedef struct run_settings {
    size_t threads;
    int stop;      /* 1: the run is stopped after step 3 and resumed */
    int recompute; /* 1: the backward pass recomputes activations */
    size_t chunk;  /* examples per chunk (GradCache); 0: no chunks */
} run_settings;

static int pretrain(const char *from, const char *to, const run_settings *how, aoe_train_fn event, int resume,
                    aoe_error *err) {
    aoe_context *ctx = tiny_context(how->threads);
    aoe_pretrain_options o;
    aoe_pretrain_options_defaults(&o);
    o.args.model = from;
    o.args.output = to;
    o.args.max_steps = 6;
    o.args.save_every = 2;
    o.args.recompute = how->recompute;
    o.args.resume = resume;
    o.args.event = event;
    o.args.model_options.dtype = AOE_DTYPE_F32;
    o.texts = (const char *const[]){texts};
    o.n_texts = 1;
    o.batch_size = 8;
    o.held_out = 0.2;
    const int rc = aoe_pretrain(ctx, &o, err);
    aoe_context_destroy(ctx);
    return rc;
}

static int train(const char *from, const char *to, const run_settings *how, aoe_train_fn event, int resume,
                 aoe_error *err) {
    aoe_context *ctx = tiny_context(how->threads);
    aoe_train_options o;
    aoe_train_data data;
    aoe_train_options_defaults(&o);
    aoe_train_data_defaults(&data, table);
    o.args.model = from;
    o.args.output = to;
    o.args.epochs = 2;
    o.args.save_every = 2;
    o.args.recompute = how->recompute;
    o.args.resume = resume;
    o.args.event = event;
    o.args.model_options.dtype = AOE_DTYPE_F32;
    o.cache_chunk = how->chunk;
    o.data = &data;
    o.n_data = 1;
    o.batch_size = 4;
    const int rc = aoe_train(ctx, &o, err);
    aoe_context_destroy(ctx);
    return rc;
}

typedef int run_fn(const char *from, const char *to, const run_settings *how, aoe_train_fn event, int resume,
                   aoe_error *err);

static char *weights_of(const char *model, size_t *size) {
    char *path = test_path(model, "model.safetensors"), *data = test_read(path, size);
    free(path);
    return data;
}

/* Runs `run` with each of n settings. Asserts that all runs write identical weights, and that these weights differ from
 * the weights of the initial model. */
static void assert_identical_weights(run_fn *run, const char *from, const char *name, const run_settings *settings,
                                     size_t n) {
    size_t size, other_size;
    char *whole = NULL, *before = weights_of(from, &size);
    for (size_t i = 0; i < n; i++) {
        char to_name[64];
        aoe_error err;
        snprintf(to_name, sizeof to_name, "%s%zu", name, i);
        char *to = test_path(dir, to_name);
        const run_settings *m = &settings[i];
        if (m->stop) {
            assert_int_equal(run(from, to, m, stop_at_3, 0, &err), AOE_ECANCELLED);
        }
        if (run(from, to, m, NULL, m->stop, &err))
            fail_msg("%s", err.message);
        char *weights = weights_of(to, &other_size);
        if (!whole) {
            assert_true(other_size != size || memcmp(before, weights, size) != 0);
            whole = weights;
            size = other_size;
        } else {
            assert_int_equal(size, other_size);
            assert_memory_equal(whole, weights, size);
            free(weights);
        }
        free(to);
    }
    free(whole);
    free(before);
}

static void test_training(void **state) {
    (void)state;
    static const run_settings pretraining_runs[] = {{1, 0, 0, 0}, {2, 1, 0, 0}, {1, 0, 1, 0}};
    static const run_settings training_runs[] = {{1, 0, 0, 0}, {2, 1, 0, 0}, {1, 0, 1, 0}, {2, 0, 0, 2}};
    assert_identical_weights(pretrain, ran, "words", pretraining_runs, 3);
    char *words = test_path(dir, "words0");
    /* training must ignore the prediction head that pretraining saved */
    assert_identical_weights(train, words, "pairs", training_runs, 4);
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    char *pairs = test_path(dir, "pairs0");
    assert_int_equal(aoe_model_open(&m, ctx, pairs, NULL, NULL), 0);
    assert_int_equal(m->settings.pooling, AOE_POOLING_CELL_MEAN);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(pairs);
    free(words);
}

static void test_configurations(void **state) {
    (void)state;
    static const char base[] =
        "{\"model_type\": \"ran\", \"hidden_size\": 8, \"num_hidden_layers\": 2, \"num_attention_heads\": "
        "2, \"head_size\": 6, \"vocab_size\": 16}";
    static const struct {
        const char *key, *value, *message;
        int code;
    } cases[] = {
        {"head_size", "5", "head_size 5 is odd", AOE_EFORMAT},
        {"head_size", "0", "\"head_size\" is 0", AOE_EFORMAT},
        {"head_size", "65536", "\"head_size\" is 65536", AOE_EFORMAT},
        {"head_size", NULL, "head_size", AOE_EFORMAT},
        {"num_attention_heads", "0", "\"num_attention_heads\" is 0", AOE_EFORMAT},
        {"num_hidden_layers", "0", "\"num_hidden_layers\" is 0", AOE_EFORMAT},
        {"hidden_size", "99999999", "\"hidden_size\" is 99999999", AOE_EFORMAT},
        {"window_size", "0", "\"window_size\" is 0", AOE_EFORMAT},
        {"window_size", "8", "\"min_window_size\" is 16; it must be between 1 and 8", AOE_EFORMAT},
        {"min_window_size", "0", "\"min_window_size\" is 0", AOE_EFORMAT},
        {"dropout", "1", "\"dropout\" is 1", AOE_EFORMAT},
        {"layer_norm_eps", "0", "\"layer_norm_eps\" is 0", AOE_EFORMAT},
        {"norm_variant", "\"rms\"", "norm_variant \"rms\" is not supported (supported: textbook, langml)",
         AOE_EUNSUPPORTED},
        {"cell_pooling", "\"first\"", "cell_pooling \"first\" is not supported (supported: last, mean, max)",
         AOE_EUNSUPPORTED},
        {"memory_review", "false", "memory_review is false", AOE_EUNSUPPORTED},
    };
    aoei_encoder_config c, again;
    aoe_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *config = NULL;
        assert_int_equal(aoei_json_parse(&config, base, strlen(base), "config.json", NULL), 0);
        if (cases[i].value)
            json_object_set_new(config, cases[i].key, json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(config, cases[i].key);
        const int code = aoei_config_read(&c, config, "config.json", &err);
        if (code != cases[i].code || !strstr(err.message, cases[i].message))
            fail_msg("%s = %s: found code %d, \"%s\"; expected code %d, \"%s\"", cases[i].key,
                     cases[i].value ? cases[i].value : "(missing)", code, err.message, cases[i].code, cases[i].message);
        json_decref(config);
    }
    json_t *config = NULL, *written = json_object();
    assert_int_equal(aoei_json_parse(&config, base, strlen(base), "config.json", NULL), 0);
    json_object_set_new(config, "cell_pooling", json_string("max"));
    json_object_set_new(config, "norm_variant", json_string("langml"));
    assert_int_equal(aoei_config_read(&c, config, "config.json", NULL), 0);
    assert_true(c.pooling == AOE_POOLING_CELL_MAX && c.ran.langml_norm && c.ran.window == 256 &&
                c.ran.min_window == 16);
    assert_true(c.norm_eps == 1e-7 && c.attention_dropout == 0.1);
    assert_int_equal(c.arch->write(&c, written), 0);
    assert_int_equal(aoei_config_read(&again, written, "config.json", NULL), 0);
    assert_memory_equal(&c, &again, sizeof c);
    json_decref(config);
    json_decref(written);
}

/* Tests that cell_pooling in config.json selects the pooling of the model if there is no aoe.json. */
static void test_config_pooling(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_model_info info = {.struct_size = sizeof info};
    char *own = test_path(ran, "aoe.json"), *path = test_path(ran, "config.json"), *before = test_read(path, NULL);
    char *settings = test_read(own, NULL);
    json_t *config = json_loads(before, 0, NULL);
    json_object_set_new(config, "cell_pooling", json_string("last"));
    char *text = json_dumps(config, 0);
    free(test_write_text(ran, "config.json", text));
    remove(own);
    assert_int_equal(aoe_model_open(&m, ctx, ran, NULL, NULL), 0);
    aoe_model_get_info(m, &info);
    assert_int_equal(info.pooling, AOE_POOLING_CELL_LAST);
    assert_string_equal(info.pooling_from, "config.json");
    assert_int_equal(info.max_length, 512);
    aoe_model_close(m);
    free(test_write_text(ran, "config.json", before));
    free(test_write_text(ran, "aoe.json", settings));
    free(text);
    json_decref(config);
    free(before);
    free(settings);
    free(path);
    free(own);
    aoe_context_destroy(ctx);
}

/* Tests the shapes that can be selected by name. They must have the documented numbers of parameters. ran-mini must be
 * about as large as the BERT model aoe-mini. */
static void test_shapes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t parameters;
    } cases[] = {{"ran-base", 84880128}, {"ran-mini", 5444864}, {"aoe-mini", 5475072}};
    for (size_t i = 0; i < 3; i++) {
        aoe_shape s = {.struct_size = sizeof s};
        aoei_encoder_config c;
        assert_int_equal(aoe_shape_named(&s, cases[i].name, NULL), 0);
        assert_int_equal(aoei_shape_config(&c, &s, NULL), 0);
        assert_int_equal(aoei_parameter_count(&c), cases[i].parameters);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_directory),      cmocka_unit_test(test_embed),
                                       cmocka_unit_test(test_convert),        cmocka_unit_test(test_training),
                                       cmocka_unit_test(test_configurations), cmocka_unit_test(test_config_pooling),
                                       cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
