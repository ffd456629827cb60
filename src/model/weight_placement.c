/* SPDX-License-Identifier: MIT
 * A weight is used in the mapped file if the operations accept its stored form: aligned float32, and for weights that are only
 * operands of matmuls also bf16 and int8 rows. Frozen operands of bf16 matmuls are held as bf16 whatever their stored type:
 * each matmul would round them to the same bits. All other weights are converted once, on all threads.
 */
#include "model/weight_placement.h"

#include <stdint.h>

#include "base/alloc.h"
#include "base/context.h"
#include "base/error.h"
#include "base/pool.h"
#include "encoder/slots.h"
#include "modeldir/storage.h"
#include "nn/gemm.h"

#define BLOCK ((size_t)1 << 18) /* elements that a task converts; always at least one row */

static aoei_weight_placement mapped(aoei_dtype type) {
    return (aoei_weight_placement){.type = type, .mapped = 1};
}

static aoei_weight_placement own(aoei_dtype type, const aoei_slot *slot) {
    const size_t scales = type == AOEI_I8 ? slot->rows * sizeof(float) : 0;
    const size_t bytes = slot->rows * slot->cols * aoei_dtype_size(type) + scales;
    return (aoei_weight_placement){.type = type, .bytes = (bytes + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN};
}

/* 1: the input of the first layer is exactly a row of the token embeddings, so rounding the table to bf16 does not change
 * results. */
static int words_alone(const aoei_encoder_config *c) {
    return c->rope.theta > 0 && !c->token_types && c->no_embed_norm;
}

aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned) {
    const aoei_encoder_config *c = &m->config;
    const int bf16 = m->type == AOEI_BF16, frozen = slot->frozen && !mode->packed;
    const int widened = slot->rows <= AOEI_CONVERTED_SIDE &&
                        slot->cols <= AOEI_CONVERTED_SIDE; /* packing supports other types up to this size */
    const int operand = slot->linear && (mode->packed || frozen);
    const int table = slot->table && frozen;
    if (!slot->adapter && (mode->rows_from_file || (mode->packed && aoei_adapter_slot(c, index))))
        return (aoei_weight_placement){.not_loaded = 1};
    if (stored == AOEI_ST_I8 && aligned && ((operand && widened) || table))
        return mapped(AOEI_I8);
    if (mode->eight_bit && frozen && slot->linear && widened)
        return own(AOEI_I8, slot);
    if (stored == AOEI_ST_BF16 && aligned &&
        (bf16 ? operand || table || (mode->packed && slot->table) : (operand && widened) || table))
        return mapped(AOEI_BF16);
    if (bf16 && frozen && (slot->linear || (slot->table && stored != AOEI_ST_F32 && words_alone(c))))
        return own(AOEI_BF16, slot);
    if (stored == AOEI_ST_F32 && aligned)
        return mapped(AOEI_F32);
    return own(AOEI_F32, slot);
}

/* The rows [first, first + rows) of a tensor, which one task converts. */
typedef struct block {
    size_t slot, first, rows;
} block;

typedef struct conversion {
    const aoe_model *m;
    const block *blocks;
} conversion;

static void convert_task(void *arg, size_t task, size_t worker) {
    const conversion *j = arg;
    const block *b = &j->blocks[task];
    const aoei_tensor to = aoei_tensor_rows(j->m->weights[b->slot], b->first, b->rows);
    const aoei_st_tensor *from = j->m->files.tensors[b->slot];
    float *wide = to.type == AOEI_F32 ? to.data : aoei_worker_scratch(j->m->ctx, worker);
    aoei_st_rows_to_float(wide, from, b->first, b->rows);
    if (to.type == AOEI_BF16)
        aoei_tensor_write(j->m->ctx, to, wide);
    for (size_t r = 0; r < to.rows && to.type == AOEI_I8; r++)
        ((float *)(uintptr_t)to.scale)[r] = aoei_int8_row(aoei_tensor_at(to, r, 0), wide + r * to.cols, to.cols);
}

static size_t rows_of_block(const aoei_tensor *w) {
    return w->cols < BLOCK ? BLOCK / w->cols : 1;
}

/* Converts weights to the memory of the model. own_memory: [slots], 1 for each weight to convert. */
static int convert(const aoe_model *m, const unsigned char *own_memory, aoe_error *err) {
    size_t n = 0, used = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++)
        if (own_memory[i])
            n += m->weights[i].rows / rows_of_block(&m->weights[i]) + 1;
    if (!n)
        return 0;
    block *blocks = aoei_malloc_array(n, sizeof *blocks);
    if (!blocks)
        return aoei_fail_nomem(err, n * sizeof *blocks);
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        const size_t rows = own_memory[i] ? m->weights[i].rows : 0, step = rows ? rows_of_block(&m->weights[i]) : 1;
        for (size_t first = 0; first < rows; first += step)
            blocks[used++] = (block){i, first, rows - first < step ? rows - first : step};
    }
    aoei_parallel_for(m->ctx->pool, used, convert_task, &(conversion){m, blocks});
    aoei_free(blocks);
    return 0;
}

static int is_aligned(const aoei_st_tensor *t) {
    return (uintptr_t)t->data % aoei_st_dtype_size(t->dtype) == 0 &&
           (t->dtype != AOEI_ST_I8 || (uintptr_t)t->scale->data % sizeof(float) == 0);
}

/* The tensor for a placement. memory: converted data; not used for mapped weights. */
static aoei_tensor tensor_at(const aoei_weight_placement *p, const aoei_st_tensor *t, const aoei_slot *slot,
                             unsigned char *memory) {
    const void *data = p->mapped ? t->data : memory, *scale = NULL;
    if (p->type == AOEI_I8) {
        scale = p->mapped ? t->scale->data : memory;
        data = p->mapped ? t->data : memory + slot->rows * sizeof(float);
    }
    return aoei_tensor_wrap_typed(p->type, data, scale, slot->rows, slot->cols);
}

int aoei_weights_place(aoe_model *m, const aoei_open_mode *mode, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    aoei_weight_placement *places = aoei_calloc(n, sizeof *places);
    unsigned char *own_memory = aoei_calloc(n, 1);
    size_t used = 0;
    aoei_slot slot;
    int rc = places && own_memory ? 0 : aoei_fail_nomem(err, n * sizeof *places);
    m->memory.converted_bytes = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (m->files.tensors[i]) {
            aoei_slot_describe(&m->config, i, &slot);
            places[i] =
                aoei_weight_placement_of(m, mode, i, &slot, m->files.tensors[i]->dtype, is_aligned(m->files.tensors[i]));
            m->memory.converted_bytes += places[i].bytes;
        }
    if (!rc && m->memory.converted_bytes && !(m->memory.converted = aoei_aligned(m->memory.converted_bytes)))
        rc = aoei_fail_nomem(err, m->memory.converted_bytes);
    for (size_t i = 0; i < n && !rc; i++)
        if (m->files.tensors[i] && !places[i].not_loaded) {
            aoei_slot_describe(&m->config, i, &slot);
            own_memory[i] = !places[i].mapped;
            m->weights[i] = tensor_at(&places[i], m->files.tensors[i], &slot,
                                      m->memory.converted ? (unsigned char *)m->memory.converted + used : NULL);
            used += places[i].bytes;
        }
    if (!rc)
        rc = convert(m, own_memory, err);
    aoei_free(places);
    aoei_free(own_memory);
    return rc;
}
