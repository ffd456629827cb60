/* SPDX-License-Identifier: MIT
 * The memory a batch takes, by running the layout code over measuring arenas:
 * the plan cannot disagree with what the embedder and the trainer allocate.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "model/encoder.h"
#include "model/model.h"
#include "model/params.h"

static int measure_encoder(size_t *bytes, const aoe_model *m, size_t n_tokens, size_t n_texts, size_t length, int training,
                           aoe_error *err) {
    aoei_arena arena;
    aoei_encoder_state state;
    aoei_arena_measure(&arena);
    int rc = aoei_encoder_layout(&state, m->ctx, &m->config, &arena, n_tokens, n_texts, length, training, err);
    *bytes = arena.peak;
    if (!rc && arena.overflow)
        rc = aoei_fail(err, AOE_ENOMEM, "a batch of %zu tokens needs more memory than can be counted; plan a smaller one",
                       n_tokens);
    aoei_arena_destroy(&arena);
    return rc;
}

static int measure_params(size_t *bytes, const aoe_model *m, aoe_error *err) {
    aoei_arena arena;
    aoei_params params;
    aoei_arena_measure(&arena);
    int rc = aoei_params_layout(&params, &m->config, &arena, err);
    *bytes = arena.peak;
    aoei_arena_destroy(&arena);
    return rc;
}

int aoe_model_plan(const aoe_model *m, size_t n_texts, size_t length, aoe_memory_plan *plan, aoe_error *err) {
    size_t n_tokens, params = 0, kept = 0;
    int rc;
    *plan = (aoe_memory_plan){0};
    if (n_texts < 1 || length < 1 || aoei_mul_size(n_texts, length, &n_tokens) || n_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "a batch of %zu texts of %zu tokens cannot be planned; use sizes from 1 on", n_texts,
                         length);
    if (length > m->config.arch->max_length(&m->config))
        return aoei_fail(err, AOE_EARG, "a text of %zu tokens is longer than the model's %zu positions", length,
                         m->config.arch->max_length(&m->config));
    if ((rc = measure_encoder(&plan->activations, m, n_tokens, n_texts, length, 0, err)) ||
        (rc = measure_encoder(&kept, m, n_tokens, n_texts, length, 1, err)) || (rc = measure_params(&params, m, err)))
        return rc;
    plan->weights = m->stored_bytes;
    plan->packed = m->converted_bytes + aoei_model_packed_floats(m) * sizeof(float);
    if (aoei_add_size(params, kept, &plan->training))
        return aoei_fail_nomem(err, params);
    return 0;
}
