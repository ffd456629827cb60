/* SPDX-License-Identifier: MIT
 * The inference session: tokenizes a list of texts, batches them by length under
 * a token budget, runs the encoder, pools, and puts the vectors back in order.
 * One arena, made at creation for the largest batch and laid out for each batch
 * as tight as it can be; aoe_embed allocates only the token lists. It does not
 * train and does not read files.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "model/encode.h"
#include "model/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct aoe_embedder {
    aoe_model *model;    /* borrowed */
    size_t batch_tokens; /* tokens of a batch; a longer text is a batch of its own */
    size_t failed;       /* text of the last failure, or (size_t)-1 */
    aoei_arena arena;
    aoei_encoder_state state; /* in the arena, of the batch in flight */
    aoei_tensor pooled;       /* [texts, D], likewise */
    aoei_batch_buffer buffer; /* host arrays of the batch in flight */
};

void aoe_embedder_options_defaults(aoe_embedder_options *o) {
    memset(o, 0, sizeof *o);
    o->batch_tokens = 4096;
}

/* For a batch of n tokens in n_texts texts of at most `longest` tokens. Room grows with each of them. A small batch stays
 * in few pages and in the caches. */
static int layout(const aoe_model *m, aoei_encoder_state *state, aoei_tensor *pooled, aoei_arena *arena, size_t n,
                  size_t n_texts, size_t longest, aoe_error *err) {
    aoei_arena_reset(arena, 0);
    *pooled = aoei_tensor_take(arena, n_texts, m->config.hidden);
    const aoei_encoder_mode mode = {.type = m->type};
    return aoei_encoder_layout(state, m->ctx, &m->config, arena, n, n_texts, longest, mode, err);
}

/* Tokens of the largest batch. */
static size_t largest_batch(const aoe_model *m, const aoe_embedder_options *o) {
    return o->batch_tokens > m->settings.max_length ? o->batch_tokens : m->settings.max_length;
}

int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err) {
    aoei_arena arena;
    aoei_encoder_state state;
    aoei_tensor pooled;
    const size_t most = largest_batch(m, o);
    aoei_arena_measure(&arena);
    const int code = layout(m, &state, &pooled, &arena, most, most, m->settings.max_length, err);
    *bytes = arena.used;
    return code;
}

int aoe_embedder_create(aoe_embedder **out, aoe_model *m, const aoe_embedder_options *options, aoe_error *err) {
    *out = NULL;
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    if (options)
        o = *options;
    if (o.batch_tokens == 0)
        return aoei_fail(err, AOE_EARG, "--batch-tokens must be at least 1");
    aoe_embedder *e = aoei_calloc(1, sizeof *e);
    if (!e)
        return aoei_fail_nomem(err, sizeof *e);
    e->model = m;
    e->batch_tokens = o.batch_tokens;
    e->failed = (size_t)-1;
    const size_t most = largest_batch(m, &o);
    size_t bytes;
    int code = aoei_embedder_bytes(&bytes, m, &o, err);
    if (!code)
        code = aoei_arena_create(&e->arena, bytes, err);
    if (!code)
        code = aoei_batch_buffer_create(&e->buffer, most, most, err);
    if (code) {
        aoe_embedder_destroy(e);
        return code;
    }
    *out = e;
    return AOE_OK;
}

void aoe_embedder_destroy(aoe_embedder *e) {
    if (!e)
        return;
    aoei_batch_buffer_destroy(&e->buffer);
    aoei_arena_destroy(&e->arena);
    aoei_free(e);
}

size_t aoe_embed_failed_text(const aoe_embedder *e) {
    return e->failed;
}

aoe_model *aoe_embedder_model(const aoe_embedder *e) {
    return e->model;
}

/* Order of work: by length, then as given, so that equal inputs give equal batches. */
typedef struct item {
    size_t length, text;
} item;

static int by_length(const void *pa, const void *pb) {
    const item *a = pa, *b = pb;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->text < b->text ? -1 : a->text > b->text;
}

/* Runs the batch in the buffer; its texts are items[0..n_texts). */
static int run_batch(aoe_embedder *e, const item *items, float *vectors, aoe_error *err) {
    const aoe_model *m = e->model;
    const aoei_batch *b = &e->buffer.batch;
    const size_t D = m->config.hidden;
    const int code = layout(e->model, &e->state, &e->pooled, &e->arena, b->n_tokens, b->n_texts, b->longest, err);
    if (code)
        return code;
    const aoei_tensor last = aoei_encoder_forward(m->ctx, &m->config, m->weights, b, &e->state, NULL);
    const aoei_tensor pooled = e->pooled;
    aoei_encoder_pool(m->ctx, &m->config, pooled, m->settings.pooling, last, b, &e->state);
    if (m->settings.normalize)
        aoei_l2_normalize(m->ctx, pooled);
    for (size_t i = 0; i < b->n_texts; i++)
        aoei_tensor_read(m->ctx, vectors + items[i].text * D, aoei_tensor_rows(pooled, i, 1));
    for (size_t i = 0; i < b->n_texts; i++)
        for (size_t k = 0; k < D; k++)
            if (!isfinite(vectors[items[i].text * D + k])) {
                e->failed = items[i].text;
                return aoei_fail(err, AOE_ENUMERIC, "its vector is not finite; the model's weights overflow");
            }
    return AOE_OK;
}

int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err) {
    e->failed = (size_t)-1;
    item *items = aoei_malloc_array(lists->n ? lists->n : 1, sizeof *items);
    if (!items)
        return aoei_fail_nomem(err, lists->n * sizeof *items);
    for (size_t i = 0; i < lists->n; i++)
        items[i] = (item){aoei_token_count(lists, i), i};
    qsort(items, lists->n, sizeof *items, by_length);
    int code = AOE_OK;
    size_t i = 0;
    for (; i < lists->n && !items[i].length; i++) /* no token: the mean of nothing is zero, as in Model2Vec */
        memset(vectors + items[i].text * e->model->config.hidden, 0, e->model->config.hidden * sizeof *vectors);
    while (i < lists->n && !code) {
        aoei_batch_clear(&e->buffer);
        size_t n = 0;
        for (; i + n < lists->n; n++) {
            const item *it = &items[i + n];
            if (n > 0 && e->buffer.batch.n_tokens + it->length > e->batch_tokens)
                break;
            aoei_batch_add(&e->buffer, lists->ids + lists->offsets[it->text], it->length, (uint32_t)n);
        }
        code = run_batch(e, items + i, vectors, err);
        i += n;
    }
    aoei_free(items);
    return code;
}

/* Says which text the error is about, when it is about one. */
static int name_text(const aoe_embedder *e, int code, aoe_error *err) {
    if (e->failed != (size_t)-1)
        aoei_error_prefix(err, "text %zu", e->failed);
    return code;
}

int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info, aoe_error *err) {
    aoei_token_lists lists;
    int code = aoei_encode_for_vectors(e->model, texts, n, &lists, &e->failed, err);
    if (code)
        return name_text(e, code, err);
    for (size_t i = 0; info && i < n; i++)
        info[i] = (aoe_text_info){.tokens = (uint32_t)aoei_token_count(&lists, i), .truncated = lists.truncated[i]};
    code = aoei_embed_lists(e, &lists, vectors, err);
    aoei_token_lists_free(&lists);
    return code ? name_text(e, code, err) : AOE_OK;
}
