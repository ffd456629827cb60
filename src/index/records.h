/* SPDX-License-Identifier: MIT
 * Records of the sources of an index (folders and tables) and of their files. Changes belong to the transaction of the
 * writer (index_write.h).
 */
#pragma once

#include "index/index_write.h"

/* State of a file of a source. Files that were not indexed also have a record, so that they are read again only after
 * they change. */
typedef enum aoei_file_state {
    AOEI_FILE_INDEXED,    /* its documents are in the index */
    AOEI_FILE_BINARY,     /* skipped: binary file */
    AOEI_FILE_UNREADABLE, /* skipped: no permission, or an I/O error */
    AOEI_FILE_PROGRAM,    /* skipped: the program for this type is missing or failed */
    AOEI_FILE_OTHER,      /* skipped for another reason */
    AOEI_FILE_FILTERED    /* its document is in the index; its text was written by a program of the caller */
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
    int64_t mtime_ns, ctime_ns; /* nanoseconds since 1970; ctime_ns is -1 if the next update reads the file */
    uint64_t inode;
    uint64_t hash; /* of the contents; 0: the documents do not belong to the current contents and settings */
    aoei_file_state state;
} aoei_file_record;

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
/* Changes the records of all files of a source so that the next update reads the files again and writes their
 * documents, even if the files do not change. A file whose document was removed with aoe_index_remove stays removed,
 * unless it is a table, whose rows are documents. */
int aoei_files_forget(aoe_index *index, int64_t source, aoe_error *err);
/* Removes the record of a file, with its documents. */
int aoei_file_remove(aoe_index *index, int64_t file, aoe_error *err);
