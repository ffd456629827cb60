/* SPDX-License-Identifier: MIT
 * Determines the settings of a model directory from all their sources.
 */
#ifndef AOEI_MODELDIR_SETTINGS_READ_H
#define AOEI_MODELDIR_SETTINGS_READ_H

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Sets *s, which is freed with aoei_settings_free. The value of a setting comes from the first source that specifies it: the
 * options, aoe.json, the sentence-transformers files, config.json, the default of the architecture. *record is set to the
 * training record in aoe.json (new reference), or to NULL. On failure *s is zeroed and *record NULL. Errors: AOE_EARG (an
 * option that the model does not support), AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_settings_read(aoei_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err);

#endif
