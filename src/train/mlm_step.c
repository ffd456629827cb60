/* SPDX-License-Identifier: MIT
 * Implements the masked-language-model step. Logits are computed for one block of masked tokens at a time, so that they
 * need at most LOGIT_BYTES for any batch size. A block has at least MIN_BLOCK rows; for very large vocabularies, the
 * logits therefore need more than LOGIT_BYTES.
 */
#include "train/mlm_step.h"

#include "base/alloc.h"
#include "base/error.h"
#include "encoder/arch.h"
#include "encoder/ran.h"
#include "encoder/slots.h"
#include "nn/batch.h"
#include "nn/cross_entropy.h"
#include "nn/linear.h"
#include "nn/rows.h"

#include <string.h>

#define LOGIT_BYTES ((size_t)16 << 20)
enum {
    MIN_BLOCK = 32 /* minimum number of masked tokens in a block; the number of tokens in a block is a multiple of it */
};

static size_t block_rows(const aoei_encoder_config *c) {
    const size_t rows = LOGIT_BYTES / sizeof(float) / c->vocab / MIN_BLOCK * MIN_BLOCK;
    return rows < MIN_BLOCK ? MIN_BLOCK : rows;
}

int aoei_mlm_step_layout(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                         const aoei_mlm_step_options *o, aoei_arena *arena, aoe_error *err) {
    const size_t D = c->hidden, E = aoei_embed_width(c), n = o->tokens, block = block_rows(c);
    s->ctx = ctx;
    s->config = *c;
    s->o = *o;
    const aoei_shards shards = o->shards ? *o->shards : aoei_shards_of(1, NULL);
    const int code = aoei_params_layout(&s->params, ctx, c,
                                        &(aoei_params_options){.type = o->type,
                                                               .optimizer = o->optimizer,
                                                               .rank = (size_t)aoei_comm_rank(shards.comm),
                                                               .ranks = (size_t)aoei_comm_ranks(shards.comm)},
                                        arena, err);
    if (code)
        return code;
    aoei_gradient_tree_layout(&s->tree, &s->params, &shards, 0, arena);
    s->rows = aoei_tensor_take_typed(arena, o->type, n, D);
    s->pre = aoei_tensor_take_typed(arena, o->type, n, E);
    s->act = aoei_tensor_take_typed(arena, o->type, n, E);
    s->normed = aoei_tensor_take_typed(arena, o->type, n, E);
    s->stats = aoei_tensor_take(arena, n, 2);
    s->d_normed = aoei_tensor_take(arena, n, E);
    s->d_rows = E == D ? s->d_normed : aoei_tensor_take(arena, n, D);
    s->logits = aoei_tensor_take(arena, block, c->vocab);
    s->d_logits = o->type == AOEI_F32 ? s->logits : aoei_tensor_take_typed(arena, o->type, block, c->vocab);
    const size_t decoder = aoei_linear_workspace(ctx, o->type, block, c->vocab, E),
                 transform = aoei_linear_workspace(ctx, o->type, n, E, D);
    s->workspace = aoei_workspace_take(arena, decoder > transform ? decoder : transform);
    const aoei_encoder_mode mode = {.type = o->type, .training = 1, .recompute = o->recompute};
    return aoei_encoder_layout(&s->state, ctx, c, arena, n, o->texts, o->longest, mode, err);
}

int aoei_mlm_step_measure(size_t *arena_bytes, size_t *other_bytes, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_mlm_step_options *o, aoe_error *err) {
    aoei_mlm_step s = {.ctx = ctx};
    aoei_arena arena;
    aoei_arena_measure(&arena);
    const int code = aoei_mlm_step_layout(&s, ctx, c, o, &arena, err);
    *arena_bytes = arena.used;
    *other_bytes =
        o->tokens * (sizeof *s.index + sizeof *s.target) + block_rows(c) * (sizeof *s.loss + sizeof *s.is_correct);
    return code || !arena.overflow ? code : aoei_fail_nomem(err, o->tokens);
}

static int create_buffers(aoei_mlm_step *s, aoe_error *err) {
    const size_t n = s->o.tokens, block = block_rows(&s->config);
    const int code = aoei_batch_buffer_create(&s->buffer, n, s->o.texts, err);
    if (code)
        return code;
    s->index = aoei_malloc_array(n, sizeof *s->index);
    s->target = aoei_malloc_array(n, sizeof *s->target);
    s->loss = aoei_malloc_array(block, sizeof *s->loss);
    s->is_correct = aoei_malloc_array(block, sizeof *s->is_correct);
    return s->index && s->target && s->loss && s->is_correct ? AOE_OK : aoei_fail_nomem(err, n * sizeof *s->index);
}

int aoei_mlm_step_create(aoei_mlm_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                         const aoei_mlm_step_options *o, aoe_error *err) {
    memset(s, 0, sizeof *s);
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = aoei_mlm_step_layout(s, ctx, c, o, &plan, err);
    if (!code)
        code = aoei_arena_create(&s->arena, plan.used, err);
    if (!code)
        code = aoei_mlm_step_layout(s, ctx, c, o, &s->arena, err);
    if (!code)
        code = create_buffers(s, err);
    if (code)
        aoei_mlm_step_destroy(s);
    return code;
}

void aoei_mlm_step_destroy(aoei_mlm_step *s) {
    aoei_batch_buffer_destroy(&s->buffer);
    aoei_arena_destroy(&s->arena);
    aoei_free(s->index);
    aoei_free(s->target);
    aoei_free(s->loss);
    aoei_free(s->is_correct);
    memset(s, 0, sizeof *s);
}

/* Returns the arguments of the head's transform. For the masked tokens of the chunk, the transform computes the input
 * of the head's last matmul. */
static aoei_mlm_transform transform_of(const aoei_mlm_step *s) {
    const size_t first = aoei_head_slot(&s->config, 0), n = s->n_masked;
    return (aoei_mlm_transform){.ctx = s->ctx,
                                .config = &s->config,
                                .w = s->params.values + first,
                                .g = s->params.grads + first,
                                .in = aoei_tensor_rows(s->rows, 0, n),
                                .pre = aoei_tensor_rows(s->pre, 0, n),
                                .act = aoei_tensor_rows(s->act, 0, n),
                                .out = aoei_tensor_rows(s->normed, 0, n),
                                .d_out = aoei_tensor_rows(s->d_normed, 0, n),
                                .d_in = aoei_tensor_rows(s->d_rows, 0, n),
                                .stats = aoei_tensor_rows(s->stats, 0, n),
                                .workspace = s->workspace};
}

/* Applies dropout to hidden states or their gradients in place. Does nothing if the architecture has no dropout before
 * the head. */
static void apply_dropout(const aoei_mlm_step *s, aoei_tensor rows, const aoei_encoder_dropout *drop) {
    const aoei_encoder_ops *ops = s->config.arch->encoder;
    if (ops->mlm_dropout)
        ops->mlm_dropout(s->ctx, &s->config, rows, &s->buffer.batch, drop);
}

/* Computes s->normed for the masked tokens. last: last hidden states of all tokens; dropout is applied to them in
 * place. */
static void head_forward(aoei_mlm_step *s, aoei_tensor last, const aoei_encoder_dropout *drop) {
    const aoei_mlm_transform t = transform_of(s);
    apply_dropout(s, last, drop);
    aoei_rows_gather(s->ctx, t.in, last, s->index);
    s->config.arch->encoder->mlm_forward(&t);
}

/* Computes the logits and losses of the masked tokens [first, first + n). If scale is not 0, the function also computes
 * the rows of s->d_normed for these tokens, and adds the gradients of the weight and the bias of the head's last
 * matmul. */
static void compute_block(aoei_mlm_step *s, size_t first, size_t n, double scale, aoei_mlm_sums *sums) {
    const size_t bias = aoei_head_slot(&s->config, AOEI_HW_DECODER_BIAS);
    const aoei_tensor *w = s->params.values, *g = s->params.grads;
    const aoei_tensor x = aoei_tensor_rows(s->normed, first, n), logits = aoei_tensor_rows(s->logits, 0, n);
    aoei_linear_epilogue e;
    memset(&e, 0, sizeof e);
    e.workspace = s->workspace;
    aoei_linear_forward(s->ctx, logits, x, w[AOEI_W_WORD], w[bias], &e);
    const aoei_tensor d = aoei_tensor_rows(s->d_logits, 0, n);
    aoei_cross_entropy(s->ctx, d, logits, s->target + first, scale, s->loss, s->is_correct);
    for (size_t i = 0; i < n; i++) {
        sums->loss += s->loss[i];
        sums->correct += s->is_correct[i];
    }
    sums->masked += n;
    if (scale == 0)
        return;
    aoei_linear_grads l;
    memset(&l, 0, sizeof l);
    l.dx = aoei_tensor_rows(s->d_normed, first, n);
    l.dw = g[AOEI_W_WORD];
    l.db = g[bias];
    l.workspace = s->workspace;
    aoei_linear_backward(s->ctx, &l, d, x, w[AOEI_W_WORD]);
}

/* Computes d_last, the gradient of the last hidden states, from s->d_normed. */
static void head_backward(aoei_mlm_step *s, aoei_tensor d_last, const aoei_encoder_dropout *drop) {
    const aoei_mlm_transform t = transform_of(s);
    s->config.arch->encoder->mlm_backward(&t);
    aoei_rows_scatter(s->ctx, d_last, t.d_in, s->index);
    apply_dropout(s, d_last, drop);
}

void aoei_mlm_step_gradient(aoei_mlm_step *s, const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums) {
    const aoei_batch *b = &s->buffer.batch;
    const size_t block = block_rows(&s->config);
    if (s->n_masked == 0)
        return;
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->config, s->params.values, b, &s->state, drop);
    head_forward(s, last, drop);
    for (size_t i = 0; i < s->n_masked; i += block)
        compute_block(s, i, s->n_masked - i < block ? s->n_masked - i : block, scale, sums);
    if (scale == 0)
        return;
    head_backward(s, aoei_encoder_grad_last(&s->state, b->n_tokens), drop);
    aoei_encoder_backward(s->ctx, &s->config, s->params.values, s->params.grads, b, &s->state, drop, 0);
}
