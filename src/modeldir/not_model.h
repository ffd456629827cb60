/* SPDX-License-Identifier: MIT
 * Error messages for directories that are not model directories. The messages name what the directory contains instead.
 */
#pragma once

#include "aoe.h"

/* Fails with AOE_ENOENT because `dir` contains no config.json. */
int aoei_fail_no_config(const char *dir, aoe_error *err);
/* Fails with AOE_ENOENT because `dir` contains no weights. */
int aoei_fail_no_weights(const char *dir, aoe_error *err);
/* Fails with AOE_EARG if modules.json in the parent of `dir` lists `dir` as a module that is not a model of its own,
 * such as Pooling or Dense. */
int aoei_reject_module_dir(const char *dir, aoe_error *err);
