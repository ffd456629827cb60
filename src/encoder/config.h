/* SPDX-License-Identifier: MIT
 * The configuration of an encoder: its sizes and options, as a plain struct. The architecture (arch.h) fills it from
 * config.json. Shape letters: D hidden size, H heads, d components per head, K heads of keys and values, I feed-forward
 * size, V vocabulary size.
 */
#ifndef AOEI_ENCODER_CONFIG_H
#define AOEI_ENCODER_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "nn/rope.h"

typedef struct aoei_arch aoei_arch; /* arch.h */

/* Options that only the recurrent encoder (docs/ran.md) has. */
typedef struct aoei_ran_config {
    size_t window;     /* tokens per window */
    size_t min_window; /* minimum tokens of a last window; a shorter one is merged into the previous window */
    size_t head_size;  /* components per head */
    int langml_norm;   /* 1: norms divide by the root of the uncentered mean square, as the Keras library langml does */
} aoei_ran_config;

typedef enum aoei_norm { AOEI_LAYERNORM, AOEI_RMSNORM } aoei_norm;

/* Low-rank adapters of linear layers (LoRA, Hu et al. 2021), stored like Hugging Face PEFT. In a model with adapters, all
 * other weights are frozen. */
typedef struct aoei_lora {
    size_t r;            /* rank; 0: no adapters */
    double alpha;        /* numerator of aoei_lora_scale */
    int rank_stabilized; /* 1: the scale is alpha / sqrt(r); 0: alpha / r */
    double dropout;      /* dropout probability on the input of an adapter */
    unsigned
        targets; /* linear layers with adapters in every encoder layer: bit aoei_adapter_index(kind) (slot_layout.h) is set */
} aoei_lora;

/* Returns the factor that multiplies the output of an adapter. */
double aoei_lora_scale(const aoei_lora *l);

/* Options of an encoder. For every option, 0 means BERT's choice. */
typedef struct aoei_encoder_config {
    const aoei_arch *arch;     /* architecture, static storage */
    size_t hidden;             /* hidden size D */
    size_t layers;             /* number of layers */
    size_t heads;              /* number of attention heads H */
    size_t kv_heads;           /* number of key-value heads K, a divisor of H; 0: H */
    size_t head_dim;           /* components per head d; 0: D / H */
    size_t intermediate;       /* feed-forward size I */
    size_t vocab;              /* vocabulary size V */
    size_t positions;          /* maximum number of positions; without rope also the rows of the position table; 0: no limit */
    size_t position_offset;    /* offset added to the position of every token (RoBERTa: pad id + 1) */
    aoei_rope rope;            /* rotary position embeddings; used instead of a position table if theta is positive */
    size_t token_types;        /* rows of the token-type table; 0: no table */
    int no_embed_norm;         /* 1: no norm after the embedding */
    aoei_norm norm;            /* type of all norms; RMSNorm has no bias */
    int pre_norm;              /* 1: norms before attention and feed-forward and after the last layer; 0: after residual sums */
    int gated;                 /* 1: feed-forward is down(activation(gate(x)) * up(x)); 0: down(activation(up(x))) */
    int no_qkv_bias;           /* 1: query, key and value layers have no bias */
    int no_output_bias;        /* 1: the attention output layer has no bias */
    int no_ffn_bias;           /* 1: the feed-forward layers have no biases */
    int causal;                /* 1: in layers before `bidirectional_from` a token attends to itself and earlier tokens only */
    size_t bidirectional_from; /* first layer with bidirectional attention; AOEI_NO_LAYER: no layer (causal models) */
    size_t window;             /* size in tokens of the sliding window of attention, from layer `window_from`; 0: no window */
    size_t window_from;        /* first layer with a sliding window */
    int normalize;             /* 1: config.json requests vectors of unit length (static models) */
    aoei_activation activation; /* activation of the feed-forward layers */
    double norm_eps;            /* epsilon in all norms */
    double hidden_dropout;      /* dropout probability on the outputs of embedding, attention and feed-forward */
    double attention_dropout;   /* dropout probability on attention probabilities */
    aoe_pooling pooling;        /* pooling that config.json specifies; AOE_POOLING_AUTO: none */
    aoei_lora lora;             /* LoRA adapters */
    size_t dense;   /* output size of the dense layer after the pooling, which is the size of the vectors; 0: no dense layer */
    int dense_tanh; /* 1: tanh follows the dense layer */
    int dense_no_bias;   /* 1: the dense layer has no bias */
    size_t head_rows;    /* output size of the training head [head_rows, head_cols], a linear layer of the loss; 0: no head */
    size_t head_cols;    /* input size of the training head */
    int mlm_head;        /* 1: the model has a masked-LM head, whose decoder shares the word embeddings */
    aoei_ran_config ran; /* options of a recurrent encoder; zeros for other architectures */
} aoei_encoder_config;

#define AOEI_NO_LAYER SIZE_MAX

static inline size_t aoei_kv_heads(const aoei_encoder_config *c) {
    return c->kv_heads ? c->kv_heads : c->heads;
}
static inline size_t aoei_head_dim(const aoei_encoder_config *c) {
    return c->head_dim || !c->heads ? c->head_dim : c->hidden / c->heads;
}
/* Returns the number of components of a text's vector. */
static inline size_t aoei_vector_dims(const aoei_encoder_config *c) {
    return c->dense ? c->dense : c->hidden;
}
/* Returns H d, the number of columns of the queries of all heads. */
static inline size_t aoei_query_width(const aoei_encoder_config *c) {
    return c->heads * aoei_head_dim(c);
}
/* Returns K d, the number of columns of the keys (or of the values) of all heads. */
static inline size_t aoei_key_width(const aoei_encoder_config *c) {
    return aoei_kv_heads(c) * aoei_head_dim(c);
}

/* Check the range of a value of config.json. key: the key of the value. Errors: AOE_EFORMAT; the message names file, key and
 * range. */
int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err);
int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err);
int aoei_check_epsilon(const char *key, double eps, const char *file, aoe_error *err);

#endif
