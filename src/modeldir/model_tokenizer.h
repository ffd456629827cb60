/* SPDX-License-Identifier: MIT
 * Opens the tokenizer of a model directory with the settings of the model that change its texts.
 */
#pragma once

#include "aoe_tokenizer.h"
#include "modeldir/model_files.h"

/* Sets *lowercase and *chat to the settings of the model in `dir`: those in aoe.json or, for a setting that is not set
 * there, those of the sentence-transformers files. *chat is NULL if texts are not rendered with a chat template; the
 * caller releases it. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_text_settings_read(int *lowercase, json_t **chat, aoei_model_dir dir, aoe_error *err);
/* Opens the tokenizer of the model. For adapters, the tokenizer in the adapter directory is used, otherwise the
 * tokenizer of the base model. For other models, the tokenizer in the folder of the transformer is used, otherwise the
 * tokenizer in f->dir. If there is none, sets *t to NULL and returns 0. *dir is set to the directory of the tokenizer,
 * borrowed from f. chat: settings of the chat template with which texts are rendered (aoei_settings.chat), or NULL;
 * pairs: 1: pairs are rendered, too. Errors: see aoe_tokenizer_open. */
int aoei_model_tokenizer_open(aoe_tokenizer **t, const char **dir, const aoei_model_files *f, const json_t *chat,
                              int pairs, aoe_error *err);
