/* SPDX-License-Identifier: MIT
 * Initializes the weights that are not in the files of a model. One block of memory contains all these weights. Each
 * weight is aligned to AOEI_ALIGN bytes.
 */
#include "model/generated_weights.h"

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "encoder/initial_weights.h"

#define ALIGN_FLOATS (AOEI_ALIGN / sizeof(float))

/* Rounds a number of floats up to a multiple of the alignment. */
static size_t round_up(size_t n) {
    return (n + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

int aoei_weights_generate(aoe_model *m, uint64_t seed, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    size_t floats = 0, used = 0;
    aoei_slot slot;
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        floats += slot.absent || m->files.tensors[i] ? 0 : round_up(slot.rows * slot.cols);
    }
    if (floats && !(m->memory.generated = aoei_aligned(floats * sizeof *m->memory.generated)))
        return aoei_fail_nomem(err, floats * sizeof *m->memory.generated);
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent || m->files.tensors[i])
            continue;
        aoei_init_weight(m->memory.generated + used, &m->config, i, seed);
        m->weights[i] = aoei_tensor_wrap(m->memory.generated + used, slot.rows, slot.cols);
        used += round_up(slot.rows * slot.cols);
    }
    return 0;
}
