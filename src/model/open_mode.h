/* SPDX-License-Identifier: MIT
 * Defines the open mode, which says whether a model is opened for inference, training or saving.
 */
#pragma once

#include <stdint.h>

#include "aoe_lora.h"
#include "aoe.h"
#include "modeldir/cross_encoder.h"

/* The open mode. If all fields are 0, the model is opened for training all weights. */
typedef struct aoei_open_mode {
    /* 1: inference. Adapters are merged into the linear weights, and the merged weights are copied to the memory layout
     * of the matmul kernels. */
    int packed;
    /* 1: the weights of layers are packed when the model is used, if aoei_model_packs_later returns 1; only with
     * `packed` */
    int packed_later;
    /* 1: saving. No weights are loaded when the model is opened; aoei_model_rows reads single rows from the file. */
    int rows_from_file;
    aoei_head_request head; /* cross-encoders (options.cross_encoder): request of a classification head */
    int mlm;                /* 1: the model has a masked-LM head, with random weights if the files contain no head */
    /* Options of the adapters to train, borrowed. They describe new adapters, or change saved adapters. NULL: no new
     * adapters are created, and saved adapters are not changed. */
    const aoe_lora *lora;
    int eight_bit; /* 1: frozen linear weights are converted to int8, with one scale per row */
    /* AOE_POOLING_AUTO: the whole model is opened; otherwise, only its word embeddings, with this pooling
     * (model/word_table.h)
     */
    aoe_pooling words;
    uint64_t seed; /* seed for initializing a new masked-LM head, a new classification head or new adapters */
} aoei_open_mode;
