/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests models whose linear layers are computed in int8 (AOE_DTYPE_INT8). A linear layer must give the bits of its
 * formula for any number of threads and any division of its rows. Weights that are quantized when a model is opened
 * must be equal to those of a converted model. Embeddings of all transformers must be close to those in float32.
 * Training and other encoders must be rejected. tests/model/embedder_test.c tests that the bits of an embedding depend
 * only on its text.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "model/packed_weights.h"
#include "nn/gemm.h"
#include "nn/int8_rows.h"
#include "nn/linear.h"

/* ---- a linear layer */

enum { TOKENS = 71, IN = 100, OUT = 83 };

typedef struct layer {
    float x[TOKENS * IN], bias[OUT], residual[TOKENS * OUT], scales[OUT];
    int8_t w[OUT * IN];
} layer;

static layer *create_layer(void) {
    layer *l = malloc(sizeof *l);
    aoei_rng r;
    assert_non_null(l);
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    for (size_t i = 0; i < TOKENS * IN; i++)
        l->x[i] = (float)aoei_rng_normal(&r);
    for (size_t i = 0; i < OUT; i++) {
        l->bias[i] = (float)aoei_rng_normal(&r);
        l->scales[i] = 0.001f + 0.01f * (float)aoei_rng_uniform(&r);
    }
    for (size_t i = 0; i < TOKENS * OUT; i++)
        l->residual[i] = (float)aoei_rng_normal(&r);
    for (size_t i = 0; i < OUT * IN; i++)
        l->w[i] = (int8_t)((int)aoei_rng_below(&r, 255) - 127);
    return l;
}

/* Sets y[TOKENS, OUT] to the output of the layer, as docs/numerics.md defines it. */
static void expected(const layer *l, float *y) {
    for (size_t t = 0; t < TOKENS; t++) {
        const float *x = l->x + t * IN;
        float most = 0;
        for (size_t k = 0; k < IN; k++)
            most = fmaxf(most, fabsf(x[k]));
        const float inverse = 127.0f / most, scale = most / 127.0f;
        for (size_t o = 0; o < OUT; o++) {
            int32_t sum = 0;
            for (size_t k = 0; k < IN; k++)
                sum += (int32_t)nearbyintf(x[k] * inverse) * l->w[o * IN + k];
            y[t * OUT + o] = (float)sum * (scale * l->scales[o]) + l->bias[o] + l->residual[t * OUT + o];
        }
    }
}

/* Computes the layer for rows [first, first + n) of x and writes the result to these rows of y[TOKENS, OUT]. */
static void compute(const aoe_context *ctx, const layer *l, aoei_tensor w, float *y, size_t first, size_t n) {
    float *memory = aoei_aligned(aoei_int8_rows_bytes(n, IN));
    assert_non_null(memory);
    const aoei_tensor workspace = aoei_tensor_wrap(memory, 1, aoei_int8_rows_bytes(n, IN) / sizeof(float));
    const aoei_tensor x = aoei_quantize_rows(ctx, aoei_tensor_wrap(l->x + first * IN, n, IN), NULL, workspace);
    const aoei_linear_epilogue e = {.residual = aoei_tensor_wrap(l->residual + first * OUT, n, OUT)};
    assert_int_equal(x.type, AOEI_I8);
    aoei_linear_forward(ctx, aoei_tensor_wrap(y + first * OUT, n, OUT), x, w, aoei_tensor_wrap(l->bias, 1, OUT), &e);
    aoei_aligned_free(memory);
}

static void linear_layer(void **state) {
    (void)state;
    layer *l = create_layer();
    float *want = malloc(TOKENS * OUT * sizeof *want), *got = malloc(TOKENS * OUT * sizeof *got);
    assert_true(want && got);
    expected(l, want);
    for (int tier = 0; tier <= (int)test_best_tier(); tier++)
        for (size_t threads = 1; threads <= 3; threads++) {
            aoe_context *ctx = test_context((aoei_tier)tier, threads);
            aoei_tensor w = aoei_tensor_wrap_typed(AOEI_I8, l->w, l->scales, OUT, IN);
            void *packed = aoei_aligned(aoei_weight_packed_size(ctx, AOEI_I8, OUT, IN));
            assert_non_null(packed);
            aoei_weight_pack(ctx, AOEI_I8, &w, packed);
            for (size_t step = 1; step <= TOKENS; step += 14) {
                memset(got, 0, TOKENS * OUT * sizeof *got);
                for (size_t first = 0; first < TOKENS; first += step)
                    compute(ctx, l, w, got, first, TOKENS - first < step ? TOKENS - first : step);
                assert_memory_equal(got, want, TOKENS * OUT * sizeof *got);
            }
            aoei_aligned_free(packed);
            aoe_context_destroy(ctx);
        }
    free(want);
    free(got);
    free(l);
}

/* ---- rows with split channels */

/* Row 2 is 0, row 3 contains NaN, and row 4 contains infinity in a split channel. */
enum { ROWS = 5, CHANNELS = 9, FURTHER = 6, SPLIT_CHANNEL = 5 };
static const uint32_t split_of_column[FURTHER] = {2, 5, 5, 5, 5, 7}; /* channels of the further columns */

/* Sets x to values that bf16 represents, and x16 to the same values. */
static void fill_rows(float x[ROWS * CHANNELS], aoei_bf16 x16[ROWS * CHANNELS]) {
    for (size_t i = 0; i < ROWS * CHANNELS; i++)
        x[i] = i / CHANNELS == 2 ? 0 : sinf((float)(7 * i + 1)) * (i % CHANNELS == SPLIT_CHANNEL ? 5.0f : 1.0f);
    x[CHANNELS + SPLIT_CHANNEL] = -1000; /* the largest magnitude in units of the number of columns */
    x[3 * CHANNELS + 8] = NAN;
    x[4 * CHANNELS + SPLIT_CHANNEL] = -INFINITY;
    for (size_t i = 0; i < ROWS * CHANNELS; i++) {
        x16[i] = aoei_bf16_from_f32(x[i]);
        x[i] = aoei_bf16_to_f32(x16[i]);
    }
}

/* Checks one quantized row [CHANNELS + FURTHER] of x [CHANNELS] with its scale. */
static void check_split_row(const aoei_int8_split *split, const float *x, const int8_t *row, float scale) {
    float most = 0;
    float sum[CHANNELS];
    for (size_t k = 0; k < CHANNELS; k++) {
        most = fmaxf(most, fabsf(x[k]) * split->factors[k]);
        sum[k] = (float)row[k];
    }
    for (size_t i = 0; i < FURTHER; i++)
        sum[split_of_column[i]] += (float)row[CHANNELS + i];
    assert_true(scale == most / 127.0f);
    for (size_t k = 0; k < CHANNELS; k++)
        assert_true(fabsf(sum[k] * scale - x[k]) <= 0.501f * scale);
}

/* The int8 values of the columns of a split channel must add up to the value of the channel in units of the scale, for
 * inputs of both types in every tier. A component that is NaN or infinite must make the scale of its row NaN, and must
 * not change other rows. */
static void split_channels(void **state) {
    (void)state;
    static const float columns[CHANNELS] = {1, 1, 2, 1, 1, 5, 1, 2, 1};
    float x[ROWS * CHANNELS];
    aoei_bf16 x16[ROWS * CHANNELS];
    void *description = aoei_aligned(aoei_int8_split_bytes(FURTHER, CHANNELS));
    assert_non_null(description);
    aoei_int8_split *split = aoei_int8_split_create(description, FURTHER, CHANNELS);
    memcpy(split->factors, columns, sizeof columns);
    aoei_int8_split_complete(split, CHANNELS);
    assert_true(split->parts == FURTHER + 3);
    assert_memory_equal(split->channels, split_of_column, sizeof split_of_column);
    fill_rows(x, x16);
    for (int i = 0; i < 2 * ((int)test_best_tier() + 1); i++) {
        aoe_context *ctx = test_context((aoei_tier)(i / 2), 2);
        float *memory = aoei_aligned(aoei_int8_rows_bytes(ROWS, CHANNELS + FURTHER));
        assert_non_null(memory);
        const aoei_tensor in =
            i % 2 ? aoei_tensor_wrap_typed(AOEI_BF16, x16, NULL, ROWS, CHANNELS) : aoei_tensor_wrap(x, ROWS, CHANNELS);
        const aoei_tensor q = aoei_quantize_rows(ctx, in, split, aoei_tensor_wrap(memory, 1, 1));
        assert_true(q.cols == CHANNELS + FURTHER && q.rows == ROWS);
        for (size_t r = 0; r < 3; r++)
            check_split_row(split, x + r * CHANNELS, aoei_tensor_at(q, r, 0), q.scale[r]);
        assert_true(isnan(q.scale[3]) && isnan(q.scale[4]));
        aoei_aligned_free(memory);
        aoe_context_destroy(ctx);
    }
    aoei_aligned_free(description);
}

/* ---- models */

enum { TEXTS = 8 };

static aoe_model *open_type(aoe_context *ctx, const char *dir, aoe_dtype type) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = type;
    return test_model_open(ctx, dir, &o);
}

/* Returns the embeddings [TEXTS, dims] of fixed texts. The caller frees them. */
static float *embed(aoe_model *m) {
    aoe_embedder *e;
    aoe_text texts[TEXTS];
    char *copies[TEXTS];
    aoe_error err = {0};
    float *out = malloc(TEXTS * aoe_model_dims(m) * sizeof *out);
    assert_non_null(out);
    for (uint32_t i = 0; i < TEXTS; i++)
        texts[i] = aoe_text_of(copies[i] = strdup(tiny_text(i + 3)));
    if (aoe_embedder_create(&e, m, NULL, &err) || aoe_embed(e, texts, TEXTS, out, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < TEXTS; i++)
        free(copies[i]);
    aoe_embedder_destroy(e);
    return out;
}

/* Returns the lowest cosine of a row of x and the same row of y. */
static double lowest_cosine(const float *x, const float *y, size_t dims) {
    double lowest = 1;
    for (size_t i = 0; i < TEXTS; i++) {
        double xy = 0, xx = 0, yy = 0;
        for (size_t k = i * dims; k < (i + 1) * dims; k++) {
            xy += (double)x[k] * y[k];
            xx += (double)x[k] * x[k];
            yy += (double)y[k] * y[k];
        }
        lowest = fmin(lowest, xy / sqrt(xx * yy));
    }
    return lowest;
}

static void (*const kinds[])(aoei_encoder_config *) = {
    NULL,         tiny_roberta, tiny_mpnet, tiny_deberta, tiny_jina_code,  tiny_jina_bert,  tiny_llama,
    tiny_mistral, tiny_qwen2,   tiny_qwen3, tiny_gemma3,  tiny_modernbert, tiny_distilbert, tiny_camembert,
    tiny_electra, tiny_albert,  tiny_gte,   tiny_new,     tiny_nomic,      tiny_nomic_fused};

/* Embeddings of every architecture in int8 must be close to those in float32. The rounding errors of a row of 32
 * values, whose largest magnitude is about 2.5 times its root mean square, are 2.5 / 127 / sqrt(12) = 0.6% of it. The
 * products of a gated layer and the softmax of scores add the errors of several linear layers. The largest error, 1 -
 * cosine = 0.0012, is that of mistral, and it is equal in all tiers that compute the other operations in float32. */
static void architectures(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        tiny_model shape = tiny_defaults();
        char *dir = test_path(test_dir, "model");
        shape.options = kinds[i];
        shape.hidden = 32;
        shape.intermediate = 48;
        tiny_model_write(dir, &shape);
        aoe_model *f32 = open_type(ctx, dir, AOE_DTYPE_F32), *int8 = open_type(ctx, dir, AOE_DTYPE_INT8);
        float *want = embed(f32), *got = embed(int8);
        const double cosine = lowest_cosine(got, want, aoe_model_dims(f32));
        aoe_model_info info = {.struct_size = sizeof info};
        aoe_model_get_info(int8, &info);
        assert_int_equal(info.dtype, AOE_DTYPE_INT8);
        if (!(cosine > 0.998))
            fail_msg("architecture %zu (%s): the lowest cosine is %.6f", i, info.architecture, cosine);
        assert_true(memcmp(want, got, TEXTS * aoe_model_dims(f32) * sizeof *got) != 0);
        free(want);
        free(got);
        aoe_model_close(f32);
        aoe_model_close(int8);
        test_dir_remove(dir);
    }
    aoe_context_destroy(ctx);
}

/* Asserts that the packed int8 weights and the scales of both models are equal. */
static void check_equal_weights(const aoe_model *a, const aoe_model *b) {
    size_t compared = 0;
    for (size_t i = 0; i < aoei_slot_count(&a->config); i++) {
        const aoei_tensor *x = &a->weights[i], *y = &b->weights[i];
        if (!aoei_model_packs_int8(a, i) || !x->packed)
            continue;
        assert_true(x->packed_type == AOEI_I8 && y->packed_type == AOEI_I8 && x->rows == y->rows && x->cols == y->cols);
        assert_memory_equal(x->scale, y->scale, x->rows * sizeof *x->scale);
        assert_memory_equal(x->packed, y->packed, aoei_weight_packed_size(a->ctx, AOEI_I8, x->rows, x->cols));
        compared++;
    }
    assert_int_equal(compared, 5 * a->config.layers);
}

/* Weights that are quantized when a model is opened must be equal to those of a model that was converted to int8. */
static void quantized_weights(void **state) {
    (void)state;
    static const aoei_st_dtype stored[] = {AOEI_ST_F32, AOEI_ST_BF16, AOEI_ST_F16};
    aoe_context *ctx = tiny_context(2);
    const aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                                   .table = {.struct_size = sizeof(aoe_table_options)},
                                   .storage = AOE_STORAGE_INT8};
    for (size_t i = 0; i < 2 * sizeof stored / sizeof *stored; i++) {
        char *from = test_dir_create(), *to = test_path(test_dir, "to");
        aoe_error err = {0};
        test_model_write(from, &(test_model_spec){.dtype = stored[i / 2], .misaligned = i % 2});
        assert_int_equal(aoe_convert(ctx, from, to, &c, NULL, &err), 0);
        aoe_model *a = open_type(ctx, from, AOE_DTYPE_INT8), *b = open_type(ctx, to, AOE_DTYPE_INT8);
        check_equal_weights(a, b);
        aoe_model_close(a);
        aoe_model_close(b);
        test_dir_remove(from);
        test_dir_remove(to);
    }
    aoe_context_destroy(ctx);
}

/* AUTO does not choose int8, even for a model that is stored as int8. */
static void automatic_type(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    const aoe_convert_options c = {.struct_size = sizeof(aoe_convert_options),
                                   .table = {.struct_size = sizeof(aoe_table_options)},
                                   .storage = AOE_STORAGE_INT8};
    char *from = test_dir_create(), *to = test_path(test_dir, "to");
    aoe_error err = {0};
    aoe_model_info info = {.struct_size = sizeof info};
    test_model_write(from, NULL);
    assert_int_equal(aoe_convert(ctx, from, to, &c, NULL, &err), 0);
    aoe_model *m = open_type(ctx, to, AOE_DTYPE_AUTO);
    aoe_model_get_info(m, &info);
    assert_true(info.dtype == AOE_DTYPE_F32 || info.dtype == AOE_DTYPE_BF16);
    aoe_model_close(m);
    test_dir_remove(from);
    test_dir_remove(to);
    aoe_context_destroy(ctx);
}

static void rejections(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(1);
    char *dir = test_dir_create();
    aoe_model *m;
    aoe_error err = {0};
    aoe_model_options o;
    test_model_write(dir, NULL);
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_INT8;
    assert_int_equal(aoei_model_open_trainable(&m, ctx, dir, &o, &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "options.dtype int8 is supported only for inference");
    o.dtype = (aoe_dtype)(AOE_DTYPE_INT8 + 1);
    assert_int_equal(aoe_model_open(&m, ctx, dir, &o, &err), AOE_EARG);
    FRAGMENT(err, "AOE_DTYPE_INT8");
    test_dir_remove(dir);
    aoe_context_destroy(ctx);
}

int main(void) {
    test_use_memory();
    const struct CMUnitTest tests[] = {cmocka_unit_test(linear_layer),   cmocka_unit_test(split_channels),
                                       cmocka_unit_test(architectures),  cmocka_unit_test(quantized_weights),
                                       cmocka_unit_test(automatic_type), cmocka_unit_test(rejections)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
