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
    int mapped;      /* 1: where the file has it; else in `bytes` of own memory */
    size_t bytes;
} aoei_weight_placement;

/* slot: described, of number `index` of m's configuration; stored: its type in the file; aligned: as its elements ask for. Of m
 * the configuration and the type of products are looked at. */
aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned);
/* Points m->weights at the data of m->files.tensors. Errors: AOE_ENOMEM. */
int aoei_weights_place(aoe_model *m, const aoei_open_mode *mode, aoe_error *err);

#endif
