/* SPDX-License-Identifier: MIT
 * The configuration of an encoder: its sizes and options. The functions of the architecture (arch.h) read it from
 * config.json. Comments use these letters for sizes: D hidden size, H heads, d components per head, K key-value heads,
 * I feed-forward size, V vocabulary size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "nn/convolution.h"
#include "nn/module_chain.h"
#include "nn/rope.h"

typedef struct aoei_arch aoei_arch;                       /* defined in arch.h */
typedef struct aoei_training_layers aoei_training_layers; /* defined in training_layers.h */

/* Options that only recurrent attention networks (RAN, docs/ran.md) have. */
typedef struct aoei_ran_config {
    size_t window;     /* number of tokens per window */
    size_t min_window; /* minimum number of tokens in the last window of a text; if fewer tokens remain, they are added
                          to the previous window */
    size_t head_size;  /* number of components per head */
    int langml_norm; /* 1: norms divide by the square root of mean(x^2), as in the Keras library langml; 0: norms divide
                        by the standard deviation */
} aoei_ran_config;

/* Norms of the queries and of the keys. AOEI_QK_HEADS: RMSNorm of each head. AOEI_QK_LAYERNORM: LayerNorm of all heads
 * together. */
typedef enum aoei_qk_norm { AOEI_QK_NONE, AOEI_QK_HEADS, AOEI_QK_LAYERNORM } aoei_qk_norm;

typedef enum aoei_norm { AOEI_LAYERNORM, AOEI_RMSNORM } aoei_norm;

/* The adapter of one linear layer. */
typedef struct aoei_lora_layer {
    size_t r;     /* rank; 0: the layer has no adapter */
    double alpha; /* alpha of PEFT */
} aoei_lora_layer;

/* Low-rank adapters of linear layers (LoRA, Hu et al. 2021). They are stored in the format of Hugging Face PEFT. In a
 * model with adapters, the encoder's other weights are frozen. */
typedef struct aoei_lora {
    size_t r;            /* rank of the adapters, the largest rank if they differ; 0: no adapters */
    double alpha;        /* alpha of PEFT; aoei_lora_scale computes the scale of the adapters from it */
    int rank_stabilized; /* 1: the scale is alpha / sqrt(r), as in rank-stabilized LoRA; 0: the scale is alpha / r */
    double dropout;      /* dropout probability for the inputs of the adapters */
    unsigned targets;    /* set of the linear layers that have an adapter, equal for all encoder layers; if linear layer
                            `kind` has an adapter, bit aoei_adapter_index(kind) (slot_layout.h) is set */
    /* [layers * AOEI_ADAPTERS] adapter of each linear layer, by encoder layer and adapter index, if ranks, alpha or
     * targets differ between layers; borrowed. `targets` is then the union over the layers. NULL: all adapters are
     * equal */
    const aoei_lora_layer *each;
    /* adapter of each module of a classification head according to adapter_config.json; such adapters are not
     * trained */
    aoei_lora_layer head[AOEI_MAX_MODULES];
    int magnitudes; /* 1: weight-decomposed adapters (DoRA): each row of a merged weight is scaled to a stored norm */
    int replaces;   /* 1: the adapter file also contains weights that replace weights of the base model */
} aoei_lora;

/* Returns the rank and alpha of the adapter with index `index` (slot_layout.h) of encoder layer `layer`. The rank is 0
 * if there is no such adapter. */
aoei_lora_layer aoei_lora_of(const aoei_lora *l, size_t layer, size_t index);
/* Returns the factor of the output of the adapter a, which must exist: alpha / sqrt(r) if l->rank_stabilized is 1,
 * otherwise alpha / r. */
double aoei_lora_factor(const aoei_lora *l, aoei_lora_layer a);
/* Returns the factor of the output of an adapter. The arguments are the same as in aoei_lora_of; the adapter must
 * exist. */
double aoei_lora_scale(const aoei_lora *l, size_t layer, size_t index);

#define AOEI_MAX_LAYERS ((size_t)1 << 10) /* maximum number of layers; all published encoders have fewer */

/* A set of layers. Bit l % 64 of bits[l / 64] is 1 if layer l is in the set. */
typedef struct aoei_layer_set {
    uint64_t bits[AOEI_MAX_LAYERS / 64];
} aoei_layer_set;

/* Adds a layer to the set. Layers that are not below AOEI_MAX_LAYERS are ignored. */
static inline void aoei_layer_set_add(aoei_layer_set *s, size_t layer) {
    if (layer < AOEI_MAX_LAYERS)
        s->bits[layer / 64] |= (uint64_t)1 << layer % 64;
}
static inline int aoei_layer_set_has(const aoei_layer_set *s, size_t layer) {
    return layer < AOEI_MAX_LAYERS && (s->bits[layer / 64] >> layer % 64 & 1);
}

/* Relative positions of disentangled attention (DeBERTa, nn/disentangled.h). */
typedef struct aoei_relative_config {
    size_t span;    /* half the number of rows in the table of relative positions; 0: there are no relative positions */
    size_t buckets; /* number of buckets of distances; 0: distances are not mapped to buckets */
    size_t max_distance; /* distance from which all distances are in the last bucket */
    int keys;            /* 1: scores contain the product of the query with the key of the distance ("c2p") */
    int queries;         /* 1: scores contain the product of the key with the query of the distance ("p2c") */
    int norm;            /* 1: LayerNorm is applied to the table */
} aoei_relative_config;

/* The modules that follow the encoder. Zeros: the embedding is one pooled vector of the last hidden state. */
typedef struct aoei_module_config {
    /* number of vectors that the pooling concatenates (aoei_pooling_parts); 0: one vector */
    size_t pooled_parts;
    /* number of layer weights: the input of the pooling is the weighted mean of the last hidden states, of which each
     * has one weight (layer_pooling.h); 0: the input is the last hidden state */
    size_t layer_weights;
    /* index of the hidden state whose mean with the last hidden state is the input of the pooling (0: embedding output,
     * which is never such a state; layer_pooling.h); 0: there is none */
    size_t paired_state;
    /* convolutions between the encoder and the pooling (token_convolution.h): number of convolutions, or 0 if there are
     * none; their kernel sizes, which are odd; and the number of output channels of each convolution */
    size_t n_kernels, kernels[AOEI_MAX_KERNELS], kernel_channels;
    /* LSTM between the encoder and the pooling (token_lstm.h): number of components of the output of one direction, or
     * 0 if there is none; number of layers; 1: only the forward direction; dropout probability for the inputs of all
     * layers except the first one */
    size_t lstm_dims, lstm_layers;
    int lstm_one_direction;
    double lstm_dropout;
    int output_hidden_states; /* 1: config.json requests all hidden states, which the layer weights require */
    size_t n;                 /* number of modules between the pooling and the normalization; 0: there are none */
    aoei_module list[AOEI_MAX_MODULES]; /* [n] modules in the order in which they are applied */
    /* Cross-encoders (classification_head.h): number of scores of a text pair. The modules are then the classification
     * head, whose weights are in the weight file of the model, unless head_in_modules is 1. 0: the model computes
     * embeddings */
    size_t classes;
    int head_in_modules; /* cross-encoders: 1: the weights of the modules are in their folders, as in an embedding
                            model */
} aoei_module_config;

/* Sizes and options of an encoder. If an option that selects a variant is 0, the variant is that of BERT. */
typedef struct aoei_encoder_config {
    const aoei_arch *arch;  /* architecture; static storage */
    size_t hidden;          /* D, hidden size */
    size_t embed_width;     /* E, number of columns in the embedding tables. A linear layer with bias, the projection,
                               follows the embedding and has D outputs. 0: E is D, and there is no projection */
    size_t layers;          /* number of layers */
    size_t layer_groups;    /* number of groups of layers; the layers of a group use the same weights (ALBERT). 0: every
                               layer has its own weights */
    size_t heads;           /* H, number of attention heads */
    size_t kv_heads;        /* K, number of key-value heads, a divisor of H; 0: K is H */
    size_t head_dim;        /* d, number of components per head; 0: d is D / H */
    size_t intermediate;    /* I, feed-forward size */
    size_t vocab;           /* V, vocabulary size */
    size_t positions;       /* maximum number of positions; if there is a position table, also its number of rows; 0: no
                               limit */
    size_t position_offset; /* offset that is added to the position of every token (RoBERTa: padding id + 1) */
    double embed_scale;     /* factor of the word embeddings; 0: they are not scaled */
    double attention_scale; /* factor of the attention scores; 0: 1 / sqrt(d) */
    aoei_rope rope;       /* rotary position embeddings; if rope.theta is positive, they are used instead of a position
                             table */
    aoei_rope rope_local; /* rotary position embeddings of the layers in `windowed`; if theta is 0, these layers use
                             `rope` */
    size_t token_types;   /* number of rows in the token type table; 0: there is no table */
    int no_embed_norm;    /* 1: there is no norm after the embedding */
    aoei_norm norm;       /* type of all norms; RMSNorm has no bias */
    int pre_norm; /* 1: norms precede attention and feed-forward, and a norm follows the last layer; 0: norms follow the
                     residual sums */
    int norm_plus_one;    /* 1: norms multiply by 1 + weight instead of by the weight */
    int no_norm_bias;     /* 1: LayerNorm has no bias */
    int no_first_norm;    /* 1: in pre-norm models, no norm precedes the attention of layer 0 */
    int branch_norms;     /* 1: in pre-norm models, norms also follow attention and feed-forward, before the residual
                             sums */
    aoei_qk_norm qk_norm; /* norms of the queries and of the keys, before rotary positions */
    int second_norm;    /* 1: in post-norm models, norm 1 of the attention is followed by a second sum with the input of
                           the layer and by norm 3 */
    int gated;          /* 1: the feed-forward is down(activation(gate(x)) * up(x)); 0: it is down(activation(up(x))) */
    int no_qkv_bias;    /* 1: query, key and value layers have no bias */
    int no_output_bias; /* 1: the attention output layer has no bias */
    int no_ffn_bias;    /* 1: the feed-forward layers have no biases */
    int no_up_bias;     /* 1: the up and gate layers of the feed-forward have no bias, whatever no_ffn_bias is */
    int causal; /* 1: in the layers before `bidirectional_from`, a token attends only to itself and to earlier tokens */
    size_t bidirectional_from; /* first layer with bidirectional attention; AOEI_NO_LAYER: all layers are causal */
    /* size of the sliding window of attention in tokens, for the layers in `windowed`; 0: no window */
    size_t window;
    aoei_layer_set windowed; /* layers with a sliding window */
    /* number of rows in the table of score biases: the bias of a head for a pair of a query and a key depends on the
     * bucket of their distance (nn/score_bias.h); 0: there is no table, otherwise AOEI_SCORE_BUCKETS */
    size_t score_buckets;
    int alibi; /* 1: linear score biases with one slope per head are used instead of a position table (ALiBi,
                  nn/score_bias.h) */
    aoei_relative_config relative; /* relative positions of disentangled attention */
    int no_position_table;         /* 1: there is no position table, although `positions` is not 0 */
    size_t bigrams;                /* number of rows in the table of bigrams (nn/bigrams.h); 0: there is no table */
    int frozen_words;              /* 1: the word embeddings are not trained (WordEmbeddings) */
    size_t max_tokens;             /* maximum number of tokens in a text in config.json (Model2Vec); 0: none is given */
    int normalize;              /* 1: config.json requests that vectors are normalized to unit length (static models) */
    aoei_activation activation; /* activation function of the feed-forward layers */
    double norm_eps;            /* epsilon of all norms */
    double hidden_dropout;      /* dropout probability for the outputs of embedding, attention and feed-forward */
    double attention_dropout;   /* dropout probability for attention probabilities */
    aoe_pooling pooling;        /* pooling that config.json specifies; AOE_POOLING_AUTO: config.json specifies none */
    aoe_pooling default_pooling; /* pooling of a model whose directory specifies none; AOE_POOLING_AUTO: that of the
                                    architecture */
    aoei_lora lora;              /* LoRA adapters */
    aoei_module_config modules;  /* modules that follow the encoder */
    int32_t mask_id;             /* id of the [MASK] token; used by the pooling AOE_POOLING_MASK only */
    const aoei_training_layers *training; /* layers that only training uses; NULL: there are none; borrowed */
    int no_transform_bias;                /* 1: the dense layer of the masked-LM head has no bias */
    aoei_activation mlm_activation;       /* activation function of the masked-LM head; AOEI_IDENTITY: `activation` */
    int mlm_head;        /* 1: the model has a masked-LM head; its decoder uses the word embeddings as weight */
    aoei_ran_config ran; /* options of RAN; zeros for other architectures */
} aoei_encoder_config;

#define AOEI_NO_LAYER SIZE_MAX

/* Returns 1 if layer `layer` has the norm that precedes (pre-norm models) or follows the attention. */
static inline int aoei_has_norm1(const aoei_encoder_config *c, size_t layer) {
    return !c->no_first_norm || layer > 0;
}
/* Returns the size of the sliding window of layer `layer`, or 0 if it has none. */
static inline size_t aoei_layer_window(const aoei_encoder_config *c, size_t layer) {
    return aoei_layer_set_has(&c->windowed, layer) ? c->window : 0;
}
/* Returns 1 if layer `layer` uses rope_local instead of rope. */
static inline int aoei_has_local_rope(const aoei_encoder_config *c, size_t layer) {
    return c->rope_local.theta > 0 && aoei_layer_set_has(&c->windowed, layer);
}
static inline size_t aoei_kv_heads(const aoei_encoder_config *c) {
    return c->kv_heads ? c->kv_heads : c->heads;
}
static inline size_t aoei_head_dim(const aoei_encoder_config *c) {
    return c->head_dim || !c->heads ? c->head_dim : c->hidden / c->heads;
}
/* Returns the number of layers that have their own weights. */
static inline size_t aoei_distinct_layers(const aoei_encoder_config *c) {
    return c->layer_groups && c->layer_groups < c->layers ? c->layer_groups : c->layers;
}
/* Returns the index, among the layers with their own weights, of the weights that layer `layer` uses. */
static inline size_t aoei_layer_group(const aoei_encoder_config *c, size_t layer) {
    return layer * aoei_distinct_layers(c) / c->layers;
}
/* Returns E, the number of columns in the embedding tables. */
static inline size_t aoei_embed_width(const aoei_encoder_config *c) {
    return c->embed_width ? c->embed_width : c->hidden;
}
/* Returns 1 if the input of the pooling is a mean of hidden states (layer_pooling.h) instead of the last hidden
 * state. */
static inline int aoei_pools_mean_state(const aoei_encoder_config *c) {
    return c->modules.layer_weights || c->modules.paired_state;
}
/* Returns 1 if convolutions or an LSTM compute the token vectors that are pooled from the last hidden state. */
static inline int aoei_has_token_module(const aoei_encoder_config *c) {
    return c->modules.n_kernels || c->modules.lstm_dims;
}
/* Returns 1 if training does not change some weights. */
static inline int aoei_has_frozen_weights(const aoei_encoder_config *c) {
    return c->lora.r || c->frozen_words;
}
/* Returns the number of directions of the LSTM. */
static inline size_t aoei_lstm_directions(const aoei_encoder_config *c) {
    return c->modules.lstm_one_direction ? 1 : 2;
}
/* Returns the number of components of the token vectors that are pooled. */
static inline size_t aoei_token_width(const aoei_encoder_config *c) {
    return c->modules.n_kernels   ? c->modules.n_kernels * c->modules.kernel_channels
           : c->modules.lstm_dims ? c->modules.lstm_dims * aoei_lstm_directions(c)
                                  : c->hidden;
}
/* Returns the number of components of the output of the pooling. */
static inline size_t aoei_pooled_dims(const aoei_encoder_config *c) {
    return c->modules.pooled_parts ? aoei_token_width(c) * c->modules.pooled_parts : aoei_token_width(c);
}
/* Returns the embedding size of a text. */
static inline size_t aoei_vector_dims(const aoei_encoder_config *c) {
    return aoei_module_chain_dims(c->modules.list, c->modules.n, aoei_pooled_dims(c));
}
/* Returns H d, the number of columns in the queries of all heads. */
static inline size_t aoei_query_width(const aoei_encoder_config *c) {
    return c->heads * aoei_head_dim(c);
}
/* Returns K d, the number of columns in the keys (or of the values) of all heads. */
static inline size_t aoei_key_width(const aoei_encoder_config *c) {
    return aoei_kv_heads(c) * aoei_head_dim(c);
}

/* These functions check the range of a value of config.json. `key` is the key of the value, and `file` is the name of
 * config.json in messages. Errors: AOE_EFORMAT; the message names the file, the key and the range. */
int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err);
int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err);
int aoei_check_epsilon(const char *key, double eps, const char *file, aoe_error *err);
