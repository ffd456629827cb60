/* SPDX-License-Identifier: MIT
 * The one encoder's options, as a plain struct, and the table that maps an
 * architecture's config.json and tensor names to it. Adding an architecture of
 * the family is one file with an aoei_arch (docs/architectures.md).
 */
#ifndef AOEI_ENCODER_CONFIG_H
#define AOEI_ENCODER_CONFIG_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "modeldir/safetensors.h"
#include "nn/rope.h"

typedef struct aoei_arch aoei_arch;

/* The recurrent encoder's own options (docs/ran.md). */
typedef struct aoei_ran_config {
    size_t window;       /* tokens; 0: a transformer, which has none of this */
    size_t least_window; /* a last window of fewer tokens is part of the one before */
    size_t head_size;    /* of each of `heads` heads */
    int langml_norm;     /* 1: norms divide by the root of the uncentred mean square */
    aoe_pooling pooling; /* where neither the caller nor the directory says; AUTO: the architecture's */
} aoei_ran_config;

typedef enum aoei_norm { AOEI_LAYERNORM, AOEI_RMSNORM } aoei_norm;

/* Low-rank adapters beside linear layers (LoRA, Hu et al. 2021, as Hugging Face PEFT has it). Where there are any, all else is
 * frozen. */
typedef struct aoei_lora {
    size_t r; /* rank; 0: no adapters */
    double alpha;
    int rank_stabilized; /* 1: the scale is alpha / sqrt(r); 0: alpha / r */
    double dropout;      /* on what an adapter sees */
    unsigned targets;    /* bit aoei_adapter_index(kind): the layers' linear layers that have one */
} aoei_lora;
/* What the adapters' product is multiplied by. */
double aoei_lora_scale(const aoei_lora *l);

/* Zero is BERT's choice in every option. */
typedef struct aoei_encoder_config {
    const aoei_arch *arch; /* static */
    size_t hidden;         /* D */
    size_t layers;
    size_t heads;           /* H */
    size_t kv_heads;        /* of keys and values, divides H; 0: H */
    size_t head_dim;        /* d; 0: D / H */
    size_t intermediate;    /* feed-forward width */
    size_t vocab;           /* V */
    size_t positions;       /* tokens a model was made for; without rope the rows of the position table; 0: no bound */
    size_t position_offset; /* added to a token's position (RoBERTa: pad id + 1) */
    aoei_rope rope;         /* theta above 0: rotary positions, and no table */
    size_t token_types;     /* rows of the token-type table; 0: none */
    int no_embed_norm;      /* 1: no norm after the embedding */
    aoei_norm norm;         /* RMSNorm has no biases */
    int pre_norm;       /* 1: norms before attention and feed-forward and after the last layer; 0: after each residual sum */
    int gated;          /* 1: feed-forward is down(activation(gate(x)) * up(x)); 0: down(activation(up(x))) */
    int no_qkv_bias;    /* 1: query, key and value layers without bias */
    int no_output_bias; /* 1: the attention's output layer without bias */
    int no_ffn_bias;    /* 1: the feed-forward layers without biases */
    int causal;         /* 1: a token of the layers before `bidirectional_from` sees itself and those before it */
    size_t bidirectional_from; /* 0: all layers see both sides; AOEI_NO_LAYER: none does */
    size_t window;             /* a token sees less than so far, in the layers from window_from on; 0: without bound */
    size_t window_from;
    int normalize;              /* 1: config.json itself says that vectors have unit length (static models) */
    aoei_activation activation; /* of the feed-forward layer */
    double norm_eps;
    double hidden_dropout;    /* on the embedding output, the attention output and the feed-forward output */
    double attention_dropout; /* on attention probabilities */
    aoei_lora lora;
    size_t dense;      /* components of the dense layer behind the pooling, which are a vector's then; 0: there is none */
    int dense_tanh;    /* 1: it ends in tanh */
    int dense_no_bias; /* 1: it has none */
    size_t head_rows;  /* of a layer [head_rows, head_cols] behind the vectors, of training alone; 0: there is none */
    size_t head_cols;
    int mlm_head; /* 1: with the head of masked-language-model pretraining, whose decoder is the word table */
    aoei_ran_config ran;
} aoei_encoder_config;

#define AOEI_NO_LAYER SIZE_MAX

static inline size_t aoei_kv_heads(const aoei_encoder_config *c) {
    return c->kv_heads ? c->kv_heads : c->heads;
}
static inline size_t aoei_head_dim(const aoei_encoder_config *c) {
    return c->head_dim || !c->heads ? c->head_dim : c->hidden / c->heads;
}
/* Components of a text's vector. */
static inline size_t aoei_vector_dims(const aoei_encoder_config *c) {
    return c->dense ? c->dense : c->hidden;
}
/* Columns of the queries, and of the keys or the values, of all heads. */
static inline size_t aoei_query_width(const aoei_encoder_config *c) {
    return c->heads * aoei_head_dim(c);
}
static inline size_t aoei_key_width(const aoei_encoder_config *c) {
    return aoei_kv_heads(c) * aoei_head_dim(c);
}

/* Slots: the encoder's weights as one flat array of tensors. Slot of layer l: AOEI_W_LAYERS + l * AOEI_LW_COUNT + AOEI_LW_*. */
enum {
    AOEI_W_WORD,
    AOEI_W_POSITION,
    AOEI_W_TOKEN_TYPE,
    AOEI_W_EMBED_NORM,
    AOEI_W_EMBED_NORM_BIAS,
    AOEI_W_FINAL_NORM, /* after the last layer */
    AOEI_W_FINAL_NORM_BIAS,
    AOEI_W_LAYERS
};
/* In a layer a linear layer's bias, or a norm's, follows its weight. */
#define AOEI_ADAPTERS 7 /* linear layers of a layer */
enum {
    /* attention: [H d, D], [1, H d]; keys and values [kv d, D], [1, kv d]; output [D, H d], [1, D] */
    AOEI_LW_Q,
    AOEI_LW_Q_BIAS,
    AOEI_LW_K,
    AOEI_LW_K_BIAS,
    AOEI_LW_V,
    AOEI_LW_V_BIAS,
    AOEI_LW_O,
    AOEI_LW_O_BIAS,
    /* after attention (pre-norm: before it) [1,D] */
    AOEI_LW_NORM1,
    AOEI_LW_NORM1_BIAS,
    /* feed-forward: [I,D], [1,I], [D,I], [1,D] */
    AOEI_LW_UP,
    AOEI_LW_UP_BIAS,
    AOEI_LW_DOWN,
    AOEI_LW_DOWN_BIAS,
    /* after the feed-forward (pre-norm: before it) [1,D] */
    AOEI_LW_NORM2,
    AOEI_LW_NORM2_BIAS,
    /* gated feed-forward: [I,D], [1,I] */
    AOEI_LW_GATE,
    AOEI_LW_GATE_BIAS,
    /* adapters: for each aoei_adapter_index lora_A [r, in] and lora_B [out, r] */
    AOEI_LW_ADAPTERS,
    AOEI_LW_COUNT = AOEI_LW_ADAPTERS + 2 * AOEI_ADAPTERS
};
/* Which of a layer's linear layers, 0 to AOEI_ADAPTERS - 1, a weight's kind is of, and the kind. */
static inline size_t aoei_adapter_index(size_t kind) {
    return kind == AOEI_LW_GATE ? 6 : kind <= AOEI_LW_O ? kind / 2 : kind == AOEI_LW_UP ? 4 : 5;
}
static inline size_t aoei_adapter_kind(size_t index) {
    static const size_t kind[AOEI_ADAPTERS] = {AOEI_LW_Q,  AOEI_LW_K,    AOEI_LW_V,   AOEI_LW_O,
                                               AOEI_LW_UP, AOEI_LW_DOWN, AOEI_LW_GATE};
    return kind[index];
}
enum {
    /* the masked-LM head, after the layers: dense [D,D], [1,D]; norm [1,D]; decoder bias [1,V] */
    AOEI_HW_TRANSFORM,
    AOEI_HW_TRANSFORM_BIAS,
    AOEI_HW_NORM,
    AOEI_HW_NORM_BIAS,
    AOEI_HW_DECODER_BIAS,
    AOEI_HW_COUNT
};
enum {
    /* behind the pooling, after all others, where there is any of it: the dense layer [dense,D], [1,dense]; the head of
     * training [head_rows, head_cols], [1, head_rows] */
    AOEI_PW_DENSE,
    AOEI_PW_DENSE_BIAS,
    AOEI_PW_HEAD,
    AOEI_PW_HEAD_BIAS,
    AOEI_PW_COUNT
};
typedef enum aoei_slot_group { AOEI_GROUP_OUTER, AOEI_GROUP_LAYER, AOEI_GROUP_HEAD } aoei_slot_group;
size_t aoei_slot_count(const aoei_encoder_config *c);
static inline size_t aoei_layer_slot(size_t layer, size_t kind) {
    return AOEI_W_LAYERS + layer * AOEI_LW_COUNT + kind;
}
/* The same for any architecture, whose slots of a layer may be others. */
size_t aoei_slot_of_layer(const aoei_encoder_config *c, size_t layer, size_t kind);
static inline size_t aoei_head_slot(const aoei_encoder_config *c, size_t kind) {
    return aoei_slot_of_layer(c, c->layers, kind);
}
static inline size_t aoei_pooled_slot(const aoei_encoder_config *c, size_t kind) {
    return aoei_head_slot(c, (c->mlm_head ? AOEI_HW_COUNT : 0) + kind);
}

typedef struct aoei_slot {
    char name[128];    /* tensor name without the model prefix: "encoder.layer.0.attention.self.query.weight" */
    int head;          /* 1: of the masked-LM head, whose names have no model prefix */
    size_t rows, cols; /* a vector is [1, cols] here and [cols] in the file */
    int vector;        /* 1: one-dimensional in the file */
    int decay;         /* 1: weight decay applies (matrices, embeddings included); 0: biases and norms */
    int linear;        /* 1: the weight of a linear layer [out, in] that is not absent */
    int norm;          /* 1: the weight of a norm, 1 before anything is learned */
    int table;         /* 1: the table of word embeddings */
    int absent;        /* 1: this configuration has no such weight (no token types) */
    int pooled;        /* behind the pooling: 1 the dense layer, 2 the head of training; not in the model's own file */
    int adapter;       /* of an adapter: 1 lora_A, 2 lora_B; 0: not */
    int frozen;        /* 1: not trained: there are adapters, and this is none and not behind the pooling */
} aoei_slot;
int aoei_slot_describe(const aoei_encoder_config *c, size_t slot, aoei_slot *out); /* 0, AOE_EARG */
/* The slot of the lora_A beside a weight, whose lora_B is the next; 0: the weight has no adapter. */
size_t aoei_adapter_slot(const aoei_encoder_config *c, size_t slot);
size_t aoei_parameter_count(const aoei_encoder_config *c); /* of the encoder */
size_t aoei_base_count(const aoei_encoder_config *c);      /* without adapters */
/* The number under which a slot draws its random weights. Slots may be added; it stays. */
uint32_t aoei_slot_stream(const aoei_encoder_config *c, size_t slot);

struct aoei_arch {
    const char *model_type;                   /* config.json "model_type", and the architecture's name */
    const char *other_type;                   /* another "model_type" for the same, or NULL */
    const char *class_name;                   /* written to "architectures": "BertModel" */
    const char *mlm_class_name;               /* the same with the masked-LM head: "BertForMaskedLM" */
    const char *mlm_prefix;                   /* of the encoder's names beside such a head: "bert." */
    const char *const *prefixes;              /* NULL-terminated prefixes a checkpoint's names may have: "", "bert." */
    void (*defaults)(aoei_encoder_config *c); /* sets what a new model has where only its sizes are given; NULL: zeros */
    int (*read)(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
    int (*write)(const aoei_encoder_config *c, json_t *config); /* sets the keys of a new config.json */
    void (*name)(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer); /* tensor name of a slot */
    size_t (*max_length)(const aoei_encoder_config *c);                                     /* positions a text may use */
    size_t default_length; /* where nothing says; 0: max_length */
    aoe_pooling default_pooling;
    size_t layer_slots; /* of a layer with slots of its own; 0: AOEI_LW_COUNT */
    void (*describe)(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s); /* one of them; or NULL */
    int (*check)(const aoei_encoder_config *c, const char *file, aoe_error *err); /* sizes beside hidden and vocab; or NULL */
    int is_static; /* 1: a text's vector is the mean of its tokens' own; it has no specials and no unknown tokens, maybe none */
};
extern const aoei_arch aoei_arch_bert;
extern const aoei_arch aoei_arch_roberta;
extern const aoei_arch aoei_arch_xlm_roberta;
extern const aoei_arch aoei_arch_llama;
extern const aoei_arch aoei_arch_mistral;
extern const aoei_arch aoei_arch_qwen2;
extern const aoei_arch aoei_arch_static;
extern const aoei_arch aoei_arch_ran;

/* 1 when config.json (NULL: there is none) is that of a static model or does not say what it is of. */
int aoei_static_may_be(const json_t *config);
/* Then, when the weights are a static model's, *config gets the keys it lacks (a new object when NULL); else it stays. Errors:
 * AOE_EFORMAT, AOE_EUNSUPPORTED when config.json says that they are and they are not, or not alone; AOE_ENOMEM. */
int aoei_static_complete(json_t **config, const aoei_safetensors *file, const char *dir, aoe_error *err);

/* Reads config.json (already parsed); unknown model_type, or an option the encoder lacks, is AOE_EUNSUPPORTED and named. Sizes
 * are checked: positive, D divisible by H, products that fit. */
int aoei_config_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Errors: AOE_EFORMAT, naming the key and what is allowed. */
int aoei_check_size(const char *key, size_t value, size_t min, size_t max, const char *file, aoe_error *err);
int aoei_check_probability(const char *key, double p, const char *file, aoe_error *err);
/* The configuration of a new model: the sizes of s, everything else as its architecture has it. AOE_EARG: there is none. */
int aoei_shape_config(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
/* The same, held to the bounds that config.json is held to; vocabulary and positions 0: BERT's. */
int aoei_shape_checked(aoei_encoder_config *c, const aoe_shape *s, aoe_error *err);
const aoei_arch *aoei_arch_find(const char *model_type); /* NULL when unknown */
const char *aoei_arch_names(void);                       /* comma-separated, for errors */

#endif
