/* SPDX-License-Identifier: MIT
 * Numbering and description of an encoder's weights. The weights are one flat array of tensors; an index into it is a slot:
 * first the slots outside the layers (AOEI_W_*), then the slots of every layer, then the masked-LM head (AOEI_HW_*), then
 * the layers after the pooling (AOEI_PW_*). An architecture may number the slots of a layer itself (arch.h); AOEI_LW_* are
 * the transformer's. Shape letters are those of config.h.
 */
#ifndef AOEI_ENCODER_SLOT_LAYOUT_H
#define AOEI_ENCODER_SLOT_LAYOUT_H

#include <stddef.h>

enum {
    AOEI_W_WORD,
    AOEI_W_POSITION,
    AOEI_W_TOKEN_TYPE,
    AOEI_W_EMBED_NORM,
    AOEI_W_EMBED_NORM_BIAS,
    AOEI_W_FINAL_NORM, /* norm after the last layer */
    AOEI_W_FINAL_NORM_BIAS,
    AOEI_W_LAYERS /* first slot of layer 0 */
};

#define AOEI_ADAPTERS 7 /* linear layers of a transformer layer */

/* Slots of a transformer layer. The bias of a linear layer or norm follows its weight. */
enum {
    /* attention: query [H d, D]; key and value [K d, D]; output [D, H d] */
    AOEI_LW_Q,
    AOEI_LW_Q_BIAS,
    AOEI_LW_K,
    AOEI_LW_K_BIAS,
    AOEI_LW_V,
    AOEI_LW_V_BIAS,
    AOEI_LW_O,
    AOEI_LW_O_BIAS,
    /* norm after the attention (pre-norm: before it): [1, D] */
    AOEI_LW_NORM1,
    AOEI_LW_NORM1_BIAS,
    /* feed-forward: [I, D], [D, I] */
    AOEI_LW_UP,
    AOEI_LW_UP_BIAS,
    AOEI_LW_DOWN,
    AOEI_LW_DOWN_BIAS,
    /* norm after the feed-forward (pre-norm: before it): [1, D] */
    AOEI_LW_NORM2,
    AOEI_LW_NORM2_BIAS,
    /* gate of a gated feed-forward: [I, D] */
    AOEI_LW_GATE,
    AOEI_LW_GATE_BIAS,
    /* adapters: lora_A [r, in] and lora_B [out, r] for each aoei_adapter_index */
    AOEI_LW_ADAPTERS,
    AOEI_LW_COUNT = AOEI_LW_ADAPTERS + 2 * AOEI_ADAPTERS
};

/* The masked-LM head: dense layer [D, D], [1, D]; norm [1, D]; decoder bias [1, V]. */
enum { AOEI_HW_TRANSFORM, AOEI_HW_TRANSFORM_BIAS, AOEI_HW_NORM, AOEI_HW_NORM_BIAS, AOEI_HW_DECODER_BIAS, AOEI_HW_COUNT };

/* Layers after the pooling: dense layer [dense, D], [1, dense]; training head [head_rows, head_cols], [1, head_rows]. */
enum { AOEI_PW_DENSE, AOEI_PW_DENSE_BIAS, AOEI_PW_HEAD, AOEI_PW_HEAD_BIAS, AOEI_PW_COUNT };

typedef enum aoei_slot_group { AOEI_GROUP_OUTER, AOEI_GROUP_LAYER, AOEI_GROUP_HEAD } aoei_slot_group;

typedef struct aoei_slot {
    char name[128]; /* tensor name without the model prefix: "encoder.layer.0.attention.self.query.weight" */
    int head;       /* 1: slot of the masked-LM head, whose names have no model prefix */
    size_t rows;    /* rows in memory; a vector has 1 */
    size_t cols;    /* columns */
    int vector;     /* 1: one-dimensional in the file */
    int decay;      /* 1: weight decay applies (matrices, embeddings included); 0: biases and norms */
    int linear;     /* 1: weight of a linear layer [out, in] that is not absent */
    int norm;       /* 1: weight of a norm, initialised to 1 */
    int table;      /* 1: word embeddings */
    int absent;     /* 1: the configuration has no such weight */
    int pooled;     /* 1: dense layer after the pooling; 2: training head; neither is in the model's weight file; 0: other */
    int adapter;    /* 1: lora_A; 2: lora_B; 0: not an adapter */
    int frozen;     /* 1: not trained, because the model has adapters and the slot is not an adapter or after the pooling */
} aoei_slot;

/* Index of a transformer layer's linear layer among those that may have adapters, 0 to AOEI_ADAPTERS - 1. */
static inline size_t aoei_adapter_index(size_t kind) {
    return kind == AOEI_LW_GATE ? 6 : kind <= AOEI_LW_O ? kind / 2 : kind == AOEI_LW_UP ? 4 : 5;
}
/* The linear layer with an adapter index. */
static inline size_t aoei_adapter_kind(size_t index) {
    static const size_t kind[AOEI_ADAPTERS] = {AOEI_LW_Q,  AOEI_LW_K,    AOEI_LW_V,   AOEI_LW_O,
                                               AOEI_LW_UP, AOEI_LW_DOWN, AOEI_LW_GATE};
    return kind[index];
}
/* The slot of a transformer layer's weight. */
static inline size_t aoei_layer_slot(size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * AOEI_LW_COUNT + kind;
}

#endif
