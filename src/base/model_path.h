/* SPDX-License-Identifier: MIT
 * Checks that the path of a model is a directory, and recognizes files of formats that aoe does not read.
 */
#pragma once

#include "aoe.h"

/* Returns the format of a weight file that aoe does not read, such as "GGUF", by the extension of `name`; NULL for
 * other files.
 */
const char *aoei_foreign_format(const char *name);
/* Fails if `path` is not a directory. The message says what the path is: missing (AOE_ENOENT), or an archive, a file of
 * another format or another file (AOE_EARG). */
int aoei_check_model_dir(const char *path, aoe_error *err);
