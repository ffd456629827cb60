/* SPDX-License-Identifier: MIT
 * The open files of a model directory, or of a directory of adapters and the base model. The struct is immutable after opening.
 */
#ifndef AOEI_MODELDIR_MODEL_FILES_H
#define AOEI_MODELDIR_MODEL_FILES_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"

typedef struct aoei_model_files {
    char *dir;                      /* directory that was opened, owned */
    char *base_dir;                 /* directory of the base model if `dir` contains adapters, otherwise NULL; owned */
    json_t *config_json;            /* contents of config.json; for a static model with the sizes of its weights added; owned */
    json_t *record;                 /* training record in aoe.json, or NULL; owned */
    aoei_safetensors *weights;      /* mapped file or files of the encoder's weights, owned */
    aoei_safetensors *adapters;     /* mapped file of the adapters, or NULL; owned */
    aoei_safetensors *dense;        /* mapped file of the dense layer after the pooling, or NULL; owned */
    const aoei_st_tensor **tensors; /* [aoei_slot_count] tensor of each weight (indexed by slot, encoder/slots.h), borrowed from
                                       the files; NULL: no file contains the weight; array owned */
    const char *prefix;             /* prefix of the tensor names in `weights`, such as "" or "bert."; static */
    const char *storage;            /* data type of all weights ("F32", "F16", "BF16", "I8"), or "mixed"; static */
    char *license;       /* contents of LICENSE, or NULL; owned. Kept in memory because training removes the checkpoint
                            from which it resumed */
    size_t license_size; /* bytes of license */
    size_t stored_bytes; /* size of all tensors in `tensors` in bytes, with the scales of int8 matrices */
} aoei_model_files;

/* Opens the model in `dir` and reads its configuration into c. base: directory of the base model of adapters; NULL: the
 * directory named by adapter_config.json. mlm: 1 adds the masked-LM head to the configuration. The caller closes f with
 * aoei_model_files_close, also on failure. Errors: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_EARG (base without adapters),
 * AOE_ENOMEM. */
int aoei_model_files_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, const char *base, int mlm,
                          aoe_error *err);
void aoei_model_files_close(aoei_model_files *f); /* accepts a zeroed struct */
/* Returns the directory of config.json and the weights, which is that of the base model if `dir` contains adapters. Borrowed
 * from f. */
const char *aoei_weights_dir(const aoei_model_files *f);
/* Returns the directory that contains the settings. This is `dir`, or the directory of the base model if `dir` contains
 * adapters but no settings. Borrowed from f. */
const char *aoei_settings_dir(const aoei_model_files *f);

#endif
