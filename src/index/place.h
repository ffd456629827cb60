/* SPDX-License-Identifier: MIT
 * Where the directory of an index is: its file system, and the device, inode and time of birth that identify it.
 *
 * SQLite's write-ahead log (WAL) needs memory that all processes share, which network file systems do not offer. A
 * writer on such a file system uses a rollback journal instead.
 */
#pragma once

#include "aoe.h"

/* How a reader opens a database. */
typedef enum aoei_place_access {
    AOEI_PLACE_SHARED,     /* files can be created and changed in the directory */
    AOEI_PLACE_READ_ONLY,  /* the directory or its file system cannot be written, and there is a log (-wal) */
    AOEI_PLACE_UNCHANGING, /* the same, without a log: no process writes to the database now */
} aoei_place_access;

/* Returns 1 if the directory is on a network file system (NFS, SMB, FUSE, 9P, AFS, Ceph, Lustre ...). */
int aoei_place_is_network(const char *dir);
/* Tests: 1 lets aoei_place_is_network return 1 for all directories. */
void aoei_place_assume_network(int on);
/* Returns how a reader can open the database `path` in `dir`. */
aoei_place_access aoei_place_access_of(const char *dir, const char *path);
/* Returns 1 if the database `path` has a write-ahead log that is not empty. */
int aoei_place_has_log(const char *path);
/* Returns 1 if the directory of an index or its database `path` belongs to another user than the effective user and
 * root. That user can write to the index, so it must not make this process read other files. */
int aoei_place_is_foreign(const char *dir, const char *path);
/* Returns a text that identifies a directory on this machine: a copy of the directory has another one. The caller frees
 * it with aoei_free. Returns NULL if out of memory. */
char *aoei_place_identity(const char *dir);
