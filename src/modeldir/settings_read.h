/* SPDX-License-Identifier: MIT
 * Reads the settings of a model directory from all files that can contain settings.
 */
#pragma once

#include <jansson.h>

#include "base/file_cache.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Sets *s to the settings. The caller frees *s with aoei_settings_free. There are several sources: the options `o`,
 * aoe.json, the sentence-transformers files, config.json, and the defaults of the architecture. Each setting is read
 * from the first source in this order that specifies it. *record is set to the training record in aoe.json as a new
 * reference, or to NULL if there is none. If the function fails, *s is zeroed and *record is NULL. Errors: AOE_EARG
 * (the model does not support an option), AOE_EFORMAT, AOE_EUNSUPPORTED, AOE_ENOMEM. */
int aoei_settings_read(aoei_settings *s, json_t **record, aoei_model_dir dir, const aoei_encoder_config *c,
                       const aoe_model_options *o, aoe_error *err);
