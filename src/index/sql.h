/* SPDX-License-Identifier: MIT
 * One connection to the database of an index: statements, values, and errors of SQLite as errors of aoe, which name the
 * file, what happened and what to do. A connection is used by one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "aoe.h"

/* How a database is opened. */
typedef enum aoei_db_mode {
    AOEI_DB_WRITE,     /* reading and writing; the file is created if it does not exist */
    AOEI_DB_READ,      /* reading; SQLite may create and change its -wal and -shm files */
    AOEI_DB_READ_ONLY, /* reading; no file is created or changed */
    AOEI_DB_IMMUTABLE  /* reading; the caller knows that no process changes the database; SQLite uses no locks */
} aoei_db_mode;

typedef struct aoei_statement {
    const char *sql;    /* static string, the key */
    sqlite3_stmt *stmt; /* owned */
} aoei_statement;

/* A connection. A zeroed struct is not open. */
typedef struct aoei_db {
    sqlite3 *db;            /* owned */
    char *path;             /* path of the database, owned */
    aoei_statement *cached; /* [n] prepared statements, owned */
    size_t n, capacity;
} aoei_db;

/* Opens a connection. Waits at most `busy_ms` milliseconds whenever another process has locked the database. Errors:
 * AOE_ENOENT, AOE_EIO, AOE_ENOMEM. The caller calls aoei_db_close, also after a failure. */
int aoei_db_open(aoei_db *d, const char *path, aoei_db_mode mode, int busy_ms, aoe_error *err);
/* Closes the connection, and rolls back an open transaction. Accepts a zeroed struct. */
void aoei_db_close(aoei_db *d);
/* Converts an SQLite error code, usually an extended one, to an error. */
int aoei_db_fail(const aoei_db *d, int code, aoe_error *err);
/* Fails because the database or a vector file is damaged. what: the damage. */
int aoei_db_damaged(const aoei_db *d, const char *what, aoe_error *err);

/* Sets *api to the functions of the full-text search (FTS5) of a connection. Errors: AOE_EUNSUPPORTED (the SQLite
 * library does not contain it), AOE_ENOMEM. */
int aoei_find_fts5(sqlite3 *db, fts5_api **api, aoe_error *err);

/* Runs SQL statements without parameters and results. */
int aoei_db_run(aoei_db *d, const char *sql, aoe_error *err);
/* Sets *stmt to a prepared statement without bound values. sql: a static string; its statement is kept until the
 * connection is closed, so only one caller at a time may use it. */
int aoei_db_prepare(aoei_db *d, const char *sql, sqlite3_stmt **stmt, aoe_error *err);
/* Runs a statement up to its next row. Returns 1 if there is a row, 0 at the end, or an error. The statement is reset
 * unless there is a row. */
int aoei_db_step(aoei_db *d, sqlite3_stmt *stmt, aoe_error *err);
/* Runs a statement that returns no rows. */
int aoei_db_finish(aoei_db *d, sqlite3_stmt *stmt, aoe_error *err);
/* Ends a statement before its last row, so that it holds no lock. Accepts NULL. */
void aoei_db_reset(sqlite3_stmt *stmt);
/* Sets *value to the first column of the first row of a query without parameters; 0 if there is no row. */
int aoei_db_number(aoei_db *d, const char *sql, int64_t *value, aoe_error *err);

/* Bind a value to parameter i, counted from 1. The bytes are borrowed until the statement is reset. An empty text is
 * not NULL. Failures are reported by the next step. */
void aoei_bind_text(sqlite3_stmt *stmt, int i, aoe_text text);
void aoei_bind_string(sqlite3_stmt *stmt, int i, const char *s); /* NULL: the value NULL */
void aoei_bind_blob(sqlite3_stmt *stmt, int i, const void *data, size_t len);
/* Return a column of the current row as text or bytes, borrowed until the next step. The text ends with a NUL byte. For
 * NULL, an empty value or if out of memory, the result is "" with length 0. */
aoe_text aoei_column_text(sqlite3_stmt *stmt, int i);
aoe_text aoei_column_blob(sqlite3_stmt *stmt, int i);
