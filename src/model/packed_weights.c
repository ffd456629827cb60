/* SPDX-License-Identifier: MIT
 * Packs the linear weights for inference. One block of memory contains the packed copies of all linear weights, in the order of
 * the weights.
 */
#include "model/packed_weights.h"

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "model/weight_rows.h"
#include "nn/gemm.h"

/* Returns the size in bytes of the packed copy of the weight in `slot`, or 0 if this weight is not packed. */
static size_t packed_size(const aoe_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    return d.linear && !d.adapter ? aoei_weight_packed_size(m->ctx, m->type, d.rows, d.cols) : 0;
}

size_t aoei_model_packed_bytes(const aoe_model *m) {
    size_t total = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++)
        total += packed_size(m, i);
    return total;
}

/* Writes the packed copy of the weight in `slot` to `memory`. If the weight has an adapter, the adapter is merged, and the
 * merged weight exists only in packed form. */
static int pack_weight(aoe_model *m, size_t slot, void *memory, aoe_error *err) {
    aoei_tensor *w = &m->weights[slot];
    aoei_slot d;
    if (!aoei_adapter_slot(&m->config, slot)) {
        aoei_weight_pack(m->ctx, m->type, w, memory);
        return 0;
    }
    aoei_slot_describe(&m->config, slot, &d);
    float *rows = aoei_malloc_array(d.rows * d.cols, sizeof *rows);
    if (!rows)
        return aoei_fail_nomem(err, d.rows * d.cols * sizeof *rows);
    aoei_model_rows(m, rows, slot, 0, d.rows);
    *w = aoei_tensor_wrap(rows, d.rows, d.cols);
    aoei_weight_pack(m->ctx, m->type, w, memory);
    w->data = NULL;
    aoei_free(rows);
    return 0;
}

int aoei_model_pack(aoe_model *m, aoe_error *err) {
    const size_t bytes = aoei_model_packed_bytes(m);
    size_t used = 0;
    int rc = 0;
    if (!bytes)
        return 0;
    m->memory.packed = aoei_aligned(bytes);
    if (!m->memory.packed)
        return aoei_fail_nomem(err, bytes);
    for (size_t i = 0; i < aoei_slot_count(&m->config) && !rc; i++) {
        const size_t size = packed_size(m, i);
        if (size)
            rc = pack_weight(m, i, (unsigned char *)m->memory.packed + used, err);
        used += size;
    }
    m->config.lora = (aoei_lora){0};
    if (m->type == AOEI_BF16 &&
        m->files.weights) /* release the pages of the mapped file, because packed weights are not read from the file again */
        aoei_safetensors_drop(m->files.weights);
    return rc;
}
