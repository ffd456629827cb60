/* SPDX-License-Identifier: MIT
 * Creates, locks and closes the output directory of a training run. A run creates and locks the directory before it
 * reads any input.
 */
#pragma once

#include "base/lock.h"

typedef struct aoei_output_dir {
    const char *path; /* path of the directory; NULL if it is not open; borrowed */
    /* number of directories that aoei_output_dir_open has created: `path` and some of its parent directories */
    size_t created;
    aoei_lock lock; /* lock that keeps other runs out of the directory */
} aoei_output_dir;

/* Creates the directory and its missing parent directories, and locks it. If this fails, *d is zeroed. Errors:
 * AOE_EEXIST if another run uses the directory or path is a file, AOE_EIO, AOE_ENOMEM. */
int aoei_output_dir_open(aoei_output_dir *d, const char *path, aoe_error *err);
/* Unlocks the directory. Directories that aoei_output_dir_open created are removed if they are still empty. Accepts a
 * zeroed struct. */
void aoei_output_dir_close(aoei_output_dir *d);
