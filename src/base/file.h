/* SPDX-License-Identifier: MIT
 * Files: read-only mappings, whole-file reads, and writing so that a file or
 * a directory is never seen half-written (write beside, fsync, rename).
 */
#ifndef AOEI_BASE_FILE_H
#define AOEI_BASE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "aoe.h"

typedef struct aoei_map {
    const unsigned char *data; /* [size], read-only; NULL when size is 0 */
    size_t size;               /* bytes */
    void *handle;              /* private: a copy in memory where the file cannot be mapped (pipes) */
} aoei_map;

int aoei_map_open(aoei_map *m, const char *path, aoe_error *err); /* AOE_ENOENT, AOE_EIO; a directory is refused */
void aoei_map_drop(const aoei_map *m); /* gives back the pages in memory; reading them again loads them again */
void aoei_map_close(aoei_map *m);      /* accepts a zeroed map */

/* Whole file in memory, NUL-terminated beyond *size; free with aoei_free. max_bytes 0: no limit. */
int aoei_read_file(char **data, size_t *size, const char *path, size_t max_bytes, aoe_error *err);

/* A file being written beside its final name (".NAME.tmp-PID-N"). commit: flush, fsync, rename, fsync the directory;
 * the writer is then empty. When commit fails the old file, if any, is untouched, but for a failure of the very last
 * step: then the new file is in place, complete. abort (also of a zeroed one, after commit, and after a failed commit)
 * removes the temporary file. A link is replaced, not followed; what is no regular file is refused (AOE_EARG). */
typedef struct aoei_writer {
    FILE *file;      /* write here; errors may be left for commit to find (ferror) */
    char *path;      /* final name, owned */
    char *temp_path; /* owned */
} aoei_writer;

int aoei_writer_open(aoei_writer *w, const char *path, aoe_error *err);
int aoei_writer_write(aoei_writer *w, const void *data, size_t bytes, aoe_error *err);
int aoei_writer_commit(aoei_writer *w, aoe_error *err);
void aoei_writer_abort(aoei_writer *w);
int aoei_write_file(const char *path, const void *data, size_t bytes, aoe_error *err); /* open, write, commit */

/* Fault injection for tests: the n-th step that changes the disk from now (open for writing, write, flush, fsync,
 * rename, mkdir, remove) fails with errnum without being done; 0 turns it off. aoei_io_count() counts steps since the
 * last aoei_io_fail_at(). aoei_io_step() is called before each step: 0, or -1 with errno set. */
void aoei_io_fail_at(uint64_t n, int errnum);
uint64_t aoei_io_count(void);
int aoei_io_step(void);

int aoei_make_dir(const char *path, aoe_error *err);    /* with parents; an existing directory is fine */
int aoei_remove_tree(const char *path, aoe_error *err); /* a missing path is fine; does not follow links */
int aoei_same_path(const char *a, const char *b);       /* 1: both exist and are the same place; NULL accepted */
/* 1 when path, which exists, is dir or lies below it. */
int aoei_path_within(const char *path, const char *dir);
int aoei_exists(const char *path);                             /* 1 or 0 */
int aoei_is_dir(const char *path);                             /* 1 or 0 */
int aoei_check_writable_dir(const char *path, aoe_error *err); /* the directory, or its nearest existing parent, takes files */
int aoei_rename(const char *from, const char *to, aoe_error *err); /* and fsync of the parent directory */
int aoei_sync_dir(const char *path, aoe_error *err);
int aoei_sync_parent(const char *path, aoe_error *err);  /* the directory that holds path */
char *aoei_path_join(const char *dir, const char *name); /* "dir/name", free with aoei_free; NULL: no memory */
char *aoei_full_path(const char *path); /* from the root on, without links; of what is not there `path` itself */
/* Sorted names in a directory without "." and ".."; free each and the array with aoei_free. */
int aoei_list_dir(char ***names, size_t *n, const char *path, aoe_error *err);
void aoei_list_free(char **names, size_t n);

/* A directory taken by one process: an advisory lock that goes with the process. Zeroed: not held. */
typedef struct aoei_lock {
    int held;
    int fd; /* when held */
} aoei_lock;

int aoei_lock_dir(aoei_lock *lock, const char *dir, aoe_error *err); /* AOE_EEXIST when another process holds it */
void aoei_unlock(aoei_lock *lock);                                   /* accepts a zeroed one */

#endif
