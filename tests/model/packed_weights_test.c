/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests models whose weights are packed when they are used (aoei_model_choose_weights). The first batch is computed
 * with unpacked weights if it has few tokens, and all later batches with packed weights. The results must be equal to
 * those of a model whose weights are packed when it is opened.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "encoder/slot_layout.h"
#include "model/open.h"
#include "model/packed_weights.h"

enum { HIDDEN = 16, TEXTS = 40 };

static char *dir;
static const aoe_text short_text = {"the old cat", sizeof "the old cat" - 1};

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* Embeds `n` texts, of which the first has the number `first`. */
static int embed(aoe_embedder *e, size_t first, size_t n, float *vectors, aoe_error *err) {
    char *copies[TEXTS];
    aoe_text texts[TEXTS];
    for (size_t i = 0; i < n; i++) {
        copies[i] = strdup(tiny_text((uint32_t)(first + i)));
        texts[i] = aoe_text_of(copies[i]);
    }
    const int code = aoe_embed(e, texts, n, vectors, NULL, err);
    for (size_t i = 0; i < n; i++)
        free(copies[i]);
    return code;
}

/* Opens a model. later: 1: its weights are packed later; 0: its weights are packed now. */
static aoe_model *open_model(aoe_context *ctx, const char *path, aoe_dtype dtype, int later) {
    aoe_model_options o;
    aoe_model *m;
    aoe_error err = {0};
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    if (later ? aoe_model_open(&m, ctx, path, &o, &err)
              : aoei_model_open_for(&m, ctx, path, &o, &(aoei_open_mode){.packed = 1}, &err))
        fail_msg("%s", err.message);
    return m;
}

static aoe_embedder *embedder_of(aoe_model *m) {
    aoe_embedder *e;
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    return e;
}

/* Compares the vectors of the model in `path` with those of the same model with packed weights. n_first: number of
 * texts of the batch that is computed with unpacked weights. */
static void check_model(aoe_context *ctx, const char *path, aoe_dtype dtype, size_t n_first) {
    static float want[TEXTS * HIDDEN], v[TEXTS * HIDDEN];
    aoe_model *packed = open_model(ctx, path, dtype, 0), *m = open_model(ctx, path, dtype, 1);
    aoe_embedder *e = embedder_of(packed);
    assert_int_equal(embed(e, 0, TEXTS, want, NULL), 0);
    aoe_embedder_destroy(e);
    e = embedder_of(m);
    assert_true(m->later && !packed->later);
    assert_null(m->weights[aoei_layer_slot(0, AOEI_LW_DOWN)].packed);
    assert_int_equal(embed(e, 1, n_first, v, NULL), 0);
    assert_memory_equal(v, want + HIDDEN, n_first * HIDDEN * sizeof *v);
    assert_int_equal(m->later->state, AOEI_LATER_USED);
    assert_int_equal(embed(e, 0, TEXTS, v, NULL), 0);
    assert_memory_equal(v, want, sizeof want);
    assert_int_equal(m->later->state, AOEI_LATER_PACKED);
    assert_non_null(m->later->weights[aoei_layer_slot(0, AOEI_LW_DOWN)].packed);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_model_close(packed);
}

/* Architectures with different linear layers, in every data type in which weights may be stored. */
static void test_equal_results(void **state) {
    (void)state;
    void (*const options[])(aoei_encoder_config *) = {NULL,         tiny_llama, tiny_modernbert, tiny_albert,
                                                      tiny_deberta, tiny_gte,   tiny_electra};
    aoe_context *ctx = tiny_context(2);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        tiny_model shape = tiny_defaults();
        shape.options = options[i];
        char *path = test_path(dir, "model");
        tiny_model_write(path, &shape);
        for (int storage = AOE_STORAGE_F32; storage <= AOE_STORAGE_INT8; storage++) {
            const aoe_convert_options o = {.struct_size = sizeof o,
                                           .table = {.struct_size = sizeof(aoe_table_options)},
                                           .storage = (aoe_storage)storage};
            char *converted = test_path(dir, "converted");
            assert_int_equal(aoe_convert(ctx, path, converted, &o, NULL, NULL), 0);
            for (size_t n_first = 1; n_first <= 15; n_first += 14) { /* the weights are packed per task, and by all
                                                                        threads */
                check_model(ctx, converted, AOE_DTYPE_F32, n_first);
                check_model(ctx, converted, AOE_DTYPE_BF16, n_first);
            }
            test_dir_remove(converted);
        }
        test_dir_remove(path);
    }
    aoe_context_destroy(ctx);
}

/* A first batch with more than AOEI_UNPACKED_TOKENS tokens is computed with packed weights. */
static void test_many_tokens(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    aoe_context *ctx = tiny_context(2);
    char *path = test_path(dir, "model");
    static float v[TEXTS * HIDDEN];
    tiny_model_write(path, &shape);
    aoe_model *m = open_model(ctx, path, AOE_DTYPE_F32, 1);
    aoe_embedder *e = embedder_of(m);
    assert_int_equal(embed(e, 0, TEXTS, v, NULL), 0);
    assert_int_equal(m->later->state, AOEI_LATER_PACKED);
    aoei_chosen_weights w;
    assert_int_equal(aoei_model_choose_weights(&w, m->ctx, m, 1, NULL), 0);
    assert_true(w.weights == m->later->weights && !w.unpacked);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    test_dir_remove(path);
}

/* A model that is computed in int8 is packed when it is opened. */
static void test_packed_at_opening(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    aoe_context *ctx = tiny_context(1);
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    aoe_model *m = open_model(ctx, path, AOE_DTYPE_INT8, 1);
    aoei_chosen_weights w;
    assert_null(m->later);
    assert_int_equal(aoei_model_choose_weights(&w, m->ctx, m, 1, NULL), 0);
    assert_true(w.weights == m->weights && !w.unpacked);
    assert_non_null(w.weights[aoei_layer_slot(0, AOEI_LW_DOWN)].packed);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    test_dir_remove(path);
}

/* A cross-encoder computes the same scores with unpacked and with packed weights. */
static void test_cross_encoder(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoe_model_options o;
    enum { CLASSES = 2 };
    float scores[2][CLASSES]; /* of each call */
    aoe_model *m;
    const aoe_text first = aoe_text_of("the old cat"), second = aoe_text_of("a cat runs fast");
    aoe_model_options_defaults(&o);
    o.cross_encoder = 1;
    assert_int_equal(aoe_model_open(&m, ctx, "tests/golden/cross_encoders/bert", &o, NULL), 0);
    assert_int_equal(m->config.modules.classes, CLASSES);
    aoe_embedder *e = embedder_of(m);
    for (int call = 0; call < 2; call++) {
        assert_int_equal(aoe_score_pairs(e, &first, &second, 1, scores[call], NULL, NULL), 0);
        assert_int_equal(m->later->state, call ? AOEI_LATER_PACKED : AOEI_LATER_USED);
    }
    assert_memory_equal(scores[0], scores[1], sizeof *scores);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* If an allocation fails while texts are embedded, the call fails, and the next call returns the correct vectors. */
static void test_failed_call(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    aoe_context *ctx = tiny_context(1);
    char *path = test_path(dir, "model");
    float want[HIDDEN], v[HIDDEN];
    uint64_t failures = 0;
    tiny_model_write(path, &shape);
    for (int failed = 1; failed;) {
        aoe_model *m = open_model(ctx, path, AOE_DTYPE_F32, 1);
        aoe_embedder *e = embedder_of(m);
        assert_int_equal(aoe_embed(e, &short_text, 1, want, NULL, NULL), 0);
        aoei_alloc_fail_at(++failures);
        const int code = aoe_embed(e, &short_text, 1, v, NULL, NULL);
        failed = failures <= aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(code, failed ? AOE_ENOMEM : AOE_OK);
        assert_int_equal(aoe_embed(e, &short_text, 1, v, NULL, NULL), 0);
        assert_memory_equal(v, want, sizeof v);
        assert_int_equal(m->later->state, AOEI_LATER_PACKED);
        aoe_embedder_destroy(e);
        aoe_model_close(m);
    }
    assert_true(failures > 3);
    aoe_context_destroy(ctx);
    test_dir_remove(path);
}

/* If the memory for the packed weights cannot be allocated, the call fails, and a later call packs the weights. */
static void test_failed_allocation(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    aoe_context *ctx = tiny_context(1);
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    aoe_model *m = open_model(ctx, path, AOE_DTYPE_F32, 1);
    for (uint64_t n = 1; n <= 2; n++) {
        aoei_chosen_weights w;
        aoe_error err = {0};
        aoei_alloc_fail_at(n);
        assert_int_equal(aoei_model_choose_weights(&w, m->ctx, m, SIZE_MAX, &err), AOE_ENOMEM);
        aoei_alloc_fail_at(0);
        assert_non_null(strstr(err.message, "memory"));
        assert_int_equal(m->later->state, AOEI_LATER_USED);
    }
    aoei_chosen_weights w;
    assert_int_equal(aoei_model_choose_weights(&w, m->ctx, m, SIZE_MAX, NULL), 0);
    assert_true(!w.unpacked && m->later->state == AOEI_LATER_PACKED);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    test_dir_remove(path);
}

/* Arguments and result of a thread. */
typedef struct job {
    aoe_model *model;
    float v[TEXTS * HIDDEN];
    int code;
} job;

static void *embed_each(void *arg) {
    job *j = arg;
    aoe_embedder *e;
    j->code = aoe_embedder_create(&e, j->model, NULL, NULL);
    for (size_t i = 0; i < TEXTS && !j->code; i++)
        j->code = aoe_embed(e, &short_text, 1, j->v + i * HIDDEN, NULL, NULL);
    aoe_embedder_destroy(e);
    return NULL;
}

/* Several threads use a model whose weights are packed meanwhile. */
static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    const tiny_model shape = tiny_defaults();
    char *path = test_path(dir, "model");
    static job jobs[THREADS];
    static float want[HIDDEN];
    pthread_t threads[THREADS];
    aoe_context *ctx = tiny_context(2);
    tiny_model_write(path, &shape);
    aoe_model *packed = open_model(ctx, path, AOE_DTYPE_BF16, 0), *m = open_model(ctx, path, AOE_DTYPE_BF16, 1);
    aoe_embedder *e = embedder_of(packed);
    assert_int_equal(aoe_embed(e, &short_text, 1, want, NULL, NULL), 0);
    for (size_t t = 0; t < THREADS; t++) {
        jobs[t].model = m;
        assert_int_equal(pthread_create(&threads[t], NULL, embed_each, &jobs[t]), 0);
    }
    for (size_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    for (size_t t = 0; t < THREADS; t++) {
        assert_int_equal(jobs[t].code, 0);
        for (size_t i = 0; i < TEXTS; i++)
            assert_memory_equal(jobs[t].v + i * HIDDEN, want, sizeof want);
    }
    assert_int_equal(m->later->state, AOEI_LATER_PACKED);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_model_close(packed);
    aoe_context_destroy(ctx);
    test_dir_remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal_results),
                                       cmocka_unit_test(test_many_tokens),
                                       cmocka_unit_test(test_packed_at_opening),
                                       cmocka_unit_test(test_cross_encoder),
                                       cmocka_unit_test(test_failed_call),
                                       cmocka_unit_test(test_failed_allocation),
                                       cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
