/* SPDX-License-Identifier: MIT
 * Computes the memory that inference and training need for a batch. The layout functions of the model, the embedder and the
 * trainer are called with measuring arenas, which only add up sizes (base/arena.h). The function that chooses the storage of a
 * weight is called for every weight. Therefore, the results equal the real allocations.
 */
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "encoder/arch.h"
#include "encoder/shapes.h"
#include "encoder/slots.h"
#include "loss/pair_objective.h"
#include "model/weight_placement.h"
#include "modeldir/storage.h"
#include "nn/dtype.h"
#include "train/methods.h"
#include "train/pair_step.h"
#include "model/embedder.h"
#include "model/lora_options.h"
#include "model/packed_weights.h"

#include <string.h>

/* Bytes of the activations of an encoder. `all`: all activations. `kept`: only the activations that the backward pass needs. */
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
        rc =
            aoei_fail(err, AOE_ENOMEM, "the memory for a batch of %zu tokens exceeds SIZE_MAX; plan a smaller batch", n_tokens);
    aoei_arena_destroy(&arena);
    return rc;
}

static int measure_params(aoe_memory_plan *plan, const aoe_model *m, aoe_error *err) {
    aoei_arena arena;
    aoei_params params;
    aoei_arena_measure(&arena);
    const int rc = aoei_params_layout(&params, m->ctx, &m->config, m->type, &arena, err);
    plan->parameters = plan->gradients = params.count * sizeof(float);
    plan->moments = (size_t)aoei_optimizer_moments(m->config.optimizer) * plan->gradients;
    plan->training_packed = params.packed_bytes;
    aoei_arena_destroy(&arena);
    return rc;
}

/* Sets plan->objectives to the number of bytes that the objectives need: their workspace, and three arrays of embeddings.
 * The first array contains the embeddings and later their gradients (aoei_pair_step.pooled). The others are host and
 * host_grad. */
static int measure_objectives(aoe_memory_plan *plan, const aoe_model *m, size_t n_texts, aoe_error *err) {
    const size_t pairs = n_texts / 2 + n_texts % 2, dims = aoei_vector_dims(&m->config);
    const size_t workspace = aoei_pair_objective_workspace(pairs, dims);
    size_t vectors;
    if (!workspace || aoei_mul_size(3 * 2 * sizeof(float) * dims, pairs, &vectors) ||
        aoei_add_size(workspace, vectors, &plan->objectives))
        return aoei_fail(err, AOE_ENOMEM, "the memory for the losses of %zu pairs exceeds SIZE_MAX; plan a smaller batch",
                         pairs);
    return 0;
}

/* Sets plan->evaluation to the bytes of the memory for evaluations: the copy of the best weights, and the embedder. */
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
    const size_t parts[] = {plan->frozen,          plan->parameters, plan->gradients, plan->moments,
                            plan->training_packed, encoder->all,     plan->objectives};
    *sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (aoei_add_size(*sum, parts[i], sum))
            return aoei_fail_nomem(err, parts[i]);
    return 0;
}

/* Returns the data type in which a weight is stored. If m is an open model, this is the data type in its weight file. If m has
 * no weights, only a configuration, this is the data type that o->storage selects. */
static aoei_st_dtype stored_type(const aoe_model *m, const aoe_plan_options *o, size_t index, const aoei_slot *slot) {
    if (m->files.tensors)
        return m->files.tensors[index]->dtype;
    return o->storage == AOE_STORAGE_BF16                    ? AOEI_ST_BF16
           : o->storage == AOE_STORAGE_INT8 && !slot->vector ? AOEI_ST_I8
                                                             : AOEI_ST_F32;
}

/* Sets *in_file to the bytes of the weights that are read directly from the mapped file, and *allocated to the bytes of the
 * weights for which memory is allocated. Adapters are not included. */
static void measure_weights(size_t *in_file, size_t *allocated, const aoe_model *m, const aoe_plan_options *o,
                            const aoei_open_mode *p) {
    static const aoe_storage storage_of[] = {[AOEI_ST_F32] = AOE_STORAGE_F32,
                                             [AOEI_ST_F16] = AOE_STORAGE_BF16,
                                             [AOEI_ST_BF16] = AOE_STORAGE_BF16,
                                             [AOEI_ST_I8] = AOE_STORAGE_INT8};
    *in_file = *allocated = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent || slot.adapter)
            continue;
        const aoei_st_dtype type = stored_type(m, o, i, &slot);
        const aoei_weight_placement place = aoei_weight_placement_of(m, p, i, &slot, type, 1);
        *allocated += place.bytes;
        if (place.mapped)
            *in_file += aoei_storage_bytes(storage_of[type], slot.rows, slot.cols, slot.vector);
    }
}

static int check(const aoe_model *m, const aoe_plan_options *o, size_t *n_tokens, aoe_error *err) {
    const size_t max_length = m->config.arch->max_length(&m->config);
    if (o->n_texts < 1 || o->length < 1 || aoei_mul_size(o->n_texts, o->length, n_tokens) || *n_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG,
                         "a batch of %zu texts of %zu tokens cannot be planned; use 1 to 2^32 - 1 tokens in total", o->n_texts,
                         o->length);
    if (o->length > max_length)
        return aoei_fail(err, AOE_EARG,
                         "a text of %zu tokens is longer than the maximum length of the model, %zu; plan shorter texts",
                         o->length, max_length);
    return 0;
}

/* Computes the memory for training. m->config must include the adapters to train. */
static int plan_training(aoe_memory_plan *plan, const aoe_model *m, const aoe_plan_options *o, size_t n_tokens,
                         aoe_error *err) {
    const aoei_encoder_mode without_recompute = {.training = 1, .taps = o->layer_losses},
                            with_recompute = {.training = 1, .taps = o->layer_losses, .recompute = 1};
    encoder_bytes training = {0}, recompute = {0};
    size_t in_file, allocated;
    int rc;
    if ((rc = measure_encoder(&training, m, n_tokens, o->n_texts, o->length, without_recompute, err)) ||
        (rc = measure_encoder(&recompute, m, n_tokens, o->n_texts, o->length, with_recompute, err)) ||
        (rc = measure_params(plan, m, err)) || (rc = measure_objectives(plan, m, o->n_texts, err)) ||
        (rc = measure_evaluation(plan, m, err)))
        return rc;
    if (aoei_has_frozen_weights(&m->config)) {
        measure_weights(&in_file, &allocated, m, o, &(aoei_open_mode){.eight_bit = o->lora.load_8bit});
        plan->frozen = in_file + allocated;
    }
    if (m->config.discriminator) { /* it has activations of its own */
        training = (encoder_bytes){2 * training.all, 2 * training.kept};
        recompute = (encoder_bytes){2 * recompute.all, 2 * recompute.kept};
    }
    plan->kept = training.kept;
    plan->kept_recompute = recompute.kept;
    plan->working = training.all - training.kept;
    rc = sum_training(plan, &training, &plan->training, err);
    return rc ? rc : sum_training(plan, &recompute, &plan->training_recompute, err);
}

/* Sets m->config.lora to the adapters that training would use. If o->lora.r is set, these are new adapters; otherwise, they are
 * the adapters of the model. */
static int plan_adapters(aoe_model *m, const aoe_plan_options *o, aoe_error *err) {
    if (o->lora.r)
        return aoei_lora_resolve(&m->config.lora, &o->lora, &m->config, err);
    m->config.lora = m->lora;
    return !o->lora.load_8bit || m->lora.r
               ? 0
               : aoei_fail(err, AOE_EARG, "options.lora.load_8bit requires adapters; set options.lora.r");
}

/* Sets m->config to the encoders that the method trains. */
static int plan_method(aoe_model *m, const aoe_plan_options *o, aoe_error *err) {
    const aoei_method *method;
    const int rc = aoei_method_find(&method, o->method, err);
    if (rc)
        return rc;
    m->config.discriminator = method->generator;
    m->config.twin = method->twin || method->generator;
    return AOE_OK;
}

void aoe_plan_options_defaults(aoe_plan_options *o) {
    if (!o)
        return;
    *o = (aoe_plan_options){.struct_size = sizeof *o};
    o->n_texts = 64;
    o->length = AOE_AUTO;
    o->storage = AOE_STORAGE_BF16;
    o->method = AOE_METHOD_ANGLE;
    aoe_lora_defaults(&o->lora);
}

int aoe_model_plan(const aoe_model *m, const aoe_plan_options *o, aoe_memory_plan *plan, aoe_error *err) {
    AOEI_CHECK(err, m, plan);
    AOEI_OPTIONS(aoe_plan_options, o, err);
    aoe_plan_options resolved = *o;
    if (o->length == AOE_AUTO)
        resolved.length = m->settings.max_length;
    o = &resolved;
    size_t n_tokens;
    encoder_bytes inference = {0};
    aoe_model planned = *m; /* a shallow copy; all pointers are borrowed from *m */
    *plan = (aoe_memory_plan){.dtype = aoei_public_dtype(m->type)};
    int rc = check(m, o, &n_tokens, err);
    if (!rc)
        rc = measure_encoder(&inference, m, n_tokens, o->n_texts, o->length, (aoei_encoder_mode){0}, err);
    if (rc)
        return rc;
    plan->weights = m->files.stored_bytes;
    plan->packed = m->memory.converted_bytes + aoei_model_packed_bytes(m);
    plan->activations = inference.all;
    if (!(rc = plan_adapters(&planned, o, err)))
        rc = plan_method(&planned, o, err);
    return rc ? rc : plan_training(plan, &planned, o, n_tokens, err);
}

int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *o, aoe_memory_plan *plan, aoe_error *err) {
    AOEI_CHECK(err, ctx, s, plan);
    AOEI_OPTIONS(aoe_plan_options, o, err);
    const size_t length = o->length == AOE_AUTO ? s->positions : o->length;
    aoe_model m = {.ctx = ctx, .type = aoei_context_type(ctx, o->dtype), .settings = {.max_length = length}};
    size_t in_file;
    const int rc = aoei_shape_checked(&m.config, s, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < aoei_slot_count(&m.config); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m.config, i, &slot);
        if (!slot.absent)
            m.files.stored_bytes += aoei_storage_bytes(o->storage, slot.rows, slot.cols, slot.vector);
    }
    measure_weights(&in_file, &m.memory.converted_bytes, &m, o, &(aoei_open_mode){.packed = 1});
    return aoe_model_plan(&m, o, plan, err);
}
