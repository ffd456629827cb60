/* SPDX-License-Identifier: MIT
 * The output directory of a run, created and locked before anything is read.
 */
#ifndef AOEI_TRAIN_OUTPUT_DIR_H
#define AOEI_TRAIN_OUTPUT_DIR_H

#include "base/lock.h"

typedef struct aoei_output_dir {
    const char *path; /* borrowed; NULL: not open */
    size_t created;   /* directories that opening created: the last `created` components of path */
    aoei_lock lock;   /* of the directory */
} aoei_output_dir;

/* Creates the directory, with its parents, and locks it for this process. On failure *d is zeroed. Errors: AOE_EEXIST (another
 * run uses it, or a file is in the way), AOE_EIO, AOE_ENOMEM. */
int aoei_output_dir_open(aoei_output_dir *d, const char *path, aoe_error *err);
/* Removes the created directories that are still empty and unlocks the directory. Accepts a zeroed struct. */
void aoei_output_dir_close(aoei_output_dir *d);

#endif
