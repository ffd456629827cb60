/* SPDX-License-Identifier: MIT
 * Locks directories with flock.
 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* Returns 1 if `dir` is the path of the open directory. */
static int is_path_of(const char *dir, int fd) {
    struct stat named, opened;
    return !stat(dir, &named) && !fstat(fd, &opened) && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

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
    if (!is_path_of(dir, fd)) { /* the process that held the lock removed or replaced the directory */
        close(fd);
        return aoei_fail(err, AOE_ENOENT, "%s: another process removed this directory just now; try again", dir);
    }
    *lock = (aoei_lock){.held = 1, .fd = fd};
    return 0;
}

void aoei_unlock(aoei_lock *lock) {
    if (lock->held)
        close(lock->fd);
    *lock = (aoei_lock){0};
}
