/* SPDX-License-Identifier: MIT
 * One allocation holds all generated weights, each of them aligned.
 */
#include "model/generated_weights.h"

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "encoder/initial_weights.h"

#define FLOATS_PER_LINE (AOEI_ALIGN / sizeof(float))

static size_t round_floats(size_t n) {
    return (n + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
}

int aoei_weights_generate(aoe_model *m, uint64_t seed, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    size_t floats = 0, used = 0;
    aoei_slot slot;
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        floats += slot.absent || m->files.tensors[i] ? 0 : round_floats(slot.rows * slot.cols);
    }
    if (floats && !(m->memory.generated = aoei_aligned(floats * sizeof *m->memory.generated)))
        return aoei_fail_nomem(err, floats * sizeof *m->memory.generated);
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent || m->files.tensors[i])
            continue;
        aoei_init_weight(m->memory.generated + used, &m->config, i, seed);
        m->weights[i] = aoei_tensor_wrap(m->memory.generated + used, slot.rows, slot.cols);
        used += round_floats(slot.rows * slot.cols);
    }
    return 0;
}
