/* SPDX-License-Identifier: MIT
 * Saves an open model.
 */
#pragma once

#include <jansson.h>

#include "aoe_convert.h"
#include "model/model.h"
#include "modeldir/contents.h"

/* Reads the weights of an open model while they are written to a file. */
typedef struct aoei_model_weight_reader {
    /* base type; must be the first field, because the callback casts its address to aoei_model_weight_reader */
    aoei_weight_reader source;
    const aoe_model *model; /* model whose weights are read, borrowed */
} aoei_model_weight_reader;

/* Fills `contents` for saving all weights of m in the data type `storage`, with adapters merged. record: training
 * record, which is the object "training" in aoe.json; NULL: none. `contents` contains pointers to m, `record` and
 * `rows`, which must therefore outlive it. The caller may change fields of `contents` afterwards. */
void aoei_model_contents_of(aoei_model_contents *contents, aoei_model_weight_reader *rows, const aoe_model *m,
                            json_t *record, aoe_storage storage);

/* Saves m as a model directory with aoei_contents_save. If m->config has adapters, only the adapters are saved;
 * otherwise all weights are saved as float32. */
int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);
/* Saves all weights, with adapters merged, in the data type `storage`. For bf16 and int8, all values must be finite. */
int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err);
/* Writes the same files as aoei_model_save into the directory `dir`, which must exist (aoei_contents_write). If the
 * function is interrupted, the directory is incomplete. */
int aoei_model_write(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);
