/* SPDX-License-Identifier: MIT
 * Weight placement: whether a weight of an open model is used in the mapped file or converted into memory of the model. The
 * open mode decides. The memory plan (aoe_model_plan) calls the same function.
 */
#ifndef AOEI_MODEL_WEIGHT_PLACEMENT_H
#define AOEI_MODEL_WEIGHT_PLACEMENT_H

#include "encoder/slot_layout.h"
#include "model/model.h"
#include "model/open_mode.h"

typedef struct aoei_weight_placement {
    aoei_dtype type; /* type of the weight in memory */
    int not_loaded;  /* 1: not in memory; rows are read from the file when they are needed */
    int mapped;      /* 1: used in the mapped file; 0: converted to memory of the model */
    size_t bytes;    /* bytes of memory of the model; 0 if not_loaded or mapped */
} aoei_weight_placement;

/* Placement of the weight in slot number `index`. slot: description of the slot; stored: data type in the file; aligned: 1 if
 * the data in the file is aligned to its elements. Only m->config and m->type are used. */
aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned);
/* Points m->weights at the data of m->files.tensors. Errors: AOE_ENOMEM. */
int aoei_weights_place(aoe_model *m, const aoei_open_mode *mode, aoe_error *err);

#endif
