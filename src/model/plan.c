/* SPDX-License-Identifier: MIT
 * The memory a batch takes, by running the layout code over measuring arenas:
 * the plan cannot disagree with what the embedder and the trainer allocate.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "model/encoder.h"
#include "model/model.h"
#include "model/params.h"

/* Bytes of an encoder's state, and how much of it is kept from forward to backward. */
typedef struct encoder_bytes {
    size_t all, kept;
} encoder_bytes;

static int measure_encoder(encoder_bytes *bytes, const aoe_model *m, size_t n_tokens, size_t n_texts, size_t length,
                           aoei_encoder_mode mode, aoe_error *err) {
    aoei_arena arena;
    aoei_encoder_state state;
    aoei_arena_measure(&arena);
    mode.type = m->type;
    int rc = aoei_encoder_layout(&state, m->ctx, &m->config, &arena, n_tokens, n_texts, length, mode, err);
    *bytes = (encoder_bytes){arena.peak, state.kept_bytes};
    if (!rc && arena.overflow)
        rc = aoei_fail(err, AOE_ENOMEM, "a batch of %zu tokens needs more memory than can be counted; plan a smaller one",
                       n_tokens);
    aoei_arena_destroy(&arena);
    return rc;
}

static int measure_params(aoe_memory_plan *plan, const aoe_model *m, aoe_error *err) {
    aoei_arena arena;
    aoei_params params;
    aoei_arena_measure(&arena);
    const int rc = aoei_params_layout(&params, m->ctx, &m->config, m->type, &arena, err);
    plan->parameters = plan->gradients = params.count * sizeof(float);
    plan->moments = 2 * plan->gradients;
    plan->training_packed = params.packed_bytes;
    aoei_arena_destroy(&arena);
    return rc;
}

int aoe_model_plan(const aoe_model *m, size_t n_texts, size_t length, aoe_memory_plan *plan, aoe_error *err) {
    size_t n_tokens;
    encoder_bytes inference = {0}, training = {0}, recompute = {0};
    int rc;
    *plan = (aoe_memory_plan){.dtype = aoei_public_dtype(m->type)};
    if (n_texts < 1 || length < 1 || aoei_mul_size(n_texts, length, &n_tokens) || n_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "a batch of %zu texts of %zu tokens cannot be planned; use sizes from 1 on", n_texts,
                         length);
    if (length > m->config.arch->max_length(&m->config))
        return aoei_fail(err, AOE_EARG, "a text of %zu tokens is longer than the model's %zu positions", length,
                         m->config.arch->max_length(&m->config));
    const aoei_encoder_mode keep = {.training = 1}, again = {.training = 1, .recompute = 1};
    if ((rc = measure_encoder(&inference, m, n_tokens, n_texts, length, (aoei_encoder_mode){0}, err)) ||
        (rc = measure_encoder(&training, m, n_tokens, n_texts, length, keep, err)) ||
        (rc = measure_encoder(&recompute, m, n_tokens, n_texts, length, again, err)) || (rc = measure_params(plan, m, err)))
        return rc;
    plan->weights = m->stored_bytes;
    plan->packed = m->converted_bytes + aoei_model_packed_bytes(m);
    plan->activations = inference.all;
    plan->kept = training.kept;
    plan->kept_recompute = recompute.kept;
    plan->working = training.all - training.kept;
    const size_t parts[] = {plan->parameters, plan->gradients, plan->moments, plan->training_packed, plan->kept, plan->working};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (aoei_add_size(plan->training, parts[i], &plan->training))
            return aoei_fail_nomem(err, parts[i]);
    return 0;
}
