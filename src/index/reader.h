/* SPDX-License-Identifier: MIT
 * Readers of an index: a connection in a read transaction, with the vectors of the same commit.
 */
#pragma once

#include "index/index.h"

/* A connection in a read transaction, with the view of the same commit. One thread uses it. */
struct aoei_reader {
    aoei_db db;        /* statements of searches are prepared with aoei_db_prepare */
    aoei_view *view;   /* view of the current transaction, with a reference of this reader */
    aoe_index *index;  /* borrowed */
    aoei_reader *next; /* next element of the free list */
    int immutable;     /* 1: the database was opened without locks; `stamp` then detects that it changed */
    uint64_t stamp[8]; /* size, times and inode of the database and of its write-ahead log */
};

#define AOEI_WAIT_SECONDS 3 /* default of aoe_index_options.wait */

/* Returns the milliseconds that a connection waits for locks of other processes: wait_ms, but longer on a network file
 * system, where readers and the writer wait for each other. */
int aoei_reader_wait(const char *dir, int wait_ms);

/* Begins a read transaction of the last commit. The caller calls aoei_reader_end. Any number of threads may have
 * readers at the same time; a writer does not wait for them, and they do not wait for a writer. */
int aoei_reader_begin(aoei_reader **r, aoe_index *index, aoe_error *err);
/* The same, but if the index was opened for repair, the view may be damaged (aoei_view.damaged). */
int aoei_reader_begin_damaged(aoei_reader **r, aoe_index *index, aoe_error *err);
/* Ends the transaction and puts the connection back. Accepts NULL. */
void aoei_reader_end(aoei_reader *r);
/* The same. Returns `code`, but if the connection uses no locks and the index was changed since it was opened, what was
 * read may belong to two commits: *changed is then set to 1, and the function returns AOE_EIO. */
int aoei_reader_finish(aoei_reader *r, int code, int *changed, aoe_error *err);
/* Begins a read transaction, calls fn and ends the transaction. If what fn read may belong to two commits, fn is called
 * again with another reader, so it must replace its earlier results. damaged: 1: as aoei_reader_begin_damaged. Returns
 * the result of fn or an error. */
typedef int (*aoei_read_fn)(void *user, aoei_reader *r, aoe_error *err);
int aoei_reader_run(aoe_index *index, int damaged, aoei_read_fn fn, void *user, aoe_error *err);
/* Opens a connection for reading, in the way that the file system of the index allows. wait_ms: see aoei_reader_wait.
 * *immutable is set to 1 if it uses no locks. The caller calls aoei_db_close, also after a failure. */
int aoei_reader_connect(aoei_db *db, const char *dir, const char *path, int wait_ms, int *immutable, aoe_error *err);
/* Closes all idle connections. */
void aoei_readers_close(aoe_index *index);
