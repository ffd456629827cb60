/* SPDX-License-Identifier: MIT
 * The training step shared by the trainer and the benchmark.
 */
#include "objective/pair_step.h"

#include "base/alloc.h"
#include "base/error.h"
#include "objective/regression.h"

#include <string.h>

/* Texts of an example, at most. */
static size_t most_roles(const aoei_pair_step_options *o) {
    return o->roles > 2 ? o->roles : 2;
}

int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoei_arena *arena, aoe_error *err) {
    s->ctx = ctx;
    s->config = *c;
    s->o = *o;
    s->roles = 2;
    if (!o->chunk_pairs || o->chunk_pairs >= o->pairs) {
        s->o.chunk_pairs = o->pairs;
        s->o.chunk_tokens = o->tokens;
    }
    const aoei_encoder_mode mode = {.type = o->type, .training = 1, .recompute = o->recompute};
    const int code = aoei_params_layout(&s->params, ctx, c, o->type, arena, err);
    if (code)
        return code;
    s->pooled = aoei_tensor_take(arena, most_roles(o) * o->pairs, c->hidden);
    return aoei_encoder_layout(&s->state, ctx, c, arena, s->o.chunk_tokens, most_roles(o) * s->o.chunk_pairs, o->longest, mode,
                               err);
}

/* What is not a tensor: the batch, and the objectives' side on the host. */
static int create_host(aoei_pair_step *s, aoe_error *err) {
    const size_t pairs = s->o.pairs, texts = most_roles(&s->o) * pairs, floats = texts * s->config.hidden;
    const int code = aoei_batch_buffer_create(&s->buffer, s->o.tokens, texts, err);
    if (code)
        return code;
    const size_t labelled = aoei_objective_workspace(pairs, s->config.hidden),
                 contrastive = s->o.roles ? aoei_contrastive_workspace(pairs, s->config.hidden, s->o.roles) : labelled,
                 regression = aoei_regression_workspace(pairs, s->config.hidden),
                 distill = aoei_distill_workspace(pairs, s->config.hidden, most_roles(&s->o));
    s->workspace_bytes = labelled > contrastive ? labelled : contrastive;
    s->workspace_bytes = regression > s->workspace_bytes ? regression : s->workspace_bytes;
    s->workspace_bytes = distill > s->workspace_bytes ? distill : s->workspace_bytes;
    s->host = aoei_malloc_array(floats, sizeof *s->host);
    s->host_grad = aoei_malloc_array(floats, sizeof *s->host_grad);
    s->chunk_offsets = aoei_malloc_array(most_roles(&s->o) * s->o.chunk_pairs + 1, sizeof *s->chunk_offsets);
    s->workspace = labelled && contrastive && regression && distill ? aoei_aligned(s->workspace_bytes) : NULL;
    if (!s->host || !s->host_grad || !s->chunk_offsets || !s->workspace)
        return aoei_fail(err, AOE_ENOMEM, "out of memory for the objectives of %zu pairs; use a smaller --batch-size", pairs);
    return AOE_OK;
}

int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoe_error *err) {
    memset(s, 0, sizeof *s);
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = aoei_pair_step_layout(s, ctx, c, o, &plan, err);
    if (!code)
        code = aoei_arena_create(&s->arena, plan.used, err);
    if (!code)
        code = aoei_pair_step_layout(s, ctx, c, o, &s->arena, err);
    if (!code)
        code = create_host(s, err);
    if (code)
        aoei_pair_step_destroy(s);
    return code;
}

void aoei_pair_step_destroy(aoei_pair_step *s) {
    aoei_batch_buffer_destroy(&s->buffer);
    aoei_arena_destroy(&s->arena);
    aoei_free(s->host);
    aoei_free(s->host_grad);
    aoei_free(s->chunk_offsets);
    aoei_aligned_free(s->workspace);
    memset(s, 0, sizeof *s);
}

/* Texts [first, first + n) of the batch, as a batch of their own. */
static aoei_batch chunk_of(const aoei_pair_step *s, size_t first, size_t n) {
    const aoei_batch *all = &s->buffer.batch;
    const uint32_t begin = all->offsets[first];
    if (n == all->n_texts)
        return *all;
    aoei_batch b = {.n_tokens = all->offsets[first + n] - begin,
                    .n_texts = n,
                    .ids = all->ids + begin,
                    .positions = all->positions + begin,
                    .offsets = s->chunk_offsets,
                    .text_index = all->text_index + first};
    for (size_t i = 0; i <= n; i++)
        s->chunk_offsets[i] = all->offsets[first + i] - begin;
    for (size_t i = 0; i < n; i++) {
        const size_t length = s->chunk_offsets[i + 1] - s->chunk_offsets[i];
        b.longest = length > b.longest ? length : b.longest;
    }
    return b;
}

/* The chunk through the encoder: its vectors go to `pooled`. Returns the last hidden state. */
static aoei_tensor chunk_forward(aoei_pair_step *s, const aoei_batch *b, aoei_tensor pooled, aoe_pooling pooling,
                                 const aoei_encoder_dropout *drop) {
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->config, s->params.values, b, &s->state, drop);
    aoei_encoder_pool(s->ctx, &s->config, pooled, pooling, last, b, &s->state);
    return last;
}

/* The backward of the chunk that went through the encoder last; `pooled` holds the gradient of its vectors. */
static void chunk_backward(aoei_pair_step *s, const aoei_batch *b, aoei_tensor pooled, aoe_pooling pooling, aoei_tensor last,
                           const aoei_encoder_dropout *drop) {
    const int with_first = aoei_encoder_pool_backward(s->ctx, pooling, pooled, last, b, &s->state);
    aoei_encoder_backward(s->ctx, &s->config, s->params.values, s->params.grads, b, &s->state, drop, with_first);
}

/* Value and gradient of the objectives of the vectors in `pooled`, which receives scale times the gradient. */
static int objectives(aoei_pair_step *s, aoei_tensor pooled, const aoe_objective_options *o, const double *label,
                      const uint32_t *group, double scale, aoe_objective_result *result, aoe_error *err) {
    const size_t D = s->config.hidden;
    aoei_tensor_read(s->ctx, s->host, pooled);
    const aoei_example_batch examples = {
        .B = pooled.rows / s->roles, .D = D, .arity = s->roles, .v = s->host, .grad = s->host_grad};
    const aoei_pair_batch pairs = {.B = pooled.rows / 2,
                                   .D = D,
                                   .stride = 2 * D,
                                   .x = s->host,
                                   .y = s->host + D,
                                   .grad_x = s->host_grad,
                                   .grad_y = s->host_grad + D,
                                   .label = label,
                                   .group = group};
    int code;
    if (s->loss == AOEI_STEP_REGRESSION)
        code = aoei_regression_objective(label, &examples, s->workspace, s->workspace_bytes, s->ctx, result, err);
    else if (label)
        code = aoei_objective(o, &pairs, s->workspace, s->workspace_bytes, s->ctx, result, err);
    else
        code = aoei_contrastive_objective(o, &examples, s->workspace, s->workspace_bytes, s->ctx, result, err);
    if (!code && s->distill.weight > 0)
        code = aoei_distill_objective(&s->distill, &examples, s->workspace, s->workspace_bytes, s->ctx, result, err);
    if (code)
        return code;
    aoei_tensor_write(s->ctx, pooled, s->host_grad);
    aoei_scale(s->ctx, pooled, scale);
    return AOE_OK;
}

int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err) {
    const size_t texts = s->buffer.batch.n_texts, step = s->roles * s->o.chunk_pairs;
    aoei_tensor last = {0};
    for (size_t i = 0; i < texts; i += step) {
        const size_t n = texts - i < step ? texts - i : step;
        const aoei_batch b = chunk_of(s, i, n);
        last = chunk_forward(s, &b, aoei_tensor_rows(s->pooled, i, n), pooling, drop);
    }
    const int code = objectives(s, aoei_tensor_rows(s->pooled, 0, texts), o, label, group, scale, result, err);
    for (size_t i = 0; i < texts && !code; i += step) {
        const size_t n = texts - i < step ? texts - i : step;
        const aoei_batch b = chunk_of(s, i, n);
        const aoei_tensor grad = aoei_tensor_rows(s->pooled, i, n);
        if (texts > step)
            last = aoei_encoder_forward(s->ctx, &s->config, s->params.values, &b, &s->state, drop);
        chunk_backward(s, &b, grad, pooling, last, drop);
    }
    return code;
}
