/* SPDX-License-Identifier: MIT
 * The output directory of a run. It is created and locked before any input is read.
 */
#ifndef AOEI_TRAIN_OUTPUT_DIR_H
#define AOEI_TRAIN_OUTPUT_DIR_H

#include "base/lock.h"

typedef struct aoei_output_dir {
    const char *path; /* borrowed; NULL: not open */
    size_t created;   /* number of directories created by aoei_output_dir_open, the last components of path */
    aoei_lock lock;   /* lock of the directory */
} aoei_output_dir;

/* Creates the directory and missing parents, and locks the directory for this process. On failure *d is zeroed. Errors:
 * AOE_EEXIST (another run uses the directory, or a file has this path), AOE_EIO, AOE_ENOMEM. */
int aoei_output_dir_open(aoei_output_dir *d, const char *path, aoe_error *err);
/* Removes the directories that were created and are still empty, and unlocks the directory. Accepts a zeroed struct. */
void aoei_output_dir_close(aoei_output_dir *d);

#endif
