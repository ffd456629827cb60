/* SPDX-License-Identifier: MIT
 * tags: threads emulated
 * Tests the embedder in float32, bf16 and int8. The bits of an embedding must depend only on its text and on the
 * instruction set of the CPU. In float32 and bf16, its values must agree with a double-precision reference. A weight
 * view (a model whose weights belong to a trainer) must give the embeddings of a model that owns equal weights. Other
 * tests cover options, truncation, empty texts, and texts that cannot be embedded.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "model/text_batch.h"
#include "encoder/params.h"
#include "model/embedder.h"
#include "model/open.h"
#include "model/weight_view.h"

/* Tolerance for the norm of the error of an embedding, divided by the norm of the double-precision reference. The tests
 * in tests/golden use equal tolerances. */
static const double tolerance[] = {[AOE_DTYPE_F32] = 2e-6, [AOE_DTYPE_BF16] = 1e-2};

enum { TEXTS = 40, D = 16 };

static char *dir, *model_dir;
static aoe_text texts[TEXTS];

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    for (uint32_t i = 0; i < TEXTS; i++)
        texts[i] = aoe_text_of(strdup(tiny_text(i)));
    free((void *)(uintptr_t)texts[3].data);
    texts[3] = aoe_text_of(strdup(""));
    free((void *)(uintptr_t)texts[5].data);
    texts[5] = aoe_text_of(strdup("caf\xc3\xa9 \xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x98\x80 old"));
    free((void *)(uintptr_t)texts[6].data);
    texts[6] = (aoe_text){.data = memcpy(calloc(1, 16), "the\0cat", 7), .len = 7}; /* a NUL does not end a text */
    free((void *)(uintptr_t)texts[7].data);
    char *longer = calloc(1, 4 * 100 + 1);
    for (int i = 0; i < 100; i++)
        memcpy(longer + 4 * i, "dog ", 4);
    texts[7] = aoe_text_of(longer);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)texts[i].data);
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

typedef struct session {
    aoe_context *ctx; /* owned */
    aoe_model *model;
    aoe_embedder *embedder;
} session;

static session session_create(aoe_context *ctx, const char *path, const aoe_model_options *o, size_t batch_tokens) {
    session s = {.ctx = ctx};
    aoe_error err = {0};
    const aoe_embedder_options e = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = batch_tokens, .threads = AOE_AUTO};
    if (aoe_model_open(&s.model, ctx, path, o, &err) ||
        aoe_embedder_create(&s.embedder, s.model, batch_tokens ? &e : NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_model_dims(s.model), D);
    assert_ptr_equal(aoe_embedder_model(s.embedder), s.model);
    return s;
}

static void session_destroy(session s) {
    aoe_embedder_destroy(s.embedder);
    aoe_model_close(s.model);
    aoe_context_destroy(s.ctx);
}

static void embed(const session *s, const aoe_text *t, size_t n, float *vectors, aoe_text_info *info) {
    aoe_error err = {0};
    for (size_t i = 0; i < n * D; i++)
        vectors[i] = NAN;
    if (aoe_embed(s->embedder, t, n, vectors, info, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_embed_failed_text(s->embedder), (size_t)-1);
}

/* Embeds each text alone, and all texts together in three other orders. Asserts that the embedding of text i is
 * bit-identical to row i of want [TEXTS, D]. */
static void check_orders(const session *s, const float *want) {
    float got[TEXTS * D];
    aoe_text order[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        embed(s, &texts[i], 1, got, NULL);
        assert_memory_equal(got, want + i * D, D * sizeof *got);
    }
    static const size_t strides[] = {1, TEXTS - 1, 7};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < TEXTS; i++)
            order[i] = texts[(i * strides[k] + 11) % TEXTS];
        embed(s, order, TEXTS, got, NULL);
        for (size_t i = 0; i < TEXTS; i++)
            assert_memory_equal(got + i * D, want + (i * strides[k] + 11) % TEXTS * D, D * sizeof *got);
    }
}

static void test_bits_depend_on_text_only(void **state) {
    (void)state;
    static const size_t batch_tokens[] = {0, 1, 2, 7, 31, 64, 100000};
    static const aoe_dtype types[] = {AOE_DTYPE_F32, AOE_DTYPE_BF16, AOE_DTYPE_INT8};
    for (int tier = 0; tier < 3 * ((int)test_best_tier() + 1); tier++) {
        if (test_skips_tier((aoei_tier)(tier / 3)) && types[tier % 3] != AOE_DTYPE_INT8)
            continue;
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = types[tier % 3];
        float want[TEXTS * D];
        for (size_t threads = 1; threads <= 3; threads++)
            for (size_t k = 0; k < sizeof batch_tokens / sizeof *batch_tokens; k++) {
                session s =
                    session_create(test_context((aoei_tier)(tier / 3), threads), model_dir, &o, batch_tokens[k]);
                if (threads == 1 && k == 0)
                    embed(&s, texts, TEXTS, want, NULL);
                check_orders(&s, want);
                session_destroy(s);
            }
    }
}

/* Computes the embeddings of the texts t [n] in double precision. Stores them in vectors [n, D]. The token ids come
 * from the tokenizer of the model. */
static void reference(const session *s, const aoe_text *t, size_t n, double *vectors) {
    aoei_token_lists lists;
    aoei_batch_buffer b;
    bert_reference r;
    assert_int_equal(aoei_encode_texts(s->model, t, n, &lists, NULL, NULL), 0);
    assert_int_equal(aoei_batch_buffer_create(&b, lists.offsets[n], n, NULL), 0);
    for (size_t i = 0; i < n; i++)
        aoei_batch_add(&b, lists.ids + lists.offsets[i], aoei_token_count(&lists, i), (uint32_t)i);
    bert_reference_create(&r, s->ctx, &s->model->config, s->model->weights, &b.batch, NULL);
    bert_reference_forward(&r);
    bert_reference_pool(&r, s->model->settings.pooling, vectors);
    for (size_t i = 0; i < n && s->model->settings.normalize; i++) {
        double length = 0;
        for (size_t k = 0; k < D; k++)
            length += vectors[i * D + k] * vectors[i * D + k];
        for (size_t k = 0; k < D; k++)
            vectors[i * D + k] /= sqrt(length);
    }
    bert_reference_destroy(&r);
    aoei_batch_buffer_destroy(&b);
    aoei_token_lists_free(&lists);
}

static void test_values(void **state) {
    (void)state;
    for (int tier = 0; tier < 2 * ((int)test_best_tier() + 1); tier++)
        for (int pooling = test_next_pooling(0); pooling && !test_skips_tier((aoei_tier)(tier / 2));
             pooling = test_next_pooling(pooling))
            for (int normalize = 0; normalize < 2; normalize++) {
                const aoe_dtype dtype = tier % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
                aoe_model_options o;
                aoe_model_options_defaults(&o);
                o.dtype = dtype;
                o.pooling = (aoe_pooling)pooling;
                o.normalize = normalize;
                session s = session_create(test_context((aoei_tier)(tier / 2), 2), model_dir, &o, 64);
                float got[TEXTS * D];
                double want[TEXTS * D];
                embed(&s, texts, TEXTS, got, NULL);
                reference(&s, texts, TEXTS, want);
                for (size_t i = 0; i < TEXTS; i++)
                    test_close(aoei_tensor_wrap(got + i * D, 1, D), want + i * D, tolerance[dtype]);
                session_destroy(s);
            }
}

/* Tests a weight view, which uses the parameters of a trainer. It must give the embeddings of a model with equal
 * weights. Parameters of a trainer have packed copies only in bf16. */
static void test_view(void **state) {
    (void)state;
    char *path = test_path(dir, "other");
    tiny_model shape = tiny_defaults();
    shape.seed = 8;
    tiny_model_write(path, &shape);
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1); k++) {
        if (test_skips_tier((aoei_tier)(k / 2)))
            continue;
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.dtype = k % 2 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
        aoe_context *ctx = test_context((aoei_tier)(k / 2), 2);
        session s = session_create(ctx, path, &o, 0);
        float want[TEXTS * D], got[TEXTS * D];
        embed(&s, texts, TEXTS, want, NULL);
        aoe_model *base, *view;
        aoei_arena plan, arena;
        aoei_params params;
        assert_int_equal(aoei_model_open_trainable(&base, ctx, model_dir, &o, NULL), 0);
        aoei_arena_measure(&plan);
        assert_int_equal(
            aoei_params_layout(&params, ctx, &base->config, &(aoei_params_options){.type = base->type}, &plan, NULL),
            0);
        assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
        assert_int_equal(
            aoei_params_layout(&params, ctx, &base->config, &(aoei_params_options){.type = base->type}, &arena, NULL),
            0);
        aoei_params_load(ctx, &params, s.model->weights);
        assert_int_equal(aoei_model_view(&view, base, params.values, NULL), 0);
        session v = {.ctx = ctx, .model = view};
        assert_int_equal(aoe_embedder_create(&v.embedder, view, NULL, NULL), 0);
        embed(&v, texts, TEXTS, got, NULL);
        assert_memory_equal(got, want, sizeof got);
        aoe_embedder_destroy(v.embedder);
        aoe_model_close(view);
        aoe_model_close(base);
        aoei_arena_destroy(&arena);
        session_destroy(s);
    }
    free(path);
}

static void test_truncation(void **state) {
    (void)state;
    const aoe_text t[4] = {aoe_text_of("the cat"), texts[7], aoe_text_of("the cat runs fast"), aoe_text_of("")};
    static const struct {
        size_t max_length;
        uint32_t tokens[4];
        uint8_t truncated[4];
    } cases[] = {{AOE_AUTO, {4, 32, 6, 2}, {0, 1, 0, 0}},
                 {6, {4, 6, 6, 2}, {0, 1, 0, 0}},
                 {5, {4, 5, 5, 2}, {0, 1, 1, 0}},
                 {3, {3, 3, 3, 2}, {1, 1, 1, 0}}};
    for (size_t k = 0; k < 4; k++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.max_length = cases[k].max_length;
        session s = session_create(tiny_context(1), model_dir, &o, 0);
        float v[4 * D], shorter[D];
        aoe_text_info info[4];
        embed(&s, t, 4, v, info);
        for (size_t i = 0; i < 4; i++) {
            assert_int_equal(info[i].tokens, cases[k].tokens[i]);
            assert_int_equal(info[i].truncated, cases[k].truncated[i]);
        }
        if (k == 3) { /* these texts are truncated to one word, "the" */
            const aoe_text the = aoe_text_of("the");
            embed(&s, &the, 1, shorter, NULL);
            assert_memory_equal(v, shorter, sizeof shorter);
            assert_memory_equal(v + 2 * D, shorter, sizeof shorter);
        }
        session_destroy(s);
    }
}

static void test_prompt(void **state) {
    (void)state;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.prompt = "old {text} runs";
    session with = session_create(tiny_context(1), model_dir, &o, 0),
            without = session_create(tiny_context(1), model_dir, NULL, 0);
    const aoe_text bare = aoe_text_of("the cat"), written = aoe_text_of("old the cat runs");
    float a[D], b[D];
    aoe_text_info info;
    embed(&with, &bare, 1, a, &info);
    assert_int_equal(info.tokens, 6);
    embed(&without, &written, 1, b, NULL);
    assert_memory_equal(a, b, sizeof a);
    session_destroy(with);
    session_destroy(without);
}

static void test_no_texts(void **state) {
    (void)state;
    session s = session_create(tiny_context(1), model_dir, NULL, 0);
    assert_int_equal(aoe_embed(s.embedder, NULL, 0, NULL, NULL, NULL), 0);
    session_destroy(s);
}

static void test_bad_text(void **state) {
    (void)state;
    session s = session_create(tiny_context(2), model_dir, NULL, 0);
    const aoe_text t[4] = {aoe_text_of("the"), aoe_text_of("cat"), aoe_text_of("a\x80"), aoe_text_of("\xff")};
    float v[4 * D];
    aoe_error err = {0};
    assert_int_equal(aoe_embed(s.embedder, t, 4, v, NULL, &err), AOE_EFORMAT);
    assert_int_equal(err.code, AOE_EFORMAT);
    assert_int_equal(aoe_embed_failed_text(s.embedder), 2);
    assert_null(strstr(err.message, "text 2")); /* the index of the text is not part of the message */
    assert_non_null(strstr(err.message, "byte 1"));
    embed(&s, t, 2, v, NULL); /* the embedder remains usable */
    assert_int_equal(aoe_embed(s.embedder, t, 4, v, NULL, &err), AOE_EFORMAT);
    aoe_embedder_destroy(s.embedder); /* the next embedder may have the same address */
    assert_int_equal(aoe_embedder_create(&s.embedder, s.model, NULL, &err), 0);
    assert_int_equal(aoe_embed_failed_text(s.embedder), (size_t)-1);
    assert_int_equal(aoe_embed(s.embedder, t, 4, v, NULL, &err), AOE_EFORMAT);
    aoe_embedder *other;
    assert_int_equal(aoe_embedder_create(&other, s.model, NULL, &err), 0);
    assert_int_equal(aoe_embed_failed_text(other), (size_t)-1);
    aoe_embedder_destroy(other);
    assert_int_equal(aoe_embed_failed_text(s.embedder), 2);
    assert_int_equal(aoe_embed(s.embedder, NULL, 4, v, NULL, &err), AOE_EARG); /* no text caused this error */
    assert_int_equal(aoe_embed_failed_text(s.embedder), (size_t)-1);
    const aoe_text missing[2] = {aoe_text_of("the"), {NULL, 3}};
    assert_int_equal(aoe_embed(s.embedder, missing, 2, v, NULL, &err), AOE_EARG);
    assert_int_equal(aoe_embed_failed_text(s.embedder), 1);
    assert_int_equal(aoe_score_pairs(s.embedder, t, t, 1, v, NULL, &err), AOE_EARG); /* not a cross-encoder */
    assert_int_equal(aoe_embed_failed_text(s.embedder), (size_t)-1);
    session_destroy(s);
}

/* Writes the first d components of x to v. unit: 1: scales v to unit length in double precision. */
static void first_components(float *v, const float *x, size_t d, int unit) {
    double sum = 0;
    for (size_t k = 0; k < d; k++)
        sum += (double)x[k] * (double)x[k];
    for (size_t k = 0; k < d; k++)
        v[k] = unit ? (float)((double)x[k] * (1 / sqrt(sum))) : x[k];
}

/* Tests options.dims and aoe_embedder_set_dims: embeddings are truncated, and normalized again if the model normalizes
 * them. The embedder must not keep embeddings. */
static void test_dims(void **state) {
    (void)state;
    static const size_t dims[] = {D, 5, 1, 12};
    float complete[TEXTS * D], want[TEXTS * D], got[TEXTS * D];
    aoe_error err = {0};
    for (int normalize = 0; normalize <= 2; normalize++) {
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.normalize = normalize > 0;
        session all = session_create(tiny_context(2), model_dir, &o, 0);
        embed(&all, texts, TEXTS, complete, NULL);
        assert_int_equal(aoe_embedder_dims(all.embedder), D);
        const int64_t live = aoei_alloc_live();
        for (size_t k = 0; k < sizeof dims / sizeof *dims; k++) {
            for (size_t i = 0; i < TEXTS; i++)
                first_components(want + i * dims[k], complete + i * D, dims[k], normalize > 0 && dims[k] < D);
            session one = {.ctx = tiny_context(1)};
            o.dims = dims[k];
            assert_int_equal(aoe_model_open(&one.model, one.ctx, model_dir, &o, &err), 0);
            if (normalize == 2) /* as if the model directory, not the caller, requested normalization */
                one.model->settings.unit_truncated = all.model->settings.unit_truncated = 0;
            assert_int_equal(aoe_embedder_create(&one.embedder, one.model, NULL, &err), 0);
            assert_int_equal(aoe_model_dims(one.model), dims[k]);
            assert_int_equal(aoe_embed(one.embedder, texts, TEXTS, got, NULL, &err), 0);
            assert_memory_equal(got, want, TEXTS * dims[k] * sizeof *got);
            session_destroy(one);
            assert_int_equal(aoe_embedder_set_dims(all.embedder, dims[k], &err), 0);
            assert_int_equal(aoe_embedder_dims(all.embedder), dims[k]);
            assert_int_equal(aoe_embed(all.embedder, texts, TEXTS, got, NULL, &err), 0);
            assert_memory_equal(got, want, TEXTS * dims[k] * sizeof *got);
            assert_int_equal(aoei_alloc_live(), live);
        }
        assert_int_equal(aoe_embedder_set_dims(all.embedder, 0, &err), AOE_EARG);
        assert_int_equal(aoe_embedder_set_dims(all.embedder, D + 1, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "have 16 components"));
        assert_int_equal(aoe_embedder_dims(all.embedder), 12);
        session_destroy(all);
    }
}

/* Tests that the embedder reports the index of the text if finite weights produce an embedding that is not finite. */
static void test_overflow(void **state) {
    (void)state;
    char *path = test_path(dir, "huge");
    tiny_model shape = tiny_defaults();
    shape.filled = "encoder.layer.1.output.LayerNorm.weight";
    shape.fill = 3e38f;
    tiny_model_write(path, &shape);
    session s = session_create(tiny_context(1), path, NULL, 0);
    const aoe_text t[3] = {aoe_text_of("the cat"), aoe_text_of("a"), aoe_text_of("old dog")};
    float v[3 * D];
    aoe_error err = {0};
    assert_int_equal(aoe_embed(s.embedder, t, 3, v, NULL, &err), AOE_ENUMERIC);
    /* text 1 is the shortest text, which the embedder computes first */
    assert_int_equal(aoe_embed_failed_text(s.embedder), 1);
    session_destroy(s);
    free(path);
}

static void test_without_tokenizer(void **state) {
    (void)state;
    char *path = test_path(dir, "bare");
    tiny_model shape = tiny_defaults();
    tiny_model_write(path, &shape);
    char *vocab = test_path(path, "vocab.txt"), *config = test_path(path, "tokenizer_config.json");
    assert_true(remove(vocab) == 0 && remove(config) == 0);
    session s = session_create(tiny_context(1), path, NULL, 0);
    float v[D];
    aoe_error err = {0};
    assert_int_equal(aoe_embed(s.embedder, texts, 1, v, NULL, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "tokenizer.json"));
    assert_int_equal(aoe_embed_failed_text(s.embedder), (size_t)-1);
    session_destroy(s);
    free(vocab);
    free(config);
    free(path);
}

static void test_options(void **state) {
    (void)state;
    session s = session_create(tiny_context(1), model_dir, NULL, 0);
    aoe_embedder *e;
    aoe_error err = {0};
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    assert_int_equal(o.batch_tokens, 4096);
    o.batch_tokens = 0;
    assert_int_equal(aoe_embedder_create(&e, s.model, &o, &err), AOE_EARG);
    assert_null(e);
    size_t few, many;
    o.batch_tokens = SIZE_MAX / 2; /* the embedder uses smaller batches */
    assert_int_equal(aoei_embedder_bytes(&many, s.model, &o, &err), AOE_OK);
    o.batch_tokens = 512;
    assert_int_equal(aoei_embedder_bytes(&few, s.model, &o, &err), AOE_OK);
    assert_int_equal(many, few);
    o.batch_tokens = 64;
    assert_int_equal(aoei_embedder_bytes(&few, s.model, &o, &err), AOE_OK);
    assert_true(few < many);
    session two = session_create(tiny_context(2), model_dir, NULL, 0);
    o.batch_tokens = SIZE_MAX / 2; /* twice as many tokens with two threads */
    assert_int_equal(aoei_embedder_bytes(&many, two.model, &o, &err), AOE_OK);
    o.batch_tokens = 1024;
    assert_int_equal(aoei_embedder_bytes(&few, two.model, &o, &err), AOE_OK);
    assert_int_equal(many, few);
    o.batch_tokens = 512;
    assert_int_equal(aoei_embedder_bytes(&few, two.model, &o, &err), AOE_OK);
    assert_true(few < many);
    session_destroy(two);
    aoe_embedder_destroy(NULL);
    session_destroy(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits_depend_on_text_only),
                                       cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_view),
                                       cmocka_unit_test(test_truncation),
                                       cmocka_unit_test(test_prompt),
                                       cmocka_unit_test(test_no_texts),
                                       cmocka_unit_test(test_bad_text),
                                       cmocka_unit_test(test_dims),
                                       cmocka_unit_test(test_overflow),
                                       cmocka_unit_test(test_without_tokenizer),
                                       cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
