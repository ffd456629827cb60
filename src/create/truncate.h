/* SPDX-License-Identifier: MIT
 * Creates the contents of a truncated model for aoe_convert: some layers and tokens of another model, and the first
 * components of its embeddings.
 */
#pragma once

#include "aoe_convert.h"
#include "model/save.h"

/* A truncated model. The contents point into this struct, which must not be moved. */
typedef struct aoei_truncated_model {
    aoei_model_contents contents; /* contents of the truncated model */
    aoei_encoder_config config;
    aoei_settings settings;                /* the members that are allocated are borrowed */
    json_t *config_json;                   /* owned */
    aoei_weight_reader source;             /* weights of the truncated model, by slot */
    aoei_weight_reader *all;               /* weights of the complete model; borrowed */
    const aoei_encoder_config *all_config; /* configuration of the complete model; borrowed */
    const int32_t *tokens; /* [config.vocab] id, in the complete model, of each token; borrowed; NULL: all tokens */
    size_t *take; /* [config.layers] index, in the complete model, of each layer of the truncated model; owned */
} aoei_truncated_model;

/* Sets t->contents to `contents`, the contents of m, with the layers that o->layers or o->take_layers selects and with
 * the first o->dims components of the embeddings. The caller calls aoei_truncated_destroy. Errors: AOE_EARG (the model
 * has no such layer, or fewer components), AOE_EUNSUPPORTED (the layers of the model cannot be selected),
 * AOE_ENOMEM. */
int aoei_truncated_create(aoei_truncated_model *t, const aoei_model_contents *contents, const aoe_model *m,
                          const aoe_convert_options *o, aoe_error *err);
/* Removes all tokens from t->contents except tokens[n], ids in ascending order. config: contents of config.json with
 * the new ids; the function takes ownership. tokenizer: tokenizer of the remaining tokens; `tokens` and `tokenizer` are
 * borrowed. Errors: AOE_EUNSUPPORTED (config.json cannot describe the new ids), AOE_ENOMEM. */
int aoei_truncated_set_tokens(aoei_truncated_model *t, const int32_t *tokens, size_t n, json_t *config,
                              const aoe_tokenizer *tokenizer, const char *dir, aoe_error *err);
void aoei_truncated_destroy(aoei_truncated_model *t); /* accepts a zeroed struct */
