/* SPDX-License-Identifier: MIT
 * Defines aoe_model, which contains the open files, the configuration, the settings, the weights and the tokenizer. A
 * model may use the weights of a trainer instead of its own weights. Such a model is called a model over external
 * weights (weight_view.h).
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>

#include "aoe_tokenizer.h"
#include "base/context.h"
#include "encoder/training_layers.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"
#include "nn/tensor.h"

enum { AOEI_MAX_ADDED = 4 /* maximum number of calls that add layers to a model */ };

/* The memory of the weights whose values are not read directly from the memory-mapped files of the model. */
typedef struct aoei_weight_memory {
    void *converted; /* converted copies of weights whose data type or alignment in the file is not supported; owned */
    size_t converted_bytes; /* size of `converted` */
    float *generated; /* weights that are not in the files, such as a new masked-LM head or new adapters; owned; NULL:
                         none */
    float *added[AOEI_MAX_ADDED]; /* weights of the layers that were added to the model (extra_layers.h), owned; NULL:
                                     unused */
    float *head;  /* weights of a classification head into which adapters were merged, owned; NULL: none */
    void *packed; /* packed copies of weights for inference (packed_weights.h), owned; NULL: none */
} aoei_weight_memory;

/* Values of aoei_later_packing.state. */
enum {
    AOEI_LATER_NOT_USED, /* the weights were not used yet */
    AOEI_LATER_USED,     /* a forward pass used the unpacked weights */
    AOEI_LATER_PACKING,  /* a thread packs the weights */
    AOEI_LATER_PACKED    /* the weights are packed */
};

/* Packed copies of the weights of layers that are created when the model is used (aoei_model_choose_weights). */
typedef struct aoei_later_packing {
    atomic_int state; /* AOEI_LATER_NOT_USED to AOEI_LATER_PACKED; the last value is set after the following fields */
    aoei_dtype type;  /* type of the matmuls for which the weights are packed */
    aoei_tensor *weights; /* [aoei_slot_count] the model weights with packed copies, owned; NULL: not packed */
    void *packed;         /* the packed copies, owned; NULL: not packed */
} aoei_later_packing;

/* An open model. A model is read-only after it was opened, except that a layer may be added before training, and that
 * weights may be packed later. */
struct aoe_model {
    aoe_context *ctx; /* borrowed */
    aoei_model_files files;
    aoei_encoder_config config; /* configuration; config.lora.r is 0 if adapters were merged into the packed copies */
    aoei_training_layers training; /* layers that were added for training; config.training is NULL or points to it */
    aoei_settings settings;        /* settings of the model directory, overridden by the options of the caller */
    int has_head;                  /* 1: the files contain a classification head (aoei_has_head) */
    size_t dims;                   /* options.dims of the caller: embedding size; 0: from the settings */
    /* option options.dtype of the caller; AOE_DTYPE_INT8: the linear layers of transformer layers, except the values,
     * are computed in int8, and everything else in `type` */
    aoe_dtype dtype;
    aoei_dtype type;      /* type of activations and matmuls, which `dtype`, the CPU and the architecture determine */
    int prompt_given;     /* 1: the caller gave the prompt, as options.prompt or options.prompt_name */
    aoei_tensor *weights; /* [aoei_slot_count] weights, with data in the mapped files or in `memory`; array owned */
    aoei_weight_memory memory;
    aoei_later_packing *later; /* packed copies that are created later, owned; NULL: all copies were created at
                                  opening */
    aoe_tokenizer *tokenizer;  /* tokenizer, or NULL if the directory contains none; owned if `base` is NULL */
    aoei_lora lora;            /* configuration of the adapters; unlike config.lora, not set to 0 if they are merged */
    char *lora_targets;        /* names of the adapted layers, such as "q_proj, v_proj"; NULL: no adapters; owned */
    char modules_text[320];    /* value of aoe_model_info.modules; "": no modules; NUL-terminated */
    const aoe_model *base; /* only for a model over external weights: the model that it was created from, borrowed */
};

/* Sets m->modules_text to the description of the modules in m->config. */
void aoei_model_describe_modules(aoe_model *m);
const char *aoei_model_computed(const aoe_model *m); /* returns aoe_model_info.computed */
