/* SPDX-License-Identifier: MIT
 * Creates, lists, renames, removes and syncs directories.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* Creates a directory and its parents; an existing directory is not an error. Errors: AOE_EEXIST if a file has this
 * name, AOE_EARG for an empty name, AOE_ENOMEM, AOE_EIO. */
int aoei_make_dir(const char *path, aoe_error *err);
/* Removes a file, a link or a directory with everything inside it. A missing path is not an error. Links are not
 * followed. */
int aoei_remove_tree(const char *path, aoe_error *err);
/* Checks that files can be created in the directory, or, if it does not exist, in its nearest existing parent. Errors:
 * AOE_EEXIST if `path` or the nearest existing parent is not a directory, AOE_ENOMEM, and the errors of
 * aoei_fail_errno. */
int aoei_check_writable_dir(const char *path, aoe_error *err);
/* Renames `from` to `to` and syncs the directory that contains `to`. */
int aoei_rename(const char *from, const char *to, aoe_error *err);
/* Syncs a directory, so that the names in it survive a power failure. */
int aoei_sync_dir(const char *path, aoe_error *err);
/* Syncs the directory that contains path. */
int aoei_sync_parent(const char *path, aoe_error *err);
/* Sets *names to the names in a directory, sorted by bytes, without "." and "..". The caller frees *names with
 * aoei_list_free.
 */
int aoei_list_dir(char ***names, size_t *n, const char *path, aoe_error *err);
void aoei_list_free(char **names, size_t n);
/* Fails with AOE_ENOSPC if the file system of the directory has less free space than `needed` bytes. what: what needs
 * the space, such as "the download". remedy: advice at the end of the message. Returns 0 if the free space is
 * unknown. */
int aoei_check_free_space(const char *dir, uint64_t needed, const char *what, const char *remedy, aoe_error *err);
