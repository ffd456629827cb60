/* SPDX-License-Identifier: MIT
 * Saving an open model.
 */
#ifndef AOEI_MODEL_SAVE_H
#define AOEI_MODEL_SAVE_H

#include <jansson.h>

#include "aoe_train.h"
#include "model/model.h"
#include "modeldir/contents.h"

/* Reads the weights of an open model row by row for writing. */
typedef struct aoei_model_weight_reader {
    aoei_weight_reader source; /* first */
    const aoe_model *model;    /* borrowed */
} aoei_model_weight_reader;

/* Fills `contents` for saving all weights of m, with adapters merged, in the data type `storage`. All pointers are borrowed
 * from m and `rows`, which must outlive `contents`. The caller may change fields. record: training record, or NULL. */
void aoei_model_contents_of(aoei_model_contents *contents, aoei_model_weight_reader *rows, const aoe_model *m, json_t *record,
                            aoe_storage storage);

/* Saves m as a model directory (aoei_contents_save): weights as float32, or only the adapters if m has any. */
int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);
/* Saves all weights, adapters merged, stored as `storage`. Values must be finite, except for F32. */
int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err);
/* Writes the files of aoei_model_save into the existing directory `dir`, which the caller stages and publishes itself. */
int aoei_model_write(const aoe_model *m, const char *dir, json_t *record, aoe_error *err);

#endif
