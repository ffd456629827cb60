/* SPDX-License-Identifier: MIT
 * The inference session: tokenizes a list of texts, batches them by length under a token budget, runs the encoder, pools, and
 * restores the order of the vectors. One arena is created for the largest batch and laid out anew for each batch, so that a
 * small batch uses few pages; aoe_embed allocates only the token lists.
 */
#include "model/embedder.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "encoder/encoder.h"
#include "encoder/slots.h"
#include "model/text_batch.h"
#include "nn/batch.h"
#include "nn/dense.h"
#include "nn/pooling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct aoe_embedder {
    aoe_model *model;    /* borrowed */
    size_t batch_tokens; /* maximum tokens of a batch; a longer text forms a batch alone */
    aoe_chunk chunk;
    size_t overlap; /* tokens that neighboring chunks share; AOE_AUTO: an eighth of a chunk */
    size_t failed;  /* index of the text that failed in the last call, or (size_t)-1 */
    aoei_arena arena;
    aoei_encoder_state state; /* in the arena; activations of the current batch */
    aoei_tensor pooled;       /* [texts, hidden], in the arena */
    aoei_tensor vectors;      /* [texts, D], in the arena; output of the dense layer, or `pooled` without one */
    float *window;            /* [D], owned; vector of one chunk */
    aoei_batch_buffer buffer; /* host arrays of the current batch; owned */
};

void aoe_embedder_options_defaults(aoe_embedder_options *o) {
    if (!o)
        return;
    *o = (aoe_embedder_options){.struct_size = sizeof *o};
    o->batch_tokens = 4096;
    o->chunk_overlap = AOE_AUTO;
}

/* Lays out the arena for a batch of n tokens in n_texts texts of at most `longest` tokens. The size increases with each of the
 * three. */
static int layout(const aoe_model *m, aoei_encoder_state *state, aoei_tensor *pooled, aoei_tensor *vectors, aoei_arena *arena,
                  size_t n, size_t n_texts, size_t longest, aoe_error *err) {
    aoei_arena_reset(arena, 0);
    *pooled = aoei_tensor_take(arena, n_texts, m->config.hidden);
    *vectors = m->config.dense ? aoei_tensor_take(arena, n_texts, m->config.dense) : *pooled;
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
    aoei_tensor pooled, vectors;
    const size_t most = largest_batch(m, o);
    aoei_arena_measure(&arena);
    const int code = layout(m, &state, &pooled, &vectors, &arena, most, most, m->settings.max_length, err);
    *bytes = arena.used;
    return code;
}

int aoe_embedder_create(aoe_embedder **e, aoe_model *m, const aoe_embedder_options *o, aoe_error *err) {
    if (e)
        *e = NULL;
    AOEI_CHECK(err, e, m);
    AOEI_OPTIONS(aoe_embedder_options, o, err);
    if (o->batch_tokens == 0)
        return aoei_fail(err, AOE_EARG, "options.batch_tokens must be at least 1");
    if (o->chunk != AOE_CHUNK_FIRST && o->chunk != AOE_CHUNK_MEAN)
        return aoei_fail(err, AOE_EARG, "chunk %d is unknown; use first or mean", (int)o->chunk);
    if (o->chunk_overlap != AOE_AUTO && o->chunk_overlap && o->chunk != AOE_CHUNK_MEAN) /* 0 is the same as no overlap */
        return aoei_fail(err, AOE_EARG,
                         "options.chunk_overlap is %zu, but texts are not split into chunks; set options.chunk to mean",
                         o->chunk_overlap);
    if (o->chunk_overlap != AOE_AUTO && o->chunk_overlap >= m->settings.max_length)
        return aoei_fail(err, AOE_EARG, "options.chunk_overlap is %zu, but must be less than the length of a chunk, %zu tokens",
                         o->chunk_overlap, m->settings.max_length);
    aoe_embedder *created = aoei_calloc(1, sizeof *created);
    if (!created)
        return aoei_fail_nomem(err, sizeof *created);
    created->model = m;
    created->batch_tokens = o->batch_tokens;
    created->chunk = o->chunk;
    created->overlap = o->chunk_overlap;
    created->failed = (size_t)-1;
    const size_t most = largest_batch(m, o);
    size_t bytes;
    int code = aoei_embedder_bytes(&bytes, m, o, err);
    if (!code)
        code = aoei_arena_create(&created->arena, bytes, err);
    if (!code)
        code = aoei_batch_buffer_create(&created->buffer, most, most, err);
    if (!code && !(created->window = aoei_malloc_array(aoe_model_dims(m), sizeof *created->window)))
        code = aoei_fail_nomem(err, aoe_model_dims(m) * sizeof *created->window);
    if (code) {
        aoe_embedder_destroy(created);
        return code;
    }
    *e = created;
    return AOE_OK;
}

void aoe_embedder_destroy(aoe_embedder *e) {
    if (!e)
        return;
    aoei_free(e->window);
    aoei_batch_buffer_destroy(&e->buffer);
    aoei_arena_destroy(&e->arena);
    aoei_free(e);
}

size_t aoe_embed_failed_text(const aoe_embedder *e) {
    if (!e)
        return (size_t)-1;
    return e->failed;
}

aoe_model *aoe_embedder_model(const aoe_embedder *e) {
    if (!e)
        return NULL;
    return e->model;
}

/* A text, or one chunk of a longer text. Its tokens are the prefix tokens (special tokens and prompt), the text tokens
 * [first, first + n) and the suffix tokens. */
typedef struct item {
    size_t length;   /* tokens, prefix and suffix included */
    size_t text;     /* index of the text */
    size_t window;   /* index of the chunk */
    size_t windows;  /* number of chunks of the text */
    size_t first, n; /* first text token and number of text tokens */
} item;

/* Order of work: by length, then by index, so that equal inputs form equal batches. The chunks of a text have equal lengths, so
 * they are adjacent. */
static int by_length(const void *pa, const void *pb) {
    const item *a = pa, *b = pb;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return a->window < b->window ? -1 : a->window > b->window;
}

/* Number of chunks for `own` text tokens if a chunk has `room` text tokens and adjacent chunks share `overlap` tokens. The last
 * chunk ends at the end of the text. */
static size_t windows_of(size_t own, size_t room, size_t overlap) {
    const size_t step = room - overlap;
    return own <= room ? 1 : (own - room + step - 1) / step + 1;
}

static size_t overlap_in(const aoe_embedder *e, size_t room) {
    return e->overlap == AOE_AUTO ? room / 8 : e->overlap < room ? e->overlap : room - 1;
}

static aoei_ends ends_of(const aoei_token_lists *lists, size_t text) {
    return lists->ends ? lists->ends[text] : (aoei_ends){0, 0};
}

/* Number of chunks of a text. */
static size_t count_windows(const aoe_embedder *e, const aoei_token_lists *lists, size_t text) {
    const size_t n = aoei_token_count(lists, text), most = e->model->settings.max_length;
    const aoei_ends ends = ends_of(lists, text);
    if (!lists->ends || n <= most)
        return 1;
    const size_t room = most - ends.before - ends.after;
    return windows_of(n - ends.before - ends.after, room, overlap_in(e, room));
}

/* Appends the items of a text; returns their number. */
static size_t add_items(const aoe_embedder *e, const aoei_token_lists *lists, size_t text, item *items) {
    const aoei_ends ends = ends_of(lists, text);
    const size_t own = aoei_token_count(lists, text) - ends.before - ends.after, windows = count_windows(e, lists, text);
    const size_t room = windows == 1 ? own : e->model->settings.max_length - ends.before - ends.after;
    const size_t step = room - (windows == 1 ? 0 : overlap_in(e, room));
    for (size_t w = 0; w < windows; w++)
        items[w] = (item){.length = ends.before + room + ends.after,
                          .text = text,
                          .window = w,
                          .windows = windows,
                          .first = w + 1 < windows ? w * step : own - room,
                          .n = room};
    return windows;
}

static void add_to_batch(aoe_embedder *e, const aoei_token_lists *lists, const item *it, size_t index) {
    const int32_t *ids = lists->ids + lists->offsets[it->text];
    const aoei_ends ends = ends_of(lists, it->text);
    if (it->windows == 1) {
        aoei_batch_add(&e->buffer, ids, it->length, (uint32_t)index);
        return;
    }
    aoei_batch_add(&e->buffer, ids, it->length, (uint32_t)index); /* sets the length; the ids are overwritten below */
    int32_t *to = e->buffer.ids + e->buffer.batch.n_tokens - it->length;
    memcpy(to, ids, ends.before * sizeof *to);
    memcpy(to + ends.before, ids + ends.before + it->first, it->n * sizeof *to);
    memcpy(to + ends.before + it->n, ids + lists->offsets[it->text + 1] - lists->offsets[it->text] - ends.after,
           ends.after * sizeof *to);
}

/* Adds the vector x[n] of a chunk to the sum v[n] of its text. After the last chunk, v becomes the mean, normalized to unit
 * length if the model normalizes. */
static void add_window(const aoe_embedder *e, const item *it, float *v, const float *x, size_t n) {
    double squares = 0;
    for (size_t k = 0; k < n; k++)
        v[k] = it->window ? v[k] + x[k] : x[k];
    if (it->window + 1 < it->windows)
        return;
    for (size_t k = 0; k < n; k++) {
        v[k] = (float)((double)v[k] / (double)it->windows);
        squares += (double)v[k] * (double)v[k];
    }
    const double norm = sqrt(squares) > 1e-12 ? sqrt(squares) : 1e-12;
    for (size_t k = 0; k < n && e->model->settings.normalize; k++)
        v[k] = (float)((double)v[k] / norm);
}

/* Runs the batch in the buffer; its texts are items[0..n_texts). */
static int run_batch(aoe_embedder *e, const item *items, float *vectors, aoe_error *err) {
    const aoe_model *m = e->model;
    const aoei_batch *b = &e->buffer.batch;
    const size_t D = aoe_model_dims(m), dense = aoei_pooled_slot(&m->config, AOEI_PW_DENSE);
    const int code = layout(e->model, &e->state, &e->pooled, &e->vectors, &e->arena, b->n_tokens, b->n_texts, b->longest, err);
    if (code)
        return code;
    const aoei_tensor last = aoei_encoder_forward(m->ctx, &m->config, m->weights, b, &e->state, NULL);
    aoei_encoder_pool(m->ctx, &m->config, e->pooled, m->settings.pooling, last, b, &e->state);
    if (m->config.dense)
        aoei_dense_forward(m->ctx, e->vectors, e->pooled, m->weights[dense], m->weights[dense + 1], m->config.dense_tanh);
    for (size_t i = 0; i < b->n_texts; i++) {
        const aoei_tensor row = aoei_tensor_rows(e->vectors, i, 1);
        float *v = vectors + items[i].text * D;
        if (items[i].windows == 1) {
            if (m->settings.normalize)
                aoei_l2_normalize(m->ctx, row);
            aoei_tensor_read(m->ctx, v, row);
        } else {
            aoei_tensor_read(m->ctx, e->window, row);
            add_window(e, &items[i], v, e->window, D);
        }
    }
    for (size_t i = 0; i < b->n_texts; i++)
        for (size_t k = 0; k < D; k++)
            if (!isfinite(vectors[items[i].text * D + k])) {
                e->failed = items[i].text;
                return aoei_fail(err, AOE_ENUMERIC,
                                 "the vector is not finite, because computing it overflows; check the weights of the model");
            }
    return AOE_OK;
}

/* All items in the order of by_length, owned by the caller. Texts without tokens come first. NULL: out of memory. */
static item *list_items(const aoe_embedder *e, const aoei_token_lists *lists, size_t *n, aoe_error *err) {
    *n = 0;
    for (size_t i = 0; i < lists->n; i++)
        *n += count_windows(e, lists, i);
    item *items = aoei_malloc_array(*n ? *n : 1, sizeof *items);
    if (!items) {
        aoei_fail_nomem(err, *n * sizeof *items);
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < lists->n; i++)
        at += add_items(e, lists, i, items + at);
    qsort(items, *n, sizeof *items, by_length);
    return items;
}

int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err) {
    size_t total;
    e->failed = (size_t)-1;
    item *items = list_items(e, lists, &total, err);
    if (!items)
        return AOE_ENOMEM;
    int code = AOE_OK;
    size_t i = 0;
    for (; i < total && !items[i].length; i++) /* the vector of a text without tokens is zero, as in Model2Vec */
        memset(vectors + items[i].text * aoe_model_dims(e->model), 0, aoe_model_dims(e->model) * sizeof *vectors);
    while (i < total && !code) {
        aoei_batch_clear(&e->buffer);
        size_t n = 0;
        for (; i + n < total; n++) {
            if (n > 0 && e->buffer.batch.n_tokens + items[i + n].length > e->batch_tokens)
                break;
            add_to_batch(e, lists, &items[i + n], n);
        }
        code = run_batch(e, items + i, vectors, err);
        i += n;
    }
    aoei_free(items);
    return code;
}

int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info, aoe_error *err) {
    AOEI_CHECK(err, e);
    if (n)
        AOEI_CHECK(err, texts, vectors);
    aoei_token_lists lists;
    int code = (e->chunk == AOE_CHUNK_MEAN ? aoei_encode_for_windows : aoei_encode_for_vectors)(e->model, texts, n, &lists,
                                                                                                &e->failed, err);
    if (code)
        return code;
    for (size_t i = 0; info && i < n; i++)
        info[i] = (aoe_text_info){.tokens = (uint32_t)aoei_token_count(&lists, i),
                                  .chunks = (uint32_t)count_windows(e, &lists, i),
                                  .truncated = lists.truncated[i]};
    code = aoei_embed_lists(e, &lists, vectors, err);
    aoei_token_lists_free(&lists);
    return code;
}
