/* SPDX-License-Identifier: MIT
 * The definition of aoe_model: the open files, and the configuration, settings, weights and tokenizer for computing embeddings.
 * A model may use the weights of a trainer instead of its own (a model over external weights, weight_view.h).
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

/* Memory for the weights that are not used directly in the mapped files. */
typedef struct aoei_weight_memory {
    void *converted;        /* weights whose data type or alignment in the file is not supported, converted; owned */
    size_t converted_bytes; /* size of `converted` */
    float *generated;       /* new masked-LM head or new adapters, or NULL; owned */
    float *added;           /* layer that was added after the pooling (extra_layers.h), or NULL; owned */
    void *packed;           /* packed copies for inference (packed_weights.h), or NULL; owned */
} aoei_weight_memory;

/* An open model. It does not change after opening, except that a layer may be added before training. */
struct aoe_model {
    aoe_context *ctx; /* borrowed */
    aoei_model_files files;
    aoei_encoder_config config; /* configuration; without adapters if they are merged into the packed copies */
    aoei_settings settings;     /* settings of the directory, changed by the options of the caller */
    aoei_dtype type;            /* data type of activations and matmuls */
    aoe_dtype dtype_option;     /* option of the caller, from which `type` was determined */
    aoei_tensor *weights;       /* [aoei_slot_count] weights, with data in the mapped files or in `memory`; array owned */
    aoei_weight_memory memory;
    aoe_tokenizer *tokenizer; /* NULL: the directory contains none; owned, unless `base` is set */
    aoei_lora lora;           /* configuration of the adapters, even if they are merged */
    char *lora_targets;       /* names of the adapted layers, such as "q_proj, v_proj"; NULL: no adapters; owned */
    const aoe_model
        *base; /* only for a model over external weights: the model from which it was created, borrowed; otherwise NULL */
};

#endif
