/* SPDX-License-Identifier: MIT
 * Writes the files that describe a cross-encoder: the head and the padding token in config.json, the settings of
 * sentence-transformers, and the tokenizer settings. With these files, transformers and sentence-transformers compute
 * the same scores as aoe.
 */
#pragma once

#include <jansson.h>

#include "aoe_tokenizer.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Adds the class name, the labels, the activation function and, for causal models, the padding token of a cross-encoder
 * to `config`, the contents of a config.json. t: tokenizer, or NULL. Returns 0 or -1 if an allocation fails. */
int aoei_cross_encoder_describe(json_t *config, const aoei_encoder_config *c, const aoei_settings *s,
                                const aoe_tokenizer *t);
/* Writes modules.json, sentence_bert_config.json and config_sentence_transformers.json to `dir`, in the format of
 * sentence-transformers since version 5.4: the number of outputs, the maximum sequence length, the activation function
 * of the scores and the prompts. Adds the maximum sequence length, the inputs of the model and the padding token to
 * tokenizer_config.json, which older versions read. t: tokenizer, whose files were written to `dir`, or NULL.
 * config_json: contents of config.json. Errors: AOE_EIO, AOE_ENOMEM. */
int aoei_cross_encoder_write(const aoei_encoder_config *c, const aoei_settings *s, const aoe_tokenizer *t,
                             const json_t *config_json, const char *dir, aoe_error *err);
