/* SPDX-License-Identifier: MIT
 * Reads and writes aoe.json, which contains the settings of a model and its training record.
 */
#pragma once

#include <jansson.h>

#include "base/file_cache.h"
#include "encoder/config.h"
#include "modeldir/settings.h"

/* Reads DIR/aoe.json, if the file exists, and sets the settings that are not set in `s` yet. If the file exists, sets
 * *record to the training record in the file as a new reference, or to NULL if there is none. If the file does not
 * exist, *record is not changed. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (a newer format_version), AOE_ENOMEM. */
int aoei_settings_json_read(aoei_partial_settings *s, json_t **record, aoei_model_dir dir, const aoei_encoder_config *c,
                            aoe_error *err);
/* Returns the contents of aoe.json as a new reference, or NULL if an allocation fails. record: training record,
 * borrowed; NULL: none. */
json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record);
