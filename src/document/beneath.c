/* SPDX-License-Identifier: MIT
 * Opens the components of a path one after the other with O_NOFOLLOW.
 */
#include "document/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

int aoei_open_beneath(int dir, const char *path, int flags) {
    int at = dir; /* descriptor of the folder that was reached; owned if it is not `dir` */
    flags |= O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    for (;;) {
        char name[NAME_MAX + 1];
        const size_t len = strcspn(path, "/");
        int fd = -1;
        if (len > NAME_MAX) {
            errno = ENAMETOOLONG;
        } else {
            memcpy(name, len ? path : ".", len ? len : 1);
            name[len ? len : 1] = 0;
            if (strcmp(name, "..") == 0)
                errno = EXDEV;
            else
                fd = openat(at, name, path[len] ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC : flags);
        }
        if (at != dir) {
            const int errnum = errno;
            close(at);
            errno = errnum;
        }
        if (fd < 0 || !path[len])
            return fd;
        at = fd;
        path += len + 1;
    }
}
