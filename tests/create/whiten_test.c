/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests whitening. Whitening adds a dense layer to a model. For the texts on which the layer was fitted, the embeddings
 * must have mean 0, and their covariance must be the identity matrix. The layer must agree with an independent
 * computation. Other tests cover every pooling, fewer components, other architectures and adapters, rejected options,
 * several threads, and failed allocations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "modeldir/safetensors_writer.h"

enum { TEXTS = 90, D = 16 };

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

static aoe_whiten_options defaults(void) {
    aoe_whiten_options o;
    aoe_whiten_options_defaults(&o);
    o.texts = (const char *const *)&texts;
    o.n_texts = 1;
    o.model_options.dtype = AOE_DTYPE_F32;
    o.force = 1;
    return o;
}

static void whiten(const char *from, const aoe_whiten_options *o, aoe_whiten_result *r, size_t threads) {
    aoe_context *ctx = tiny_context(threads);
    aoe_error err = {0};
    if (aoe_whiten(ctx, from, out, o, r, &err))
        fail_msg("%s", err.message);
    aoe_context_destroy(ctx);
}

/* Computes the embeddings of the texts and stores them in v [TEXTS, dims]. Returns dims. */
static size_t embed(const char *model, const aoe_model_options *options, float *v) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, model, options ? options : &o, &err))
        fail_msg("%s", err.message);
    const size_t dims = aoe_model_dims(m);
    assert_true(dims <= D);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    if (aoe_embed(e, text, TEXTS, v, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return dims;
}

/* Computes the mean and the covariance matrix of the rows of v [TEXTS, dims]. */
static void moments(const float *v, size_t dims, double mean[D], double cov[D][D]) {
    memset(mean, 0, D * sizeof *mean);
    memset(cov, 0, D * D * sizeof **cov);
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < dims; k++)
            mean[k] += (double)v[i * dims + k] / TEXTS;
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < dims; k++)
            for (size_t j = 0; j < dims; j++)
                cov[k][j] += ((double)v[i * dims + k] - mean[k]) * ((double)v[i * dims + j] - mean[j]) / TEXTS;
}

/* Checks the whitened model in `out` and r, the result of the whitening. The model's embeddings must have mean 0, and
 * their covariance must be the identity matrix. The rows of the dense layer must be scaled eigenvectors of the
 * covariance of the embeddings of the model `from`, in descending order of the eigenvalues. */
static void check(const char *from, const aoe_model_options *options, const aoe_whiten_result *r) {
    static float before[TEXTS * D], after[TEXTS * D];
    double mean[D], cov[D][D], own_mean[D], own[D][D];
    const size_t dims = embed(out, NULL, after);
    assert_int_equal(dims, r->dims);
    assert_int_equal(embed(from, options, before), D);
    moments(after, dims, mean, cov);
    moments(before, D, own_mean, own);
    for (size_t k = 0; k < dims; k++) {
        assert_true(fabs(mean[k]) < 2e-3);
        for (size_t j = 0; j < dims; j++)
            assert_true(fabs(cov[k][j] - (k == j)) < 5e-3);
    }
    /* The loop below checks each row of the dense layer and sums the kept eigenvalues. r->kept must equal this sum
     * divided by the sum of all eigenvalues. */
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    assert_int_equal(aoei_model_open_trainable(&m, ctx, out, NULL, NULL), 0);
    const size_t slot = aoei_pooled_slot(&m->config, AOEI_PW_DENSE);
    const float *w = m->weights[slot].data;
    double last = INFINITY, kept = 0, all = 0;
    for (size_t k = 0; k < dims; k++) {
        double squares = 0, off = 0;
        for (size_t j = 0; j < D; j++)
            squares += (double)w[k * D + j] * (double)w[k * D + j];
        /* The row is u / sqrt(value), where u is a unit eigenvector and `value` its eigenvalue. The sum of the squares
         * of the row is therefore 1 / value. */
        const double value = 1 / squares;
        for (size_t i = 0; i < D; i++) {
            double product = 0;
            for (size_t j = 0; j < D; j++)
                product += own[i][j] * (double)w[k * D + j];
            off += pow(product - value * (double)w[k * D + i], 2);
        }
        assert_true(sqrt(off) <= 1e-5 * own[0][0] * sqrt(squares) + 1e-4 * value * sqrt(squares));
        assert_true(value <= last * (1 + 1e-6));
        last = value;
        kept += value;
    }
    for (size_t k = 0; k < D; k++)
        all += own[k][k];
    assert_true(fabs(r->kept - kept / all) < 1e-4);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Tests every pooling, with all components and with 3 components. The output model must store the pooling and the
 * prompt, and must still normalize embeddings. */
static void whitens(void **state) {
    (void)state;
    for (int pooling = test_next_pooling(0); pooling; pooling = test_next_pooling(pooling))
        for (int some = 0; some < 2; some++) {
            aoe_whiten_options o = defaults();
            aoe_whiten_result r = {.struct_size = sizeof r};
            o.model_options.pooling = (aoe_pooling)pooling;
            o.model_options.prompt = some ? "the {text} house" : NULL;
            o.dims = some ? 3 : AOE_AUTO;
            whiten(bert, &o, &r, 2);
            assert_int_equal(r.texts, TEXTS);
            assert_int_equal(r.dims, some ? 3 : r.rank);
            /* the rank may be smaller than D, because the output of layer normalization does not have full rank */
            assert_true(r.rank >= 14);
            check(bert, &o.model_options, &r);
        }
    static float v[TEXTS * D];
    aoe_whiten_options o = defaults();
    o.model_options.normalize = 1;
    o.dims = 5;
    whiten(bert, &o, NULL, 1);
    assert_int_equal(embed(out, NULL, v), 5);
    for (size_t i = 0; i < TEXTS; i++) {
        double squares = 0;
        for (size_t k = 0; k < 5; k++)
            squares += (double)v[i * 5 + k] * (double)v[i * 5 + k];
        assert_true(fabs(squares - 1) < 1e-6);
    }
}

static char *bytes_of(const char *name, size_t *size) {
    char *path = test_path(out, name), *data = test_read(path, size);
    free(path);
    return data;
}

static void independent_of_threads(void **state) {
    (void)state;
    aoe_whiten_options o = defaults();
    char *want = NULL;
    size_t size = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t n;
        o.batch_tokens = i == 2 ? 64 : 4096;
        whiten(bert, &o, NULL, 1 + i);
        char *got = bytes_of("2_Dense/model.safetensors", &n);
        assert_non_null(got);
        if (want)
            assert_true(n == size && !memcmp(got, want, n));
        else
            want = got;
        size = n;
        if (got != want)
            free(got);
    }
    free(want);
}

/* Tests texts in several files and in tables. The dense layer must not depend on how the texts are divided into files.
 * aoe.json must record the files. */
static void texts_of_any_file(void **state) {
    (void)state;
    char *half = malloc(TEXTS * 256), *pairs = malloc(TEXTS * 256);
    size_t at = 0, n, size;
    strcpy(pairs, "sentence1\tsentence2\tlabel\n");
    for (size_t i = 0; i < 40; i += 2)
        sprintf(pairs + strlen(pairs), "%.*s\t%.*s\tperhaps\n", (int)text[i].len, text[i].data, (int)text[i + 1].len,
                text[i + 1].data);
    for (size_t i = 40; i < TEXTS; i++)
        at += (size_t)sprintf(half + at, "%.*s\n", (int)text[i].len, text[i].data);
    char *files[] = {test_write_text(dir, "pairs.tsv", pairs), test_write_text(dir, "half.txt", half)};
    aoe_whiten_options o = defaults();
    whiten(bert, &o, NULL, 1);
    char *want = bytes_of("2_Dense/model.safetensors", &size);
    o.texts = (const char *const *)files;
    o.n_texts = 2;
    whiten(bert, &o, NULL, 1);
    char *got = bytes_of("2_Dense/model.safetensors", &n), *record = bytes_of("aoe.json", NULL);
    assert_true(n == size);
    assert_memory_equal(got, want, size); /* sums are accumulated text by text, so the division into files has no
                                             effect */
    assert_non_null(strstr(record, "\"whitening\""));
    assert_non_null(strstr(record, "half.txt"));
    assert_non_null(strstr(record, "\"texts\": 90"));
    for (size_t i = 0; i < 2; i++)
        free(files[i]);
    free(half);
    free(pairs);
    free(want);
    free(got);
    free(record);
}

/* Tests whitening of a static model, of a RAN (recurrent additive network) and of a model with adapters. Also converts
 * a whitened model to int8. */
static void other_models(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    char *paths[] = {test_path(dir, "static"), test_path(dir, "ran"), test_path(dir, "adapters")};
    assert_int_equal(aoei_make_dir(paths[0], NULL), 0);
    char *vocab = test_path(bert, "vocab.txt"), *list = test_read(vocab, NULL),
         *weights = test_path(paths[0], "model.safetensors");
    free(test_write_text(paths[0], "vocab.txt", list));
    const aoei_st_entry entry = {"embeddings", AOEI_ST_F32, 2, {tiny_vocab(), D}};
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, weights, &entry, 1, NULL), 0);
    for (size_t i = 0; i < tiny_vocab() * D; i++) {
        const float v = (float)sin(1.7 * (double)(i % 997) + (double)(i / 97));
        assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    aoe_init_options init;
    aoe_init_options_defaults(&init);
    init.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                             .hidden = D,
                             .layers = 2,
                             .heads = 2,
                             .positions = 32,
                             .architecture = "ran",
                             .head_size = 6,
                             .window = 4};
    init.tokenizer_from = bert;
    assert_int_equal(aoe_init(ctx, paths[1], &init, NULL, NULL), 0);
    tiny_adapters_write(ctx, paths[2], bert, 3, NULL);
    for (size_t i = 0; i < 3; i++) {
        aoe_whiten_options o = defaults();
        aoe_whiten_result r = {.struct_size = sizeof r};
        o.dims = 4;
        whiten(paths[i], &o, &r, 1);
        check(paths[i], NULL, &r);
        char *readme = bytes_of("README.md", NULL);
        assert_true(i == 2 || strstr(readme, "Use aoe for this model"));
        free(readme);
    }
    static float before[TEXTS * D], after[TEXTS * D];
    char *again = test_path(dir, "int8");
    const aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                                   .table = {.struct_size = sizeof(aoe_table_options)},
                                   .storage = AOE_STORAGE_INT8,
                                   .force = 1};
    assert_int_equal(embed(out, NULL, before), 4);
    assert_int_equal(aoe_convert(ctx, out, again, &c, NULL, NULL), 0);
    assert_int_equal(embed(again, NULL, after), 4);
    double dot = 0, xx = 0, yy = 0;
    for (size_t i = 0; i < TEXTS * 4; i++) {
        dot += (double)before[i] * (double)after[i];
        xx += (double)before[i] * (double)before[i];
        yy += (double)after[i] * (double)after[i];
    }
    assert_true(dot / sqrt(xx * yy) > 0.99);
    free(again);
    for (size_t i = 0; i < 3; i++)
        free(paths[i]);
    free(vocab);
    free(list);
    free(weights);
    aoe_context_destroy(ctx);
}

static void expect_rejected(const char *from, const aoe_whiten_options *o, int code, const char *fragment) {
    aoe_context *ctx = tiny_context(1);
    aoe_error err = {0};
    const int got = aoe_whiten(ctx, from, out, o, NULL, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("got code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
    aoe_context_destroy(ctx);
}

static void rejected_options(void **state) {
    (void)state;
    aoe_whiten_options o = defaults();
    o.n_texts = 0;
    expect_rejected(bert, &o, AOE_EARG, "options.texts is empty");
    o = defaults();
    o.dims = 17;
    expect_rejected(bert, &o, AOE_EARG, "options.dims is 17, but must be 1 to 16");
    char *few = test_write_text(dir, "few.txt", "the cat\na dog\n"),
         *one = test_write_text(dir, "one.txt", "the cat\n"),
         *equal = test_write_text(dir, "equal.txt", "the cat\nthe cat\nthe cat\n"),
         *empty = test_write_text(dir, "empty.txt", "the cat\n\n");
    o.texts = (const char *const *)&few;
    o.dims = 2;
    expect_rejected(bert, &o, AOE_EARG, "options.dims is 2, but the covariance of 2 embeddings has rank 1");
    o.texts = (const char *const *)&one;
    expect_rejected(bert, &o, AOE_EFORMAT, "one.txt: whitening needs at least 2 texts, but there is 1;");
    o.texts = (const char *const *)&equal;
    expect_rejected(bert, &o, AOE_EFORMAT, "the embeddings of all 3 texts are equal");
    o.texts = (const char *const *)&empty;
    expect_rejected(bert, &o, AOE_EFORMAT, "empty.txt:2: column 'text': the text is empty");
    o = defaults();
    whiten(bert, &o, NULL, 1);
    char *white = test_path(dir, "white");
    assert_int_equal(rename(out, white), 0);
    expect_rejected(white, &o, AOE_EARG, "the model already has a dense layer after the pooling");
    o.force = 0;
    whiten(bert, &o, NULL, 1);
    expect_rejected(bert, &o, AOE_EEXIST, "already contains a model");
    free(few);
    free(one);
    free(equal);
    free(empty);
    free(white);
}

static int run_failing(void *arg) {
    (void)arg;
    const aoe_whiten_options o = defaults();
    aoe_context *ctx;
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = 1;
    int code = aoe_context_create(&ctx, &c, NULL);
    if (code)
        return code;
    code = aoe_whiten(ctx, bert, out, &o, NULL, NULL);
    aoe_context_destroy(ctx);
    char *config = test_path(out, "config.json");
    assert_true(code || aoei_exists(config));
    free(config);
    return code;
}

static void out_of_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures_published(run_failing, NULL, 150) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whitens),      cmocka_unit_test(independent_of_threads), cmocka_unit_test(texts_of_any_file),
        cmocka_unit_test(other_models), cmocka_unit_test(rejected_options),       cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests_name("whiten", tests, set_up, tear_down);
}
