/* SPDX-License-Identifier: MIT
 * Checks the configuration of the Transformer module of sentence-transformers (sentence_bert_config.json).
 */
#pragma once

#include <jansson.h>

#include "aoe.h"

/* Names of the file of this module. Versions of sentence-transformers before 5 choose the name from the architecture. A
 * reader uses the first file of the list that exists. The list ends with NULL. */
extern const char *const aoei_transformer_files[];

/* Checks the keys of `config` that can change the embeddings: the task, the modalities, and the arguments that
 * sentence-transformers passes to the configuration, the model and the tokenizer. Arguments without an effect on the
 * embeddings are accepted. path: path of the file in messages. Sets *tokenizer_arguments to the object of arguments of
 * the tokenizer that may contain model_max_length, or to NULL if there is none; the object is borrowed. Errors:
 * AOE_EUNSUPPORTED (names the key and the remedy), AOE_EFORMAT. */
int aoei_transformer_module_check(json_t **tokenizer_arguments, json_t *config, const char *path, aoe_error *err);
/* Sets *chat to the settings of the chat template with which sentence-transformers renders every text, an object with
 * the keys "format" and "options" (tokenizer/chat_encode.h), if modality_config contains "message"; otherwise to NULL.
 * The caller releases the object. Errors: AOE_EUNSUPPORTED (names the argument in processing_kwargs), AOE_EFORMAT,
 * AOE_ENOMEM. */
int aoei_transformer_module_chat(json_t **chat, json_t *config, const char *path, aoe_error *err);
/* Sets *options to the variables of the template in `given`, an object of arguments of the chat template or NULL, and
 * rejects arguments that are not supported. The caller releases the object, even if the function fails. Errors: as
 * above. */
int aoei_chat_options_read(json_t **options, json_t *given, const char *path, aoe_error *err);
/* Adds the keys of version 5.4 to `config`, the contents of sentence_bert_config.json: the task, the modality "text"
 * and, if `chat` is not NULL, the modality "message" with the settings of the chat template (aoei_settings.chat). task:
 * value of transformer_task; method_output, module_output: names of the outputs of the model and of the module. Returns
 * 0 or -1. */
int aoei_transformer_module_describe(json_t *config, const json_t *chat, const char *task, const char *method_output,
                                     const char *module_output);
