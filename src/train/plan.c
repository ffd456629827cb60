/* SPDX-License-Identifier: MIT
 * The memory a batch takes, by running the layout code over measuring arenas:
 * the plan cannot disagree with what the embedder and the trainer allocate.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "objective/pair_step.h"

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

/* Scores and vectors on the host, and the pooled vectors beside them. */
static int measure_objectives(aoe_memory_plan *plan, const aoe_model *m, size_t n_texts, aoe_error *err) {
    const size_t pairs = n_texts / 2 + n_texts % 2, workspace = aoei_objective_workspace(pairs, m->config.hidden);
    size_t vectors;
    if (!workspace || aoei_mul_size(3 * 2 * sizeof(float) * m->config.hidden, pairs, &vectors) ||
        aoei_add_size(workspace, vectors, &plan->objectives))
        return aoei_fail(err, AOE_ENOMEM,
                         "the objectives of %zu pairs need more memory than can be counted; plan a smaller batch", pairs);
    return 0;
}

/* The best parameters so far, and an embedder. */
static int measure_evaluation(aoe_memory_plan *plan, const aoe_model *m, aoe_error *err) {
    aoe_embedder_options o;
    size_t embedder;
    aoe_embedder_options_defaults(&o);
    const int rc = aoei_embedder_bytes(&embedder, m, &o, err);
    if (!rc && aoei_add_size(plan->parameters, embedder, &plan->evaluation))
        return aoei_fail_nomem(err, embedder);
    return rc;
}

static int sum_training(aoe_memory_plan *plan, const encoder_bytes *encoder, size_t *sum, aoe_error *err) {
    const size_t parts[] = {plan->parameters,      plan->gradients, plan->moments,
                            plan->training_packed, encoder->all,    plan->objectives};
    *sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (aoei_add_size(*sum, parts[i], sum))
            return aoei_fail_nomem(err, parts[i]);
    return 0;
}

int aoe_model_plan(const aoe_model *m, size_t n_texts, size_t length, aoe_memory_plan *plan, aoe_error *err) {
    size_t n_tokens;
    encoder_bytes inference = {0}, training = {0}, recompute = {0};
    int rc;
    *plan = (aoe_memory_plan){.dtype = aoei_public_dtype(m->type)};
    if (n_texts < 1 || length < 1 || aoei_mul_size(n_texts, length, &n_tokens) || n_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "a batch of %zu texts of %zu tokens cannot be planned; use 1 to 2^32 - 1 tokens in all",
                         n_texts, length);
    if (length > m->config.arch->max_length(&m->config))
        return aoei_fail(err, AOE_EARG, "a text of %zu tokens is longer than the model's %zu positions", length,
                         m->config.arch->max_length(&m->config));
    const aoei_encoder_mode keep = {.training = 1}, again = {.training = 1, .recompute = 1};
    if ((rc = measure_encoder(&inference, m, n_tokens, n_texts, length, (aoei_encoder_mode){0}, err)) ||
        (rc = measure_encoder(&training, m, n_tokens, n_texts, length, keep, err)) ||
        (rc = measure_encoder(&recompute, m, n_tokens, n_texts, length, again, err)) || (rc = measure_params(plan, m, err)) ||
        (rc = measure_objectives(plan, m, n_texts, err)) || (rc = measure_evaluation(plan, m, err)))
        return rc;
    plan->weights = m->stored_bytes;
    plan->packed = m->converted_bytes + aoei_model_packed_bytes(m);
    plan->activations = inference.all;
    plan->kept = training.kept;
    plan->kept_recompute = recompute.kept;
    plan->working = training.all - training.kept;
    rc = sum_training(plan, &training, &plan->training, err);
    return rc ? rc : sum_training(plan, &recompute, &plan->training_recompute, err);
}
