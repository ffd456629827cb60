/* SPDX-License-Identifier: MIT
 * The training step shared by the trainer and the benchmark.
 */
#include "objective/pair_step.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

static int layout(aoei_pair_step *s, aoei_arena *arena, size_t max_tokens, size_t longest, aoe_error *err) {
    const int code = aoei_params_layout(&s->params, &s->config, arena, err);
    if (code)
        return code;
    s->pooled = aoei_tensor_take(arena, 2 * s->max_pairs, s->config.hidden);
    return aoei_encoder_layout(&s->state, s->ctx, &s->config, arena, max_tokens, 2 * s->max_pairs, longest, 1, err);
}

int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, size_t max_pairs,
                          size_t max_tokens, size_t longest, aoe_error *err) {
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    s->config = *c;
    s->max_pairs = max_pairs;
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = layout(s, &plan, max_tokens, longest, err);
    if (!code)
        code = aoei_arena_create(&s->arena, plan.used, err);
    if (!code)
        code = layout(s, &s->arena, max_tokens, longest, err);
    if (!code)
        code = aoei_batch_buffer_create(&s->buffer, max_tokens, 2 * max_pairs, err);
    if (!code) {
        const size_t floats = 2 * max_pairs * c->hidden;
        s->workspace_bytes = aoei_objective_workspace(max_pairs, c->hidden);
        s->host = aoei_malloc_array(floats, sizeof *s->host);
        s->host_grad = aoei_malloc_array(floats, sizeof *s->host_grad);
        s->workspace = s->workspace_bytes ? aoei_aligned(s->workspace_bytes) : NULL;
        if (!s->host || !s->host_grad || !s->workspace)
            code = aoei_fail(err, AOE_ENOMEM, "out of memory for the objectives of %zu pairs; use a smaller --batch-size",
                             max_pairs);
    }
    if (code)
        aoei_pair_step_destroy(s);
    return code;
}

void aoei_pair_step_destroy(aoei_pair_step *s) {
    aoei_batch_buffer_destroy(&s->buffer);
    aoei_arena_destroy(&s->arena);
    aoei_free(s->host);
    aoei_free(s->host_grad);
    aoei_aligned_free(s->workspace);
    memset(s, 0, sizeof *s);
}

int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err) {
    const aoei_batch *b = &s->buffer.batch;
    const aoei_tensor *w = s->params.values;
    const size_t D = s->config.hidden, n = b->n_tokens;
    const aoei_tensor pooled = aoei_tensor_rows(s->pooled, 0, b->n_texts);
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->config, w, b, &s->state, drop);
    aoei_pool_forward(s->ctx, pooled, pooling, aoei_encoder_hidden(&s->state, &s->config, 0, n), last, b);
    aoei_tensor_read(s->ctx, s->host, pooled);

    const aoei_pair_batch pairs = {.B = b->n_texts / 2,
                                   .D = D,
                                   .stride = 2 * D,
                                   .x = s->host,
                                   .y = s->host + D,
                                   .grad_x = s->host_grad,
                                   .grad_y = s->host_grad + D,
                                   .label = label,
                                   .group = group};
    const int code = aoei_objective(o, &pairs, s->workspace, s->workspace_bytes, s->ctx, result, err);
    if (code)
        return code;
    aoei_tensor_write(s->ctx, pooled, s->host_grad);
    aoei_scale(s->ctx, pooled, scale);
    aoei_pool_backward(s->ctx, aoei_encoder_grad_first(&s->state, n), aoei_encoder_grad_last(&s->state, n), pooling, pooled,
                       last, b);
    aoei_encoder_backward(s->ctx, &s->config, w, s->params.grads, b, &s->state, drop, pooling == AOE_POOLING_FIRST_LAST_AVG);
    return AOE_OK;
}

double aoei_pair_step_update(aoei_pair_step *s, const aoei_adamw *options, double max_norm) {
    aoei_params *p = &s->params;
    aoei_adamw o = *options;
    const double norm = sqrt(aoei_sum_squares(s->ctx, p->grad));
    if (isfinite(norm)) {
        /* PyTorch's clip_grad_norm_: max_norm / (norm + 1e-6), never above 1. */
        const double clip = max_norm > 0 ? max_norm / (norm + 1e-6) : 1.0;
        o.grad_scale = clip < 1.0 ? clip : 1.0;
        aoei_adamw_step(s->ctx, p->value, p->grad, p->m, p->v, &o);
    }
    aoei_tensor_zero(s->ctx, p->grad);
    return norm;
}
