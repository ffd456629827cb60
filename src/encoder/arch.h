/* SPDX-License-Identifier: MIT
 * An architecture: a table of constants and functions. Every property in which architectures differ is a member of this
 * table, so that code outside an architecture's own file does not depend on which architecture a model has.
 * docs/architectures.md explains how to add one.
 */
#ifndef AOEI_ENCODER_ARCH_H
#define AOEI_ENCODER_ARCH_H

#include <jansson.h>

#include "encoder/config.h"
#include "encoder/slot_layout.h"

/* The library, other than aoe, that can load a saved model directory. */
typedef enum aoei_library { AOEI_LIBRARY_SENTENCE_TRANSFORMERS, AOEI_LIBRARY_MODEL2VEC, AOEI_LIBRARY_NONE } aoei_library;

/* Sets of poolings for aoei_arch.poolings, with one bit per pooling. AOEI_TOKEN_POOLINGS contains all poolings over tokens.
 * AOEI_CELL_POOLINGS contains all poolings over the cells of RAN models. */
#define AOEI_POOLING_BIT(pooling) (1U << (pooling))
#define AOEI_TOKEN_POOLINGS       (AOEI_POOLING_BIT(AOE_POOLING_CELL_LAST) - AOEI_POOLING_BIT(AOE_POOLING_CLS))
#define AOEI_CELL_POOLINGS        (AOEI_POOLING_BIT(AOE_POOLING_COUNT) - AOEI_POOLING_BIT(AOE_POOLING_CELL_LAST))

struct aoei_encoder_ops; /* encoder_ops.h */

/* Strings, arrays and tables have static storage. A member may be NULL or 0 only if its comment defines the meaning. */
struct aoei_arch {
    /* names */
    const char *model_type; /* value of "model_type" in config.json; name of the architecture */
    const char *other_type; /* second accepted value of "model_type"; NULL: none */
    const char *class_name; /* value that is written to "architectures", such as "BertModel" */
    const char
        *mlm_class_name; /* class_name with a masked-LM head, such as "BertForMaskedLM"; NULL: such models are not supported */
    const char *mlm_prefix;      /* prefix of the encoder's tensors in a model with a masked-LM head, such as "bert." */
    const char *const *prefixes; /* prefixes of tensor names in checkpoints, NULL-terminated, such as "" and "bert." */

    /* Configuration. `file` is the name of config.json for messages. Errors of read and check: AOE_EFORMAT for invalid values,
     * AOE_EUNSUPPORTED for options that the encoder does not have; the messages name the key and the supported values. */
    void (*defaults)(aoei_encoder_config *c); /* sets the default options, before `read` or `set_shape` is called;
                                               * NULL: all options are 0, and new models cannot be created from sizes */
    int (*read)(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err); /* parses config.json */
    int (*check)(const aoei_encoder_config *c, const char *file,
                 aoe_error *err); /* checks the ranges of all options except hidden and vocab; NULL: no such options */
    int (*write)(const aoei_encoder_config *c, json_t *config);    /* adds the keys of config.json; returns 0 or AOE_ENOMEM */
    void (*set_shape)(aoei_encoder_config *c, const aoe_shape *s); /* sets the sizes of a new model; NULL if defaults is NULL */
    void (*print_sizes)(const aoei_encoder_config *c, char *out, size_t size); /* prints the sizes for model cards */

    /* weights */
    void (*name)(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer); /* writes the tensor name of
                                                                                             * a slot without prefix; "" if
                                                                                             * the slot is absent */
    size_t layer_slots; /* number of slots of a layer; 0: AOEI_LW_COUNT, as for transformer layers */
    void (*describe_layer)(const aoei_encoder_config *c, size_t kind, size_t layer,
                           aoei_slot *s); /* describes a slot of a layer;
                                           * NULL: transformer layer */

    /* encoding */
    const struct aoei_encoder_ops *encoder;             /* implementation of the encoder */
    size_t (*max_length)(const aoei_encoder_config *c); /* maximum number of tokens of a text, including special tokens */
    size_t default_length;                              /* default limit of tokens per text; 0: the result of max_length */
    unsigned poolings;                                  /* supported poolings, combined from AOEI_POOLING_BIT */
    aoe_pooling default_pooling;                        /* pooling of a model directory that specifies none */
    int plain_tokens;      /* 1: texts are tokenized without special tokens, and unknown tokens are dropped */
    int allows_no_tokens;  /* 1: a text may have no tokens; its vector is zero */
    int auto_float32;      /* 1: AOE_DTYPE_AUTO means float32, because there is no GEMM that bf16 would speed up */
    int supports_adapters; /* 1: linear layers may have LoRA adapters */
    aoei_library library;  /* library that loads saved directories */
};

#endif
