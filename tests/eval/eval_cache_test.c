/* SPDX-License-Identifier: MIT
 * covers: eval/embedding_cache
 * Tests the embeddings of evaluations, with and without a cache. They must be the first components of the complete
 * embeddings, normalized only if the caller requested it. With a cache, a text must be embedded once, for any number of
 * components, and an error must not leave a text without an embedding.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "eval/eval_cache.h"
#include "model/model.h"

enum { TEXTS = 20, D = 16 };

static char *dir, *model_dir;
static aoe_text text[TEXTS];

static int set_up(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    for (uint32_t i = 0; i < TEXTS; i++)
        text[i] = aoe_text_of(strdup(tiny_text(i)));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)text[i].data);
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

static void embed(aoe_embedder *e, const aoe_text *texts, float *v, aoe_text_info *info) {
    aoe_error err = {0};
    size_t failed;
    memset(v, 0, TEXTS * D * sizeof *v);
    if (aoei_eval_embed(e, texts, TEXTS, v, info, &failed, &err))
        fail_msg("%s", err.message);
    assert_int_equal(failed, (size_t)-1);
}

/* Embeds the texts with the cache, first with half of the texts in it, and compares with `want`. */
static void check_cached(aoe_embedder *e, const float *want, const aoe_text_info *want_info) {
    const size_t d = aoe_embedder_dims(e);
    aoe_text twice[TEXTS];
    aoe_text_info info[TEXTS];
    float v[TEXTS * D];
    for (size_t i = 0; i < TEXTS; i++)
        twice[i] = text[i / 2];
    embed(e, twice, v, info);
    for (size_t i = 0; i < TEXTS; i++)
        assert_memory_equal(v + i * d, want + i / 2 * d, d * sizeof *v);
    embed(e, text, v, info);
    assert_memory_equal(v, want, TEXTS * d * sizeof *v);
    for (size_t i = 0; i < TEXTS; i++)
        assert_true(info[i].tokens == want_info[i].tokens && info[i].chunks == want_info[i].chunks &&
                    info[i].truncated == want_info[i].truncated);
}

static void check_failure(aoe_embedder *e) {
    const size_t d = aoe_embedder_dims(e);
    const aoe_text bad[4] = {text[0], aoe_text_of("new"), aoe_text_of("new"), aoe_text_of("\xff")};
    aoe_text_info info[4];
    float v[4 * D];
    size_t failed;
    assert_int_equal(aoei_eval_embed(e, bad, 4, v, info, &failed, NULL), AOE_EFORMAT);
    assert_int_equal(failed, 3);
    assert_int_equal(aoei_eval_embed(e, bad, 3, v, info, &failed, NULL), 0);
    assert_memory_equal(v + d, v + 2 * d, d * sizeof *v);
}

static void test_embeddings(void **state) {
    (void)state;
    static const size_t dims[] = {D, 5, 1, 12};
    float complete[TEXTS * D], want[TEXTS * D], v[TEXTS * D];
    aoe_text_info info[TEXTS];
    aoe_context *ctx = tiny_context(2);
    for (int normalize = 0; normalize <= 1; normalize++) {
        aoe_model_options o;
        aoe_model *m;
        aoe_embedder *e, *cached;
        aoe_eval_cache *cache;
        aoe_model_options_defaults(&o);
        o.normalize = normalize;
        assert_int_equal(aoe_model_open(&m, ctx, model_dir, &o, NULL), 0);
        assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
        assert_int_equal(aoe_embedder_create(&cached, m, NULL, NULL), 0);
        assert_int_equal(aoe_eval_cache_create(&cache, cached, NULL), 0);
        embed(e, text, complete, info);
        for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
            assert_int_equal(aoe_embedder_set_dims(e, dims[k], NULL), 0);
            assert_int_equal(aoe_embedder_set_dims(cached, dims[k], NULL), 0);
            embed(e, text, want, info);
            for (size_t i = 0; i < TEXTS && !normalize; i++)
                assert_memory_equal(want + i * dims[k], complete + i * D, dims[k] * sizeof *want);
            for (size_t i = 0; i < TEXTS && normalize; i++)
                assert_true(aoe_cosine(want + i * dims[k], complete + i * D, dims[k]) > 0.999999);
            check_cached(cached, want, info);
        }
        /* the embeddings are kept, so the setting has no effect on them */
        const aoe_pooling pooling = m->settings.pooling;
        m->settings.pooling = AOE_POOLING_LAST_MAX;
        embed(cached, text, v, info);
        assert_memory_equal(v, want, TEXTS * 12 * sizeof *v);
        m->settings.pooling = pooling;
        check_failure(cached);
        check_failure(e);
        aoe_eval_cache_destroy(cache);
        embed(cached, text, v, info);
        assert_memory_equal(v, want, TEXTS * 12 * sizeof *v);
        aoe_embedder_destroy(cached);
        aoe_embedder_destroy(e);
        aoe_model_close(m);
    }
    aoe_context_destroy(ctx);
}

static void test_create(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_embedder *e;
    aoe_eval_cache *cache, *second;
    aoe_error err;
    assert_int_equal(aoe_model_open(&m, ctx, model_dir, NULL, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(aoe_eval_cache_create(&cache, e, NULL), 0);
        assert_int_equal(aoe_eval_cache_create(&second, e, &err), AOE_EARG);
        assert_null(second);
        assert_non_null(strstr(err.message, "has a cache"));
        aoe_eval_cache_destroy(cache);
    }
    aoe_eval_cache_destroy(NULL);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_embeddings), cmocka_unit_test(test_create)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
