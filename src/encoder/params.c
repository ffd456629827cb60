/* SPDX-License-Identifier: MIT
 * Memory layout of the trainable parameters of a model. params.h describes the flat tensors, slots and views.
 */
#include "encoder/params.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "encoder/slots.h"
#include "nn/gemm.h"
#include "nn/tensor.h"

enum {
    SLOT_ALIGN = 16
}; /* In the flat tensors, the values of each slot start at a multiple of this number of floats. */

/* Allocates n views, which are absent tensors. Returns NULL if the arena is a measuring arena. */
static aoei_tensor *take_views(aoei_arena *arena, size_t n) {
    aoei_tensor *views = aoei_arena_take_array(arena, n, sizeof *views);
    if (views)
        memset(views, 0, n * sizeof *views);
    return views;
}

/* Allocates the packed copy of the linear weight in `slot`. */
static void take_packed(aoei_params *p, const aoe_context *ctx, size_t slot, const aoei_slot *d, aoei_dtype type,
                        aoei_arena *arena) {
    const size_t bytes = aoei_weight_packed_size(ctx, type, d->rows, d->cols);
    void *memory = aoei_arena_take(arena, bytes);
    p->packed_bytes += bytes;
    if (!p->values || !p->segments || !memory)
        return;
    p->values[slot].packed = memory;
    p->values[slot].packed_type = type;
    p->segments[slot].weight = &p->values[slot];
}

int aoei_params_layout(aoei_params *p, const aoe_context *ctx, const aoei_encoder_config *c,
                       const aoei_params_options *o, aoei_arena *arena, aoe_error *err) {
    memset(p, 0, sizeof *p);
    p->n_slots = aoei_slot_count(c);
    p->encoders = o->second_encoder ? 2 : 1;
    const size_t n = p->encoders * p->n_slots;
    aoei_slot d;
    for (size_t s = 0; s < p->n_slots; s++) {
        const int code = aoei_slot_describe(c, s, &d);
        if (code)
            return aoei_fail(err, code, "slot %zu has no description", s);
        if (!d.absent && !d.frozen)
            p->count += p->encoders * ((d.rows * d.cols + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN);
    }
    const int moments = aoei_optimizer_moments(o->optimizer);
    p->share = aoei_share_of(p->count, o->rank, o->ranks);
    p->value = aoei_tensor_take(arena, 1, p->count);
    p->grad = aoei_tensor_take(arena, 1, p->count);
    if (moments > 1)
        p->m = aoei_tensor_take(arena, 1, aoei_share_count(&p->share));
    if (moments > 0)
        p->v = aoei_tensor_take(arena, 1, aoei_share_count(&p->share));
    p->values = take_views(arena, n);
    p->grads = take_views(arena, n);
    p->segments = aoei_arena_take_array(arena, n, sizeof *p->segments);
    if (arena->overflow)
        return aoei_fail(
            err, AOE_ENOMEM,
            "out of memory: cannot allocate values, gradients and optimizer moments of %zu parameters; use a "
            "smaller model",
            p->count);
    size_t offset = 0;
    for (size_t s = 0; s < n; s++) {
        aoei_slot_describe(c, s % p->n_slots, &d);
        const int trained = !d.absent && !d.frozen;
        const size_t end = offset + (!trained ? 0 : (d.rows * d.cols + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN);
        if (trained && p->values && p->grads) {
            p->values[s] = aoei_tensor_slice(p->value, offset, d.rows, d.cols);
            p->grads[s] = aoei_tensor_slice(p->grad, offset, d.rows, d.cols);
        }
        if (p->segments)
            p->segments[s] = (aoei_optimizer_segment){.begin = offset, .end = end, .decay = d.decay};
        if (o->type != AOEI_F32 && d.linear && trained)
            take_packed(p, ctx, s, &d, o->type, arena);
        offset = end;
    }
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM,
                         "out of memory: cannot allocate packed copies of the weights; use a smaller model or the data "
                         "type float32");
    p->n_tasks = p->segments ? aoei_optimizer_plan(p->segments, n) : 0;
    return AOE_OK;
}

void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights) {
    aoei_tensor_zero(ctx, p->value);
    aoei_tensor_zero(ctx, p->grad);
    if (p->m.data)
        aoei_tensor_zero(ctx, p->m);
    if (p->v.data)
        aoei_tensor_zero(ctx, p->v);
    for (size_t s = 0; s < p->encoders * p->n_slots; s++)
        if (p->grads[s].data)
            aoei_tensor_copy(ctx, p->values[s], weights[s % p->n_slots]);
        else
            p->values[s] = weights[s % p->n_slots];
    aoei_params_pack(ctx, p);
}

void aoei_params_pack(const aoe_context *ctx, aoei_params *p) {
    for (size_t s = 0; s < p->encoders * p->n_slots; s++)
        if (p->grads[s].data && p->values[s].packed)
            aoei_weight_pack(ctx, p->values[s].packed_type, &p->values[s], p->values[s].packed);
}

void aoei_params_bind_grad(aoei_params *p, aoei_tensor grad) {
    p->grad = grad;
    for (size_t s = 0; s < p->encoders * p->n_slots; s++)
        if (p->grads[s].data)
            p->grads[s] = aoei_tensor_slice(grad, p->segments[s].begin, p->grads[s].rows, p->grads[s].cols);
}

double aoei_clip_factor(double norm, double max_norm) {
    const double clip = max_norm > 0 ? max_norm / (norm + 1e-6) : 1.0;
    return clip < 1.0 ? clip : 1.0;
}

double aoei_params_update(const aoe_context *ctx, aoei_params *p, const aoei_optimizer *options, double max_norm) {
    aoei_optimizer o = *options;
    o.segments = p->segments;
    o.n_segments = p->encoders * p->n_slots;
    o.n_tasks = p->n_tasks;
    const double norm = sqrt(aoei_sum_squares(ctx, p->grad));
    if (!isfinite(norm)) {
        aoei_tensor_zero(ctx, p->grad);
        return norm;
    }
    o.grad_scale = aoei_clip_factor(norm, max_norm);
    aoei_optimizer_step(ctx, p->value, p->grad, p->m, p->v, &o);
    return norm;
}
