/* SPDX-License-Identifier: MIT
 * The open files of a model directory, or of a directory of adapters and its base model. Immutable after opening.
 */
#ifndef AOEI_MODELDIR_MODEL_FILES_H
#define AOEI_MODELDIR_MODEL_FILES_H

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"

typedef struct aoei_model_files {
    char *dir;                      /* owned; directory that was opened */
    char *base_dir;                 /* owned; directory of the base model if `dir` holds adapters; NULL otherwise */
    json_t *config_json;            /* owned; config.json, completed from the weights for a static model */
    json_t *record;                 /* owned; training record of aoe.json, or NULL */
    aoei_safetensors *weights;      /* owned; mapped file or files of the encoder's weights */
    aoei_safetensors *adapters;     /* owned; mapped file of the adapters, or NULL */
    aoei_safetensors *dense;        /* owned; mapped file of the dense layer after the pooling, or NULL */
    const aoei_st_tensor **tensors; /* owned array [aoei_slot_count], tensors borrowed from the files; NULL: not in a file */
    const char *prefix;             /* static; prefix of the tensor names in `weights`: "", "bert." */
    const char *storage;            /* static; type of all weights, "F32" ..., or "mixed" */
    size_t stored_bytes;            /* bytes of the tensors in the files */
} aoei_model_files;

/* Opens the model in `dir` and reads its configuration into c. base: directory of the base model of adapters; NULL: the
 * directory named by adapter_config.json. mlm: 1 for the configuration with the masked-LM head. The caller closes f with
 * aoei_model_files_close, also on failure. Errors: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_EARG (base without adapters),
 * AOE_ENOMEM. */
int aoei_model_files_open(aoei_model_files *f, aoei_encoder_config *c, const char *dir, const char *base, int mlm,
                          aoe_error *err);
void aoei_model_files_close(aoei_model_files *f); /* accepts a zeroed struct */
/* Directory of config.json and the weights; borrowed from f. */
const char *aoei_weights_dir(const aoei_model_files *f);
/* Directory of the settings; borrowed from f. Adapters that were saved without settings use the settings of their base. */
const char *aoei_settings_dir(const aoei_model_files *f);

#endif
