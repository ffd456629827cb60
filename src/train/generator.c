/* SPDX-License-Identifier: MIT
 * Implements the generator of DiffCSE. The logits are computed for one block of tokens at a time, so that they need at
 * most LOGIT_BYTES unless the vocabulary is very large.
 */
#include "train/generator.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "model/fingerprint.h"
#include "model/open.h"
#include "nn/argmax.h"
#include "nn/linear.h"
#include "tokenizer/tokenizer.h"

#define LOGIT_BYTES ((size_t)16 << 20)
enum { MIN_BLOCK = 32 };
enum { KEY_OF_MASKS, KEY_OF_DROPOUT }; /* purposes of random numbers */

/* Returns 1 if two tokens are equal, or if neither exists. */
static int is_same_token(aoe_text a, aoe_text b) {
    return a.data && b.data ? a.len == b.len && !memcmp(a.data, b.data, a.len) : !a.data && !b.data;
}

/* Writes a token in quotation marks, or "missing", to out[size]. Returns out. */
static const char *quote(char *out, size_t size, aoe_text token) {
    if (token.data)
        snprintf(out, size, "'%.*s'", (int)token.len, token.data);
    else
        snprintf(out, size, "missing");
    return out;
}

/* Checks that both tokenizers have the same token for every id. */
static int check_vocabulary(const aoei_generator *g, const aoe_model *trained, const char *dir, aoe_error *err) {
    const aoe_tokenizer *a = trained->tokenizer, *b = g->model->tokenizer;
    const size_t n = aoe_tokenizer_vocab_size(a), m = aoe_tokenizer_vocab_size(b);
    for (size_t i = 0; i < n || i < m; i++) {
        const aoe_text x = aoe_tokenizer_token(a, (int32_t)i), y = aoe_tokenizer_token(b, (int32_t)i);
        char here[80], there[80];
        if (!is_same_token(x, y))
            return aoei_fail(
                err, AOE_EARG,
                "options.generator: %s: token %zu is %s, but in the model it is %s; the generator must have the "
                "vocabulary of the model",
                dir, i, quote(there, sizeof there, y), quote(here, sizeof here, x));
    }
    return n <= g->model->config.vocab
               ? AOE_OK
               : aoei_fail(err, AOE_EARG,
                           "options.generator: %s: the tokenizer has %zu tokens, but the model has only %zu token "
                           "embeddings; use the tokenizer of the model",
                           dir, n, g->model->config.vocab);
}

int aoei_generator_open(aoei_generator *g, const aoe_model *trained, const char *dir, double rate, aoe_error *err) {
    aoe_model_options o;
    char found[PATH_MAX];
    *g = (aoei_generator){.ctx = trained->ctx};
    aoe_model_options_defaults(&o);
    o.dtype = trained->dtype;
    int code = aoe_model_find(found, sizeof found, dir, err);
    if (!code)
        code = aoei_model_open_for(&g->model, trained->ctx, found, &o, &(aoei_open_mode){.mlm = 1, .packed = 1}, err);
    if (code) {
        aoei_error_prefix(err, "options.generator");
        return code;
    }
    if (!g->model->tokenizer || !trained->tokenizer)
        return aoei_fail(err, AOE_ENOENT,
                         "options.generator: %s: the directory contains no tokenizer; add the tokenizer of the model",
                         g->model->tokenizer ? trained->files.dir : dir);
    if (!aoei_model_has_mlm_head(g->model))
        return aoei_fail(
            err, AOE_EFORMAT,
            "options.generator: %s: the model has no masked-LM head; give a pretrained masked language model, or "
            "train one with aoe pretrain",
            dir);
    code = check_vocabulary(g, trained, dir, err);
    if (!code)
        code = aoei_model_hash_weights(g->model, &g->fingerprint, err);
    if (!code && (code = aoei_masking_create(&g->masking, g->model, rate, 1, err)))
        aoei_error_prefix(err, "options.generator");
    g->vocab = g->masking.vocab < trained->config.vocab ? g->masking.vocab : trained->config.vocab;
    return code;
}

static size_t block_rows(const aoei_generator *g) {
    const size_t rows = LOGIT_BYTES / sizeof(float) / g->model->config.vocab / MIN_BLOCK * MIN_BLOCK;
    return rows < MIN_BLOCK ? MIN_BLOCK : rows;
}

/* Takes the memory of all tensors from the arena. */
static int lay_out(aoei_generator *g, aoei_arena *arena, size_t tokens, size_t texts, size_t longest, aoe_error *err) {
    const aoei_encoder_config *c = &g->model->config;
    const size_t E = aoei_embed_width(c), block = block_rows(g);
    const aoei_dtype type = g->model->type;
    const size_t decoder = aoei_linear_workspace(g->ctx, type, block, c->vocab, E),
                 transform = aoei_linear_workspace(g->ctx, type, tokens, E, c->hidden);
    g->transform =
        (aoei_mlm_transform){.ctx = g->ctx,
                             .config = c,
                             .w = g->model->weights + aoei_head_slot(c, 0),
                             .pre = aoei_tensor_take_typed(arena, type, tokens, E),
                             .act = aoei_tensor_take_typed(arena, type, tokens, E),
                             .out = aoei_tensor_take_typed(arena, type, tokens, E),
                             .stats = aoei_tensor_take(arena, tokens, 2),
                             .workspace = aoei_workspace_take(arena, decoder > transform ? decoder : transform)};
    g->logits = aoei_tensor_take(arena, block, c->vocab);
    return aoei_encoder_layout(&g->state, g->ctx, c, arena, tokens, texts, longest, (aoei_encoder_mode){.type = type},
                               err);
}

int aoei_generator_lay_out(aoei_generator *g, size_t tokens, size_t texts, size_t longest, aoe_error *err) {
    const aoei_encoder_config *c = &g->model->config;
    aoei_arena plan;
    if (longest > c->arch->max_length(c))
        return aoei_fail(
            err, AOE_EARG,
            "options.generator: %s: the model supports texts of %zu tokens, but the training texts have up to "
            "%zu; lower options.max_length",
            g->model->files.dir, c->arch->max_length(c), longest);
    aoei_arena_measure(&plan);
    int code = lay_out(g, &plan, tokens, texts, longest, err);
    if (!code)
        code = aoei_arena_create(&g->arena, plan.used, err);
    if (!code)
        code = lay_out(g, &g->arena, tokens, texts, longest, err);
    g->ids = code ? NULL : aoei_malloc_array(tokens, sizeof *g->ids);
    return code || g->ids ? code : aoei_fail_nomem(err, tokens * sizeof *g->ids);
}

int aoei_generator_check_texts(const aoei_generator *g, const aoei_token_lists *texts, const char *path,
                               aoe_error *err) {
    for (size_t i = 0; i < texts->n; i++) {
        const int32_t id = texts->ids[texts->offsets[i]];
        const aoe_text token = aoe_tokenizer_token(g->model->tokenizer, id);
        if (g->masking.kind[id] != AOEI_TOKEN_SPECIAL)
            return aoei_fail(
                err, AOE_EARG,
                "%s: the first token of a text is '%.*s', but the discriminator of options.method diffcse needs a "
                "special token such as [CLS] there; use a model whose tokenizer adds one",
                path, (int)token.len, token.data ? token.data : "");
    }
    return AOE_OK;
}

void aoei_generator_destroy(aoei_generator *g) {
    aoei_masking_destroy(&g->masking);
    aoei_arena_destroy(&g->arena);
    aoei_free(g->ids);
    aoe_model_close(g->model);
    *g = (aoei_generator){0};
}

/* Returns a random number in [0, 1). */
static double uniform(uint32_t word) {
    return (double)word * 0x1p-32;
}

void aoei_generator_mask(const aoei_generator *g, const uint32_t key[2], uint32_t text, int32_t *ids, size_t n) {
    const aoei_masking *m = &g->masking;
    for (size_t t = 0; t < n; t++) {
        const uint32_t counter[4] = {(uint32_t)t, text, 0, AOEI_STREAM_REPLACE};
        uint32_t word[4];
        aoei_philox(word, counter, key);
        if (m->kind[ids[t]] != AOEI_TOKEN_WORD && m->kind[ids[t]] != AOEI_TOKEN_CONTINUATION)
            continue;
        if (!(uniform(word[0]) < m->rate))
            continue;
        const double action = uniform(word[1]);
        if (action < 0.8)
            ids[t] = m->mask;
        else if (action < 0.9)
            ids[t] = m->ordinary[(uint64_t)word[2] * m->n_ordinary >> 32];
    }
}

/* Predicts the tokens of the batch from its ids. */
static void predict(aoei_generator *g, const aoei_batch *batch, const aoei_encoder_dropout *drop, int32_t *ids) {
    const aoei_encoder_config *c = &g->model->config;
    const aoei_tensor *w = g->model->weights;
    const size_t n = batch->n_tokens, block = block_rows(g);
    aoei_mlm_transform t = g->transform;
    t.in = aoei_encoder_forward(g->ctx, c, w, batch, &g->state, drop);
    if (c->arch->encoder->mlm_dropout)
        c->arch->encoder->mlm_dropout(g->ctx, c, t.in, batch, drop);
    t.pre = aoei_tensor_rows(t.pre, 0, n);
    t.act = aoei_tensor_rows(t.act, 0, n);
    t.out = aoei_tensor_rows(t.out, 0, n);
    t.stats = aoei_tensor_rows(t.stats, 0, n);
    c->arch->encoder->mlm_forward(&t);
    for (size_t i = 0; i < n; i += block) {
        const size_t rows = n - i < block ? n - i : block;
        const aoei_tensor logits = aoei_tensor_rows(g->logits, 0, rows);
        aoei_linear_forward(g->ctx, logits, aoei_tensor_rows(t.out, i, rows), w[AOEI_W_WORD],
                            w[aoei_head_slot(c, AOEI_HW_DECODER_BIAS)],
                            &(aoei_linear_epilogue){.workspace = t.workspace});
        aoei_argmax_rows(g->ctx, logits, g->vocab, ids + i);
    }
}

void aoei_generator_replace(void *self, const aoei_batch *batch, const uint32_t key[2], int32_t *ids) {
    aoei_generator *g = self;
    const aoei_encoder_config *c = &g->model->config;
    aoei_encoder_dropout drop = {.hidden = c->hidden_dropout, .attention = c->attention_dropout};
    aoei_batch masked = *batch;
    uint32_t masks[2];
    aoei_replacement_key(masks, key, KEY_OF_MASKS);
    aoei_replacement_key(drop.key, key, KEY_OF_DROPOUT);
    memcpy(g->ids, batch->ids, batch->n_tokens * sizeof *g->ids);
    for (size_t i = 0; i < batch->n_texts; i++)
        aoei_generator_mask(g, masks, batch->text_index[i], g->ids + batch->offsets[i],
                            batch->offsets[i + 1] - batch->offsets[i]);
    masked.ids = g->ids;
    masked.cutoffs = NULL;
    predict(g, &masked, drop.hidden > 0 || drop.attention > 0 ? &drop : NULL, ids);
}
