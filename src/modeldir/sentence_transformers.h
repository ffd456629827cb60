/* SPDX-License-Identifier: MIT
 * Reads settings from the files of sentence-transformers.
 */
#ifndef AOEI_MODELDIR_SENTENCE_TRANSFORMERS_H
#define AOEI_MODELDIR_SENTENCE_TRANSFORMERS_H

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Sets the settings that are not yet set in `s` from the sentence-transformers files in `dir`, in the format before or since
 * version 5.4 of sentence-transformers. The values of settings that are already set are not checked. The list of modules is
 * checked unless s->skip_modules is 1, so that aoe rejects a model with an unsupported module. Errors: AOE_EFORMAT,
 * AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_sentence_transformers_read(aoei_partial_settings *s, const char *dir, const aoei_encoder_config *c, aoe_error *err);

#endif
