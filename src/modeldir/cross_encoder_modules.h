/* SPDX-License-Identifier: MIT
 * Reads which head the modules of a cross-encoder in modules.json describe. sentence-transformers writes this file
 * since version 5.4.
 */
#pragma once

#include "modeldir/model_files.h"

/* The head that modules.json describes. */
typedef enum aoei_module_head {
    AOEI_MODULE_HEAD_NONE,   /* there is no modules.json, or it contains only a Transformer */
    AOEI_MODULE_HEAD_LOGITS, /* Transformer and LogitScore: logits of a language model */
    AOEI_MODULE_HEAD_POOLED, /* Transformer, Pooling and further modules, of a cross-encoder */
    AOEI_MODULE_HEAD_OTHER   /* other modules, such as those of an embedding model */
} aoei_module_head;

/* Reads modules.json in `dir`. *score receives the tokens of the module LogitScore; score->given is 0 if there is none.
 * Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_cross_encoder_modules_read(aoei_module_head *head, aoei_logit_score *score, aoei_model_dir dir,
                                    aoe_error *err);
