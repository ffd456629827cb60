/* SPDX-License-Identifier: MIT
 * Finds architectures by name, and reads config.json.
 */
#pragma once

#include <jansson.h>

#include "encoder/config.h"

/* Returns the architecture with this "model_type", or NULL if there is none. */
const aoei_arch *aoei_arch_find(const char *model_type);
/* Returns the names of all architectures, separated by commas, for error messages. */
const char *aoei_arch_names(void);
/* Reads a parsed config.json into *c and checks the range of every size. `file` is the name of the file in messages.
 * Errors: AOE_EFORMAT (a value is invalid); AOE_EUNSUPPORTED (the message names the unknown model_type or the
 * unsupported option). */
int aoei_config_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
