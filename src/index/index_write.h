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

#include "index/changes.h"
#include "index/index.h"

/* ----------------------------------------------------- transaction of a writer */

/* Begins the transaction, unless it has begun. All functions below call it. Errors: AOE_EARG (the index was opened for
 * reading), AOE_EIO (another program has locked the database). */
int aoei_write_begin(aoe_index *index, aoe_error *err);
/* Embeds and writes the queued documents. If it fails, none of them is written, and the queue is empty. */
int aoei_write_flush(aoe_index *index, aoe_error *err);
/* Calls aoei_write_flush and commits, unless nothing changed. aoe_index_commit is equal to it. If it fails, all
 * changes since the last commit are lost. */
int aoei_write_commit(aoe_index *index, aoe_error *err);
/* The same. in_search: see aoei_compact_if_needed. */
int aoei_write_commit_in_search(aoe_index *index, int in_search, aoe_error *err);
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
/* Removes the document with this id of the table documents. Its passages are removed by the next flush. */
int aoei_write_remove_id(aoe_index *index, int64_t document, aoe_error *err);
/* Removes a document. *removed is set to 1 if it existed, otherwise 0. */
int aoei_write_remove(aoe_index *index, const char *name, int *removed, aoe_error *err);
/* Between begin and end, the caller writes all documents of a file. aoei_write_file_end removes the documents of the
 * file that were in the index before and were not written. Only one file at a time. end calls aoei_write_flush only if
 * there are such documents, so many small files share one queue. */
int aoei_write_file_begin(aoe_index *index, int64_t file, aoe_error *err);
int aoei_write_file_end(aoe_index *index, aoe_error *err);
/* Removes all documents of a file. */
int aoei_write_file_clear(aoe_index *index, int64_t file, aoe_error *err);
