/* SPDX-License-Identifier: MIT
 * Reads rows of weights and merges adapters. A merged row is the stored row, converted to float32, plus the same row of
 * scale * B A, where A and B are the matrices of the adapter. Each element of B A is computed completely before it is
 * added to the stored row. The result therefore does not depend on the number of rows that are merged at a time, and
 * the merged weights of an open model are bit-identical to the weights in a merged file.
 */
#include "model/weight_rows.h"

#include <math.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/pool.h"
#include "modeldir/adapter_tensors.h"
#include "nn/adapter.h"

#define BLOCK                                                                                                          \
    ((size_t)1 << 16) /* approximate number of elements that a task converts; a task converts complete rows            \
                       */

/* The argument of read_task. */
typedef struct reading {
    const aoei_st_tensor *from; /* tensor to read, borrowed */
    float *to;                  /* [n, cols] output, borrowed */
    size_t first, n;            /* first row to read, and number of rows to read */
    size_t cols;                /* elements per row */
    size_t step;                /* rows per task */
} reading;

/* Converts the rows of one task to float32. */
static void read_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const reading *r = arg;
    const size_t at = task * r->step, rows = r->n - at < r->step ? r->n - at : r->step;
    aoei_st_rows_to_float(r->to + at * r->cols, r->from, r->first + at, rows);
}

/* Scales each of the merged rows of the weight `slot` to its stored norm (DoRA, Liu et al. 2024, equation 5). `first`
 * is the number of the first row in the weight. */
static void scale_rows(const aoe_model *m, aoei_tensor rows, size_t slot, size_t first) {
    const aoei_st_tensor *magnitudes = aoei_adapter_magnitudes(&m->files, &m->config, slot);
    aoei_st_tensor vector = *magnitudes;
    vector.n_dims = 2; /* [rows, 1], so that single rows can be read */
    vector.shape[0] = aoei_st_elements(magnitudes);
    vector.shape[1] = 1;
    for (size_t r = 0; r < rows.rows; r++) {
        float magnitude, *row = aoei_tensor_at(rows, r, 0);
        double norm = 0;
        aoei_st_rows_to_float(&magnitude, &vector, first + r, 1);
        for (size_t i = 0; i < rows.cols; i++)
            norm += (double)row[i] * row[i];
        const float scale = norm > 0 ? (float)(magnitude / sqrt(norm)) : 0;
        for (size_t i = 0; i < rows.cols; i++)
            row[i] *= scale;
    }
}

void aoei_model_rows(const aoe_model *m, float *to, size_t slot, size_t first, size_t n) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    const aoei_tensor rows = aoei_tensor_wrap(to, n, d.cols);
    if (m->weights[slot].data) {
        aoei_tensor_read(m->ctx, to, aoei_tensor_rows(m->weights[slot], first, n));
    } else {
        const size_t step = d.cols < BLOCK ? BLOCK / d.cols : 1;
        reading r = {.from = m->files.tensors[slot], .to = to, .first = first, .n = n, .cols = d.cols, .step = step};
        aoei_parallel_for(m->ctx->pool, (n + step - 1) / step, read_task, &r);
    }
    const size_t lora_a = aoei_adapter_slot(&m->config, slot); /* the slot of lora_A; lora_B has the next slot */
    if (!lora_a)
        return;
    const size_t layer = (slot - AOEI_W_LAYERS) / AOEI_LW_COUNT,
                 index = aoei_adapter_index((slot - AOEI_W_LAYERS) % AOEI_LW_COUNT);
    aoei_adapter_merge(m->ctx, rows, m->weights[lora_a], aoei_tensor_rows(m->weights[lora_a + 1], first, n),
                       aoei_lora_scale(&m->config.lora, layer, index));
    if (m->config.lora.magnitudes)
        scale_rows(m, rows, slot, first);
}

/* Writes to to[d->rows, d->cols] the weight `slot` of a classification head with its adapter, of rank and alpha a. */
static int merge_head(const aoe_model *m, float *to, size_t slot, const aoei_slot *d, aoei_lora_layer a,
                      const aoei_st_tensor *const pair[2], aoe_error *err) {
    const size_t down = a.r * d->cols, up = d->rows * a.r;
    float *matrices = aoei_malloc_array(down + up, sizeof *matrices);
    if (!matrices)
        return aoei_fail_nomem(err, (down + up) * sizeof *matrices);
    aoei_st_to_float(matrices, pair[0]);
    aoei_st_to_float(matrices + down, pair[1]);
    const aoei_tensor weight = aoei_tensor_wrap(to, d->rows, d->cols);
    aoei_model_rows(m, to, slot, 0, d->rows);
    aoei_adapter_merge(m->ctx, weight, aoei_tensor_wrap(matrices, a.r, d->cols),
                       aoei_tensor_wrap(matrices + down, d->rows, a.r), aoei_lora_factor(&m->config.lora, a));
    if (m->config.lora.magnitudes)
        scale_rows(m, weight, slot, 0);
    aoei_free(matrices);
    for (size_t i = 0; i < d->rows * d->cols; i++)
        if (!isfinite(to[i]))
            return aoei_fail(err, AOE_ENUMERIC,
                             "%s: the adapter of '%s' contains NaN or infinity; download or train it again",
                             m->files.dir, d->name);
    return 0;
}

int aoei_head_adapters_merge(aoe_model *m, aoe_error *err) {
    const size_t first = aoei_pooled_slot(&m->config, 0), n = aoei_slot_count(&m->config);
    const aoei_st_tensor *pair[2];
    size_t floats = 0, used = 0;
    aoei_slot d;
    int rc = 0;
    for (size_t i = first; i < n; i++)
        if (aoei_head_adapter(pair, &m->files, &m->config, i).r) {
            aoei_slot_describe(&m->config, i, &d);
            floats += d.rows * d.cols;
        }
    if (floats && !(m->memory.head = aoei_malloc_array(floats, sizeof *m->memory.head)))
        return aoei_fail_nomem(err, floats * sizeof *m->memory.head);
    for (size_t i = first; i < n && floats && !rc; i++) {
        const aoei_lora_layer a = aoei_head_adapter(pair, &m->files, &m->config, i);
        if (!a.r)
            continue;
        aoei_slot_describe(&m->config, i, &d);
        rc = merge_head(m, m->memory.head + used, i, &d, a, pair, err);
        m->weights[i] = aoei_tensor_wrap(m->memory.head + used, d.rows, d.cols);
        used += d.rows * d.cols;
    }
    return rc;
}
