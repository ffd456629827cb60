/* SPDX-License-Identifier: MIT
 * Reads and writes aoe.json, which contains the settings of a model and the record of its training run.
 */
#ifndef AOEI_MODELDIR_SETTINGS_JSON_H
#define AOEI_MODELDIR_SETTINGS_JSON_H

#include <jansson.h>

#include "encoder/config.h"
#include "modeldir/settings.h"

/* Sets the settings that are not yet set in `s` from DIR/aoe.json, if the file exists. *record is set to the training record
 * (new reference); it is unchanged if there is none. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED (a newer format_version),
 * AOE_ENOMEM. */
int aoei_settings_json_read(aoei_partial_settings *s, json_t **record, const char *dir, const aoei_encoder_config *c,
                            aoe_error *err);
/* Returns the contents of aoe.json as a new reference, or NULL if an allocation fails. record: training record, borrowed, or
 * NULL. */
json_t *aoei_settings_to_json(const aoei_settings *s, json_t *record);

#endif
