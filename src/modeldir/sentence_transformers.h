/* SPDX-License-Identifier: MIT
 * Reads settings from the files of sentence-transformers.
 */
#pragma once

#include "base/file_cache.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Reads the sentence-transformers files in `dir` and sets the settings that are not set in `s` yet. The files may have
 * the format that sentence-transformers used before version 5.4, or the format that it uses since version 5.4. Values
 * of settings that are already set are not checked. Unless s->skip_modules is 1, a model with a module that is not
 * supported is rejected. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_sentence_transformers_read(aoei_partial_settings *s, aoei_model_dir dir, const aoei_encoder_config *c,
                                    aoe_error *err);
/* Returns the maximum sequence length of sentence-transformers if max_seq_length is not set: max_position_embeddings,
 * without the positions that rope scaling adds. */
size_t aoei_sentence_transformers_positions(const aoei_encoder_config *c);
/* Sets *lowercase to "do_lower_case" of the sentence-transformers files in `dir`: 0, 1 or, if the key is missing,
 * AOE_AUTO. Sets *chat to the settings of the chat template (aoei_settings.chat), or to NULL; the caller releases the
 * object. Errors: as above. */
int aoei_sentence_transformers_text_settings(int *lowercase, json_t **chat, aoei_model_dir dir, aoe_error *err);
