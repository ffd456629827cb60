/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests embedders of one open model in 16 threads at the same time. Each thread embeds other texts, in other groups.
 * The vectors must have the bits that one thread computes, whether the threads share an embedder or have their own, and
 * for any number of threads per call. In each thread, the index of a text that fails must be that of its own last call.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "base/dir.h"
#include "modeldir/safetensors_writer.h"

enum { THREADS = 16, TEXTS = 64, DIMS = 16, OWN = 0 };

static char *dir;
static aoe_text text[TEXTS];

/* ------------------------------------------------------------------ models */

/* Writes a static model whose vocabulary is that of the tiny model in `from`. */
static void write_static(const char *path, const char *from) {
    const aoei_st_entry e = {"embeddings", AOEI_ST_F32, 2, {tiny_vocab(), DIMS}};
    char *source = test_path(from, "vocab.txt"), *vocab = test_read(source, NULL),
         *weights = test_path(path, "model.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(test_write_text(path, "vocab.txt", vocab));
    assert_int_equal(aoei_st_writer_open(&w, weights, &e, 1, NULL), 0);
    for (size_t i = 0; i < tiny_vocab() * DIMS; i++) {
        const float v = (float)(int)(i * 7919 % 2048 - 1024) / 512;
        assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(vocab);
    free(source);
    free(weights);
}

/* Writes a tiny model, and adapters for it if its architecture is Qwen2. Returns the path of the directory to open. */
static char *write_tiny(const char *name, void (*options)(aoei_encoder_config *c)) {
    tiny_model shape = tiny_defaults();
    char *path = test_path(dir, name);
    shape.options = options;
    tiny_model_write(path, &shape);
    if (options != tiny_qwen2)
        return path;
    aoe_context *ctx = tiny_context(1);
    char *adapters = test_path(dir, "adapters");
    tiny_adapters_write(ctx, adapters, path, 3, NULL);
    aoe_context_destroy(ctx);
    free(path);
    return adapters;
}

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    for (uint32_t i = 0; i < TEXTS; i++)
        text[i] = aoe_text_of(strdup(tiny_text(i)));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)text[i].data);
    test_dir_remove(dir);
    return 0;
}

/* ----------------------------------------------------------------- threads */

typedef struct caller {
    pthread_t thread;
    size_t index;
    aoe_model *model;       /* borrowed */
    aoe_embedder *embedder; /* borrowed; NULL: the thread creates its own embedder */
    const float *expected;  /* [TEXTS, DIMS] */
    size_t wrong;           /* number of errors */
} caller;

/* Returns 1 if the vectors of n texts, beginning with text `first`, do not have the expected bits. */
static int differs(const caller *c, aoe_embedder *e, size_t first, size_t n) {
    float v[TEXTS * DIMS] = {0};
    return aoe_embed(e, text + first, n, v, NULL, NULL) || aoe_embed_failed_text(e) != (size_t)-1 ||
           memcmp(v, c->expected + first * DIMS, n * DIMS * sizeof *v) != 0;
}

/* Returns 1 if the failure of text `bad` is not reported. */
static int misreports(aoe_embedder *e, size_t bad) {
    aoe_text broken[THREADS];
    float v[THREADS * DIMS];
    aoe_error err;
    memcpy(broken, text, sizeof broken);
    broken[bad] = aoe_text_of("\xff");
    return aoe_embed(e, broken, THREADS, v, NULL, &err) != AOE_EFORMAT || aoe_embed_failed_text(e) != bad;
}

static void *run_caller(void *arg) {
    caller *c = arg;
    aoe_embedder *e = c->embedder;
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    o.threads = 1 + c->index % 3;
    if (!e && aoe_embedder_create(&e, c->model, &o, NULL)) {
        c->wrong++;
        return NULL;
    }
    for (size_t k = 0; k < 4; k++) {
        const size_t first = (c->index * 3 + k * 11) % TEXTS, left = TEXTS - first;
        c->wrong += (size_t)differs(c, e, first, 1);
        c->wrong += (size_t)differs(c, e, first, left);
        c->wrong += (size_t)misreports(e, c->index);
        c->wrong += (size_t)differs(c, e, 0, first);
    }
    if (!c->embedder)
        aoe_embedder_destroy(e);
    return NULL;
}

/* Runs all threads. threads: options.threads of the embedder that they share, or OWN. */
static void run_callers(aoe_model *m, size_t threads, const float *expected) {
    caller callers[THREADS] = {{.index = 0}};
    aoe_embedder *shared = NULL;
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    o.threads = threads;
    if (threads != OWN)
        assert_int_equal(aoe_embedder_create(&shared, m, &o, NULL), 0);
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (caller){.index = i, .model = m, .embedder = shared, .expected = expected};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    aoe_embedder_destroy(shared);
}

static void open_model(aoe_context **ctx, aoe_model **m, const char *path, aoe_dtype dtype, size_t threads) {
    aoe_model_options o;
    aoe_error err;
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    *ctx = tiny_context(threads);
    if (aoe_model_open(m, *ctx, path, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_model_dims(*m), DIMS);
}

/* Compares 16 threads with one thread. Frees `path`, the directory of the model. */
static void check_model(char *path, aoe_dtype dtype) {
    static const size_t threads[] = {OWN, AOE_AUTO, 1, 2};
    static float expected[TEXTS * DIMS];
    aoe_context *ctx;
    aoe_model *m;
    aoe_embedder *e;
    open_model(&ctx, &m, path, dtype, 1);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, text, TEXTS, expected, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        /* the model is opened again, so that the first calls pack its weights */
        open_model(&ctx, &m, path, dtype, 2);
        run_callers(m, threads[i], expected);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
    }
    free(path);
}

static void test_static(void **state) {
    (void)state;
    char *from = write_tiny("vocabulary", NULL), *path = test_path(dir, "static");
    write_static(path, from);
    free(from);
    check_model(path, AOE_DTYPE_AUTO);
}

static void test_bert(void **state) {
    (void)state;
    check_model(write_tiny("bert", NULL), AOE_DTYPE_F32);
}

static void test_modernbert_bf16(void **state) {
    (void)state;
    check_model(write_tiny("modernbert", tiny_modernbert), AOE_DTYPE_BF16);
}

static void test_qwen2_with_adapters(void **state) {
    (void)state;
    check_model(write_tiny("qwen2", tiny_qwen2), AOE_DTYPE_AUTO);
}

static void test_int8(void **state) {
    (void)state;
    check_model(write_tiny("int8", NULL), AOE_DTYPE_INT8);
}

static void test_options(void **state) {
    (void)state;
    static const size_t invalid[] = {0, 1025};
    char *path = write_tiny("options", NULL);
    aoe_context *ctx;
    aoe_model *m;
    aoe_embedder *e;
    aoe_embedder_options o;
    aoe_error err;
    open_model(&ctx, &m, path, AOE_DTYPE_AUTO, 1);
    aoe_embedder_options_defaults(&o);
    for (size_t i = 0; i < 2; i++) {
        o.threads = invalid[i];
        assert_int_equal(aoe_embedder_create(&e, m, &o, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "options.threads is "));
        assert_null(e);
    }
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static),
        cmocka_unit_test(test_bert),
        cmocka_unit_test(test_modernbert_bf16),
        cmocka_unit_test(test_qwen2_with_adapters),
        cmocka_unit_test(test_int8),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
