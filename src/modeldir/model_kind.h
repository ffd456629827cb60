/* SPDX-License-Identifier: MIT
 * Checks whether aoe can open a model directory, and says whether its model is an embedding model or a cross-encoder.
 * The weights may be missing, so a model can be checked before its weights are downloaded.
 */
#pragma once

#include "modeldir/model_files.h"

typedef enum aoei_model_kind { AOEI_KIND_EMBEDDING, AOEI_KIND_CROSS_ENCODER } aoei_model_kind;

/* Checks the settings and the tokenizer of the model in f, and sets *kind. f and c: from aoei_model_files_open or
 * aoei_model_config_open. A model with a classification head, with the module LogitScore or with the head of a
 * cross-encoder in modules.json is a cross-encoder; every other model is an embedding model. If the files cannot be
 * opened as this kind of model, but as the other kind, *kind is the other kind. Errors: AOE_ENOENT (no tokenizer),
 * AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_EARG (neither kind can be opened; the message is that of the first kind),
 * AOE_ENOMEM. */
int aoei_model_kind_check(aoei_model_kind *kind, aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err);
