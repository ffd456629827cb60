/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: create/flow_fit
 * Tests BERT-flow: the training of the flow against values that NumPy computed, and aoe_flow, which adds the flow to a
 * model. The saved model must compute the flow of the embeddings of the start model. Other tests cover examples with
 * several texts, several threads, copies of the model, further training, damaged files, rejected options, cancellation,
 * and failed allocations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/path.h"
#include "create/flow_fit.h"
#include "modeldir/safetensors_writer.h"
#include "nn/flow.h"

enum { TEXTS = 90, D = 16, PARAMETERS = 3 * (35 * (16 + 8 + 4) + 3 * 1152) };

static char *dir, *bert, *texts, *out;
static aoe_text text[TEXTS];
static char *words; /* buffer to which the elements of text point; owned */

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    bert = test_path(dir, "bert");
    out = test_path(dir, "out");
    tiny_model_write(bert, &shape);
    words = malloc(TEXTS * 256);
    size_t at = 0;
    for (uint32_t i = 0; i < TEXTS; i++) {
        const size_t n = (size_t)sprintf(words + at, "%s\n", tiny_text(i)) - 1;
        text[i] = (aoe_text){words + at, n};
        at += n + 1;
    }
    texts = test_write_text(dir, "texts.txt", words);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    free(bert);
    free(texts);
    free(out);
    free(words);
    return 0;
}

/* ------------------------------------------------------------------ fitting */

static void close_to(double got, double want, double tolerance) {
    if (!(fabs(got - want) <= tolerance))
        fail_msg("got %.15g, expected %.15g", got, want);
}

/* Two steps on six pairs, which form one batch. NumPy computed the values, with gradients by complex steps. */
static void reference_fit(void **state) {
    (void)state;
    enum { DIMS = 8, N = 12 };
    static const size_t index[] = {0, 9, 16, 31, 34, 40, 50, 60}, first[] = {0, 2, 4, 6, 8, 10, 12};
    static const double want[] = {-0.08696902819898886, 0.18691184058471866,  0.09783550660151852,
                                  0.8309182107046919,   -0.07845643914514348, 0.018737260839093387,
                                  0.007405382932390267, 0.007402991774570053};
    const aoei_flow_shape shape = {.dims = DIMS, .levels = 2, .depth = 2, .width = 3};
    float x[N * DIMS];
    for (int k = 0; k < N * DIMS; k++)
        x[k] = (float)(sin(1.3 * k + 0.01 * k * k) + 0.5 * cos(k % DIMS));
    const aoei_flow_data data = {.vectors = x, .first = first, .examples = 6};
    for (size_t threads = 1; threads <= 3; threads++) {
        const aoei_flow_fit_options o = {.epochs = 2, .batch_size = 5 + threads, .lr = 1e-3, .seed = 7};
        aoe_context *ctx = tiny_context(threads);
        aoei_flow_fit_result r;
        aoei_flow f;
        double *memory = malloc(aoei_flow_doubles(&shape, AOEI_FLOW_FIT_ROWS, 1) * sizeof *memory), sum = 0,
               squares = 0;
        aoei_flow_place(&f, &shape, AOEI_FLOW_FIT_ROWS, 1, memory);
        assert_int_equal(aoei_flow_fit(&f, &data, &o, ctx->pool, &r, NULL), 0);
        assert_int_equal(f.parameters, 228);
        assert_int_equal(r.steps, 2);
        close_to(r.bits_start, 1.3903013872939107, 1e-12);
        close_to(r.bits, 1.380932652764435, 1e-7); /* the parameters are rounded to float32 */
        for (size_t i = 0; i < sizeof index / sizeof *index; i++)
            close_to(f.value[index[i]], want[i], 5e-8 * fabs(want[i]) + 1e-11);
        for (size_t k = 0; k < f.parameters; k++) {
            sum += f.value[k];
            squares += f.value[k] * f.value[k];
        }
        close_to(sum, 25.216938606267234, 1e-6);
        close_to(squares, 28.489079997542134, 1e-6);
        free(memory);
        aoe_context_destroy(ctx);
    }
}

/* ----------------------------------------------------------------- aoe_flow */

static aoe_flow_options defaults(void) {
    aoe_flow_options o;
    aoe_flow_options_defaults(&o);
    o.texts = (const char *const *)&texts;
    o.n_texts = 1;
    o.model_options.dtype = AOE_DTYPE_F32;
    o.force = 1;
    return o;
}

static void fit(const char *from, const aoe_flow_options *o, aoe_flow_result *r, size_t threads) {
    aoe_context *ctx = tiny_context(threads);
    aoe_error err = {0};
    if (aoe_flow(ctx, from, out, o, r, &err))
        fail_msg("%s", err.message);
    aoe_context_destroy(ctx);
}

/* Computes the embeddings [TEXTS, D] of the texts. */
static void embed(const char *model, const aoe_model_options *options, float *v) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, model, options ? options : &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_model_dims(m), D);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    if (aoe_embed(e, text, TEXTS, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

static char *bytes_of(const char *name, size_t *size) {
    char *path = test_path(out, name), *data = test_read(path, size);
    free(path);
    return data;
}

/* Checks that the model in `out` computes the flow in its folder of the embeddings of the model `from`. Returns the
 * mean loss of the texts in bits per component. */
static double check(const char *from, const aoe_model_options *options) {
    static float before[TEXTS * D], after[TEXTS * D];
    const aoei_flow_shape shape = {.dims = D, .levels = 3, .depth = 3, .width = 32};
    embed(from, options, before);
    embed(out, NULL, after);
    size_t size;
    char *file = bytes_of("2_Flow/model.safetensors", &size);
    const size_t offset = size - PARAMETERS * sizeof(float);
    aoei_flow f;
    double *memory = malloc(aoei_flow_doubles(&shape, TEXTS, 0) * sizeof *memory), bits = 0;
    aoei_flow_place(&f, &shape, TEXTS, 0, memory);
    assert_int_equal(f.parameters, PARAMETERS);
    for (size_t k = 0; k < PARAMETERS; k++) {
        float v;
        memcpy(&v, file + offset + k * sizeof v, sizeof v);
        f.value[k] = (double)v;
    }
    aoei_flow_update(&f);
    for (size_t k = 0; k < TEXTS * D; k++)
        f.input[k] = (double)before[k];
    aoei_flow_forward(&f, NULL, TEXTS);
    for (size_t k = 0; k < TEXTS * D; k++)
        assert_true(after[k] == (float)f.output[k]);
    for (size_t i = 0; i < TEXTS; i++)
        bits += aoei_flow_bits(f.output + i * D, D, aoei_flow_logdet(&f)) / TEXTS;
    free(memory);
    free(file);
    return bits;
}

/* Tests several poolings, among them the pooling of the paper. */
static void fits(void **state) {
    (void)state;
    static const aoe_pooling poolings[] = {AOE_POOLING_CLS, AOE_POOLING_LAST_AVG, AOE_POOLING_FIRST_LAST_AVG,
                                           AOE_POOLING_LAYER1_LAST_AVG};
    static const char *const absent[] = {"1_Pooling", "1_WeightedLayerPooling"};
    for (size_t i = 0; i < sizeof poolings / sizeof *poolings; i++) {
        aoe_flow_options o = defaults();
        aoe_flow_result r = {.struct_size = sizeof r};
        o.model_options.pooling = poolings[i];
        fit(bert, &o, &r, 2);
        assert_int_equal(r.texts, TEXTS);
        assert_int_equal(r.examples, TEXTS);
        assert_int_equal(r.dims, D);
        assert_int_equal(r.parameters, PARAMETERS);
        assert_int_equal(r.steps, 3);
        assert_true(r.bits < r.bits_start);
        close_to(check(bert, &o.model_options), r.bits, 1e-12);
        char *readme = bytes_of("README.md", NULL), *settings = bytes_of("aoe.json", NULL),
             *modules = bytes_of("modules.json", NULL);
        /* sentence-transformers has no such modules, so it cannot open the directory */
        assert_non_null(strstr(modules, poolings[i] == AOE_POOLING_FIRST_LAST_AVG
                                            ? "sentence_transformers.models.AoePooling\""
                                            : "sentence_transformers.models.AoeFlow\""));
        free(modules);
        assert_null(strstr(readme, "library_name: sentence-transformers"));
        assert_non_null(strstr(readme, "Use aoe for this model: sentence-transformers cannot open the model"));
        assert_non_null(strstr(readme, "they have no module for the flow after the pooling"));
        assert_null(strstr(readme, "With sentence-transformers"));
        assert_non_null(strstr(settings, "\"format_version\": 7"));
        assert_non_null(strstr(settings, "\"bits_start\""));
        for (size_t k = 0; k < sizeof absent / sizeof *absent; k++) {
            char *path = test_path(out, absent[k]);
            assert_false(aoei_exists(path));
            free(path);
        }
        free(readme);
        free(settings);
    }
}

/* The flow must not depend on the number of threads or on the size of the batches of the encoder, but on the seed. */
static void independent_of_threads(void **state) {
    (void)state;
    char *want = NULL;
    size_t size = 0;
    for (size_t i = 0; i < 4; i++) {
        aoe_flow_options o = defaults();
        size_t n;
        o.batch_tokens = i == 2 ? 64 : 4096;
        o.seed = i == 3 ? 43 : 42;
        fit(bert, &o, NULL, i == 3 ? 1 : 1 + i);
        char *got = bytes_of("2_Flow/model.safetensors", &n);
        assert_non_null(got);
        if (want)
            assert_true((n == size && !memcmp(got, want, n)) == (i < 3));
        else
            want = got;
        size = n;
        if (got != want)
            free(got);
    }
    free(want);
}

/* The texts of a row of a table form an example. Several files are read one after the other. */
static void examples_of_tables(void **state) {
    (void)state;
    char *pairs = malloc(TEXTS * 256);
    sprintf(pairs, "sentence1\tsentence2\tlabel\n");
    for (size_t i = 0; i < 40; i += 2)
        sprintf(pairs + strlen(pairs), "%.*s\t%.*s\tperhaps\n", (int)text[i].len, text[i].data, (int)text[i + 1].len,
                text[i + 1].data);
    char *files[] = {test_write_text(dir, "pairs.tsv", pairs),
                     test_write_text(dir, "more.txt", "a cat\na dog\nthe house\n")};
    aoe_flow_options o = defaults();
    aoe_flow_result r = {.struct_size = sizeof r};
    o.texts = (const char *const *)files;
    o.n_texts = 2;
    o.epochs = 2;
    o.batch_size = 10;
    fit(bert, &o, &r, 1);
    assert_int_equal(r.texts, 43);
    assert_int_equal(r.examples, 23);
    assert_int_equal(r.steps, 6);
    char *record = bytes_of("aoe.json", NULL);
    assert_non_null(strstr(record, "more.txt"));
    assert_non_null(strstr(record, "\"examples\": 23"));
    o.table.columns = "sentence2";
    o.n_texts = 1;
    fit(bert, &o, &r, 1);
    assert_int_equal(r.texts, 20);
    assert_int_equal(r.examples, 20);
    for (size_t i = 0; i < 2; i++)
        free(files[i]);
    free(record);
    free(pairs);
}

/* Writes a static model, whose component `constant` has the same value for all tokens, unless it is D. Returns its
 * path, which the caller frees. */
static char *write_static(const char *name, size_t constant) {
    char *fixed = test_path(dir, name), *vocab = test_path(bert, "vocab.txt"), *list = test_read(vocab, NULL);
    assert_int_equal(aoei_make_dir(fixed, NULL), 0);
    char *weights = test_path(fixed, "model.safetensors");
    free(test_write_text(fixed, "vocab.txt", list));
    const aoei_st_entry entry = {"embeddings", AOEI_ST_F32, 2, {tiny_vocab(), D}};
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, weights, &entry, 1, NULL), 0);
    for (size_t i = 0; i < tiny_vocab() * D; i++) {
        const float v = i % D == constant ? 0.25f : (float)sin(1.7 * (double)(i % 997) + (double)i / 97);
        assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(vocab);
    free(list);
    free(weights);
    return fixed;
}

/* A component that is the same in all embeddings does not make the training diverge. */
static void constant_component(void **state) {
    (void)state;
    char *fixed = write_static("constant", 3);
    aoe_flow_options o = defaults();
    aoe_flow_result r = {.struct_size = sizeof r};
    o.epochs = 5;
    fit(fixed, &o, &r, 1);
    assert_true(isfinite(r.bits_start) && r.bits < r.bits_start);
    size_t n, size;
    char *one = bytes_of("2_Flow/model.safetensors", &n);
    fit(fixed, &o, &r, 3);
    char *three = bytes_of("2_Flow/model.safetensors", &size);
    assert_true(n == size && !memcmp(one, three, n));
    free(one);
    free(three);
    free(fixed);
}

/* Tests a model with adapters, a static model with texts without tokens, and copies of a model with a flow. */
static void other_models(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    char *adapters = test_path(dir, "adapters"), *fixed = write_static("static", D), *copy = test_path(dir, "copy");
    tiny_adapters_write(ctx, adapters, bert, 3, NULL);
    aoe_flow_options o = defaults();
    aoe_flow_result r = {.struct_size = sizeof r};
    fit(adapters, &o, &r, 1);
    close_to(check(adapters, NULL), r.bits, 1e-5); /* merged adapters are rounded in the output */
    static const aoe_storage types[] = {AOE_STORAGE_F32, AOE_STORAGE_BF16, AOE_STORAGE_INT8};
    for (size_t i = 0; i < 3; i++) {
        const aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                                       .table = {.struct_size = sizeof(aoe_table_options)},
                                       .storage = types[i],
                                       .force = 1};
        size_t n, size;
        assert_int_equal(aoe_convert(ctx, out, copy, &c, NULL, NULL), 0);
        char *path = test_path(copy, "2_Flow/model.safetensors"), *got = test_read(path, &n),
             *want = bytes_of("2_Flow/model.safetensors", &size);
        assert_true(n == size && !memcmp(got, want, n));
        free(path);
        free(got);
        free(want);
    }
    char *lines = test_write_text(dir, "lines.txt", "the cat\n\x01\na dog\nthe house\n");
    o.texts = (const char *const *)&lines;
    fit(fixed, &o, &r, 1);
    assert_int_equal(r.texts, 3);
    assert_int_equal(r.examples, 3);
    char *readme = bytes_of("README.md", NULL);
    assert_non_null(strstr(readme, "they have no module for the flow"));
    free(readme);
    free(lines);
    free(adapters);
    free(fixed);
    free(copy);
    aoe_context_destroy(ctx);
}

/* ------------------------------------------------------------------ errors */

static void expect_rejected(const char *from, const aoe_flow_options *o, int code, const char *fragment) {
    aoe_context *ctx = tiny_context(1);
    aoe_error err = {0};
    const int got = aoe_flow(ctx, from, out, o, NULL, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("got code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
    aoe_context_destroy(ctx);
}

static int stop_embedding(void *user, aoe_flow_stage stage, size_t done, size_t total) {
    (void)user;
    assert_true(done > 0 && (stage == AOE_FLOW_TRAIN) == (total > 0));
    return stage == AOE_FLOW_EMBED;
}

static int stop_training(void *user, aoe_flow_stage stage, size_t done, size_t total) {
    (void)user;
    (void)total;
    return stage == AOE_FLOW_TRAIN && done == 2;
}

static void rejected_options(void **state) {
    (void)state;
    aoe_flow_options o = defaults();
    fit(bert, &o, NULL, 1);
    char *flowed = test_path(dir, "flowed"), *one = test_write_text(dir, "one.txt", "the cat\n"),
         *equal = test_write_text(dir, "equal.txt", "the cat\nthe cat\nthe cat\n"),
         *empty = test_write_text(dir, "empty.txt", "the cat\n\n");
    assert_int_equal(rename(out, flowed), 0);
    expect_rejected(flowed, &o, AOE_EARG, "the model already has a flow after the pooling");
    aoe_whiten_options white;
    aoe_whiten_options_defaults(&white);
    white.texts = o.texts;
    white.n_texts = 1;
    aoe_context *ctx = tiny_context(1);
    aoe_error err;
    assert_int_equal(aoe_whiten(ctx, flowed, out, &white, NULL, &err), AOE_EARG);
    assert_non_null(
        strstr(err.message, "the model already has a flow after the pooling; start from the model without it"));
    aoe_context_destroy(ctx);
    o.n_texts = 0;
    expect_rejected(bert, &o, AOE_EARG, "options.texts is empty");
    o = defaults();
    o.levels = 5;
    expect_rejected(bert, &o, AOE_EARG,
                    "an embedding has 16 components, but a flow with 5 levels needs a multiple of 32");
    o.levels = 9;
    expect_rejected(bert, &o, AOE_EARG, "options.levels is 9; give an integer from 1 to 8");
    o = defaults();
    o.batch_size = 1;
    expect_rejected(bert, &o, AOE_EARG, "options.batch_size is 1; give an integer from 2 to");
    o = defaults();
    o.lr = NAN;
    expect_rejected(bert, &o, AOE_EARG, "options.lr is nan");
    o.lr = 1e30;
    expect_rejected(bert, &o, AOE_ENUMERIC, "lower options.lr");
    o = defaults();
    o.texts = (const char *const *)&one;
    expect_rejected(bert, &o, AOE_EFORMAT, "a flow needs at least 2 texts, but there is 1; give many more texts");
    o.texts = (const char *const *)&equal;
    expect_rejected(bert, &o, AOE_EFORMAT, "the embeddings of all 3 texts of the first batch are equal");
    o.texts = (const char *const *)&empty;
    expect_rejected(bert, &o, AOE_EFORMAT, "empty.txt:2: column 'text': the text is empty");
    o = defaults();
    o.progress = stop_embedding;
    expect_rejected(bert, &o, AOE_ECANCELLED, "cancelled");
    o.progress = stop_training;
    expect_rejected(bert, &o, AOE_ECANCELLED, "cancelled");
    assert_false(aoei_exists(out));
    o = defaults();
    o.force = 0;
    fit(bert, &o, NULL, 1);
    expect_rejected(bert, &o, AOE_EEXIST, "already contains a model");
    free(one);
    free(equal);
    free(empty);
    free(flowed);
}

/* Opens the model in `out` and checks the error. */
static void expect_damaged(int code, const char *fragment) {
    aoe_context *ctx = tiny_context(1);
    aoe_model *m = NULL;
    aoe_error err = {0};
    const int got = aoe_model_open(&m, ctx, out, NULL, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("got code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
    aoe_context_destroy(ctx);
}

/* Writes 2_Flow/model.safetensors with one tensor [n], whose last element is `last`. */
static void write_tensor(const char *name, aoei_st_dtype type, size_t n, float last) {
    char *path = test_path(out, "2_Flow/model.safetensors");
    const aoei_st_entry entry = {name, type, 1, {n}};
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, &entry, 1, NULL), 0);
    for (size_t k = 0; k < n; k++) {
        const float v = k + 1 == n ? last : 0;
        assert_int_equal(aoei_st_writer_write(w, &v, aoei_st_dtype_size(type), NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
}

static void damaged_files(void **state) {
    (void)state;
    aoe_flow_options o = defaults();
    fit(bert, &o, NULL, 1);
    char *folder = test_path(out, "2_Flow"), *weights = test_path(out, "2_Flow/model.safetensors"),
         *config = test_path(out, "2_Flow/config.json");
    write_tensor("parameters", AOEI_ST_F32, PARAMETERS, NAN);
    expect_damaged(AOE_ENUMERIC, "tensor 'parameters' contains NaN at element");
    write_tensor("parameters", AOEI_ST_F32, PARAMETERS - 1, 0);
    expect_damaged(AOE_EFORMAT,
                   "tensor 'parameters' of the flow does not have the shape that config.json in this folder requires");
    write_tensor("weights", AOEI_ST_F32, PARAMETERS, 0);
    expect_damaged(AOE_EFORMAT, "tensor 'parameters' of the flow is missing");
    write_tensor("parameters", AOEI_ST_I8, PARAMETERS, 0);
    expect_damaged(AOE_EUNSUPPORTED, "the data type of tensor 'parameters' is I8; flows must be F32, F16 or BF16");
    free(test_write_text(folder, "model.safetensors", "damaged"));
    expect_damaged(AOE_EFORMAT, "2_Flow");
    assert_int_equal(remove(weights), 0);
    expect_damaged(AOE_ENOENT, "2_Flow");
    write_tensor("parameters", AOEI_ST_F32, PARAMETERS, 0);
    free(test_write_text(folder, "config.json", "{\"levels\": 5, \"depth\": 3, \"width\": 32}"));
    expect_damaged(AOE_EFORMAT, "levels is 5, but the number of components of the input, 16, is not a multiple of 32");
    free(test_write_text(folder, "config.json", "{\"levels\": 3, \"depth\": 0, \"width\": 32}"));
    expect_damaged(AOE_EFORMAT, "depth");
    free(test_write_text(folder, "config.json", "{\"levels\": 3, \"depth\": 3}"));
    expect_damaged(AOE_EFORMAT, "width");
    free(test_write_text(folder, "config.json", "[]"));
    expect_damaged(AOE_EFORMAT, "not a JSON object");
    assert_int_equal(remove(config), 0);
    expect_damaged(AOE_ENOENT, "2_Flow/config.json");
    free(folder);
    free(weights);
    free(config);
}

static int run_failing(void *arg) {
    (void)arg;
    const aoe_flow_options o = defaults();
    aoe_context *ctx;
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = 1;
    int code = aoe_context_create(&ctx, &c, NULL);
    if (code)
        return code;
    code = aoe_flow(ctx, bert, out, &o, NULL, NULL);
    aoe_context_destroy(ctx);
    char *config = test_path(out, "config.json");
    assert_true(code || aoei_exists(config));
    free(config);
    return code;
}

static void out_of_memory(void **state) {
    (void)state;
    test_dir_remove(strdup(out));
    assert_true(test_alloc_failures_published(run_failing, NULL, 150) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_fit),      cmocka_unit_test(fits),          cmocka_unit_test(independent_of_threads),
        cmocka_unit_test(examples_of_tables), cmocka_unit_test(other_models),  cmocka_unit_test(rejected_options),
        cmocka_unit_test(damaged_files),      cmocka_unit_test(out_of_memory), cmocka_unit_test(constant_component),
    };
    return cmocka_run_group_tests_name("flow", tests, set_up, tear_down);
}
