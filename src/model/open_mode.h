/* SPDX-License-Identifier: MIT
 * The open mode of a model: for inference, training or saving.
 */
#ifndef AOEI_MODEL_OPEN_MODE_H
#define AOEI_MODEL_OPEN_MODE_H

#include <stdint.h>

#include "aoe_train.h"
#include "aoe.h"

/* If all fields are 0, the model is opened for training all weights. */
typedef struct aoei_open_mode {
    int packed; /* 1: for inference: linear weights are copied to the layout of the matmul kernels, with adapters merged */
    int rows_from_file;   /* 1: for saving: no weights are loaded; aoei_model_rows reads rows from the file when they are needed
                           */
    int mlm;              /* 1: the masked-LM head is added, with random weights if the files contain none */
    const aoe_lora *lora; /* options of adapters to train: new adapters, or changed options of saved adapters; borrowed; NULL:
                             no new adapters, and saved adapters are used unchanged */
    int eight_bit;        /* 1: frozen linear weights are converted to int8 with one scale per row */
    uint64_t seed;        /* seed for initializing a new head or new adapters */
} aoei_open_mode;

#endif
