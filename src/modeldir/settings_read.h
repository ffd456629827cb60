/* SPDX-License-Identifier: MIT
 * The settings of a model directory, resolved from all their sources.
 */
#ifndef AOEI_MODELDIR_SETTINGS_READ_H
#define AOEI_MODELDIR_SETTINGS_READ_H

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Fills `s` (free with aoei_settings_free). For each setting the first source that states it decides: the options, aoe.json,
 * the sentence-transformers files, the default. *record: the training record of aoe.json (new reference), or NULL. On failure
 * `s` is empty and *record NULL. Errors: AOE_EARG (an option that the model does not support), AOE_EFORMAT, AOE_EUNSUPPORTED,
 * AOE_ENOMEM. */
int aoei_settings_read(aoei_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err);

#endif
