/* SPDX-License-Identifier: MIT
 * What a model is opened for.
 */
#ifndef AOEI_MODEL_OPEN_MODE_H
#define AOEI_MODEL_OPEN_MODE_H

#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"

/* A zeroed mode opens the weights for training all of them. */
typedef struct aoei_open_mode {
    int packed;         /* 1: inference, with packed copies of the linear weights, adapters merged into them */
    int rows_from_file; /* 1: saving; no weight is loaded, aoei_model_rows reads rows from the file */
    int mlm;            /* 1: with the masked-LM head, which is initialized if the files have none */
    const aoe_lora
        *lora;     /* borrowed; new adapters on frozen weights, or changes to saved ones; NULL: adapters as saved, if any */
    int eight_bit; /* 1: frozen linear weights are held as int8 rows */
    uint64_t seed; /* of a head or adapters that are initialized */
} aoei_open_mode;

#endif
