/* SPDX-License-Identifier: MIT
 * Settings as the files of sentence-transformers state them.
 */
#ifndef AOEI_MODELDIR_SENTENCE_TRANSFORMERS_H
#define AOEI_MODELDIR_SENTENCE_TRANSFORMERS_H

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Fills the settings that `s` does not have yet from the sentence-transformers files in `dir`, in their form before or since
 * version 5.4. A file is not checked for a setting that `s` already has, except for modules other than Pooling, which are
 * checked unless s->settled. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_sentence_transformers_read(aoei_partial_settings *s, const char *dir, const aoei_encoder_config *c, aoe_error *err);

#endif
