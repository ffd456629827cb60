/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests calls of aoe_embed with so many texts that each thread computes batches of its own. For 1 to 4 threads, the
 * vectors must have the same bits, and an overflow must be reported for the same text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"

enum { TEXTS = 900, D = 16, MOST_THREADS = 4, LANE_TOKENS = 512 };

static char *dir;
static aoe_text text[TEXTS];

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

/* Embeds all texts. chunk: how long texts are embedded; max_length: 0: that of the model. Sets *failed to the index of
 * the text that failed. Returns the code of aoe_embed. */
static int embed(const char *path, size_t threads, aoe_chunk chunk, size_t max_length, float *v, aoe_text_info *info,
                 size_t *failed) {
    aoe_context *ctx = tiny_context(threads);
    aoe_model *m;
    aoe_embedder *e;
    aoe_model_options o;
    aoe_embedder_options eo;
    aoe_model_options_defaults(&o);
    aoe_embedder_options_defaults(&eo);
    if (max_length)
        o.max_length = max_length;
    eo.chunk = chunk;
    assert_int_equal(aoe_model_open(&m, ctx, path, &o, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, &eo, NULL), 0);
    memset(v, 0, TEXTS * D * sizeof *v);
    const int code = aoe_embed(e, text, TEXTS, v, info, NULL);
    *failed = aoe_embed_failed_text(e);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

static float want[TEXTS * D], got[TEXTS * D];

static void test_same_bits(void **state) {
    (void)state;
    static aoe_text_info info[TEXTS];
    char *path = test_path(dir, "model");
    tiny_model shape = tiny_defaults();
    size_t failed, tokens = 0, chunked = 0;
    tiny_model_write(path, &shape);
    for (int mean = 0; mean < 2; mean++) {
        const aoe_chunk chunk = mean ? AOE_CHUNK_MEAN : AOE_CHUNK_FIRST;
        assert_int_equal(embed(path, 1, chunk, mean ? 6 : 0, want, info, &failed), 0);
        for (size_t i = 0; i < TEXTS; i++) {
            tokens += mean ? 0 : info[i].tokens;
            chunked += info[i].chunks > 1;
        }
        for (size_t threads = 2; threads <= MOST_THREADS; threads++) {
            assert_int_equal(embed(path, threads, chunk, mean ? 6 : 0, got, NULL, &failed), 0);
            assert_memory_equal(got, want, sizeof got);
        }
    }
    assert_true(tokens > (size_t)MOST_THREADS * LANE_TOKENS); /* the calls use the lanes */
    assert_true(chunked > 0);
    free(path);
}

/* Weights of a normalization that are so large that the vectors of some texts overflow. With some of the values, the
 * first text that overflows is not in the first batch. */
static void test_overflow(void **state) {
    (void)state;
    size_t later = 0;
    for (int k = 0; k < 12; k++) {
        char name[32];
        snprintf(name, sizeof name, "huge%d", k);
        char *path = test_path(dir, name);
        tiny_model shape = tiny_defaults();
        size_t first, failed;
        shape.filled = "encoder.layer.1.output.LayerNorm.weight";
        shape.fill = 0.9e38f + 0.1e38f * (float)k;
        tiny_model_write(path, &shape);
        const int code = embed(path, 1, AOE_CHUNK_FIRST, 0, want, NULL, &first);
        assert_true(code == AOE_OK || code == AOE_ENUMERIC);
        for (size_t threads = 2; threads <= MOST_THREADS; threads++)
            for (int repeat = 0; repeat < 3; repeat++) {
                assert_int_equal(embed(path, threads, AOE_CHUNK_FIRST, 0, got, NULL, &failed), code);
                assert_int_equal(failed, first);
            }
        /* the vectors of the batches before the failure were computed: more than one batch of 512 tokens */
        size_t computed = 0;
        for (size_t i = 0; i < TEXTS && code; i++)
            computed += want[i * D] != 0;
        later += code && computed > LANE_TOKENS / 3;
        free(path);
    }
    assert_true(later > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
