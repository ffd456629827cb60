/* SPDX-License-Identifier: MIT
 * Checks the keys of all JSON files of a model.
 */
#pragma once

#include "base/log.h"
#include "modeldir/model_files.h"

/* Checks the keys of the JSON files of the open model f with the configuration c (json_keys.h). Writes one warning to
 * `log` for each file with unknown keys. Files that do not exist, and files whose contents other functions reject, are
 * ignored. Errors: AOE_EUNSUPPORTED (a key has a value that is not supported), AOE_EFORMAT (invalid JSON), AOE_EIO,
 * AOE_ENOMEM. */
int aoei_model_keys_check(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_log *log, aoe_error *err);
