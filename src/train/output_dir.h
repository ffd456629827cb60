/* SPDX-License-Identifier: MIT
 * The output directory of a training run. The run creates and locks it before any input is read.
 */
#ifndef AOEI_TRAIN_OUTPUT_DIR_H
#define AOEI_TRAIN_OUTPUT_DIR_H

#include "base/lock.h"

typedef struct aoei_output_dir {
    const char *path; /* path of the directory; NULL: not open; borrowed */
    size_t created;   /* number of directories that aoei_output_dir_open created: the last `created` components of path */
    aoei_lock lock;   /* lock that keeps other runs out of the directory */
} aoei_output_dir;

/* Creates the directory and its missing parents, and locks it for this process. On failure *d is zeroed. Errors: AOE_EEXIST
 * (another run uses the directory, or the path is a file), AOE_EIO, AOE_ENOMEM. */
int aoei_output_dir_open(aoei_output_dir *d, const char *path, aoe_error *err);
/* Removes the directories that aoei_output_dir_open created if they are still empty, and unlocks the directory. Accepts a
 * zeroed struct. */
void aoei_output_dir_close(aoei_output_dir *d);

#endif
