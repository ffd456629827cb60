/* SPDX-License-Identifier: MIT
 * Reads an open file and tests whether another program changed it in the meantime. The file is not mapped, so that a
 * file that becomes shorter cannot end the process.
 */
#pragma once

#include <sys/stat.h>

#include "aoe.h"

/* Reads a regular file from its begin into *data; a NUL follows the last byte. before: what fstat returned, which
 * determines the size. The caller frees *data with aoei_free. Sets *data to NULL, and *errnum to the number of the
 * error, if reading failed, or to 0 if the size or the time of the last change changed. Errors: AOE_ENOMEM. */
int aoei_read_unchanged(char **data, int fd, const struct stat *before, int *errnum, aoe_error *err);
