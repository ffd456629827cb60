/* SPDX-License-Identifier: MIT
 * Weight placement: whether a weight of an open model is used directly in the mapped file, converted to another data type in
 * memory, or not loaded. The placement depends on the open mode. The memory estimate (aoe_model_plan) also calls
 * aoei_weight_placement_of.
 */
#ifndef AOEI_MODEL_WEIGHT_PLACEMENT_H
#define AOEI_MODEL_WEIGHT_PLACEMENT_H

#include "encoder/slot_layout.h"
#include "model/model.h"
#include "model/open_mode.h"

typedef struct aoei_weight_placement {
    aoei_dtype type; /* type of the weight in memory */
    int not_loaded;  /* 1: the weight is not loaded; rows are read from the file when they are needed */
    int mapped;      /* 1: the weight is used in the mapped file; 0: it is converted (or not loaded) */
    size_t bytes;    /* size of the converted weight in bytes; 0 if it is mapped or not loaded */
} aoei_weight_placement;

/* Returns the placement of a weight. index: index of the slot of the weight; slot: description of this slot; stored: data
 * type of the weight in the file; aligned: 1 if the data of the weight in the file is aligned to the size of an element. The
 * function reads only the fields `config` and `type` of m. */
aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned);
/* Sets m->weights from m->files.tensors according to their placements, and converts weights if necessary. Errors: AOE_ENOMEM.
 */
int aoei_weights_place(aoe_model *m, const aoei_open_mode *mode, aoe_error *err);

#endif
