/* SPDX-License-Identifier: MIT
 * Tests embedding in chunks, which is used for texts longer than the maximum length. Tests which tokens each chunk
 * contains and which options are rejected. The embedding of a text must be the mean of the embeddings of its chunks,
 * and must not depend on the batch or on the number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "model/text_batch.h"
#include "tokenizer/tokenizer.h"
#include "model/embedder.h"

enum { D = 16, MAX_LENGTH = 8 };

static char *model_dir;

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    return code;
}

static int tear_down(void **state) {
    free(model_dir);
    return test_dir_tear_down(state);
}

typedef struct session {
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
} session;

static session session_open(size_t threads, const char *prompt, int normalize, size_t overlap, size_t batch_tokens) {
    session s = {.ctx = tiny_context(threads)};
    aoe_error err = {0};
    aoe_model_options m;
    aoe_embedder_options e;
    aoe_model_options_defaults(&m);
    aoe_embedder_options_defaults(&e);
    m.dtype = AOE_DTYPE_F32;
    m.prompt = prompt;
    m.normalize = normalize;
    m.max_length = MAX_LENGTH;
    e.chunk = AOE_CHUNK_MEAN;
    e.chunk_overlap = overlap;
    e.batch_tokens = batch_tokens;
    if (aoe_model_open(&s.model, s.ctx, model_dir, &m, &err) || aoe_embedder_create(&s.embedder, s.model, &e, &err))
        fail_msg("%s", err.message);
    return s;
}

static void session_close(session s) {
    aoe_embedder_destroy(s.embedder);
    aoe_model_close(s.model);
    aoe_context_destroy(s.ctx);
}

/* Computes the vector [D] of one text with n token ids. */
static void embed_ids(const session *s, int32_t *ids, size_t n, float *vector) {
    size_t offsets[2] = {0, n};
    uint8_t truncated = 0;
    const aoei_token_lists lists = {.n = 1, .ids = ids, .offsets = offsets, .truncated = &truncated};
    assert_int_equal(aoei_embed_lists(s->embedder, &lists, vector, NULL), 0);
}

/* A text of WORDS words, each of which is one token. */
static const char long_text[] = "the cat runs fast a dog sleeps old bird eats house";
enum { WORDS = 11 };

static void copy_ids(int32_t *to, const int32_t *from, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

/* Computes want [D], the expected vector of the long text, in double: the mean of the vectors of n chunks, divided by
 * its norm if normalize is 1. Chunk i consists of [CLS], the tokens of `before`, the words [first[i], first[i] + words)
 * of the long text, the tokens of `after`, and [SEP]. */
static void expected(const session *s, const char *before, const char *after, const size_t *first, size_t n,
                     size_t words, int normalize, double *want) {
    const aoe_tokenizer *t = aoe_model_tokenizer(s->model);
    const aoe_encode_options bare = {.struct_size = sizeof(aoe_encode_options), .no_special_tokens = 1};
    aoe_ids own = {0}, head = {0}, tail = {0};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(long_text), &bare, &own, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(before), &bare, &head, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(after), &bare, &tail, NULL), 0);
    assert_int_equal(own.n, WORDS);
    memset(want, 0, D * sizeof *want);
    for (size_t w = 0; w < n; w++) {
        int32_t ids[32];
        float v[D];
        size_t at = 0;
        ids[at++] = aoei_tokenizer_id(t, "[CLS]", 5);
        copy_ids(ids + at, head.id, head.n);
        at += head.n;
        copy_ids(ids + at, own.id + first[w], words);
        at += words;
        copy_ids(ids + at, tail.id, tail.n);
        at += tail.n;
        ids[at++] = aoei_tokenizer_id(t, "[SEP]", 5);
        assert_int_equal(at, MAX_LENGTH);
        const session raw = session_open(1, "", 0, 0, 64);
        embed_ids(&raw, ids, at, v);
        session_close(raw);
        for (size_t k = 0; k < D; k++)
            want[k] += (double)v[k] / (double)n;
    }
    double squares = 0;
    for (size_t k = 0; k < D; k++)
        squares += want[k] * want[k];
    for (size_t k = 0; k < D && normalize; k++)
        want[k] /= sqrt(squares);
    aoe_ids_free(&own);
    aoe_ids_free(&head);
    aoe_ids_free(&tail);
}

static void check(const char *prompt, const char *before, const char *after, size_t overlap, const size_t *first,
                  size_t n, size_t words) {
    for (int normalize = 0; normalize < 2; normalize++) {
        const session s = session_open(1, prompt, normalize, overlap, 64);
        const aoe_text text = aoe_text_of(long_text);
        float got[D];
        double want[D];
        aoe_text_info info;
        assert_int_equal(aoe_embed(s.embedder, &text, 1, got, &info, NULL), 0);
        assert_int_equal(info.chunks, n);
        assert_int_equal(info.truncated, 0);
        assert_int_equal(info.tokens, WORDS + MAX_LENGTH - words);
        expected(&s, before, after, first, n, words, normalize, want);
        for (size_t k = 0; k < D; k++)
            assert_true(fabs((double)got[k] - want[k]) < 2e-6);
        session_close(s);
    }
}

static void test_chunks(void **state) {
    (void)state;
    check("", "", "", 0, (const size_t[]){0, 5}, 2, 6); /* the last chunk ends at the end of the text */
    check("", "", "", 4, (const size_t[]){0, 2, 4, 5}, 4, 6);
    /* a chunk has 6 words; the default overlap is an eighth of them, rounded down to 0 */
    check("", "", "", AOE_AUTO, (const size_t[]){0, 5}, 2, 6);
    check("the old {text} sleeps", "the old", "sleeps", 0, (const size_t[]){0, 3, 6, 8}, 4, 3);
    /* a chunk has 5 words, so at most 4 of them can overlap */
    check("{text} fast", "", "fast", 7, (const size_t[]){0, 1, 2, 3, 4, 5, 6}, 7, 5);
}

/* Tests that the embedding of a text is bit-identical for any other texts, any batch size and any number of threads. A
 * text must have several chunks only if it is longer than the maximum length. */
static void test_bits_depend_on_text_only(void **state) {
    (void)state;
    enum { N = 30 };
    aoe_text texts[N];
    float *v[3];
    for (uint32_t i = 0; i < N; i++)
        texts[i] = i % 7 == 2 ? aoe_text_of(strdup(long_text)) : aoe_text_of(strdup(tiny_text(i)));
    for (size_t k = 0; k < 3; k++) {
        const session s = session_open(k == 1 ? 3 : 1, "", 1, 3, k == 2 ? 9 : 64);
        v[k] = calloc(N * D, sizeof(float));
        aoe_text_info info[N];
        assert_int_equal(aoe_embed(s.embedder, texts, N, v[k], info, NULL), 0);
        for (size_t i = 0; i < N; i++) {
            float alone[D];
            assert_int_equal(aoe_embed(s.embedder, &texts[i], 1, alone, NULL, NULL), 0);
            assert_memory_equal(alone, v[k] + i * D, sizeof alone);
            assert_true((info[i].chunks > 1) == (info[i].tokens > MAX_LENGTH));
        }
        session_close(s);
    }
    assert_memory_equal(v[0], v[1], N * D * sizeof(float));
    assert_memory_equal(v[0], v[2], N * D * sizeof(float));
    for (size_t i = 0; i < N; i++)
        free((void *)(uintptr_t)texts[i].data);
    for (size_t k = 0; k < 3; k++)
        free(v[k]);
}

static void test_rejected(void **state) {
    (void)state;
    const session s = session_open(1, "the old bird {text} and the cat", 0, 0, 64);
    const aoe_text text = aoe_text_of(long_text);
    float v[D];
    aoe_error err;
    aoe_embedder *e;
    assert_int_equal(aoe_embed(s.embedder, &text, 1, v, NULL, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.max_length is 8, but prompt and special tokens alone have"));
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    o.chunk_overlap = 1; /* an overlap is rejected if embedding in chunks is disabled */
    assert_int_equal(aoe_embedder_create(&e, s.model, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "set options.chunk to mean"));
    o.chunk = AOE_CHUNK_MEAN;
    o.chunk_overlap = MAX_LENGTH;
    assert_int_equal(aoe_embedder_create(&e, s.model, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "must be less than the length of a chunk"));
    o.chunk_overlap = 0;
    o.chunk = (aoe_chunk)7;
    assert_int_equal(aoe_embedder_create(&e, s.model, &o, &err), AOE_EARG);
    session_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chunks), cmocka_unit_test(test_bits_depend_on_text_only),
                                       cmocka_unit_test(test_rejected)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
