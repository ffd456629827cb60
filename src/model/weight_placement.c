/* SPDX-License-Identifier: MIT
 * Decides how each weight is placed in memory, and converts weights if necessary. A weight is used directly in the
 * mapped file if the operations support its data type and its alignment. All operations support aligned float32.
 * Matmuls also support bf16, and int8 with one scale per row. Frozen weights that are used only in bf16 matmuls are
 * converted to bf16 once, because otherwise every matmul would round them to bf16 again. The results are equal. Weights
 * for int8 matmuls that are not stored as int8 are quantized later (packed_weights.h). int5 token embeddings that are
 * not trained are unpacked to int8, whose values and scales are equal. All other weights are converted to float32. The
 * conversions run on all threads.
 */
#include "model/weight_placement.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/context.h"
#include "base/error.h"
#include "base/pool.h"
#include "encoder/slots.h"
#include "model/packed_weights.h"
#include "modeldir/storage.h"
#include "nn/gemm.h"

#define BLOCK                                                                                                          \
    ((size_t)1 << 18) /* approximate number of elements that a task converts; a task converts complete rows            \
                       */

/* Returns the placement of a weight that is read directly from the mapped file, where it has the data type `type`. */
static aoei_weight_placement mapped(aoei_dtype type) {
    return (aoei_weight_placement){.type = type, .mapped = 1};
}

/* Returns the placement of a weight that is converted to `type`. */
static aoei_weight_placement converted(aoei_dtype type, const aoei_slot *slot) {
    const size_t scales = type == AOEI_I8 ? slot->rows * sizeof(float) : 0;
    const size_t bytes = slot->rows * slot->cols * aoei_dtype_size(type) + scales;
    return (aoei_weight_placement){.type = type, .bytes = (bytes + AOEI_ALIGN - 1) / AOEI_ALIGN * AOEI_ALIGN};
}

/* Returns 1 if the input of the first layer consists of unchanged token embeddings. The model then has no position
 * embeddings, no type embeddings and no norm before the first layer. In this case, rounding the embeddings to bf16 does
 * not change results. */
static int uses_only_token_embeddings(const aoei_encoder_config *c) {
    return c->rope.theta > 0 && !c->token_types && c->no_embed_norm;
}

aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned) {
    const aoei_encoder_config *c = &m->config;
    const int bf16 = m->type == AOEI_BF16, frozen = slot->frozen && !mode->packed;
    /* aoei_gemm_pack can convert a weight to another data type only if both dimensions are at most
     * AOEI_CONVERTED_SIDE */
    const int convertible = slot->rows <= AOEI_CONVERTED_SIDE && slot->cols <= AOEI_CONVERTED_SIDE;
    const int operand = slot->linear && (mode->packed || frozen);
    const int table = slot->table && frozen;
    /* the embedding layer reads int8 rows, and the masked-LM head uses the token embeddings as a matmul operand */
    const int int8_table = table || (slot->table && mode->packed && (!slot->linear || convertible));
    if (!slot->adapter && (mode->rows_from_file || (mode->packed && aoei_adapter_slot(c, index))))
        return (aoei_weight_placement){.not_loaded = 1};
    if (slot->adapter && mode->packed) /* aoei_adapter_merge reads float32 */
        return stored == AOEI_ST_F32 && aligned ? mapped(AOEI_F32) : converted(AOEI_F32, slot);
    if (stored == AOEI_ST_I8 && operand && aoei_model_packs_int8(m, index))
        return aligned ? mapped(AOEI_I8) : converted(AOEI_I8, slot);
    if (stored == AOEI_ST_I8 && aligned && ((operand && convertible) || int8_table))
        return mapped(AOEI_I8);
    if (stored == AOEI_ST_I5 && int8_table)
        return converted(AOEI_I8, slot);
    if (mode->eight_bit && frozen && slot->linear && convertible)
        return converted(AOEI_I8, slot);
    if (stored == AOEI_ST_BF16 && aligned &&
        (bf16 ? operand || table || (mode->packed && slot->table) : (operand && convertible) || table))
        return mapped(AOEI_BF16);
    if (bf16 && frozen && (slot->linear || (slot->table && stored != AOEI_ST_F32 && uses_only_token_embeddings(c))))
        return converted(AOEI_BF16, slot);
    if (stored == AOEI_ST_F32 && aligned)
        return mapped(AOEI_F32);
    return converted(AOEI_F32, slot);
}

/* The rows [first, first + rows) of a weight, which one task converts. */
typedef struct block {
    size_t slot, first, rows;
} block;

/* The argument of convert_task. */
typedef struct conversion {
    const aoe_model *m;  /* borrowed */
    const block *blocks; /* one per task, borrowed */
} conversion;

/* Copies rows of an int8 or int5 matrix to the int8 tensor `to`. first: index of the first row in the matrix. */
static void copy_int8_rows(aoei_tensor to, const aoei_st_tensor *from, size_t first) {
    const size_t bytes = from->dtype == AOEI_ST_I5 ? aoei_int5_bytes(to.cols) : to.cols;
    for (size_t r = 0; r < to.rows; r++)
        if (from->dtype == AOEI_ST_I8)
            memcpy(aoei_tensor_at(to, r, 0), from->data + (first + r) * bytes, bytes);
        else
            aoei_int5_unpack(aoei_tensor_at(to, r, 0), from->data + (first + r) * bytes, to.cols);
    memcpy((float *)(uintptr_t)to.scale, from->scale->data + first * sizeof(float), to.rows * sizeof(float));
}

/* Converts the rows of block `task` to the data type that the weight has in memory. */
static void convert_task(void *arg, size_t task, size_t worker) {
    const conversion *j = arg;
    const block *b = &j->blocks[task];
    const aoei_tensor to = aoei_tensor_rows(j->m->weights[b->slot], b->first, b->rows);
    const aoei_st_tensor *from = j->m->files.tensors[b->slot];
    if (to.type == AOEI_I8 && (from->dtype == AOEI_ST_I5 || from->dtype == AOEI_ST_I8)) {
        copy_int8_rows(to, from, b->first);
        return;
    }
    float *values = to.type == AOEI_F32 ? to.data : aoei_worker_scratch(j->m->ctx, worker);
    aoei_st_rows_to_float(values, from, b->first, b->rows);
    if (to.type == AOEI_BF16)
        aoei_tensor_write(j->m->ctx, to, values);
    for (size_t r = 0; r < to.rows && to.type == AOEI_I8; r++)
        ((float *)(uintptr_t)to.scale)[r] = aoei_int8_row(aoei_tensor_at(to, r, 0), values + r * to.cols, to.cols);
}

/* Returns the number of rows that a task converts. */
static size_t rows_of_block(const aoei_tensor *w) {
    return w->cols < BLOCK ? BLOCK / w->cols : 1;
}

/* Converts weights from their data type in the files and writes the results to the data of the tensors m->weights.
 * to_convert: [aoei_slot_count] 1 for each weight that must be converted. */
static int convert(const aoe_model *m, const unsigned char *to_convert, aoe_error *err) {
    size_t n = 0, used = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++)
        if (to_convert[i])
            n += m->weights[i].rows / rows_of_block(&m->weights[i]) + 1;
    if (!n)
        return 0;
    block *blocks = aoei_malloc_array(n, sizeof *blocks);
    if (!blocks)
        return aoei_fail_nomem(err, n * sizeof *blocks);
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        const size_t rows = to_convert[i] ? m->weights[i].rows : 0, step = rows ? rows_of_block(&m->weights[i]) : 1;
        for (size_t first = 0; first < rows; first += step)
            blocks[used++] = (block){i, first, rows - first < step ? rows - first : step};
    }
    aoei_parallel_for(m->ctx->pool, used, convert_task, &(conversion){m, blocks});
    aoei_free(blocks);
    return 0;
}

/* Returns 1 if the data and the scales of a stored tensor are aligned to the size of their elements. An int5 tensor is
 * never read directly from the file, so its alignment is not considered. */
static int is_aligned(const aoei_st_tensor *t) {
    if (t->dtype == AOEI_ST_I5)
        return 1;
    return (uintptr_t)t->data % aoei_st_dtype_size(t->dtype) == 0 &&
           (t->dtype != AOEI_ST_I8 || (uintptr_t)t->scale->data % sizeof(float) == 0);
}

/* Returns the tensor of a weight with the placement p. `memory` is the memory for the converted weight. If p->mapped is
 * 1, `memory` is not used. */
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
    aoei_weight_placement *placements = aoei_calloc(n, sizeof *placements);
    unsigned char *to_convert = aoei_calloc(n, 1);
    size_t used = 0;
    aoei_slot slot;
    int rc = placements && to_convert ? 0 : aoei_fail_nomem(err, n * sizeof *placements);
    m->memory.converted_bytes = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (m->files.tensors[i]) {
            aoei_slot_describe(&m->config, i, &slot);
            placements[i] = aoei_weight_placement_of(m, mode, i, &slot, m->files.tensors[i]->dtype,
                                                     is_aligned(m->files.tensors[i]));
            m->memory.converted_bytes += placements[i].bytes;
        }
    if (!rc && m->memory.converted_bytes && !(m->memory.converted = aoei_aligned(m->memory.converted_bytes)))
        rc = aoei_fail_nomem(err, m->memory.converted_bytes);
    for (size_t i = 0; i < n && !rc; i++)
        if (m->files.tensors[i] && !placements[i].not_loaded) {
            aoei_slot_describe(&m->config, i, &slot);
            to_convert[i] = !placements[i].mapped;
            m->weights[i] = tensor_at(&placements[i], m->files.tensors[i], &slot,
                                      m->memory.converted ? (unsigned char *)m->memory.converted + used : NULL);
            used += placements[i].bytes;
        }
    if (!rc)
        rc = convert(m, to_convert, err);
    aoei_free(placements);
    aoei_free(to_convert);
    return rc;
}
