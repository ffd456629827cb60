/* SPDX-License-Identifier: MIT
 * The data from which a model directory is written.
 */
#ifndef AOEI_MODELDIR_CONTENTS_H
#define AOEI_MODELDIR_CONTENTS_H

#include <jansson.h>
#include <stddef.h>

#include "aoe_train.h"
#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/model_files.h"
#include "modeldir/settings.h"

/* Weights that are generated while they are written, so that a model need not fit in memory. */
typedef struct aoei_weight_reader {
    /* Writes rows [first, first + n) of the weight in `slot` to to[n, cols] as float32. Called in ascending order of slots. */
    void (*rows)(struct aoei_weight_reader *s, float *to, size_t slot, size_t first, size_t n);
} aoei_weight_reader;

/* All pointers are borrowed. */
typedef struct aoei_model_contents {
    const aoei_encoder_config *config;
    const aoei_settings *settings;
    const json_t *config_json;      /* config.json, to which the type of the weights is added */
    json_t *record;                 /* training record, or NULL */
    const aoe_tokenizer *tokenizer; /* NULL: no tokenizer files are written */
    aoei_weight_reader *rows;       /* values of the weights */
    const aoei_model_files
        *source;             /* files of the model that this one was made from: licence, base, tensors to copy; or NULL */
    const char *license_dir; /* directory of the LICENSE that is copied; NULL: that of `source` */
    int only_adapters;       /* 1: writes a directory of adapters; 0: a whole model, adapters merged */
    aoe_storage storage;     /* type of the written weights of a whole model */
} aoei_model_contents;

#endif
