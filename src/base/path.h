/* SPDX-License-Identifier: MIT
 * Paths: joining, comparing and resolving them, and testing what exists.
 */
#ifndef AOEI_BASE_PATH_H
#define AOEI_BASE_PATH_H

#include "aoe.h"

/* 1 if path exists, else 0. Symbolic links are followed. */
int aoei_exists(const char *path);
/* 1 if path is a directory or a link to one, else 0. */
int aoei_is_dir(const char *path);
/* "dir/name". The caller frees it with aoei_free. NULL: out of memory. */
char *aoei_path_join(const char *dir, const char *name);
/* The last component of path, "" if path ends in a slash. Points into path. */
const char *aoei_path_name(const char *path);
/* A label for paths[i] in results: its last component without trailing slashes, or the whole path if another of the n paths has
 * an equal last component. The caller frees it with aoei_free. NULL: out of memory. */
char *aoei_path_label(const char *const *paths, size_t n, size_t i);
/* The directory that contains path, "." if path has no directory part. The caller frees it. NULL: out of memory. */
char *aoei_path_parent(const char *path);
/* The absolute path without symbolic links, or a copy of `path` if it does not exist. The caller frees it. NULL: out of
 * memory. */
char *aoei_full_path(const char *path);
/* 1 if both paths exist and are the same file or directory, else 0. NULL is accepted. */
int aoei_same_path(const char *a, const char *b);
/* 1 if path, which must exist, is `dir` or is inside it, else 0. NULL is accepted. */
int aoei_path_within(const char *path, const char *dir);
/* Follows a chain of symbolic links. *target is the path at its end, which need not exist, or a copy of `path` if `path` is
 * not a link. The caller frees *target. Errors: AOE_EIO for a loop of links, AOE_ENOMEM. */
int aoei_follow_links(char **target, const char *path, aoe_error *err);

#endif
