/* SPDX-License-Identifier: MIT
 * Writes the settings of a model as configuration files of sentence-transformers.
 */
#pragma once

#include <jansson.h>

#include "aoe_convert.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Writes the files, in the format before version 5.4 of sentence-transformers, to the directory `dir`, which must
 * exist.
 * c: configuration of the encoder; a static model is written as the module StaticEmbedding. storage: data
 * type of the weights. If sentence-transformers would compute other embeddings (int8 weights,
 * aoei_settings_unsupported), only a modules.json is written that it rejects. For a static model without tokenizer.json
 * in `dir`, nothing is written. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_sentence_transformers_write(const aoei_settings *s, const aoei_encoder_config *c, aoe_storage storage,
                                     const char *dir, aoe_error *err);
/* Returns the keys prompts and default_prompt_name of config_sentence_transformers.json as a new reference. Prompts
 * that are not prefixes are omitted. Returns NULL if an allocation fails. */
json_t *aoei_prompts_json(const aoei_settings *s);
