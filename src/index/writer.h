/* SPDX-License-Identifier: MIT
 * The writer of an index: its lock, its connection and its vector files. Only one writer exists at a time, among all
 * processes. index_write.h describes transactions.
 */
#pragma once

#include "base/buffer.h"
#include "base/lock.h"
#include "index/index.h"
#include "index/vector_file.h"

/* Rows that belong to no document from the next commit on. */
typedef struct aoei_row_range {
    uint64_t first, n;
} aoei_row_range;

/* CRC-32 of consecutive rows of the three vector files. */
typedef struct aoei_extent {
    uint64_t first_row, n;
    uint32_t crc[3]; /* codes, signs, values; 0 if there is no file of values */
} aoei_extent;

/* Rows whose checksum was compared. */
typedef struct aoei_checked_rows {
    uint64_t first, n;
    int intact; /* 1: the checksum is right */
} aoei_checked_rows;

/* What a savepoint has to restore: the part of the state that is not in the database. */
typedef struct aoei_write_mark {
    aoei_index_state state; /* state of the last commit with the changes so far */
    aoei_extent extent;     /* last extent, to which rows are appended */
    size_t n_dead;
} aoei_write_mark;

struct aoei_index_writer {
    aoei_lock lock;            /* lock on the directory */
    int announced;             /* 1: AOEI_WRITER_FILE was written */
    aoei_db db;                /* connection */
    aoei_vector_file file[3];  /* codes, signs, values */
    size_t n_files;            /* 3, or 2 if the index stores only codes */
    int in_transaction;        /* 1: there may be changes since the last commit */
    int uncertain;             /* 1: a COMMIT failed, so the next process may find the commit or the previous one */
    int reload;                /* 1: a transaction failed, so the schema is read again */
    int changes_before;        /* number of changed rows of the connection when the transaction began */
    aoei_write_mark now;       /* state with the changes since the last commit */
    aoei_write_mark committed; /* state of the last commit */
    aoei_row_range *dead;      /* [now.n_dead] rows removed since the last commit; owned */
    size_t dead_capacity;
    aoei_checked_rows *checked; /* [n_checked] rows of the open files whose checksums are known (extents.h); owned */
    size_t n_checked, checked_capacity;
    int all_live;      /* 1: during a compaction, whose rows all belong to documents */
    aoei_buffer words; /* buffer for the words of a passage */
};

#define AOEI_WRITER_FILE "writer" /* file in the directory of an index, with the process id of the writer */

enum { AOEI_EXTENT_ROWS = 4096 /* maximum number of rows of an extent */ };

/* Locks the directory, which must exist. Waits at most wait_ms milliseconds for another writer. *w is set to a writer
 * that has only the lock. The caller calls aoei_index_writer_detach. Errors: AOE_EEXIST (another process writes). */
int aoei_index_writer_attach(aoei_index_writer **w, const char *dir, int wait_ms, aoe_error *err);
/* Writes AOEI_WRITER_FILE, opens the vector files of the last commit for appending, and removes files of other
 * generations. */
int aoei_index_writer_open_files(aoe_index *index, aoe_error *err);
/* Rolls back, closes everything and releases the lock. Accepts NULL. */
void aoei_index_writer_detach(aoei_index_writer *w, const char *dir);

/* If a COMMIT failed, finds out which commit is current and makes it final. Otherwise does nothing. */
int aoei_index_writer_settle(aoe_index *index, aoe_error *err);
/* Begins a transaction, unless it has begun. */
int aoei_index_writer_begin(aoe_index *index, aoe_error *err);
/* Writes the state and the changes of the rows into the database, and commits, after the vector files are on the disk.
 * If nothing changed, there is no new commit. After a failure, all changes since the last commit are undone. But if
 * COMMIT itself failed, only the next transaction finds out whether they were saved; until then, `uncertain` is 1, and
 * no row and no file that the commit could name may be removed. */
int aoei_index_writer_commit(aoe_index *index, aoe_error *err);
void aoei_index_writer_rollback(aoe_index *index);
/* Begins, keeps and undoes a part of a transaction. aoei_index_writer_undo returns `code`, and extends the message if
 * SQLite ended the whole transaction, so that all changes since the last commit are lost. */
int aoei_index_writer_save(aoe_index *index, aoei_write_mark *mark, aoe_error *err);
int aoei_index_writer_keep(aoe_index *index, aoe_error *err);
int aoei_index_writer_undo(aoe_index *index, const aoei_write_mark *mark, int code, aoe_error *err);

/* Appends n rows to each vector file. rows[i]: [n, stride] for file i. */
int aoei_index_writer_append(aoe_index *index, const void *const rows[3], size_t n, aoe_error *err);
/* Records that rows belong to no document. */
int aoei_index_writer_kill(aoe_index *index, uint64_t first, uint64_t n, aoe_error *err);
/* Sets *live to the bitmap of the rows of documents, with the changes since the last commit; the caller frees it with
 * aoei_free. */
int aoei_index_writer_live(aoe_index *index, uint64_t **live, aoe_error *err);
