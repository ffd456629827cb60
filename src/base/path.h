/* SPDX-License-Identifier: MIT
 * Joins, compares and resolves paths, and tests whether files exist.
 */
#pragma once

#include <sys/types.h>

#include "aoe.h"

enum { AOEI_EXTENSION_BYTES = 64 }; /* size of an extension with its NUL; a longer one is none */

/* Returns 1 if path exists, otherwise 0. Symbolic links are followed. */
int aoei_exists(const char *path);
/* Checks the path of a file that a model directory may contain. Returns 0 if it is a file or does not exist. Errors:
 * AOE_ENOENT (a symbolic link to a missing file, for example in an incomplete copy of a cache), AOE_EFORMAT (a
 * directory), AOE_EIO (for example, a folder may not be searched). */
int aoei_check_optional_file(const char *path, aoe_error *err);
/* Returns 1 if path is a directory or a symbolic link to a directory, otherwise 0. */
int aoei_is_dir(const char *path);
/* Returns 1 if path belongs neither to `user` nor to root, who can change everything anyway; otherwise, and if it does
 * not exist, 0. Of a symbolic link, the owners of the link and of its target count. */
int aoei_has_other_owner(const char *path, uid_t user);
/* Returns "dir/name", which the caller frees with aoei_free, or NULL if out of memory. */
char *aoei_path_join(const char *dir, const char *name);
/* Returns a pointer into path to its last component, which is "" if path ends in a slash. */
const char *aoei_path_name(const char *path);
/* Writes the extension of a path, without its dot and in lower-case ASCII letters, to ext[AOEI_EXTENSION_BYTES].
 * Returns 0 if the path has no extension or a longer one; ext is then "". The name `.profile` has no extension. */
int aoei_path_extension(const char *path, char ext[AOEI_EXTENSION_BYTES]);
/* Returns 1 if `name` ends with `end`, otherwise 0. */
int aoei_name_ends_with(const char *name, const char *end);
/* Returns a label for paths[i] in tables of results. The label is the last component of paths[i]. If a different path
 * in paths[n] has the same last component, the label is the whole path. The caller frees it with aoei_free. Returns
 * NULL if out of memory. */
char *aoei_path_label(const char *const *paths, size_t n, size_t i);
/* Returns the directory that contains path, or "." if path has no directory part. The caller frees it with aoei_free.
 * Returns NULL if out of memory. */
char *aoei_path_parent(const char *path);
/* Returns the absolute path without symbolic links, or a copy of `path` if it does not exist. The caller frees it with
 * aoei_free. Returns NULL if out of memory. */
char *aoei_full_path(const char *path);
/* Returns 1 if both paths exist and are the same file or directory, otherwise 0. A path may be NULL; the result is then
 * 0. */
int aoei_same_path(const char *a, const char *b);
/* Returns 1 if path exists and is `dir` or inside `dir`, otherwise 0. An argument may be NULL; the result is then 0. */
int aoei_path_within(const char *path, const char *dir);
/* Follows symbolic links, including links to links. Sets *target to the path that the last link contains; this path
 * need not exist. If `path` is not a link, *target is a copy of `path`. The caller frees *target with aoei_free.
 * Errors: AOE_EIO for a loop of links, AOE_ENOMEM. */
int aoei_follow_links(char **target, const char *path, aoe_error *err);
/* Returns 1 if an existing path that a file in `dir` contains may lead into the folder that contains `dir`: the path is
 * relative, has symbolic links, or is inside this folder. Whoever made `dir` could have put something there. */
int aoei_path_is_foreign(const char *path, const char *dir);
