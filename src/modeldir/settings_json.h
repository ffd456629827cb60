/* SPDX-License-Identifier: MIT
 * aoe.json: the settings of a model directory in aoe's own form, and the record of the training run that wrote it.
 */
#ifndef AOEI_MODELDIR_SETTINGS_JSON_H
#define AOEI_MODELDIR_SETTINGS_JSON_H

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Fills the settings that `s` does not have yet from DIR/aoe.json, if the file exists. *record: its training record (new
 * reference); unchanged if there is none. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (a newer format_version), AOE_ENOMEM. */
int aoei_settings_json_read(aoei_partial_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                            aoe_error *err);
/* Returns aoe.json for these settings and a training record (borrowed; may be NULL) as a new reference; NULL: out of memory. */
json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record);

#endif
