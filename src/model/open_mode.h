/* SPDX-License-Identifier: MIT
 * The mode in which a model is opened: for inference, training or saving.
 */
#ifndef AOEI_MODEL_OPEN_MODE_H
#define AOEI_MODEL_OPEN_MODE_H

#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"

/* A zeroed mode opens the model for training all weights. */
typedef struct aoei_open_mode {
    int packed;         /* 1: inference, with packed copies of the linear weights, adapters merged into them */
    int rows_from_file; /* 1: saving; no weight is loaded, aoei_model_rows reads rows from the file */
    int mlm;            /* 1: with the masked-LM head, which is initialized if the files have none */
    const aoe_lora
        *lora;     /* borrowed; new adapters on frozen weights, or changes to saved ones; NULL: adapters as saved, if any */
    int eight_bit; /* 1: frozen linear weights are stored in memory as int8 rows */
    uint64_t seed; /* seed for initializing a new head or new adapters */
} aoei_open_mode;

#endif
