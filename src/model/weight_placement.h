/* SPDX-License-Identifier: MIT
 * Determines the placement of the weights of an open model. A weight is either read directly from the memory-mapped
 * file, or converted to another data type in memory, or not loaded. The placement depends on the open mode. The memory
 * estimate (aoe_model_plan) also calls aoei_weight_placement_of.
 */
#pragma once

#include "encoder/slot_layout.h"
#include "model/model.h"
#include "model/open_mode.h"

typedef struct aoei_weight_placement {
    aoei_dtype type; /* data type of the weight in memory */
    int not_loaded;  /* 1: the weight is not loaded; single rows are read from the file */
    int mapped;      /* 1: the weight is read directly from the mapped file; 0: the weight is converted or not loaded */
    size_t bytes;    /* size of the converted weight in bytes; 0 if it is mapped or not loaded */
} aoei_weight_placement;

/* Returns the placement of a weight. index: index of the weight in m->weights. slot: description of this weight
 * (aoei_slot_describe). stored: data type of the weight in the file. aligned: 1 if the data in the file is aligned to
 * the size of an element. The function reads only the fields `config` and `type` of m. */
aoei_weight_placement aoei_weight_placement_of(const aoe_model *m, const aoei_open_mode *mode, size_t index,
                                               const aoei_slot *slot, aoei_st_dtype stored, int aligned);
/* Sets m->weights from m->files.tensors. Determines the placement of each weight and converts the weight if necessary.
 * Errors: AOE_ENOMEM.
 */
int aoei_weights_place(aoe_model *m, const aoei_open_mode *mode, aoe_error *err);
