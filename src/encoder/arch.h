/* SPDX-License-Identifier: MIT
 * An architecture: a table (struct aoei_arch) of constants and functions. Every property in which architectures differ
 * is a member of this table. Code outside the file of an architecture (arch_*.c) therefore does not depend on the
 * architecture of a model. docs/architectures.md describes how to add an architecture.
 */
#pragma once

#include <jansson.h>

#include "aoe_shape.h"
#include "encoder/config.h"
#include "encoder/slot_layout.h"

/* Libraries that can load a model directory that aoe saved. AOEI_LIBRARY_NONE: only aoe can load it. */
typedef enum aoei_library {
    AOEI_LIBRARY_SENTENCE_TRANSFORMERS,
    AOEI_LIBRARY_MODEL2VEC,        /* static model of Model2Vec, which sentence-transformers also loads */
    AOEI_LIBRARY_STATIC_EMBEDDING, /* static model of sentence-transformers (module StaticEmbedding) */
    AOEI_LIBRARY_NONE
} aoei_library;

/* Sets of poolings (values of aoe_pooling), for aoei_arch.poolings. A set has one bit per pooling. AOEI_TOKEN_POOLINGS
 * contains the poolings over tokens that all architectures support. AOEI_TRANSFORMER_POOLINGS contains all poolings
 * over tokens. AOEI_CELL_POOLINGS contains all poolings over the cells of a recurrent attention network (RAN,
 * docs/ran.md). */
#define AOEI_POOLING_BIT(pooling) (1U << (pooling))
#define AOEI_TOKEN_POOLINGS       (AOEI_POOLING_BIT(AOE_POOLING_CELL_LAST) - AOEI_POOLING_BIT(AOE_POOLING_CLS))
#define AOEI_CELL_POOLINGS        (AOEI_POOLING_BIT(AOE_POOLING_LAST_TWO_AVG) - AOEI_POOLING_BIT(AOE_POOLING_CELL_LAST))
#define AOEI_TRANSFORMER_POOLINGS                                                                                      \
    (AOEI_TOKEN_POOLINGS | (AOEI_POOLING_BIT(AOE_POOLING_COUNT) - AOEI_POOLING_BIT(AOE_POOLING_LAST_TWO_AVG)))

/* Weights of a layer that one tensor of the weight file contains as consecutive rows. The tensor is called a fused
 * tensor. */
typedef struct aoei_fused {
    size_t n;        /* number of weights; 0: end of an array */
    size_t kinds[3]; /* [n] kinds of the weights (AOEI_LW_*), in the order of their rows */
} aoei_fused;

struct aoei_encoder_ops;         /* encoder_ops.h */
struct aoei_classification_head; /* classification_head.h */

/* An architecture. Strings, arrays and tables have static storage. A member may be NULL or 0 only if its comment says
 * what this means. */
struct aoei_arch {
    /* names */
    const char *model_type; /* value of "model_type" in config.json; name of the architecture */
    const char *other_type; /* alternative value of "model_type"; NULL: there is only one value */
    /* returns 1 if this architecture reads config, the contents of config.json, although its "model_type" is "bert".
     * NULL: only "model_type" decides */
    int (*recognizes)(const json_t *config);
    const char *class_name;     /* value that is written to "architectures" in config.json, such as "BertModel" */
    const char *mlm_class_name; /* value that is written to "architectures" for models with a masked-LM head, such as
                                   "BertForMaskedLM"; NULL: the architecture does not support this head */
    const char *mlm_prefix; /* prefix of the names of the encoder's tensors in a model with a masked-LM head, such as
                               "bert." */
    const struct aoei_classification_head *head; /* classification head of cross-encoders; NULL: not supported */
    /* NULL-terminated list of the possible prefixes of tensor names in checkpoints, such as "" and "bert." */
    const char *const *prefixes;

    /* Configuration. The argument `file` is the name of config.json in messages. read and check return AOE_EFORMAT for
     * invalid values, and AOE_EUNSUPPORTED for options that the encoder does not support. The messages name the key and
     * the supported values. */

    /* sets the default options; called before `read` or `set_shape`. NULL: all defaults are 0, and new models cannot be
     * created from sizes */
    void (*defaults)(aoei_encoder_config *c);
    int (*read)(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err); /* parses
                                                                                                    config.json */
    /* checks the ranges of all options except hidden and vocab; NULL: there are no options to check */
    int (*check)(const aoei_encoder_config *c, const char *file, aoe_error *err);
    /* adds the keys of config.json to config; returns 0 or AOE_ENOMEM */
    int (*write)(const aoei_encoder_config *c, json_t *config);
    /* sets the sizes in *c to those of *s, the shape of a new model; NULL if `defaults` is NULL */
    void (*set_shape)(aoei_encoder_config *c, const aoe_shape *s);
    /* writes a text that describes the sizes to out[size], for model cards */
    void (*print_sizes)(const aoei_encoder_config *c, char *out, size_t size);

    /* weights */
    /* writes the tensor name of the weight `kind` of a group (slot_layout.h), without prefix, to out[size]; `layer` is
     * used for AOEI_GROUP_LAYER only; writes "" if the architecture has no such weight */
    void (*name)(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer);
    /* array of the fused tensors of a layer, which ends with an element with n = 0; `name` writes the name of the fused
     * tensor for each of its weights. NULL: every weight has its own tensor */
    const aoei_fused *fused;
    /* NULL-terminated list of the layouts of weight files, each as an architecture with other names or fused tensors.
     * The first layout whose token embeddings, query layer and up layer are in the weight file is used. NULL: this
     * architecture is the only layout */
    const aoei_arch *const *layouts;
    /* number of slots of a layer (a slot is the index of a weight, slot_layout.h); 0: AOEI_LW_COUNT, the number of
     * slots of a transformer layer */
    size_t layer_slots;
    /* sets *s to the description of the weight `kind` of layer `layer`; NULL: the layers are transformer layers */
    void (*describe_layer)(const aoei_encoder_config *c, size_t kind, size_t layer, aoei_slot *s);

    /* encoding */
    const struct aoei_encoder_ops *encoder; /* functions of the encoder */
    /* returns the maximum number of tokens in a text, including special tokens */
    size_t (*max_length)(const aoei_encoder_config *c);
    size_t default_length; /* default maximum number of tokens in a text; 0: the default is the result of max_length */
    unsigned poolings;     /* set of supported poolings, combined from AOEI_POOLING_BIT */
    aoe_pooling default_pooling; /* pooling of models whose directory does not specify a pooling */
    int plain_tokens;            /* 1: no special tokens are added to texts, and unknown tokens are dropped */
    int truncates_end;    /* 1: long texts are truncated after special tokens were added, which removes the last ones */
    int keeps_unknown;    /* 1: unknown tokens are not dropped, although plain_tokens is 1 */
    int allows_no_tokens; /* 1: a text may have no tokens; its embedding is then the zero vector */
    int auto_float32;     /* 1: AOE_DTYPE_AUTO means float32, because the encoder has no matmuls that bf16 would make
                             faster */
    int supports_adapters;    /* 1: linear layers may have LoRA adapters */
    const char *first_module; /* type of the first module in modules.json; NULL: "Transformer" */
    aoei_library library;     /* library that can load model directories of this architecture that aoe saved */
};

#define AOEI_ARCH(name) extern const aoei_arch aoei_arch_##name;
#include "encoder/archs.def"
#undef AOEI_ARCH
