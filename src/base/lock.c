/* SPDX-License-Identifier: MIT
 * Locks directories with flock.
 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"

int aoei_lock_dir(aoei_lock *lock, const char *dir, aoe_error *err) {
    *lock = (aoei_lock){0};
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return aoei_fail_errno(err, errno, "cannot open the directory %s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        const int code =
            errno == EWOULDBLOCK
                ? aoei_fail(
                      err, AOE_EEXIST,
                      "%s: another run is writing to this directory; wait until it ends or choose another directory",
                      dir)
                : aoei_fail_errno(err, errno, "cannot lock the directory %s", dir);
        close(fd);
        return code;
    }
    *lock = (aoei_lock){.held = 1, .fd = fd};
    return 0;
}

void aoei_unlock(aoei_lock *lock) {
    if (lock->held)
        close(lock->fd);
    *lock = (aoei_lock){0};
}
