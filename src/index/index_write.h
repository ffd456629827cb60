/* SPDX-License-Identifier: MIT
 * Changes of an index. All changes since the last commit are one SQLite transaction, which begins with the first
 * change. Rows of vectors are appended to the vector files at once, but a row counts only if a commit names it.
 *
 * New documents are queued, so that the passages of many documents are embedded together and written together.
 * If a function fails because of its arguments, the changes of this call are undone and the others are kept. If SQLite
 * had to end the transaction (for example because the disk is full), all changes since the last commit are lost, and
 * the message says so. In both cases the index can be used further.
 */
#pragma once

#include "index/index.h"

/* State of a file of a source. Files that were not indexed also have a record, so that they are read again only after
 * they change. */
typedef enum aoei_file_state {
    AOEI_FILE_INDEXED,    /* its documents are in the index */
    AOEI_FILE_BINARY,     /* skipped: binary file */
    AOEI_FILE_UNREADABLE, /* skipped: no permission, or an I/O error */
    AOEI_FILE_PROGRAM,    /* skipped: the program for this type is missing or failed */
    AOEI_FILE_OTHER       /* skipped for another reason */
} aoei_file_state;

/* A recorded folder or table. */
typedef struct aoei_source_record {
    int64_t id;
    char *path;        /* absolute path, owned */
    int kind;          /* meaning defined by update.c, such as folder or table */
    char *text_column; /* owned; NULL: none */
    char *id_column;   /* owned; NULL: none */
    char *excludes;    /* JSON array of patterns, owned; NULL: none */
} aoei_source_record;

/* A recorded file. */
typedef struct aoei_file_record {
    int64_t id;       /* 0 in a new record */
    int64_t source;   /* id of its source */
    const char *path; /* path relative to the source; the path of the table if the source is a table. Borrowed */
    uint64_t size;
    int64_t mtime_ns, ctime_ns; /* nanoseconds since 1970 */
    uint64_t inode;
    uint64_t hash; /* of the contents */
    aoei_file_state state;
} aoei_file_record;

/* Numbers of what was done since the index was opened. */
typedef struct aoei_write_counts {
    size_t added, changed, removed, unchanged; /* documents */
    size_t passages;                           /* passages written */
    size_t reused;                             /* of these, with a vector that was already in the index */
    size_t tokens;                             /* tokens of the passages that were embedded */
} aoei_write_counts;

/* ----------------------------------------------------- transaction of a writer */

/* Begins the transaction, unless it has begun. All functions below call it. Errors: AOE_EARG (the index was opened for
 * reading), AOE_EIO (another program has locked the database). */
int aoei_write_begin(aoe_index *index, aoe_error *err);
/* Embeds and writes the queued documents. If it fails, none of them is written, and the queue is empty. */
int aoei_write_flush(aoe_index *index, aoe_error *err);
/* Calls aoei_write_flush and commits, also if nothing changed. aoe_index_commit is equal to it. If it fails, all
 * changes since the last commit are lost. */
int aoei_write_commit(aoe_index *index, aoe_error *err);
/* Undoes all changes since the last commit. */
void aoei_write_rollback(aoe_index *index);
/* Returns the counts so far; queued documents are not included. */
aoei_write_counts aoei_write_counted(const aoe_index *index);
/* Returns the number of passages in the queue. */
size_t aoei_write_queued(const aoe_index *index);

/* ------------------------------------------------------------------- documents */

/* Adds or replaces a document of a file (file: id of its record; 0: no file). All contents are copied. The document is
 * queued, and the queue is written if it is long enough. A document that is equal to the one in the index is not
 * written again, but moved to `file`. Errors: AOE_EFORMAT (invalid UTF-8; empty name), AOE_EARG (no embedder and no
 * vector), and those of aoei_write_flush. */
int aoei_write_document(aoe_index *index, const aoe_index_document *d, int64_t file, aoe_error *err);
/* Removes a document. *removed is set to 1 if it existed, otherwise 0. */
int aoei_write_remove(aoe_index *index, const char *name, int *removed, aoe_error *err);
/* Between begin and end, the caller writes all documents of a file. aoei_write_file_end removes the documents of the
 * file that were in the index before and were not written. Only one file at a time. end calls aoei_write_flush only if
 * there are such documents, so many small files share one queue. */
int aoei_write_file_begin(aoe_index *index, int64_t file, aoe_error *err);
int aoei_write_file_end(aoe_index *index, aoe_error *err);

/* --------------------------------------------------------- sources and files */

/* Reads all sources of the last commit, or of the open transaction in a writer, in the order of their ids. The caller
 * calls aoei_sources_free. */
int aoei_sources_read(aoe_index *index, aoei_source_record **sources, size_t *n, aoe_error *err);
void aoei_sources_free(aoei_source_record *sources, size_t n);
/* Adds a source, or replaces the record of the same path. Sets source->id. */
int aoei_source_write(aoe_index *index, aoei_source_record *source, aoe_error *err);
/* Removes a source with all of its files and documents. */
int aoei_source_remove(aoe_index *index, int64_t source, aoe_error *err);

/* Calls fn for each recorded file of a source, in the order of the bytes of their paths. fn must not change the index;
 * the strings are valid during the call. If fn returns a value other than 0, the function stops and returns it. */
typedef int (*aoei_file_fn)(void *user, const aoei_file_record *f, aoe_error *err);
int aoei_files_read(aoe_index *index, int64_t source, aoei_file_fn fn, void *user, aoe_error *err);
/* Adds a file (f->id is 0, and is set) or changes its record. */
int aoei_file_write(aoe_index *index, aoei_file_record *f, aoe_error *err);
/* Removes the record of a file, with its documents. */
int aoei_file_remove(aoe_index *index, int64_t file, aoe_error *err);
/* Removes the documents of a file, and keeps its record. */
int aoei_file_clear(aoe_index *index, int64_t file, aoe_error *err);
