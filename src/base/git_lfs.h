/* SPDX-License-Identifier: MIT
 * Recognizes the pointer files that a git clone without Git LFS contains in place of large files.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Returns AOE_EFORMAT, with a message that names `path`, if data[size] is the content of a Git LFS pointer; otherwise
 * 0. */
int aoei_git_lfs_check(const void *data, size_t size, const char *path, aoe_error *err);
