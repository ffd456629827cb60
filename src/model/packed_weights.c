/* SPDX-License-Identifier: MIT
 * Packs the linear weights for inference. One block of memory contains the packed copies of all linear weights that are
 * packed at the same time, in the order of the weights.
 */
#include "model/packed_weights.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/encoder_ops.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "model/weight_rows.h"
#include "modeldir/storage.h"
#include "nn/gemm.h"
#include "nn/int8_rows.h"

#define BLOCK ((size_t)1 << 20) /* approximate number of elements that are read at a time to be quantized */
#define ROWS  ((size_t)16)      /* rows that a task quantizes */

int aoei_model_int8_check(const aoei_encoder_config *c, int inference, const char *name, aoe_error *err) {
    if (!inference)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "options.dtype int8 is supported only for inference, not for training; use f32, bf16 or auto");
    if (!c->arch->encoder->int8)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.dtype int8 is supported only for transformers, but the architecture of this model is "
            "%s; use f32, bf16 or auto",
            name, c->arch->model_type);
    return AOE_OK;
}

int aoei_model_packs_int8(const aoe_model *m, size_t slot) {
    return m->dtype == AOE_DTYPE_INT8 && slot >= AOEI_W_LAYERS && slot < aoei_head_slot(&m->config, 0) &&
           (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT != AOEI_LW_V;
}

/* Returns the number of further columns of split channels in the packed int8 copy of the weight in `slot`. The channels
 * of the input of the up and gate layers are split, because the norm before these layers has a few channels of large
 * magnitude. */
static size_t split_columns(size_t slot) {
    const size_t kind = (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT;
    return kind == AOEI_LW_UP || kind == AOEI_LW_GATE ? AOEI_INT8_SPLIT_COLUMNS : 0;
}

static size_t aligned(size_t bytes) {
    return (bytes + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN;
}

/* The memory of a packed int8 weight: scales [rows], then the description of split channels if there are any
 * (aoei_int8_split_create), then the packed copy. */
static size_t scale_bytes(size_t rows) {
    return aligned(rows * sizeof(float));
}

/* Returns the size in bytes of the packed copy of the weight in `slot`, or 0 if this weight is not packed. */
static size_t packed_size(const aoe_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    if (!d.linear || d.adapter)
        return 0;
    if (aoei_model_packs_int8(m, slot))
        return scale_bytes(d.rows) + aoei_int8_split_bytes(split_columns(slot), d.cols) +
               aoei_weight_packed_size(m->ctx, AOEI_I8, d.rows, d.cols + split_columns(slot));
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

/* Quantizes the weight in `slot`, with its adapter if it has one. d: description of the weight. quantized: [d->rows,
 * d->cols]. scales: [d->rows]. */
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

/* Returns the slot of the norm whose output is the input of the up and gate layers in the layer of `slot`. */
static size_t norm_before_up(const aoei_encoder_config *c, size_t slot) {
    const size_t kind = c->pre_norm || c->branch_norms ? AOEI_LW_NORM2 : c->second_norm ? AOEI_LW_NORM3 : AOEI_LW_NORM1;
    return slot - (slot - AOEI_W_LAYERS) % AOEI_LW_COUNT + kind;
}

/* Returns the expected largest magnitude of channel k of the output of a norm: |bias| + 3 |weight|. */
static double channel_magnitude(const aoe_model *m, size_t norm, size_t k) {
    const float *weight = m->weights[norm].data, *bias = m->weights[norm + 1].data;
    const double scale = (double)weight[k] + (m->config.norm_plus_one ? 1 : 0);
    return 3 * fabs(scale) + (bias ? fabs((double)bias[k]) : 0);
}

/* Chooses the split channels of the weight in `slot`: each of n further columns is given to the channel with the
 * largest magnitude per column. Writes the result to `memory`, which has aoei_int8_split_bytes(n, cols) bytes. */
static const aoei_int8_split *choose_split(const aoe_model *m, size_t slot, void *memory, size_t n, size_t cols) {
    const size_t norm = norm_before_up(&m->config, slot);
    aoei_int8_split *split = aoei_int8_split_create(memory, n, cols);
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        double largest = -1;
        for (size_t k = 0; k < cols; k++) {
            const double magnitude = channel_magnitude(m, norm, k) / (double)split->factors[k];
            if (magnitude > largest) {
                largest = magnitude;
                best = k;
            }
        }
        split->factors[best] += 1;
    }
    aoei_int8_split_complete(split, cols);
    return split;
}

/* Moves the rows of q [rows, cols] apart and appends the further columns of split channels to each of them. The
 * capacity of q is [rows, cols + split->n]. */
static void append_split_columns(int8_t *q, size_t rows, size_t cols, const aoei_int8_split *split) {
    for (size_t r = rows; r-- > 0;) {
        int8_t *to = q + r * (cols + split->n);
        memmove(to, q + r * cols, cols);
        for (size_t i = 0; i < split->n; i++)
            to[cols + i] = to[split->channels[i]];
    }
}

/* Writes the packed int8 copy of the weight in `slot` to `memory`, with its split channels and, if the weight is not
 * stored as int8, its scales. */
static int pack_int8(aoe_model *m, size_t slot, void *memory, aoe_error *err) {
    aoei_tensor *w = &m->weights[slot];
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    const int stored = w->type == AOEI_I8 && w->data && !aoei_adapter_slot(&m->config, slot);
    const size_t n = split_columns(slot);
    unsigned char *at = (unsigned char *)memory + scale_bytes(d.rows);
    if (d.cols + n > AOEI_INT8_MAX_K)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: options.dtype int8 does not support linear layers of more than %zu inputs, but '%s' has %zu; use "
            "f32, bf16 or auto",
            m->files.dir, AOEI_INT8_MAX_K - n, d.name, d.cols);
    if (stored && !n) { /* the stored weight is packed without a copy */
        aoei_weight_pack(m->ctx, AOEI_I8, w, at + aoei_int8_split_bytes(n, d.cols));
        w->data = NULL;
        return 0;
    }
    int8_t *quantized = aoei_malloc_array(d.rows, d.cols + n);
    if (!quantized)
        return aoei_fail_nomem(err, d.rows * (d.cols + n));
    if (stored)
        memcpy(quantized, w->data, d.rows * d.cols);
    const int rc = stored ? 0 : quantize_weight(m, slot, &d, quantized, memory, err);
    if (!rc) {
        const aoei_int8_split *split = n ? choose_split(m, slot, at, n, d.cols) : NULL;
        if (split)
            append_split_columns(quantized, d.rows, d.cols, split);
        *w = aoei_tensor_wrap_typed(AOEI_I8, quantized, stored ? w->scale : memory, d.rows, d.cols + n);
        w->split = split;
        aoei_weight_pack(m->ctx, AOEI_I8, w, at + aoei_int8_split_bytes(n, d.cols));
        w->data = NULL;
    }
    aoei_free(quantized);
    return rc;
}

/* Writes the packed copy of the weight in `slot` to `memory`. If the weight has an adapter, the adapter is merged, and
 * the merged weight exists only in packed form. */
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

int aoei_model_packs_later(const aoe_model *m) {
    return m->dtype != AOE_DTYPE_INT8 && !m->lora.r && m->config.layers && m->config.arch->encoder->unpacked;
}

/* Returns 1 if the packed copy of the weight in `slot` is created by aoei_model_choose_weights, not by
 * aoei_model_pack. */
static int packed_later(const aoe_model *m, size_t slot) {
    return m->later && slot >= AOEI_W_LAYERS && slot < aoei_head_slot(&m->config, 0);
}

/* Releases the pages of the mapped file after weights were packed, if no operation reads these weights from it
 * again. */
static void drop_pages(const aoe_model *m) {
    if ((m->type == AOEI_BF16 || m->dtype == AOE_DTYPE_INT8) && m->files.weights)
        aoei_safetensors_drop(m->files.weights);
}

int aoei_model_pack(aoe_model *m, int later, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    size_t bytes = 0, used = 0;
    int rc = 0;
    if (later && aoei_model_packs_later(m) && !(m->later = aoei_calloc(1, sizeof *m->later)))
        return aoei_fail_nomem(err, sizeof *m->later);
    if (m->later)
        m->later->type = m->type;
    for (size_t i = 0; i < n; i++)
        bytes += packed_later(m, i) ? 0 : packed_size(m, i);
    if (!bytes)
        return 0;
    if (!(m->memory.packed = aoei_aligned(bytes)))
        return aoei_fail_nomem(err, bytes);
    for (size_t i = 0; i < n && !rc; i++) {
        const size_t size = packed_later(m, i) ? 0 : packed_size(m, i);
        if (size)
            rc = pack_weight(m, i, (unsigned char *)m->memory.packed + used, err);
        used += size;
    }
    m->config.lora = (aoei_lora){0};
    if (!m->later)
        drop_pages(m);
    return rc;
}

/* Packs the weights of the layers. Sets m->later->weights and m->later->packed. */
static int pack_layers(const aoe_context *ctx, aoe_model *m, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    size_t bytes = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        bytes += packed_later(m, i) ? packed_size(m, i) : 0;
    aoei_tensor *weights = aoei_malloc_array(n, sizeof *weights);
    unsigned char *packed = weights ? aoei_aligned(bytes) : NULL;
    if (!packed) {
        aoei_free(weights);
        return aoei_fail_nomem(err, weights ? bytes : n * sizeof *weights);
    }
    memcpy(weights, m->weights, n * sizeof *weights);
    for (size_t i = 0; i < n; i++) {
        const size_t size = packed_later(m, i) ? packed_size(m, i) : 0;
        if (size)
            aoei_weight_pack(ctx, m->later->type, &weights[i], packed + used);
        used += size;
    }
    m->later->weights = weights;
    m->later->packed = packed;
    drop_pages(m);
    return 0;
}

int aoei_model_choose_weights(aoei_chosen_weights *chosen, const aoe_context *ctx, aoe_model *m, size_t n_tokens,
                              aoe_error *err) {
    aoei_later_packing *later = m->later;
    int rc = 0;
    *chosen = (aoei_chosen_weights){m->weights, later != NULL};
    if (!later)
        return 0;
    assert(later->type == m->type);
    int state = atomic_load(&later->state);
    if (state == AOEI_LATER_NOT_USED && n_tokens <= AOEI_UNPACKED_TOKENS &&
        atomic_compare_exchange_strong(&later->state, &state, AOEI_LATER_USED))
        return 0;
    /* one thread packs the weights; other threads use the unpacked weights until it is done */
    if ((state == AOEI_LATER_NOT_USED || state == AOEI_LATER_USED) &&
        atomic_compare_exchange_strong(&later->state, &state, AOEI_LATER_PACKING)) {
        rc = pack_layers(ctx, m, err);
        state = rc ? AOEI_LATER_USED : AOEI_LATER_PACKED;
        atomic_store(&later->state, state);
    }
    if (state == AOEI_LATER_PACKED)
        *chosen = (aoei_chosen_weights){later->weights, 0};
    return rc;
}
