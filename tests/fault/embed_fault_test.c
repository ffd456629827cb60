/* SPDX-License-Identifier: MIT
 * Tests that functions handle a failed allocation. The tested functions open a model, create an embedder and compute
 * embeddings. Each test calls the functions repeatedly, and in each call a different allocation fails. The failed
 * function must report that memory ran out, must not leak a block, and must set its output pointer to NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "eval/eval_cache.h"

static char *dir, *model_dir;

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 8;
    shape.layers = 1;
    dir = tiny_dir_create();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

static int embed(aoe_embedder *e, const float *want, aoe_error *err) {
    const aoe_text texts[3] = {aoe_text_of("the old cat"), aoe_text_of(""),
                               aoe_text_of("caf\xc3\xa9 runs fast and slow and fast")};
    float v[3 * 8];
    const int code = aoe_embed(e, texts, 3, v, NULL, err);
    if (!code && want)
        assert_memory_equal(v, want, sizeof v);
    return code;
}

static aoe_dtype dtype; /* data type in which open_and_embed computes */

static int open_and_embed(void *arg) {
    aoe_context_options c;
    aoe_context *ctx;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.prompt = arg;
    o.dtype = dtype;
    o.max_length = 8;
    aoe_context_options_defaults(&c);
    c.threads = 2;
    int code = aoe_context_create(&ctx, &c, &err);
    if (code)
        assert_null(ctx);
    if (!code && (code = aoe_model_open(&m, ctx, model_dir, &o, &err)))
        assert_null(m);
    if (!code && (code = aoe_embedder_create(&e, m, NULL, &err)))
        assert_null(e);
    if (!code)
        code = embed(e, NULL, &err);
    if (code) {
        assert_int_equal(err.code, code);
        assert_non_null(strstr(err.message, "memory"));
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

static void test_open_and_embed(void **state) {
    (void)state;
    for (dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++)
        assert_true(test_alloc_failures(open_and_embed, NULL, 0) > 100);
    dtype = AOE_DTYPE_AUTO;
}

enum { MANY = 500 /* texts of a call in which each of two threads computes batches of its own */ };

/* Embeds many texts with two threads. want: [MANY, 8] expected vectors. */
static int embed_many(void *want) {
    static float v[MANY * 8];
    aoe_text texts[MANY];
    aoe_context *ctx = NULL;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_context_options c;
    aoe_error err = {0};
    for (size_t i = 0; i < MANY; i++)
        texts[i] = aoe_text_of(i % 3 ? "the old cat runs fast" : "slow dog");
    aoe_context_options_defaults(&c);
    c.threads = 2;
    int code = aoe_context_create(&ctx, &c, &err);
    if (!code)
        code = aoe_model_open(&m, ctx, model_dir, NULL, &err);
    if (!code)
        code = aoe_embedder_create(&e, m, NULL, &err);
    if (!code && (code = aoe_embed(e, texts, MANY, v, NULL, &err)) && aoe_embed(e, texts, MANY, v, NULL, NULL))
        fail_msg("the call after a failed allocation must succeed");
    assert_int_equal(err.code, code);
    if (e)
        assert_memory_equal(v, want, sizeof v);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

static void test_many_texts(void **state) {
    (void)state;
    aoe_model *m;
    aoe_embedder *e;
    aoe_context *ctx = tiny_context(1);
    float *want = malloc((size_t)MANY * 8 * sizeof *want);
    aoe_text texts[MANY];
    assert_non_null(want);
    for (size_t i = 0; i < MANY; i++)
        texts[i] = aoe_text_of(i % 3 ? "the old cat runs fast" : "slow dog");
    assert_int_equal(aoe_model_open(&m, ctx, model_dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, texts, MANY, want, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    assert_true(test_alloc_failures(embed_many, want, 0) > 100);
    free(want);
}

/* Opens an embedder that owns its model, and searches with the prompt for queries. */
static int open_and_search(void *path) {
    const aoe_text texts[2] = {aoe_text_of("the old cat"), aoe_text_of("dog")};
    float v[2 * 8];
    double cosine;
    aoe_neighbor best[2];
    aoe_embedder *e;
    aoe_error err = {0};
    int code = aoe_embedder_open(&e, path, &err);
    if (code)
        assert_null(e);
    if (!code)
        code = aoe_embed_documents(e, texts, 2, v, NULL, &err);
    if (!code)
        code = aoe_search(e, texts, 1, v, 2, 2, best, &err);
    if (!code)
        code = aoe_similarity(e, texts[0], texts[1], &cosine, &err);
    assert_int_equal(err.code, code);
    aoe_embedder_destroy(e);
    return code;
}

static void test_open_and_search(void **state) {
    (void)state;
    free(test_write_text(model_dir, "aoe.json",
                         "{\"format_version\": 9, \"pooling\": \"mask\", \"subtract_empty_prompt\": true, \"prompts\": "
                         "{\"default\": \"the {text} [MASK]\", \"query\": \"a {text} [MASK]\"}}"));
    assert_true(test_alloc_failures(open_and_search, model_dir, 0) > 100);
    char *path = test_path(model_dir, "aoe.json");
    assert_int_equal(remove(path), 0);
    free(path);
}

static void test_prompt(void **state) {
    (void)state;
    assert_true(test_alloc_failures(open_and_embed, (char[]){"old {text} runs"}, 0) > 100);
}

/* Tests two models. The first is causal and its weights are stored as bf16. In the second, the layers from layer 1 have
 * bidirectional attention. */
static void test_causal(void **state) {
    (void)state;
    char *bert = model_dir, *wide = test_path(dir, "wide"), *narrow = test_path(dir, "narrow");
    const aoe_convert_options convert = {.struct_size = sizeof(aoe_convert_options),
                                         .table = {.struct_size = sizeof(aoe_table_options)},
                                         .storage = AOE_STORAGE_BF16};
    tiny_model shape = tiny_defaults();
    aoe_context *ctx = tiny_context(1);
    shape.hidden = 8;
    shape.options = tiny_billm;
    tiny_model_write(wide, &shape);
    assert_int_equal(aoe_convert(ctx, wide, narrow, &convert, NULL, NULL), 0);
    free(test_write_text(wide, "aoe.json", "{\"format_version\": 1, \"bidirectional_from\": 1}"));
    model_dir = narrow;
    for (dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++)
        assert_true(test_alloc_failures(open_and_embed, NULL, 0) > 100);
    model_dir = wide;
    dtype = AOE_DTYPE_AUTO;
    assert_true(test_alloc_failures(open_and_embed, NULL, 0) > 100);
    model_dir = bert;
    aoe_context_destroy(ctx);
    free(wide);
    free(narrow);
}

/* Tests that an embedder returns correct embeddings in the call after a failed allocation. */
static void test_reuse_after_failure(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoe_model *m;
    aoe_embedder *e;
    assert_int_equal(aoe_model_open(&m, ctx, model_dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    const aoe_text texts[3] = {aoe_text_of("the old cat"), aoe_text_of(""),
                               aoe_text_of("caf\xc3\xa9 runs fast and slow and fast")};
    float want[3 * 8];
    assert_int_equal(aoe_embed(e, texts, 3, want, NULL, NULL), 0);
    for (uint64_t n = 1;; n++) {
        aoei_alloc_fail_at(n);
        const int code = embed(e, want, NULL);
        const uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(code, n <= count ? AOE_ENOMEM : 0);
        assert_int_equal(embed(e, want, NULL), 0);
        if (n > count)
            break;
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Tests the cache for evaluations: a call after a failed allocation must return correct embeddings. */
static void test_eval_cache(void **state) {
    (void)state;
    const aoe_text texts[3] = {aoe_text_of("the old cat"), aoe_text_of(""),
                               aoe_text_of("caf\xc3\xa9 runs fast and slow and fast")};
    aoe_context *ctx = tiny_context(2);
    aoe_model *m;
    aoe_embedder *e;
    aoe_eval_cache *cache;
    aoe_text_info info[3];
    size_t failed;
    float want[3 * 8], v[3 * 8];
    assert_int_equal(aoe_model_open(&m, ctx, model_dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, texts, 3, want, NULL, NULL), 0);
    for (uint64_t n = 1, count = n; n <= count; n++) {
        aoei_alloc_fail_at(n);
        int code = aoe_eval_cache_create(&cache, e, NULL);
        if (!code)
            code = aoei_eval_embed(e, texts, 3, v, info, &failed, NULL);
        count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        assert_int_equal(code, n <= count ? AOE_ENOMEM : 0);
        for (int k = 0; k < 2; k++) {
            memset(v, 0, sizeof v);
            assert_int_equal(aoei_eval_embed(e, texts, 3, v, info, &failed, NULL), 0);
            assert_memory_equal(v, want, sizeof v);
        }
        aoe_eval_cache_destroy(cache);
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_embed),  cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_open_and_search), cmocka_unit_test(test_causal),
        cmocka_unit_test(test_many_texts),      cmocka_unit_test(test_reuse_after_failure),
        cmocka_unit_test(test_eval_cache)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
