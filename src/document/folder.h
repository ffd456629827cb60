/* SPDX-License-Identifier: MIT
 * The files of a folder that can be documents. Their paths are relative to the folder and in the order of their bytes.
 *
 * Not listed: hidden files and folders (names that begin with a dot), folders of version control, the directory of the
 * index, and what the ignore files (document/ignore_files.h) and the patterns of the caller exclude.
 * Listed with a reason, but never opened: devices, FIFOs and sockets; names with control characters or invalid UTF-8;
 * symbolic links to something outside the folder. A link to a file or folder inside is followed unless it is hidden,
 * but a file that is also reachable without links, or through another link, is listed once.
 * All files are opened from the descriptor of the folder, one component after the other, without following links.
 * Therefore, a folder that is replaced by a link while the walk runs does not lead outside.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/text_store.h"

/* Reason why a file is not read. */
typedef enum aoei_skip {
    AOEI_SKIP_NONE,       /* the file can be read */
    AOEI_SKIP_UNREADABLE, /* opening or reading failed; `errnum` says why. The path of a folder ends with a slash */
    AOEI_SKIP_NAME,       /* the name contains control characters or invalid UTF-8, or the path is too long */
    AOEI_SKIP_SPECIAL,    /* a device, a FIFO or a socket */
    AOEI_SKIP_LINK,       /* a symbolic link to a missing file, outside the folder, or into version control */
    AOEI_SKIP_LARGE,      /* more than AOEI_FILE_LARGEST bytes */
    AOEI_SKIP_CHANGING,   /* the file changed while it was read, twice */
    AOEI_SKIP_BINARY,     /* not a text (document/file_text.h) */
} aoei_skip;

#define AOEI_FILE_LARGEST ((uint64_t)256 << 20) /* maximum size of a file in bytes */

typedef struct aoei_file {
    const char *path;           /* relative to the folder, owned by it. Raw bytes if skip is AOEI_SKIP_NAME */
    const char *real;           /* relative path without symbolic links, owned by the folder */
    uint64_t size;              /* bytes */
    int64_t mtime_ns, ctime_ns; /* nanoseconds since 1970 */
    uint64_t inode, device;
    aoei_skip skip;
    int errnum; /* AOEI_SKIP_UNREADABLE, AOEI_SKIP_LINK: error number; 0: unknown */
} aoei_file;

typedef struct aoei_folder {
    char *root;      /* absolute path without symbolic links, owned */
    int fd;          /* descriptor of the folder, owned */
    aoei_file *file; /* [n] owned, in the order of the bytes of `path` */
    size_t n, capacity;
    aoei_chunks text; /* bytes of the paths */
} aoei_folder;

typedef struct aoei_folder_options {
    const char *const *exclude; /* [n_exclude] patterns as in .gitignore; they have priority over the files */
    size_t n_exclude;
    const char *skip; /* directory of the index; NULL: none */
    /* Called for each folder with the number of files found so far. A value other than 0 ends the walk with
     * AOE_ECANCELLED. NULL: not called. */
    int (*progress)(void *user, size_t files);
    void *user;
} aoei_folder_options;

/* Lists the files of a folder. `path` itself may be a symbolic link. The caller calls aoei_folder_close. Errors:
 * AOE_ENOENT, AOE_EARG (not a folder), AOE_EIO (the folder cannot be read, or an I/O error below it; files must not
 * disappear from the index because of it), AOE_EFORMAT (an ignore file is too large or contains a pattern that is too
 * long), AOE_ENOMEM, AOE_ECANCELLED. */
int aoei_folder_open(aoei_folder **f, const char *path, const aoei_folder_options *o, aoe_error *err);
/* Opens the parent folder of a file and lists only this file. Errors: AOE_ENOENT, AOE_EARG (not a regular file),
 * AOE_EIO, AOE_ENOMEM. */
int aoei_folder_open_file(aoei_folder **f, const char *path, aoe_error *err);
void aoei_folder_close(aoei_folder *f); /* accepts NULL */

/* Reads a file of the folder into *data, a NUL follows the last byte, and sets its size and times to those of the
 * contents that were read. The caller frees *data with aoei_free. If the file cannot be read, sets *data to NULL and
 * file->skip, and returns 0. A file whose size or time changes while it is read is read a second time.
 * Errors: AOE_ENOMEM. */
int aoei_folder_read(const aoei_folder *f, aoei_file *file, char **data, aoe_error *err);
/* Sets the size and times of a file to its current values, or file->skip if it is no longer a regular file. */
void aoei_folder_stat(const aoei_folder *f, aoei_file *file);
/* Returns the absolute path of a file without symbolic links, owned by the caller (aoei_free); NULL if out of memory.
 */
char *aoei_folder_full_path(const aoei_folder *f, const aoei_file *file);
/* Returns the reason as the second half of a sentence, such as "is a device, a FIFO or a socket". */
const char *aoei_skip_text(aoei_skip skip);
