/* SPDX-License-Identifier: MIT
 * Computes embeddings of texts. The texts are tokenized, sorted by length, and divided into batches with a limited
 * number of tokens. The encoder and the pooling process one batch at a time. The vectors are written in the order of
 * the texts. Each call has a workspace, which the embedder keeps for later calls, so several threads may use an
 * embedder. The arena of a workspace is large enough for the largest batch. Each batch uses only the beginning of the
 * arena, so small batches touch little physical memory. aoe_embed allocates the lists of tokens and chunks and, if
 * embeddings are truncated, the complete embeddings. A long text may be split into chunks that are embedded separately.
 * The embedding of the text is then the mean of the embeddings of its chunks. If the model subtracts the embedding of
 * its empty prompt, a batch also contains the empty prompts.
 *
 * If there are enough texts, each thread computes batches of its own, with a workspace of its own (a lane), so that
 * threads do not wait for each other in every operation. All threads together compute the remaining batches, long texts
 * and chunks of long texts. The vectors do not depend on the batches.
 */
#include "model/embedder.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/options.h"
#include "base/pool.h"
#include "encoder/arch.h"
#include "encoder/encoder.h"
#include "encoder/slots.h"
#include "model/empty_prompt.h"
#include "model/packed_weights.h"
#include "model/text_batch.h"
#include "nn/batch.h"
#include "nn/module_chain.h"
#include "nn/pooling.h"
#include "options/model.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_TOKENS = 8192,
    SMALL_BATCH = 512,  /* tokens per thread in a batch, if the hidden size is less than LARGE_HIDDEN */
    LARGE_BATCH = 2048, /* tokens per thread in a batch of other models */
    LARGE_HIDDEN = 2048
};

/* The memory of one call. Calls that run at the same time have different workspaces. */
typedef struct workspace {
    struct workspace **lanes;       /* [threads] workspaces of the threads, which share `ctx`, owned; NULL: none yet */
    struct workspace *next;         /* next unused workspace of the embedder, owned; NULL: none */
    const aoe_embedder *e;          /* borrowed */
    const char *prompt;             /* prompt of the current call, borrowed */
    const aoei_empty_prompt *empty; /* this prompt without a text, if its vectors are subtracted, borrowed; zeroed: it
                                       is not subtracted */
    const uint8_t *unit;            /* [texts] 1: the vector is normalized; borrowed; NULL: as the model does */
    aoe_context ctx;          /* scratch buffers, and the threads of the embedder; owned, but borrowed by a lane */
    aoei_arena arena;         /* owned */
    aoei_encoder_state state; /* activations of the current batch, in the arena */
    /* modules after the pooling. The first tensor, [texts, aoei_pooled_dims], is the output of the pooling. The last
     * tensor contains the vectors of the texts before they are truncated, [texts, D]. The tensors are in the arena. */
    aoei_module_chain chain;
    float *chunk_vector;      /* [D] vector of one chunk, owned */
    float *empty_vector;      /* [D] vector of the empty prompt, owned; NULL: it is not subtracted */
    aoei_batch_buffer buffer; /* token ids of the current batch, owned */
    size_t failed;            /* index of the text that caused an error, or (size_t)-1 */
    size_t failed_batch;      /* lanes only: index of the batch that failed, or (size_t)-1 */
    aoe_error err;            /* lanes only: error of this batch */
} workspace;

struct aoe_embedder {
    aoe_model *model;    /* borrowed, unless owns_model is 1 */
    int owns_model;      /* 1: the embedder owns its model and the context of the model */
    aoei_pool *pool;     /* threads of the calls, owned */
    size_t batch_tokens; /* maximum number of tokens in a batch (batch_limit); a longer text forms a batch of its own */
    size_t max_tokens;   /* number of tokens for which the buffers of a workspace are allocated */
    size_t lane_tokens;  /* maximum number of tokens in a batch of one thread (lane_limit); 0: no lanes are used */
    aoe_chunk chunk;     /* how long texts are embedded: first chunk only, or mean of all chunks */
    size_t overlap;      /* number of tokens that adjacent chunks have in common; AOE_AUTO: 1/8 of the text tokens of a
                            chunk */
    uint64_t serial;     /* number of this embedder among all that were created, from 1 */
    size_t dims;         /* number of components to which embeddings are truncated; 0: aoe_model_dims */
    struct aoe_eval_cache *eval_cache; /* see aoei_embedder_eval_cache */
    aoei_empty_prompt empty;           /* empty prompt of the model, whose vectors are subtracted; zeroed: none */
    aoei_mutex lock;                   /* protects `unused` */
    workspace *unused;                 /* workspaces that no call uses, owned */
};

static atomic_uint_fast64_t embedders; /* number of embedders that were created */

/* The last failure of aoe_embed or aoe_score_pairs in this thread. */
static _Thread_local struct {
    uint64_t embedder; /* serial number of the embedder of the call; 0: none */
    size_t text;       /* index of the text that caused the error, or (size_t)-1 */
} failure;

/* Forgets the last failure; called at the beginning of every call that can fail at a text. */
static void forget_failure(const aoe_embedder *e) {
    failure.embedder = e->serial;
    failure.text = (size_t)-1;
}

AOEI_DEFAULTS(aoe_embedder_options) {
    *o = (aoe_embedder_options){.struct_size = sizeof *o};
    o->batch_tokens = 4096;
    o->chunk_overlap = AOE_AUTO;
    o->threads = AOE_AUTO;
}

/* Allocates from the arena the tensors for a batch with n tokens and n_texts texts, each of at most `longest` tokens.
 * unpacked: aoei_encoder_mode.unpacked. The required size of the arena increases with each of these four numbers. */
static int layout(const aoe_context *ctx, const aoe_model *m, aoei_encoder_state *state, aoei_module_chain *chain,
                  aoei_arena *arena, size_t n, size_t n_texts, size_t longest, int unpacked, aoe_error *err) {
    aoei_arena_reset(arena, 0);
    aoei_module_chain_layout(chain, m->config.modules.list, m->config.modules.n, n_texts, aoei_pooled_dims(&m->config),
                             0, arena);
    const aoei_encoder_mode mode = {.type = m->type, .int8 = m->dtype == AOE_DTYPE_INT8, .unpacked = unpacked};
    return aoei_encoder_layout(state, ctx, &m->config, arena, n, n_texts, longest, mode, err);
}

/* Returns the maximum number of tokens in a batch: o->batch_tokens, or a smaller number with which batches are faster.
 * The activations of few tokens stay in the caches of the CPU. If the hidden size is large, each batch reads many
 * weights, so batches have more tokens. The limit does not apply to static models. Results do not depend on it. */
static size_t batch_limit(const aoe_model *m, const aoe_embedder_options *o, size_t threads) {
    const size_t per_thread = m->config.hidden < LARGE_HIDDEN ? SMALL_BATCH : LARGE_BATCH;
    const size_t fast = per_thread * threads;
    return o->batch_tokens < fast || !m->config.layers ? o->batch_tokens : fast;
}

/* Returns the maximum number of tokens in a batch that one thread computes alone, or 0 if all threads compute every
 * batch, as with large models, whose weights would be read from memory more often. */
static size_t lane_limit(const aoe_model *m, const aoe_embedder_options *o, size_t threads) {
    if (threads < 2 || !m->config.layers || m->config.hidden >= LARGE_HIDDEN)
        return 0;
    return o->batch_tokens < SMALL_BATCH ? o->batch_tokens : SMALL_BATCH;
}

/* Returns the number of tokens for which the buffers of a batch are allocated. limit: maximum number of tokens in a
 * batch, except that a longer text forms a batch of its own. A text has at most m->settings.max_length tokens. Texts
 * for static models may be very long, so memory for texts with more than FIRST_TOKENS tokens is allocated when such a
 * text occurs. */
static size_t max_batch_tokens(const aoe_model *m, size_t limit) {
    const size_t longest = m->settings.max_length < FIRST_TOKENS || !m->config.arch->allows_no_tokens
                               ? m->settings.max_length
                               : FIRST_TOKENS;
    return limit > longest ? limit : longest;
}

/* Sets *bytes to the size of the arena for batches with at most max_tokens tokens, and texts with at most `longest`
 * tokens. */
static int measure(size_t *bytes, const aoe_context *ctx, const aoe_model *m, size_t max_tokens, size_t longest,
                   aoe_error *err) {
    aoei_arena arena;
    aoei_encoder_state state;
    aoei_module_chain chain;
    aoei_arena_measure(&arena);
    const int code = layout(ctx, m, &state, &chain, &arena, max_tokens, max_tokens, longest, m->later != NULL, err);
    *bytes = arena.used;
    return code;
}

int aoei_embedder_bytes(size_t *bytes, const aoe_model *m, const aoe_embedder_options *o, aoe_error *err) {
    const size_t threads = aoei_pool_threads(m->ctx->pool), lane = lane_limit(m, o, threads);
    size_t lanes = 0;
    int code = lane ? measure(&lanes, m->ctx, m, lane, lane, err) : AOE_OK;
    if (!code)
        code = measure(bytes, m->ctx, m, max_batch_tokens(m, batch_limit(m, o, threads)), m->settings.max_length, err);
    *bytes = code ? 0 : *bytes + threads * lanes;
    return code;
}

/* --------------------------------------------------------------- workspaces */

/* Replaces the memory of batches by memory for max_tokens tokens. If an allocation fails, the previous memory is
 * kept. */
static int reserve(workspace *w, size_t max_tokens, size_t longest, aoe_error *err) {
    aoei_arena arena = {0};
    aoei_batch_buffer buffer = {0};
    size_t bytes;
    int code = measure(&bytes, &w->ctx, w->e->model, max_tokens, longest, err);
    if (!code)
        code = aoei_arena_create(&arena, bytes, err);
    if (!code)
        code = aoei_batch_buffer_create(&buffer, max_tokens, max_tokens, err);
    if (code) {
        aoei_arena_destroy(&arena);
        return code;
    }
    aoei_batch_buffer_destroy(&w->buffer);
    aoei_arena_destroy(&w->arena);
    w->arena = arena;
    w->buffer = buffer;
    return AOE_OK;
}

/* Frees the memory of a workspace except its lanes and its context. */
static void destroy_buffers(workspace *w) {
    aoei_free(w->chunk_vector);
    aoei_free(w->empty_vector);
    aoei_batch_buffer_destroy(&w->buffer);
    aoei_arena_destroy(&w->arena);
    aoei_free(w);
}

static void destroy_workspace(workspace *w) {
    const size_t threads = aoei_pool_threads(w->e->pool);
    for (size_t k = 0; w->lanes && k < threads; k++)
        if (w->lanes[k])
            destroy_buffers(w->lanes[k]);
    aoei_free(w->lanes);
    aoei_context_release(&w->ctx);
    destroy_buffers(w);
}

/* Allocates the buffers of *w that do not exist yet, for batches with at most max_tokens tokens and texts with at most
 * `longest` tokens. */
static int create_buffers(workspace *w, size_t max_tokens, size_t longest, aoe_error *err) {
    const size_t D = aoei_vector_dims(&w->e->model->config);
    const int code = w->buffer.ids ? AOE_OK : reserve(w, max_tokens, longest, err);
    if (!code && !((w->chunk_vector || (w->chunk_vector = aoei_malloc_array(D, sizeof *w->chunk_vector))) &&
                   (w->empty_vector = aoei_malloc_array(D, sizeof *w->empty_vector))))
        return aoei_fail_nomem(err, D * sizeof *w->chunk_vector);
    return code;
}

/* Creates the lanes of a workspace that do not exist yet. After a failure, a later call continues. */
static int create_lanes(workspace *w, aoe_error *err) {
    const size_t threads = aoei_pool_threads(w->e->pool), tokens = w->e->lane_tokens;
    if (!w->lanes && !(w->lanes = aoei_calloc(threads, sizeof(workspace *))))
        return aoei_fail_nomem(err, threads * sizeof(workspace *));
    for (size_t k = 0; k < threads; k++) {
        workspace *lane = w->lanes[k] ? w->lanes[k] : aoei_calloc(1, sizeof *lane);
        if (!lane)
            return aoei_fail_nomem(err, sizeof *lane);
        w->lanes[k] = lane;
        lane->e = w->e;
        lane->ctx = w->ctx;
        const int code = lane->empty_vector ? AOE_OK : create_buffers(lane, tokens, tokens, err);
        if (code)
            return code;
    }
    return AOE_OK;
}

static int create_workspace(workspace **created, const aoe_embedder *e, aoe_error *err) {
    const aoe_model *m = e->model;
    workspace *w = *created = aoei_calloc(1, sizeof *w);
    if (!w)
        return aoei_fail_nomem(err, sizeof *w);
    w->e = e;
    int code = aoei_context_init(&w->ctx, m->ctx, e->pool, err);
    if (!code)
        code = create_buffers(w, e->max_tokens, m->settings.max_length, err);
    if (code) {
        destroy_workspace(w);
        *created = NULL;
    }
    return code;
}

/* Takes an unused workspace of the embedder for a call, or creates one. */
static int begin_call(workspace **w, aoe_embedder *e, aoe_error *err) {
    forget_failure(e);
    aoei_mutex_lock(&e->lock);
    *w = e->unused;
    if (*w)
        e->unused = (*w)->next;
    aoei_mutex_unlock(&e->lock);
    const int code = *w ? AOE_OK : create_workspace(w, e, err);
    if (code)
        return code;
    (*w)->failed = (size_t)-1;
    (*w)->prompt = e->model->settings.prompt;
    (*w)->empty = &e->empty;
    (*w)->unit = NULL;
    return AOE_OK;
}

/* Gives the workspace of a call back to the embedder. */
static void end_call(workspace *w, aoe_embedder *e) {
    failure.text = w->failed;
    aoei_mutex_lock(&e->lock);
    w->next = e->unused;
    e->unused = w;
    aoei_mutex_unlock(&e->lock);
}

/* ----------------------------------------------------------------- embedder */

static int check_options(const aoe_embedder_options *o, const aoe_model *m, aoe_error *err) {
    for (size_t i = 0; i < AOEI_EMBEDDER_ROWS; i++) {
        const aoei_option *row = &aoei_embedder_table[i];
        const int code = aoei_option_check(row, (const char *)o + row->offset, err);
        if (code)
            return code;
    }
    /* if texts are not split into chunks, only an overlap of 0 is accepted, because it has no effect */
    if (o->chunk_overlap != AOE_AUTO && o->chunk_overlap && o->chunk != AOE_CHUNK_MEAN)
        return aoei_fail(err, AOE_EARG,
                         "options.chunk_overlap is %zu, but texts are not split into chunks; set options.chunk to mean",
                         o->chunk_overlap);
    if (o->chunk_overlap != AOE_AUTO && o->chunk_overlap >= m->settings.max_length)
        return aoei_fail(err, AOE_EARG,
                         "options.chunk_overlap is %zu, but must be less than the length of a chunk, %zu tokens",
                         o->chunk_overlap, m->settings.max_length);
    return AOE_OK;
}

int aoe_embedder_create(aoe_embedder **e, aoe_model *m, const aoe_embedder_options *o, aoe_error *err) {
    if (e)
        *e = NULL;
    AOEI_CHECK(err, e, m);
    AOEI_OPTIONS(aoe_embedder_options, o, err);
    int code = check_options(o, m, err);
    if (code)
        return code;
    aoe_embedder *created = aoei_calloc(1, sizeof *created);
    if (!created)
        return aoei_fail_nomem(err, sizeof *created);
    aoei_mutex_init(&created->lock);
    created->serial = atomic_fetch_add(&embedders, 1) + 1;
    created->model = m;
    created->chunk = o->chunk;
    created->overlap = o->chunk_overlap;
    code = o->threads == AOE_AUTO ? aoei_pool_share(&created->pool, m->ctx->pool, err)
                                  : aoei_pool_create(&created->pool, o->threads, err);
    created->batch_tokens = batch_limit(m, o, aoei_pool_threads(created->pool));
    created->max_tokens = max_batch_tokens(m, created->batch_tokens);
    created->lane_tokens = lane_limit(m, o, aoei_pool_threads(created->pool));
    if (!code && m->settings.subtract_empty_prompt)
        code = aoei_empty_prompt_create(&created->empty, m, m->settings.prompt, err);
    if (!code)
        code = create_workspace(&created->unused, created, err); /* so that later calls seldom run out of memory */
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
    for (workspace *w = e->unused, *next; w; w = next) {
        next = w->next;
        destroy_workspace(w);
    }
    aoei_empty_prompt_destroy(&e->empty);
    aoei_pool_destroy(e->pool);
    aoei_mutex_destroy(&e->lock);
    if (e->owns_model) {
        aoe_context *ctx = e->model->ctx;
        aoe_model_close(e->model);
        aoe_context_destroy(ctx);
    }
    aoei_free(e);
}

void aoei_embedder_own_model(aoe_embedder *e) {
    e->owns_model = 1;
}

size_t aoe_embedder_dims(const aoe_embedder *e) {
    if (!e)
        return 0;
    return e->dims ? e->dims : aoe_model_dims(e->model);
}

int aoe_embedder_set_dims(aoe_embedder *e, size_t dims, aoe_error *err) {
    AOEI_CHECK(err, e);
    const size_t all = aoe_model_dims(e->model);
    if (e->model->config.modules.classes)
        return aoei_fail(err, AOE_EARG, "%s: a cross-encoder has no embeddings that can be truncated",
                         e->model->files.dir);
    if (!dims || dims > all)
        return aoei_fail(err, AOE_EARG, "the embeddings of %s have %zu components; they cannot be truncated to %zu",
                         e->model->files.dir, all, dims);
    e->dims = dims;
    return AOE_OK;
}

void aoei_embedder_set_failed(const aoe_embedder *e, size_t text) {
    forget_failure(e);
    failure.text = text;
}

aoe_chunk aoei_embedder_chunk(const aoe_embedder *e) {
    return e->chunk;
}

size_t aoe_embed_failed_text(const aoe_embedder *e) {
    return e && e->serial == failure.embedder ? failure.text : (size_t)-1;
}

struct aoe_eval_cache **aoei_embedder_eval_cache(aoe_embedder *e) {
    return &e->eval_cache;
}

aoe_model *aoe_embedder_model(const aoe_embedder *e) {
    if (!e)
        return NULL;
    return e->model;
}

/* A chunk of a text. A text that is not split is one chunk. A chunk consists of the prefix tokens, n text tokens and
 * the suffix tokens. The prefix and suffix tokens are special tokens and tokens of the prompt. */
typedef struct chunk {
    size_t length;   /* number of tokens, prefix and suffix included */
    size_t text;     /* index of the text */
    size_t index;    /* index of the chunk in the text */
    size_t n_chunks; /* number of chunks of the text */
    size_t first, n; /* index of the first text token, and number of text tokens */
} chunk;

/* A comparison function for qsort. Sorts chunks by length, then by text, then by index. No two chunks compare as equal,
 * so equal inputs always give equal batches. All chunks of a text have the same length, so they are adjacent. */
static int by_length(const void *pa, const void *pb) {
    const chunk *a = pa, *b = pb;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    if (a->text != b->text)
        return a->text < b->text ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Returns the number of chunks of a text with text_tokens tokens. Each chunk has per_chunk text tokens, and adjacent
 * chunks have `overlap` tokens in common. The last chunk ends at the end of the text and may have a larger overlap. */
static size_t chunks_for(size_t text_tokens, size_t per_chunk, size_t overlap) {
    const size_t step = per_chunk - overlap;
    return text_tokens <= per_chunk ? 1 : (text_tokens - per_chunk + step - 1) / step + 1;
}

/* Returns the number of tokens that adjacent chunks have in common if each chunk has per_chunk text tokens. */
static size_t overlap_for(const aoe_embedder *e, size_t per_chunk) {
    return e->overlap == AOE_AUTO ? per_chunk / 8 : e->overlap < per_chunk ? e->overlap : per_chunk - 1;
}

static aoei_affix_lengths affixes_of(const aoei_token_lists *lists, size_t text) {
    return lists->affixes ? lists->affixes[text] : (aoei_affix_lengths){0, 0};
}

/* Returns the number of chunks of the text with index `text`. */
static size_t count_chunks(const aoe_embedder *e, const aoei_token_lists *lists, size_t text) {
    const size_t n = aoei_token_count(lists, text), max_length = e->model->settings.max_length;
    const aoei_affix_lengths affixes = affixes_of(lists, text);
    if (!lists->affixes || n <= max_length)
        return 1;
    const size_t per_chunk = max_length - affixes.prefix - affixes.suffix;
    return chunks_for(n - affixes.prefix - affixes.suffix, per_chunk, overlap_for(e, per_chunk));
}

/* Writes the chunks of the text with index `text` to `chunks` and returns the number of chunks. */
static size_t add_chunks(const aoe_embedder *e, const aoei_token_lists *lists, size_t text, chunk *chunks) {
    const aoei_affix_lengths affixes = affixes_of(lists, text);
    const size_t text_tokens = aoei_token_count(lists, text) - affixes.prefix - affixes.suffix;
    const size_t n_chunks = count_chunks(e, lists, text);
    const size_t per_chunk =
        n_chunks == 1 ? text_tokens : e->model->settings.max_length - affixes.prefix - affixes.suffix;
    const size_t step = per_chunk - (n_chunks == 1 ? 0 : overlap_for(e, per_chunk));
    for (size_t i = 0; i < n_chunks; i++)
        chunks[i] = (chunk){.length = affixes.prefix + per_chunk + affixes.suffix,
                            .text = text,
                            .index = i,
                            .n_chunks = n_chunks,
                            .first = i + 1 < n_chunks ? i * step : text_tokens - per_chunk,
                            .n = per_chunk};
    return n_chunks;
}

/* Appends a chunk to the batch. index: index of the chunk in the batch. */
static void add_to_batch(workspace *w, const aoei_token_lists *lists, const chunk *c, size_t index) {
    const int32_t *ids = lists->ids + lists->offsets[c->text];
    const aoei_affix_lengths affixes = affixes_of(lists, c->text);
    aoei_batch_add_types(&w->buffer, ids, lists->types ? lists->types + lists->offsets[c->text] : NULL, c->length,
                         (uint32_t)index);
    aoei_batch_skip(&w->buffer, lists, c->text);
    if (c->n_chunks == 1)
        return;
    /* aoei_batch_add has copied the first c->length ids of the text; replace them by the ids of the chunk */
    int32_t *to = w->buffer.ids + w->buffer.batch.n_tokens - c->length;
    memcpy(to, ids, affixes.prefix * sizeof *to);
    memcpy(to + affixes.prefix, ids + affixes.prefix + c->first, c->n * sizeof *to);
    memcpy(to + affixes.prefix + c->n, ids + aoei_token_count(lists, c->text) - affixes.suffix,
           affixes.suffix * sizeof *to);
}

/* Adds the empty prompts of the batch, whose first n elements are chunks[n], sorted by length: one for each length.
 * Fails if a chunk is not a text in the prompt. */
static int add_empty_prompts(workspace *w, const chunk *chunks, size_t n, aoe_error *err) {
    const aoei_empty_prompt *empty = w->empty;
    const aoei_batch *b = &w->buffer.batch;
    for (size_t i = 0; i < n; i++) {
        if (!aoei_empty_prompt_matches(empty, b->ids + b->offsets[i], chunks[i].length)) {
            w->failed = chunks[i].text;
            return aoei_fail(
                err, AOE_EARG,
                "%s subtracts the embedding of its empty prompt, but the text is not in the prompt '%s', or the "
                "tokenizer joins characters of both to one token; use no other prompt",
                w->e->model->files.dir, w->prompt);
        }
        if (!i || chunks[i].length != chunks[i - 1].length)
            aoei_empty_prompt_add(empty, &w->buffer, chunks[i].length - empty->n, (uint32_t)b->n_texts);
    }
    return AOE_OK;
}

/* Subtracts the vectors of the empty prompts from those of the chunks[n] of the batch. */
static void subtract_empty_prompts(workspace *w, const chunk *chunks, size_t n) {
    const aoei_tensor vectors = w->chain.value[w->chain.n];
    const size_t D = vectors.cols;
    size_t empty = n - 1;
    for (size_t i = 0; i < n; i++) {
        const aoei_tensor row = aoei_tensor_rows(vectors, i, 1);
        if (!i || chunks[i].length != chunks[i - 1].length)
            aoei_tensor_read(&w->ctx, w->empty_vector, aoei_tensor_rows(vectors, ++empty, 1));
        aoei_tensor_read(&w->ctx, w->chunk_vector, row);
        for (size_t k = 0; k < D; k++)
            w->chunk_vector[k] -= w->empty_vector[k];
        aoei_tensor_write(&w->ctx, row, w->chunk_vector);
    }
}

/* Adds x[n], the vector of a chunk, to v[n], the sum for its text. After the last chunk of the text, v is divided by
 * the number of chunks. If `unit` is 1, v is then normalized to unit length. */
static void add_chunk_vector(const chunk *c, float *v, const float *x, size_t n, int unit) {
    double squares = 0;
    for (size_t k = 0; k < n; k++)
        v[k] = c->index ? v[k] + x[k] : x[k];
    if (c->index + 1 < c->n_chunks)
        return;
    for (size_t k = 0; k < n; k++) {
        v[k] = (float)((double)v[k] / (double)c->n_chunks);
        squares += (double)v[k] * (double)v[k];
    }
    const double norm = sqrt(squares) > 1e-12 ? sqrt(squares) : 1e-12;
    for (size_t k = 0; k < n && unit; k++)
        v[k] = (float)((double)v[k] / norm);
}

/* Returns 1 if the vector of a text is normalized. */
static int has_unit_length(const workspace *w, size_t text) {
    return w->unit ? w->unit[text] : w->e->model->settings.normalize;
}

/* Computes the vectors of the n_chunks chunks in the batch w->buffer. Element i of the batch is chunks[i]. vectors: [n,
 * D], one row for each of the n texts that were passed to embed_complete. If a text is one chunk, its row is set to the
 * vector of the chunk. If a text has several chunks, their vectors are added to its row. */
static int run_batch(workspace *w, const chunk *chunks, size_t n_chunks, float *vectors, aoe_error *err) {
    const aoe_embedder *e = w->e;
    const aoe_model *m = e->model;
    const aoe_context *ctx = &w->ctx;
    const aoei_batch *b = &w->buffer.batch;
    const size_t D = aoei_vector_dims(&m->config);
    aoei_chosen_weights chosen;
    int code = w->empty->n ? add_empty_prompts(w, chunks, n_chunks, err) : AOE_OK;
    if (!code)
        code = aoei_model_choose_weights(&chosen, ctx, e->model, b->n_tokens, err);
    if (!code)
        code =
            layout(ctx, m, &w->state, &w->chain, &w->arena, b->n_tokens, b->n_texts, b->longest, chosen.unpacked, err);
    if (code)
        return code;
    const aoei_tensor last = aoei_encoder_forward(ctx, &m->config, chosen.weights, b, &w->state, NULL);
    aoei_encoder_pool(ctx, &m->config, w->chain.value[0], m->settings.pooling, last, b, &w->state);
    aoei_module_chain_forward(ctx, &w->chain, b->n_texts, m->weights + aoei_pooled_slot(&m->config, 0), NULL);
    if (w->empty->n)
        subtract_empty_prompts(w, chunks, n_chunks);
    for (size_t i = 0; i < n_chunks; i++) {
        const aoei_tensor row = aoei_tensor_rows(w->chain.value[w->chain.n], i, 1);
        float *v = vectors + chunks[i].text * D;
        const int unit = has_unit_length(w, chunks[i].text);
        if (chunks[i].n_chunks == 1) {
            if (unit)
                aoei_l2_normalize(ctx, row);
            aoei_tensor_read(ctx, v, row);
        } else {
            aoei_tensor_read(ctx, w->chunk_vector, row);
            add_chunk_vector(&chunks[i], v, w->chunk_vector, D, unit);
        }
    }
    for (size_t i = 0; i < n_chunks; i++)
        for (size_t k = 0; k < D; k++)
            if (!isfinite(vectors[chunks[i].text * D + k])) {
                w->failed = chunks[i].text;
                return aoei_fail(
                    err, AOE_ENUMERIC,
                    "the embedding is not finite because of an overflow in the encoder; check the weights of "
                    "the model");
            }
    return AOE_OK;
}

/* Returns an array of the chunks of all texts, sorted with by_length, and sets *n to their number. The caller frees the
 * array. Returns NULL if an allocation fails. A text without tokens is one chunk of length 0, so such texts come
 * first. */
static chunk *list_chunks(const aoe_embedder *e, const aoei_token_lists *lists, size_t *n, aoe_error *err) {
    *n = 0;
    for (size_t i = 0; i < lists->n; i++)
        *n += count_chunks(e, lists, i);
    chunk *chunks = aoei_malloc_array(*n ? *n : 1, sizeof *chunks);
    if (!chunks) {
        aoei_fail_nomem(err, *n * sizeof *chunks);
        return NULL;
    }
    size_t at = 0;
    for (size_t i = 0; i < lists->n; i++)
        at += add_chunks(e, lists, i, chunks + at);
    qsort(chunks, *n, sizeof *chunks, by_length);
    return chunks;
}

/* Writes the vector of a text without tokens to v[D]. The output of the pooling is the zero vector, as in Model2Vec.
 * unit: 1: the vector is normalized. */
static int embed_empty(workspace *w, float *v, int unit, aoe_error *err) {
    const aoe_model *m = w->e->model;
    const aoe_context *ctx = &w->ctx;
    const int code = layout(ctx, m, &w->state, &w->chain, &w->arena, 1, 1, 1, 0, err);
    if (code)
        return code;
    aoei_tensor_zero(ctx, aoei_tensor_rows(w->chain.value[0], 0, 1));
    aoei_module_chain_forward(ctx, &w->chain, 1, m->weights + aoei_pooled_slot(&m->config, 0), NULL);
    const aoei_tensor row = aoei_tensor_rows(w->chain.value[w->chain.n], 0, 1);
    if (unit)
        aoei_l2_normalize(ctx, row);
    aoei_tensor_read(ctx, v, row);
    return AOE_OK;
}

/* Returns the number of chunks in the next batch, which begins with chunks[0] of chunks[total] and has at most `limit`
 * tokens, or one chunk. */
static size_t count_batch(const workspace *w, const chunk *chunks, size_t total, size_t limit) {
    size_t n = 0, tokens = 0; /* tokens: with those of the empty prompts */
    for (; n < total; n++) {
        tokens += chunks[n].length + (n && chunks[n].length == chunks[n - 1].length ? 0 : w->empty->n);
        if (n > 0 && tokens > limit)
            break;
    }
    return n;
}

/* Computes the vectors of a batch of n chunks. */
static int embed_batch(workspace *w, const aoei_token_lists *lists, const chunk *chunks, size_t n, float *vectors,
                       aoe_error *err) {
    aoei_batch_clear(&w->buffer);
    for (size_t i = 0; i < n; i++)
        add_to_batch(w, lists, &chunks[i], i);
    return run_batch(w, chunks, n, vectors, err);
}

/* The argument of the tasks that compute one batch each. */
typedef struct lane_job {
    workspace *w;
    const aoei_token_lists *lists;
    const chunk *chunks;         /* sorted chunks of all texts */
    const size_t *begin;         /* [batches + 1] index of the first chunk of each batch */
    float *vectors;              /* rows of the texts */
    atomic_size_t lowest_failed; /* lowest index of a batch that failed, or (size_t)-1 */
} lane_job;

/* The function of a task. Tasks start in the order of the batches. If a batch fails, later batches are skipped, but all
 * earlier batches are computed, so the error does not depend on the number of threads. */
static void run_lane(void *arg, size_t task, size_t worker) {
    lane_job *j = arg;
    workspace *lane = j->w->lanes[worker];
    size_t lowest = atomic_load(&j->lowest_failed);
    const size_t begin = j->begin[task], n = j->begin[task + 1] - begin;
    if (task > lowest || !embed_batch(lane, j->lists, j->chunks + begin, n, j->vectors, &lane->err))
        return;
    lane->failed_batch = task;
    while (task < lowest && !atomic_compare_exchange_weak(&j->lowest_failed, &lowest, task)) {
    }
}

/* Computes n_batches batches, each on one thread. */
static int run_lanes(workspace *w, lane_job *j, size_t n_batches, aoe_error *err) {
    const size_t threads = aoei_pool_threads(w->e->pool);
    aoei_chosen_weights chosen;
    int code = create_lanes(w, err);
    /* the first batch that needs packed weights packs them; here, all threads do */
    if (!code)
        code = aoei_model_choose_weights(&chosen, &w->ctx, w->e->model, w->e->lane_tokens, err);
    if (code)
        return code;
    for (size_t k = 0; k < threads; k++) {
        workspace *lane = w->lanes[k];
        lane->prompt = w->prompt, lane->empty = w->empty, lane->unit = w->unit;
        lane->failed = lane->failed_batch = (size_t)-1;
    }
    atomic_init(&j->lowest_failed, (size_t)-1);
    aoei_parallel_for(w->ctx.pool, n_batches, run_lane, j);
    const size_t lowest = atomic_load(&j->lowest_failed);
    for (size_t k = 0; k < threads && lowest != (size_t)-1; k++)
        if (w->lanes[k]->failed_batch == lowest) {
            w->failed = w->lanes[k]->failed;
            return aoei_fail(err, w->lanes[k]->err.code, "%s", w->lanes[k]->err.message);
        }
    return AOE_OK;
}

/* Computes the first batches of chunks[total] on one thread each, if there are enough of them, and sets *done to the
 * number of their chunks. Only chunks that are complete texts are computed. */
static int embed_in_lanes(workspace *w, const aoei_token_lists *lists, const chunk *chunks, size_t total,
                          float *vectors, size_t *done, aoe_error *err) {
    const size_t threads = aoei_pool_threads(w->e->pool), limit = w->e->lane_tokens;
    size_t end = 0, tokens = 0;
    *done = 0;
    for (; end < total && chunks[end].n_chunks == 1 && chunks[end].length + w->empty->n <= limit; end++)
        tokens += chunks[end].length;
    if (!limit || tokens < threads * limit)
        return AOE_OK;
    size_t *begin = aoei_malloc_array(end + 1, sizeof *begin), n = 0;
    if (!begin)
        return aoei_fail_nomem(err, (end + 1) * sizeof *begin);
    for (size_t at = 0; at < end; at += count_batch(w, chunks + at, end - at, limit))
        begin[n++] = at;
    begin[n] = end;
    n -= n % threads;
    lane_job j = {.w = w, .lists = lists, .chunks = chunks, .begin = begin, .vectors = vectors};
    const int code = run_lanes(w, &j, n, err);
    *done = begin[n];
    aoei_free(begin);
    return code;
}

/* Computes the embeddings of the texts before they are truncated. vectors: [lists->n, D]. */
static int embed_complete(workspace *w, const aoei_token_lists *lists, float *vectors, aoe_error *err) {
    const aoe_embedder *e = w->e;
    const size_t D = aoei_vector_dims(&e->model->config);
    size_t total, i = 0, done = 0;
    chunk *chunks = list_chunks(e, lists, &total, err);
    if (!chunks)
        return AOE_ENOMEM;
    int code = AOE_OK;
    for (; i < total && !chunks[i].length && !code; i++)
        code = embed_empty(w, vectors + chunks[i].text * D, has_unit_length(w, chunks[i].text), err);
    if (!code)
        code = embed_in_lanes(w, lists, chunks + i, total - i, vectors, &done, err);
    i += done;
    while (i < total && !code) {
        const size_t needed = chunks[i].length + w->empty->n;
        if (needed > w->buffer.max_tokens && (code = reserve(w, needed, needed, err)))
            break;
        const size_t n = count_batch(w, chunks + i, total - i, e->batch_tokens);
        code = embed_batch(w, lists, chunks + i, n, vectors, err);
        i += n;
    }
    aoei_free(chunks);
    return code;
}

/* Writes the properties of the texts of `lists` to `info`, which may be NULL. */
static void describe_texts(const aoe_embedder *e, const aoei_token_lists *lists, aoe_text_info *info) {
    for (size_t i = 0; info && i < lists->n; i++)
        info[i] = (aoe_text_info){.tokens = (uint32_t)aoei_token_count(lists, i),
                                  .chunks = (uint32_t)count_chunks(e, lists, i),
                                  .truncated = lists->truncated[i]};
}

/* Writes the first D components of `complete` to v, which may be equal to `complete`. If these are not all components
 * and the caller of aoe_model_open requested normalization, v is normalized to unit length. */
static void truncate_vector(const aoe_context *ctx, const aoe_model *m, float *v, size_t D, const float *complete) {
    memmove(v, complete, D * sizeof *v);
    if (m->settings.unit_truncated && D < aoei_vector_dims(&m->config))
        aoei_l2_normalize(ctx, aoei_tensor_wrap(v, 1, D));
}

void aoei_embed_truncate(const aoe_embedder *e, float *v, const float *complete) {
    truncate_vector(e->model->ctx, e->model, v, aoe_embedder_dims(e), complete);
}

static void truncate_for_evaluation(const workspace *w, float *v, float *complete) {
    truncate_vector(&w->ctx, w->e->model, v, aoe_embedder_dims(w->e), complete);
}

/* Scales v[n] to unit length. A zero vector is not changed. */
static void normalize(float *v, size_t n) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)v[k] * (double)v[k];
    if (sum <= 0)
        return;
    const double scale = 1 / sqrt(sum);
    for (size_t k = 0; k < n; k++)
        v[k] = (float)((double)v[k] * scale);
}

void aoei_embed_finish(const aoe_context *ctx, const aoe_model *m, float *v, size_t D, float *complete, int unit,
                       int unit_truncated) {
    const size_t all = aoei_vector_dims(&m->config), own = aoei_settings_dims(&m->settings, all);
    if (unit_truncated && own < all)
        aoei_l2_normalize(ctx, aoei_tensor_wrap(complete, 1, own));
    memcpy(v, complete, D * sizeof *v);
    if (D < own && unit)
        normalize(v, D);
}

static void truncate_for_caller(const workspace *w, float *v, float *complete) {
    const aoei_settings *s = &w->e->model->settings;
    aoei_embed_finish(&w->ctx, w->e->model, v, aoe_embedder_dims(w->e), complete, s->normalize, s->unit_truncated);
}

/* Computes embeddings of aoe_embedder_dims components, which the function `truncate` writes to v. */
static int embed_truncated(workspace *w, const aoei_token_lists *lists, float *vectors,
                           void (*truncate)(const workspace *w, float *v, float *complete), aoe_error *err) {
    const size_t D = aoe_embedder_dims(w->e), all = aoei_vector_dims(&w->e->model->config);
    if (D == all)
        return embed_complete(w, lists, vectors, err);
    float *complete = aoei_malloc_array(lists->n ? lists->n : 1, all * sizeof *complete);
    const int code = complete ? embed_complete(w, lists, complete, err) : aoei_fail_nomem(err, lists->n * all);
    for (size_t i = 0; i < lists->n && !code; i++)
        truncate(w, vectors + i * D, complete + i * all);
    aoei_free(complete);
    return code;
}

int aoei_embed_lists(aoe_embedder *e, const aoei_token_lists *lists, float *vectors, aoe_error *err) {
    workspace *w;
    int code = begin_call(&w, e, err);
    if (code)
        return code;
    code = embed_truncated(w, lists, vectors, truncate_for_evaluation, err);
    end_call(w, e);
    return code;
}

int aoei_embed_prompted(aoe_embedder *e, const aoei_token_lists *lists, const char *prompt, const uint8_t *unit,
                        float *vectors, aoe_error *err) {
    workspace *w;
    aoei_empty_prompt empty = {0};
    int code = begin_call(&w, e, err);
    if (code)
        return code;
    if (prompt && e->model->settings.subtract_empty_prompt) {
        code = aoei_empty_prompt_create(&empty, e->model, prompt, err);
        w->prompt = prompt;
        w->empty = &empty;
    }
    w->unit = unit;
    if (!code)
        code = embed_complete(w, lists, vectors, err);
    aoei_empty_prompt_destroy(&empty);
    end_call(w, e);
    return code;
}

int aoei_embed_states(aoe_embedder *e, const aoei_token_lists *lists, float *states, aoe_error *err) {
    aoe_model *m = e->model;
    const size_t n = aoei_token_count(lists, 0);
    workspace *w;
    aoei_chosen_weights chosen;
    if (!n)
        return AOE_OK;
    int code = begin_call(&w, e, err);
    if (code)
        return code;
    if (n > w->buffer.max_tokens)
        code = reserve(w, n, n, err);
    if (!code) {
        aoei_batch_clear(&w->buffer);
        aoei_batch_add_types(&w->buffer, lists->ids, lists->types, n, 0);
        code = aoei_model_choose_weights(&chosen, &w->ctx, m, n, err);
    }
    if (!code)
        code = layout(&w->ctx, m, &w->state, &w->chain, &w->arena, n, 1, n, chosen.unpacked, err);
    if (!code)
        aoei_tensor_read(&w->ctx, states,
                         aoei_encoder_forward(&w->ctx, &m->config, chosen.weights, &w->buffer.batch, &w->state, NULL));
    end_call(w, e);
    return code;
}

/* Tokenizes n texts and computes their vectors. prompt: prompt template; "": no prompt; NULL: that of the model.
 * complete: 1: the vectors are not truncated. info: [n], or NULL. */
static int embed_texts(aoe_embedder *e, const aoe_text *texts, size_t n, const char *prompt, int complete,
                       float *vectors, aoe_text_info *info, aoe_error *err) {
    const aoe_model *m = e->model;
    workspace *w;
    aoei_token_lists lists = {0};
    aoei_empty_prompt empty = {0};
    forget_failure(e);
    int code = aoei_embedder_check_kind(e, 0, err);
    if (!code)
        code = begin_call(&w, e, err);
    if (code)
        return code;
    if (prompt && m->settings.subtract_empty_prompt) {
        code = aoei_empty_prompt_create(&empty, m, prompt, err);
        w->prompt = prompt;
        w->empty = &empty;
    }
    if (!code)
        code = e->chunk == AOE_CHUNK_MEAN
                   ? aoei_encode_for_chunks(&w->ctx, m, texts, n, prompt, &lists, &w->failed, err)
                   : aoei_encode_for_inference(&w->ctx, m, texts, n, prompt, 0, &lists, &w->failed, err);
    if (!code) {
        describe_texts(e, &lists, info);
        code = complete ? embed_complete(w, &lists, vectors, err)
                        : embed_truncated(w, &lists, vectors, truncate_for_caller, err);
    }
    aoei_token_lists_free(&lists);
    aoei_empty_prompt_destroy(&empty);
    end_call(w, e);
    return code;
}

int aoei_embed_complete(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                        aoe_error *err) {
    return embed_texts(e, texts, n, NULL, 1, vectors, info, err);
}

int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info, aoe_error *err) {
    AOEI_CHECK(err, e);
    forget_failure(e);
    if (n)
        AOEI_CHECK(err, texts, vectors);
    return embed_texts(e, texts, n, NULL, 0, vectors, info, err);
}

int aoei_embedder_check_kind(const aoe_embedder *e, int cross_encoder, aoe_error *err) {
    const aoe_model *m = e->model;
    if (cross_encoder == (m->config.modules.classes != 0))
        return AOE_OK;
    if (!cross_encoder)
        return aoei_fail(err, AOE_EARG,
                         "%s: the model was opened as a cross-encoder, which scores text pairs and computes no "
                         "embeddings; use aoe_score_pairs, or open it with options.cross_encoder = 0",
                         m->files.dir);
    return aoei_fail(
        err, AOE_EARG,
        "%s: the model was opened as an embedding model, which computes no scores of pairs; compare texts with "
        "aoe_similarity, or open a cross-encoder with options.cross_encoder = 1",
        m->files.dir);
}

/* Returns the prompt template for queries or documents (name: "query" or "document"); "": no prompt; NULL: that of the
 * model, because the model directory has no such prompt, or because the model was opened with another prompt. */
static const char *prompt_for(const aoe_model *m, const char *name) {
    const char *prompt = m->prompt_given ? NULL : aoei_prompt_find(m->settings.prompts, name);
    return prompt && !strcmp(prompt, AOEI_PLACEHOLDER) ? "" : prompt;
}

int aoe_embed_queries(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                      aoe_error *err) {
    AOEI_CHECK(err, e);
    forget_failure(e);
    if (n)
        AOEI_CHECK(err, texts, vectors);
    return embed_texts(e, texts, n, prompt_for(e->model, "query"), 0, vectors, info, err);
}

int aoe_embed_documents(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info,
                        aoe_error *err) {
    AOEI_CHECK(err, e);
    forget_failure(e);
    if (n)
        AOEI_CHECK(err, texts, vectors);
    return embed_texts(e, texts, n, prompt_for(e->model, "document"), 0, vectors, info, err);
}

void aoei_activate_scores(aoe_score_activation activation, float *x, size_t n) {
    double highest = (double)x[0], sum = 0;
    for (size_t k = 1; k < n; k++)
        highest = (double)x[k] > highest ? (double)x[k] : highest;
    for (size_t k = 0; k < n; k++)
        sum += exp((double)x[k] - highest);
    for (size_t k = 0; k < n; k++) {
        const double v = (double)x[k];
        x[k] = activation == AOE_SCORE_SIGMOID   ? (float)(1 / (1 + exp(-v)))
               : activation == AOE_SCORE_TANH    ? (float)tanh(v)
               : activation == AOE_SCORE_SOFTMAX ? (float)(exp(v - highest) / sum)
                                                 : x[k];
    }
}

int aoe_score_pairs(aoe_embedder *e, const aoe_text *first, const aoe_text *second, size_t n, float *scores,
                    aoe_text_info *info, aoe_error *err) {
    AOEI_CHECK(err, e);
    forget_failure(e);
    if (n)
        AOEI_CHECK(err, first, second, scores);
    const size_t classes = e->model->config.modules.classes;
    workspace *w;
    aoei_token_lists lists = {0};
    int code = aoei_embedder_check_kind(e, 1, err);
    if (!code)
        code = begin_call(&w, e, err);
    if (code)
        return code;
    code = aoei_encode_pairs(&w->ctx, e->model, first, second, n, NULL, 0, 0, &lists, &w->failed, err);
    if (!code) {
        describe_texts(e, &lists, info);
        code = embed_complete(w, &lists, scores, err);
    }
    for (size_t i = 0; i < n && !code; i++)
        aoei_activate_scores(e->model->settings.activation, scores + i * classes, classes);
    aoei_token_lists_free(&lists);
    end_call(w, e);
    return code;
}
