/* SPDX-License-Identifier: MIT
 * Opens files below a directory without following symbolic links. openat2() of Linux does this in one call, but is
 * missing in older kernels and in emulators; these functions open one component after the other.
 */
#pragma once

#include <stddef.h>

/* Opens a relative path below the directory `dir` with the flags of open(). No component may be a symbolic link or
 * "..". "" is the directory itself. Never waits for the other end of a FIFO, and never makes a terminal the controlling
 * terminal. Returns a descriptor, or -1 with errno set (ELOOP for a link, ENOTDIR, EXDEV for ".."). */
int aoei_open_beneath(int dir, const char *path, int flags);
