/* SPDX-License-Identifier: MIT
 * Saves an open model.
 */
#ifndef AOEI_MODEL_SAVE_H
#define AOEI_MODEL_SAVE_H

#include <jansson.h>

#include "aoe_train.h"
#include "model/model.h"
#include "modeldir/contents.h"

/* Provides the weights of an open model when they are written. */
typedef struct aoei_model_weight_reader {
    aoei_weight_reader source; /* base type; must be the first field, because its address is cast to this type */
    const aoe_model *model;    /* model whose weights are read, borrowed */
} aoei_model_weight_reader;

/* Fills `contents` for saving all weights of m, with adapters merged, in the data type `storage`. record: training record,
 * or NULL. All pointers are borrowed from m, `record` and `rows`, which must outlive `contents`. The caller may change
 * fields of `contents` afterwards. */
void aoei_model_contents_of(aoei_model_contents *contents, aoei_model_weight_reader *rows, const aoe_model *m, json_t *record,
                            aoe_storage storage);

/* Saves m as a model directory (aoei_contents_save): all weights as float32, or only the adapters if m->config has adapters. */
int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);
/* Saves all weights, with adapters merged, in the data type `storage`. For bf16 and int8, all values must be finite. */
int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err);
/* Writes the files of aoei_model_save to the existing directory `dir` (aoei_contents_write), without protection against an
 * interruption. */
int aoei_model_write(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);

#endif
