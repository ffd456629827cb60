/* SPDX-License-Identifier: MIT
 * The order of the weights of an encoder. All weights are in one array of tensors; a slot is an index in this array.
 * The array contains, in this order:
 * - the weights outside the layers (AOEI_W_*);
 * - the weights of every layer;
 * - the weights of the masked-LM head (AOEI_HW_*);
 * - the weights of the layers that follow the pooling (AOEI_PW_*).
 * The kind of a weight is its index within its layer or within one of the other three parts. AOEI_LW_* are the kinds of
 * a transformer layer. Architectures whose layers are not transformer layers define other kinds (layer_slots in
 * arch.h). In the shapes, D is the hidden size, H the number of heads, d the number of components per head, K the
 * number of key-value heads, I the feed-forward size, and V the vocabulary size.
 */
#pragma once

#include <stddef.h>

#include "nn/convolution.h"
#include "nn/lstm.h"
#include "nn/module_chain.h"

/* Slots of the weights outside the layers. The word embedding table is [V, E]; the other two tables have one row per
 * position or per token type; the norm of the embedding is [1, E], and the final norm is [1, D]. E is D unless there is
 * a projection. */
enum {
    AOEI_W_WORD,
    AOEI_W_POSITION,
    AOEI_W_TOKEN_TYPE,
    AOEI_W_EMBED_NORM,
    AOEI_W_EMBED_NORM_BIAS,
    AOEI_W_FINAL_NORM, /* weight of the norm that follows the last layer */
    AOEI_W_FINAL_NORM_BIAS,
    AOEI_W_SCORE_BIAS, /* [score_buckets, H] biases of attention scores, which all layers use */
    AOEI_W_RELATIVE,   /* [2 span, D] embeddings of relative positions, which all layers use, and their norm */
    AOEI_W_RELATIVE_NORM,
    AOEI_W_RELATIVE_NORM_BIAS,
    AOEI_W_EMBED_PROJECTION, /* [D, E] linear layer that follows the embedding if the embedding tables have E columns */
    AOEI_W_EMBED_PROJECTION_BIAS,
    AOEI_W_BIGRAM, /* [bigrams, D] bigram embeddings */
    AOEI_W_LAYERS  /* number of slots before the layers, which is the slot of the first weight of layer 0 */
};

#define AOEI_ADAPTERS 7 /* number of linear layers in a transformer layer; each of them can have an adapter */

/* Kinds of weights of a transformer layer. The kind of a bias follows the kind of the weight of its linear layer or
 * norm. */
enum {
    /* linear layers of the attention: query is [H d, D]; key and value are [K d, D]; output is [D, H d] */
    AOEI_LW_Q,
    AOEI_LW_Q_BIAS,
    AOEI_LW_K,
    AOEI_LW_K_BIAS,
    AOEI_LW_V,
    AOEI_LW_V_BIAS,
    AOEI_LW_O,
    AOEI_LW_O_BIAS,
    /* [1, D] norm that follows the attention, or that precedes it in pre-norm models */
    AOEI_LW_NORM1,
    AOEI_LW_NORM1_BIAS,
    /* linear layers of the feed-forward: up is [I, D]; down is [D, I] */
    AOEI_LW_UP,
    AOEI_LW_UP_BIAS,
    AOEI_LW_DOWN,
    AOEI_LW_DOWN_BIAS,
    /* [1, D] norm that follows the feed-forward, or that precedes it in pre-norm models */
    AOEI_LW_NORM2,
    AOEI_LW_NORM2_BIAS,
    /* [I, D] gate of a gated feed-forward */
    AOEI_LW_GATE,
    AOEI_LW_GATE_BIAS,
    /* [1, d] norms of each head of the queries and of the keys, before rotary positions */
    AOEI_LW_Q_NORM,
    AOEI_LW_Q_NORM_BIAS,
    AOEI_LW_K_NORM,
    AOEI_LW_K_NORM_BIAS,
    /* [1, D] norms of the outputs of attention and feed-forward, before the residual sums, in pre-norm models that have
     * them */
    AOEI_LW_NORM3,
    AOEI_LW_NORM3_BIAS,
    AOEI_LW_NORM4,
    AOEI_LW_NORM4_BIAS,
    /* adapters: lora_A [r, in], then lora_B [out, r], for each linear layer in the order of the adapter indices
     * (aoei_adapter_index) */
    AOEI_LW_ADAPTERS,
    AOEI_LW_COUNT = AOEI_LW_ADAPTERS + 2 * AOEI_ADAPTERS
};

/* Kinds of weights of the masked-LM head. The weight of the dense layer is [D, D], and its bias is [1, D]. The norm is
 * [1, D]. The bias of the decoder is [1, V]. */
enum {
    AOEI_HW_TRANSFORM,
    AOEI_HW_TRANSFORM_BIAS,
    AOEI_HW_NORM,
    AOEI_HW_NORM_BIAS,
    AOEI_HW_DECODER_BIAS,
    AOEI_HW_COUNT
};

/* Kinds of weights of the layers that follow the pooling. Module i has the kinds AOEI_MODULE_WEIGHTS i to
 * AOEI_MODULE_WEIGHTS i + AOEI_MODULE_WEIGHTS - 1, in the order of nn/module_chain.h, so AOEI_PW_DENSE and
 * AOEI_PW_DENSE_BIAS are the weight and the bias of the first module if it is a dense layer. The weight of the training
 * head is [head_rows, head_cols], and its bias is [1, head_rows]. */
enum {
    AOEI_MAX_LSTM_LAYERS = 4,       /* maximum number of layers in an LSTM */
    AOEI_TOKEN_MODULE_WEIGHTS = 32, /* maximum number of weights of convolutions or of an LSTM */
    AOEI_PW_DENSE = 0,
    AOEI_PW_DENSE_BIAS,
    AOEI_PW_HEAD = AOEI_MODULE_WEIGHTS * AOEI_MAX_MODULES,
    AOEI_PW_HEAD_BIAS,
    AOEI_PW_LAYER_WEIGHTS, /* [1, layer_weights] weights of hidden states */
    AOEI_PW_PROJECTION,    /* weights of the projection, in the order of the weights of modules */
    /* Weights of the module between the encoder and the pooling. Convolutions (token_convolution.h): weight [C, D k]
     * and bias [1, C] of each convolution, with C output channels and kernel size k. LSTM (token_lstm.h): the
     * AOEI_LSTM_WEIGHTS weights of nn/lstm.h of each layer and direction: layer 0 forward, layer 0 reverse, layer 1
     * forward, ... */
    AOEI_PW_TOKEN_MODULE = AOEI_PW_PROJECTION + AOEI_MODULE_WEIGHTS * AOEI_MAX_PROJECTION,
    AOEI_PW_COUNT = AOEI_PW_TOKEN_MODULE + AOEI_TOKEN_MODULE_WEIGHTS
};

/* Groups of weights. AOEI_GROUP_OUTER: weights outside the layers (AOEI_W_*). AOEI_GROUP_LAYER: weights of a layer.
 * AOEI_GROUP_HEAD: weights of the masked-LM head (AOEI_HW_*). */
typedef enum aoei_slot_group { AOEI_GROUP_OUTER, AOEI_GROUP_LAYER, AOEI_GROUP_HEAD } aoei_slot_group;

/* values of aoei_slot.pooled */
enum { AOEI_POOLED_HEAD = 1 + AOEI_MAX_MODULES, AOEI_POOLED_LAYERS, AOEI_POOLED_TOKEN_MODULE, AOEI_POOLED_PROJECTION };

typedef struct aoei_slot {
    char name[128]; /* tensor name without the model prefix, such as "encoder.layer.0.attention.self.query.weight" */
    int head;       /* 1: weight of the masked-LM head or of a classification head; the name has no model prefix */
    size_t rows;    /* number of rows; 1 for a vector */
    size_t cols;    /* number of columns */
    size_t fan_in;  /* weights and biases of a convolution (number of inputs of an output), of an LSTM (number of
                       outputs) and of a classifier of several layers (number of inputs) are initially uniform in
                       [-1/sqrt(fan_in), 1/sqrt(fan_in)], as in PyTorch; 0: other weight */
    int vector;     /* 1: the tensor has one dimension in the weight file */
    int decay;  /* 1: weight decay is applied (matrices, including embeddings); 0: no weight decay (biases and norms) */
    int linear; /* 1: the slot is the weight [out, in] of a linear layer or of an adapter, and the model has this
                   weight */
    int norm;   /* 1: the slot is the weight of a norm, whose initial values are 1 */
    int table;  /* 1: the slot is the word embedding table */
    int absent; /* 1: a model with this configuration has no such weight */
    int pooled; /* 1 + i: weight of module i after the pooling; AOEI_POOLED_HEAD: weight or bias of the training head;
                   AOEI_POOLED_LAYERS: weights of hidden states; AOEI_POOLED_TOKEN_MODULE: weight of the convolutions or
                   of the LSTM between the encoder and the pooling; AOEI_POOLED_PROJECTION: weight of the projection; 0:
                   other weight, or weight of a classification head. The weights with a value above 0 are not stored in
                   the model's weight file */
    int classifier; /* 1: weight of a classification head; 2: weight of its last layer; 0: other weight */
    int adapter;    /* 1: lora_A of an adapter; 2: lora_B of an adapter; 0: not an adapter */
    int frozen; /* 1: the weight is not trained. In a model with adapters, only the adapters and the layers after the
                   pooling are trained. Word embeddings may also be frozen (config.frozen_words) */
    /* If the weight file stores several weights of a layer as consecutive rows of one tensor (a fused tensor), `name`
     * is the name of this tensor, `first` is the index of the first row of the weight in the tensor, and `stored_rows`
     * is the number of rows in the tensor. If the tensor is a vector, elements are counted instead of rows. stored_rows
     * is 0 if the tensor contains only this weight. */
    size_t first, stored_rows;
} aoei_slot;

/* Returns the adapter index of the linear layer `kind` (AOEI_LW_*) of a transformer layer: 0 to AOEI_ADAPTERS - 1. */
static inline size_t aoei_adapter_index(size_t kind) {
    return kind == AOEI_LW_GATE ? 6 : kind <= AOEI_LW_O ? kind / 2 : kind == AOEI_LW_UP ? 4 : 5;
}
/* Returns the kind (AOEI_LW_*) of the linear layer that has this adapter index. */
static inline size_t aoei_adapter_kind(size_t index) {
    static const size_t kind[AOEI_ADAPTERS] = {AOEI_LW_Q,  AOEI_LW_K,    AOEI_LW_V,   AOEI_LW_O,
                                               AOEI_LW_UP, AOEI_LW_DOWN, AOEI_LW_GATE};
    return kind[index];
}
/* Returns the slot of the weight `kind` (AOEI_LW_*) of layer `layer` of a transformer. */
static inline size_t aoei_layer_slot(size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * AOEI_LW_COUNT + kind;
}
