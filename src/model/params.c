/* SPDX-License-Identifier: MIT
 * Layout of the flat parameter set. No arithmetic on values: that is nn/'s.
 */
#include "model/params.h"

#include "base/error.h"

#include <string.h>

enum { SLOT_ALIGN = 16 }; /* floats */

static void views(aoei_tensor *out, aoei_tensor flat, size_t slot, size_t offset, const aoei_slot *d) {
    if (out)
        out[slot] = aoei_tensor_slice(flat, offset, d->rows, d->cols);
}

/* Adds [begin, end) to the ranges without decay, joining it to the last one when they touch. */
static void add_no_decay(aoei_params *p, size_t begin, size_t end) {
    if (p->n_no_decay && p->no_decay[2 * p->n_no_decay - 1] == begin) {
        p->no_decay[2 * p->n_no_decay - 1] = end;
        return;
    }
    p->no_decay[2 * p->n_no_decay] = begin;
    p->no_decay[2 * p->n_no_decay + 1] = end;
    p->n_no_decay++;
}

int aoei_params_layout(aoei_params *p, const aoei_encoder_config *c, aoei_arena *arena, aoe_error *err) {
    memset(p, 0, sizeof *p);
    p->n_slots = aoei_slot_count(c);
    aoei_slot d;
    for (size_t s = 0; s < p->n_slots; s++) {
        const int code = aoei_slot_describe(c, s, &d);
        if (code)
            return aoei_fail(err, code, "slot %zu has no description", s);
        if (!d.absent)
            p->count += (d.rows * d.cols + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    }
    aoei_tensor *const flat[] = {&p->value, &p->grad, &p->m, &p->v};
    aoei_tensor **const view[] = {&p->values, &p->grads, &p->ms, &p->vs};
    for (int i = 0; i < 4; i++) {
        *flat[i] = aoei_tensor_take(arena, 1, p->count);
        *view[i] = aoei_arena_take_array(arena, p->n_slots, sizeof **view[i]);
        if (*view[i])
            memset(*view[i], 0, p->n_slots * sizeof **view[i]);
    }
    p->no_decay = aoei_arena_take_array(arena, p->n_slots, 2 * sizeof *p->no_decay);
    if (arena->overflow)
        return aoei_fail(err, AOE_ENOMEM, "four copies of %zu parameters do not fit in memory", p->count);
    size_t offset = 0;
    for (size_t s = 0; s < p->n_slots && p->no_decay; s++) {
        aoei_slot_describe(c, s, &d);
        if (d.absent)
            continue;
        const size_t end = offset + (d.rows * d.cols + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
        for (int i = 0; i < 4; i++)
            views(*view[i], *flat[i], s, offset, &d);
        if (!d.decay)
            add_no_decay(p, offset, end);
        offset = end;
    }
    return AOE_OK;
}

void aoei_params_load(const aoe_context *ctx, aoei_params *p, const aoei_tensor *weights) {
    aoei_tensor_zero(ctx, p->value);
    aoei_tensor_zero(ctx, p->grad);
    aoei_tensor_zero(ctx, p->m);
    aoei_tensor_zero(ctx, p->v);
    for (size_t s = 0; s < p->n_slots; s++)
        if (p->values[s].data)
            aoei_tensor_copy(ctx, p->values[s], weights[s]);
}
