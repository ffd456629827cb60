/* SPDX-License-Identifier: MIT
 * Advisory locks on directories, so that only one process writes to a directory.
 */
#pragma once

#include "aoe.h"

/* A lock on a directory. The system releases the lock when the process ends. A zeroed struct is a lock that is not
 * held. */
typedef struct aoei_lock {
    int held; /* 1 if the lock is held */
    int fd;   /* file descriptor of the directory; owned; valid only if held is 1 */
} aoei_lock;

/* Locks the directory without waiting. Errors: AOE_EEXIST if another process holds the lock, AOE_ENOENT, also if the
 * process that held the lock removed the directory, AOE_EIO. */
int aoei_lock_dir(aoei_lock *lock, const char *dir, aoe_error *err);
/* Releases the lock. Does nothing if the lock is not held. */
void aoei_unlock(aoei_lock *lock);
