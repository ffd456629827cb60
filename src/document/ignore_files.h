/* SPDX-License-Identifier: MIT
 * The ignore files that are valid in a folder: the files .gitignore and .aoeignore of the folder and of the folders
 * above it, and .git/info/exclude.
 *
 * The folders above the one that is walked count if it belongs to a git repository: those up to the nearest folder that
 * contains .git. As in ripgrep, the patterns of these folders are compared with what is below the walked folder, so a
 * folder that is itself excluded can be walked nevertheless.
 * Priority: .aoeignore files, the deepest first; .gitignore files, the deepest first; .git/info/exclude.
 */
#pragma once

#include "aoe.h"
#include "document/ignore.h"

/* Patterns of one folder and, through its parent, those of the folders above. */
typedef struct aoei_ignore_level aoei_ignore_level;

/* State of a walk. A zeroed struct owns nothing. */
typedef struct aoei_ignore_files {
    const char *root;         /* absolute path of the walked folder without symbolic links, borrowed */
    aoei_ignore_level *level; /* all levels, owned */
    char *full;               /* path of the walked folder below the top of its repository, with a slash at its end, and
                                 space for a path below it; owned; NULL: no folder above has patterns */
    size_t above, capacity;   /* length of this path, and number of bytes of `full` */
} aoei_ignore_files;

/* Begins a walk, and reads the ignore files above `root`. Sets *above to their patterns, NULL if there are none.
 * Errors: as aoei_ignore_files_read. After an error, the caller also calls aoei_ignore_files_free. */
int aoei_ignore_files_begin(aoei_ignore_files *f, const char *root, const aoei_ignore_level **above, aoe_error *err);
/* Reads the ignore files of an open folder. path: its path below the walked folder; "": the walked folder. up: patterns
 * of its parent. Sets *level to the patterns that are valid in the folder; they live as long as f. A symbolic link with
 * the name of an ignore file is ignored, as in git, and so is .git/info/exclude if .git may not be read. Errors:
 * AOE_EFORMAT (a file is too large, or has a pattern that is too long), AOE_EIO, AOE_ENOMEM. */
int aoei_ignore_files_read(aoei_ignore_files *f, int fd, const char *path, const aoei_ignore_level *up,
                           const aoei_ignore_level **level, aoe_error *err);
/* Compares a path below the walked folder with the patterns of its folder and of those above. */
aoei_ignore_match aoei_ignore_files_find(aoei_ignore_files *f, const aoei_ignore_level *level, const char *path,
                                         int is_dir);
void aoei_ignore_files_free(aoei_ignore_files *f); /* accepts a zeroed struct */
