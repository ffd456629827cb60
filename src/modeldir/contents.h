/* SPDX-License-Identifier: MIT
 * Describes the contents of a model directory before the directory is written.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe_convert.h"
#include "aoe_tokenizer.h"
#include "encoder/config.h"
#include "modeldir/layout.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"

/* Provides the values of each weight at the time when the weight is written, so the model may be larger than memory. A
 * slot is the index of a weight tensor in the list of all model weights (encoder/slot_layout.h). */
typedef struct aoei_weight_reader {
    /* Writes rows [first, first + n) of the weight in `slot` to to[n, cols] as float32. The function is called in
     * ascending order of slots, except for the weights of fused tensors (encoder/arch.h). */
    void (*rows)(struct aoei_weight_reader *s, float *to, size_t slot, size_t first, size_t n);
} aoei_weight_reader;

/* The contents of a model directory. All pointers are borrowed. */
typedef struct aoei_model_contents {
    const aoei_encoder_config *config;
    const aoei_settings *settings;
    const json_t *config_json;      /* contents of config.json; the data type of the weights is added when the file is
                                       written */
    json_t *record;                 /* training record, the object "training" in aoe.json; NULL: none */
    const aoe_tokenizer *tokenizer; /* NULL: no tokenizer files are written */
    aoei_weight_reader *rows;       /* values of the weights */
    /* Files of the model from which this model is derived, or NULL. LICENSE, NOTICE, the path of the base model and
     * unused tensors (aoei_copied_tensor_name) are copied from these files. */
    const aoei_model_files *source;
    /* Directory from which each of aoei_license_files is copied. NULL: the file is copied from `source`. */
    const char *license_dir[AOEI_LICENSE_FILES];
    int only_adapters;   /* 1: an adapter directory is written; 0: a complete model is written, with adapters merged */
    aoe_storage storage; /* data type of the weights of a complete model */
    aoe_embedding_storage embedding_storage; /* data type of its token embeddings */
    int limits_logged; /* 1: the features that other programs do not support were already logged */
} aoei_model_contents;
