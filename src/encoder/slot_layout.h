/* SPDX-License-Identifier: MIT
 * The order of an encoder's weights. All weights are in one array of tensors; a slot is an index of this array. The array
 * contains the slots outside the layers (AOEI_W_*), then the slots of every layer, then the slots of the masked-LM head
 * (AOEI_HW_*), and then the slots of the layers after the pooling (AOEI_PW_*). The kind of a weight is its index within its
 * layer or group. AOEI_LW_* are the kinds of a transformer layer; other architectures define their own (arch.h). config.h
 * defines the shape letters.
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

#define AOEI_ADAPTERS 7 /* number of linear layers of a transformer layer, each of which can have an adapter */

/* Kinds of weights of a transformer layer. The bias of a linear layer or norm has the slot after its weight. */
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
    /* norm after the attention, or before it in pre-norm models: [1, D] */
    AOEI_LW_NORM1,
    AOEI_LW_NORM1_BIAS,
    /* feed-forward: up [I, D], down [D, I] */
    AOEI_LW_UP,
    AOEI_LW_UP_BIAS,
    AOEI_LW_DOWN,
    AOEI_LW_DOWN_BIAS,
    /* norm after the feed-forward, or before it in pre-norm models: [1, D] */
    AOEI_LW_NORM2,
    AOEI_LW_NORM2_BIAS,
    /* gate of a gated feed-forward: [I, D] */
    AOEI_LW_GATE,
    AOEI_LW_GATE_BIAS,
    /* adapters: lora_A [r, in] and lora_B [out, r] of each linear layer, in the order of adapter indices */
    AOEI_LW_ADAPTERS,
    AOEI_LW_COUNT = AOEI_LW_ADAPTERS + 2 * AOEI_ADAPTERS
};

/* The masked-LM head: dense layer weight [D, D] and bias [1, D]; norm [1, D]; decoder bias [1, V]. */
enum { AOEI_HW_TRANSFORM, AOEI_HW_TRANSFORM_BIAS, AOEI_HW_NORM, AOEI_HW_NORM_BIAS, AOEI_HW_DECODER_BIAS, AOEI_HW_COUNT };

/* Layers after the pooling: dense layer weight [dense, D] and bias [1, dense]; training head weight [head_rows, head_cols]
 * and bias [1, head_rows]. */
enum { AOEI_PW_DENSE, AOEI_PW_DENSE_BIAS, AOEI_PW_HEAD, AOEI_PW_HEAD_BIAS, AOEI_PW_COUNT };

/* Groups of slots. OUTER: outside the layers; LAYER: in a layer; HEAD: in the masked-LM head. */
typedef enum aoei_slot_group { AOEI_GROUP_OUTER, AOEI_GROUP_LAYER, AOEI_GROUP_HEAD } aoei_slot_group;

typedef struct aoei_slot {
    char name[128]; /* tensor name without the model prefix, such as "encoder.layer.0.attention.self.query.weight" */
    int head;       /* 1: weight of the masked-LM head, whose tensor names have no model prefix */
    size_t rows;    /* number of rows in memory; 1 for a vector */
    size_t cols;    /* number of columns in memory */
    int vector;     /* 1: one-dimensional in the weight file */
    int decay;      /* 1: weight decay applies (matrices, embeddings included); 0: biases and norms */
    int linear;     /* 1: weight [out, in] of a linear layer, not absent */
    int norm;       /* 1: weight of a norm, initialized to 1 */
    int table;      /* 1: word embedding table */
    int absent;     /* 1: the configuration has no such weight */
    int pooled;     /* 1: dense layer after the pooling; 2: training head (both are not in the model's weight file); 0: other */
    int adapter;    /* 1: lora_A; 2: lora_B; 0: not an adapter */
    int frozen; /* 1: not trained; in a model with adapters, all slots except the adapters and the layers after the pooling */
} aoei_slot;

/* Returns the adapter index of a linear layer (AOEI_LW_*) of a transformer: 0 to AOEI_ADAPTERS - 1. */
static inline size_t aoei_adapter_index(size_t kind) {
    return kind == AOEI_LW_GATE ? 6 : kind <= AOEI_LW_O ? kind / 2 : kind == AOEI_LW_UP ? 4 : 5;
}
/* Returns the kind (AOEI_LW_*) of the linear layer with this adapter index. */
static inline size_t aoei_adapter_kind(size_t index) {
    static const size_t kind[AOEI_ADAPTERS] = {AOEI_LW_Q,  AOEI_LW_K,    AOEI_LW_V,   AOEI_LW_O,
                                               AOEI_LW_UP, AOEI_LW_DOWN, AOEI_LW_GATE};
    return kind[index];
}
/* Returns the slot of weight `kind` (AOEI_LW_*) of a transformer layer. */
static inline size_t aoei_layer_slot(size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * AOEI_LW_COUNT + kind;
}

#endif
