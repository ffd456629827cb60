/* SPDX-License-Identifier: MIT
 * Computes the logits of a causal model; see causal_head.h.
 */
#include "causal_head.h"

#include "encoder/encoder.h"
#include "encoder/slot_layout.h"
#include "model/text_batch.h"
#include "nn/linear.h"
#include "support.h"

typedef struct work {
    aoei_encoder_state state;
    aoei_tensor logits; /* [n, V] */
} work;

static int lay_out(work *w, const aoe_model *m, aoei_arena *arena, size_t n) {
    w->logits = aoei_tensor_take(arena, n, m->config.vocab);
    return aoei_encoder_layout(&w->state, m->ctx, &m->config, arena, n, 1, n, (aoei_encoder_mode){.type = m->type},
                               NULL);
}

void causal_logits(const aoe_model *m, const int32_t *ids, size_t n, float *logits) {
    work w;
    aoei_arena plan, arena;
    aoei_batch_buffer buffer;
    aoei_arena_measure(&plan);
    assert_int_equal(lay_out(&w, m, &plan, n), 0);
    assert_int_equal(aoei_arena_create(&arena, plan.used, NULL), 0);
    assert_int_equal(lay_out(&w, m, &arena, n), 0);
    assert_int_equal(aoei_batch_buffer_create(&buffer, n, 1, NULL), 0);
    aoei_batch_clear(&buffer);
    aoei_batch_add(&buffer, ids, n, 0);
    const aoei_tensor last = aoei_encoder_forward(m->ctx, &m->config, m->weights, &buffer.batch, &w.state, NULL);
    const aoei_tensor none = {0};
    aoei_linear_forward(m->ctx, w.logits, last, m->weights[AOEI_W_WORD], none, NULL);
    aoei_tensor_read(m->ctx, logits, w.logits);
    aoei_batch_buffer_destroy(&buffer);
    aoei_arena_destroy(&arena);
}

int32_t causal_best(const float *logits, size_t vocab) {
    size_t best = 0;
    for (size_t i = 1; i < vocab; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}
