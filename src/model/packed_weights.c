/* SPDX-License-Identifier: MIT
 * Packs the linear weights for inference. One block of memory contains the packed copies of all linear weights, in the order of
 * the weights.
 */
#include "model/packed_weights.h"

#include <stdint.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "model/weight_rows.h"
#include "modeldir/storage.h"
#include "nn/gemm.h"

#define BLOCK ((size_t)1 << 20) /* approximate number of elements that are read at a time to be quantized */
#define ROWS  ((size_t)16)      /* rows that a task quantizes */

int aoei_model_packs_int8(const aoe_model *m, size_t slot) {
    return m->int8 && slot >= AOEI_W_LAYERS && slot < aoei_head_slot(&m->config, 0) &&
           (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT != AOEI_LW_V;
}

/* Returns the size in bytes of the scales of a weight with `rows` rows, which precede its packed int8 copy. */
static size_t scale_bytes(size_t rows) {
    return (rows * sizeof(float) + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN;
}

/* Returns the size in bytes of the packed copy of the weight in `slot`, or 0 if this weight is not packed. */
static size_t packed_size(const aoe_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    if (!d.linear || d.adapter)
        return 0;
    if (aoei_model_packs_int8(m, slot))
        return scale_bytes(d.rows) + aoei_weight_packed_size(m->ctx, AOEI_I8, d.rows, d.cols);
    return aoei_weight_packed_size(m->ctx, m->type, d.rows, d.cols);
}

size_t aoei_model_packed_bytes(const aoe_model *m) {
    size_t total = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++)
        total += packed_size(m, i);
    return total;
}

/* Arguments of the tasks, each of which quantizes ROWS rows. */
typedef struct quantization {
    const float *values; /* [rows, cols] */
    int8_t *quantized;   /* [rows, cols] output */
    float *scales;       /* [rows] output */
    size_t rows, cols;
} quantization;

static void quantize_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const quantization *q = arg;
    for (size_t r = task * ROWS; r < q->rows && r < (task + 1) * ROWS; r++)
        q->scales[r] = aoei_int8_row(q->quantized + r * q->cols, q->values + r * q->cols, q->cols);
}

/* Quantizes the weight in `slot`, with its adapter if it has one. d: description of the weight. quantized: [d->rows, d->cols].
 * scales: [d->rows]. */
static int quantize_weight(const aoe_model *m, size_t slot, const aoei_slot *d, int8_t *quantized, float *scales,
                           aoe_error *err) {
    const size_t step = d->cols < BLOCK ? BLOCK / d->cols : 1, most = step < d->rows ? step : d->rows;
    float *values = aoei_malloc_array(most * d->cols, sizeof *values);
    if (!values)
        return aoei_fail_nomem(err, most * d->cols * sizeof *values);
    for (size_t first = 0; first < d->rows; first += step) {
        quantization q = {.values = values,
                          .quantized = quantized + first * d->cols,
                          .scales = scales + first,
                          .rows = d->rows - first < step ? d->rows - first : step,
                          .cols = d->cols};
        aoei_model_rows(m, values, slot, first, q.rows);
        aoei_parallel_for(m->ctx->pool, (q.rows + ROWS - 1) / ROWS, quantize_task, &q);
    }
    aoei_free(values);
    return 0;
}

/* Writes the packed int8 copy of the weight in `slot` to `memory`. If the weight is not stored as int8, writes its scales before
 * the copy, and the quantized weight exists only in packed form. */
static int pack_int8(aoe_model *m, size_t slot, void *memory, aoe_error *err) {
    aoei_tensor *w = &m->weights[slot];
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    void *packed = (unsigned char *)memory + scale_bytes(d.rows);
    if (d.cols > AOEI_INT8_MAX_K)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: options.dtype int8 does not support linear layers of more than %zu inputs, but '%s' has %zu; use "
                         "f32, bf16 or auto",
                         m->files.dir, AOEI_INT8_MAX_K, d.name, d.cols);
    if (w->type == AOEI_I8 && w->data && !aoei_adapter_slot(&m->config, slot)) {
        aoei_weight_pack(m->ctx, AOEI_I8, w, packed);
        return 0;
    }
    int8_t *quantized = aoei_malloc_array(d.rows, d.cols);
    if (!quantized)
        return aoei_fail_nomem(err, d.rows * d.cols);
    const int rc = quantize_weight(m, slot, &d, quantized, memory, err);
    if (!rc) {
        *w = aoei_tensor_wrap_typed(AOEI_I8, quantized, memory, d.rows, d.cols);
        aoei_weight_pack(m->ctx, AOEI_I8, w, packed);
        w->data = NULL;
    }
    aoei_free(quantized);
    return rc;
}

/* Writes the packed copy of the weight in `slot` to `memory`. If the weight has an adapter, the adapter is merged, and the
 * merged weight exists only in packed form. */
static int pack_weight(aoe_model *m, size_t slot, void *memory, aoe_error *err) {
    aoei_tensor *w = &m->weights[slot];
    aoei_slot d;
    if (aoei_model_packs_int8(m, slot))
        return pack_int8(m, slot, memory, err);
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
    if ((m->type == AOEI_BF16 || m->int8) &&
        m->files.weights) /* release the pages of the mapped file, because packed weights are not read from the file again */
        aoei_safetensors_drop(m->files.weights);
    return rc;
}
