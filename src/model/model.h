/* SPDX-License-Identifier: MIT
 * The definition of aoe_model: the opened files (`files`), the data used for computing (configuration, settings, weights,
 * tokenizer), and, for a model over external weights, the model it was made from (`base`). The data to save is collected when a
 * model is saved (modeldir/contents.h).
 */
#ifndef AOEI_MODEL_MODEL_H
#define AOEI_MODEL_MODEL_H

#include <jansson.h>

#include "aoe.h"
#include "base/context.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"
#include "nn/tensor.h"

/* Memory of the weights that are not used directly in the mapped files. */
typedef struct aoei_weight_memory {
    void *converted;        /* owned; converted weights, whose type or alignment in the file the operations do not support */
    size_t converted_bytes; /* size of `converted` */
    float *generated;       /* owned; new masked-LM head or new adapters, or NULL */
    float *added;           /* owned; layer added after the pooling (extra_layers.h), or NULL */
    void *packed;           /* owned; packed copies for inference (packed_weights.h), or NULL */
} aoei_weight_memory;

/* Immutable after opening, except for layers that are added before training. */
struct aoe_model {
    aoe_context *ctx; /* borrowed */
    aoei_model_files files;
    aoei_encoder_config config; /* with the adapters, unless they are merged into the packed copies */
    aoei_settings settings;     /* options applied */
    aoei_dtype type;            /* of activations and matmuls */
    aoe_dtype dtype_option;     /* data type that the caller asked for, from which `type` follows */
    aoei_tensor *weights;       /* owned array [aoei_slot_count]; data in the mapped files or in `memory` */
    aoei_weight_memory memory;
    aoe_tokenizer *tokenizer; /* owned, except by a model over external weights; NULL: the directory has none */
    aoei_lora lora;           /* the adapters, also if they are merged */
    char *lora_targets;       /* owned; "q_proj, v_proj" for aoe_model_info; NULL: no adapters */
    const aoe_model *base;    /* borrowed; model over external weights: the model that it was made from; NULL otherwise */
};

#endif
