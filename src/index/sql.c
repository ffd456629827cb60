/* SPDX-License-Identifier: MIT
 * Connections to the database of an index.
 *
 * The database may come from somebody else. A connection therefore does not run SQL that a schema contains
 * (trusted_schema), does not allow changes of the schema outside of SQL, and checks the cells of each page.
 */
#include "index/sql.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "index/place.h"
#include "net/libraries.h"

enum { MAX_VALUE = 1 << 30 /* maximum bytes of a text or BLOB */ };

/* ------------------------------------------------------------------ errors */

int aoei_db_damaged(const aoei_db *d, const char *what, aoe_error *err) {
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the index is damaged: %s; verify and repair it, or remove the directory and create the index "
                     "again",
                     d->path, what);
}

static int fail_io(const aoei_db *d, int code, int errnum, aoe_error *err) {
    if (code == SQLITE_IOERR_NOMEM)
        return aoei_fail_nomem(err, 0);
    if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS)
        return aoei_db_damaged(d, "the file is truncated", err);
    return aoei_fail_errno(err, errnum ? errnum : EIO, "%s: cannot read or write the index", d->path);
}

static int fail_log(const aoei_db *d, aoe_error *err) {
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: the last change of the index is still in its journal, which can only be read by a process "
                     "that may write to the directory; open the index once with write permission, or copy its "
                     "directory",
                     d->path);
}

int aoei_db_fail(const aoei_db *d, int code, aoe_error *err) {
    const int errnum = d->db ? sqlite3_system_errno(d->db) : 0;
    if (aoei_alloc_failed()) /* FTS5 reports some failed allocations as other errors */
        return aoei_fail_nomem(err, 0);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return aoei_fail_nomem(err, 0);
    case SQLITE_FULL:
        return aoei_fail(err, AOE_ENOSPC, "%s: no space left on device; free some space and run again", d->path);
    case SQLITE_NOTADB:
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the file is not an SQLite database; choose another directory, or remove this one and "
                         "create the index again",
                         d->path);
    case SQLITE_CORRUPT:
        return aoei_db_damaged(d, "the database is malformed", err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return aoei_fail(err, AOE_EIO,
                         "%s: another program has locked the index; wait until it ends, or stop it, and run again",
                         d->path);
    case SQLITE_CANTOPEN: /* also if the shared memory of the log cannot be created */
        if ((errnum == ENOENT || errnum == EACCES || errnum == EROFS) && access(d->path, R_OK) == 0 &&
            aoei_place_has_log(d->path))
            return fail_log(d, err);
        return aoei_fail_errno(err, errnum ? errnum : EACCES, "%s: cannot open the index", d->path);
    case SQLITE_READONLY:
        if (code != SQLITE_READONLY && code != SQLITE_READONLY_DBMOVED && code != SQLITE_READONLY_DIRECTORY)
            return fail_log(d, err);
        return aoei_fail_errno(err, EACCES, "%s: cannot write to the index", d->path);
    case SQLITE_PERM:
        return aoei_fail_errno(err, EACCES, "%s: cannot write to the index", d->path);
    case SQLITE_IOERR:
        return fail_io(d, code, errnum, err);
    case SQLITE_TOOBIG:
        return aoei_fail(err, AOE_EARG, "%s: a text is longer than 1 GB; divide it into several documents", d->path);
    case SQLITE_ERROR: /* the schema is not the one of schema.c */
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return aoei_db_damaged(d, d->db ? sqlite3_errmsg(d->db) : sqlite3_errstr(code), err);
    default:
        return aoei_fail(err, AOE_EIO, "%s: cannot use the index: %s; verify it", d->path, sqlite3_errstr(code));
    }
}

/* -------------------------------------------------------------------- open */

/* Settings of every connection that do not change the file. */
static const char settings[] = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; "
                               "PRAGMA foreign_keys = OFF; PRAGMA mmap_size = 0";

/* Appends the path as a URI of SQLite. */
static void append_uri(aoei_buffer *uri, const char *path) {
    (void)aoei_buffer_printf(uri, "file:");
    if (path[0] == '/')
        (void)aoei_buffer_printf(uri, "//");
    for (const char *p = path; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c == '%' || c == '?' || c == '#' || c < 0x21 || c > 0x7e)
            (void)aoei_buffer_printf(uri, "%%%02x", c);
        else
            (void)aoei_buffer_putc(uri, *p);
    }
}

static int open_file(aoei_db *d, aoei_db_mode mode, aoei_buffer *uri, aoe_error *err) {
    const int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI |
                      (mode == AOEI_DB_WRITE  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                       : mode == AOEI_DB_READ ? SQLITE_OPEN_READWRITE
                                              : SQLITE_OPEN_READONLY);
    append_uri(uri, d->path);
    if (mode == AOEI_DB_IMMUTABLE)
        (void)aoei_buffer_printf(uri, "?immutable=1");
    if (uri->failed)
        return aoei_fail_nomem(err, uri->len);
    const int code = sqlite3_open_v2(uri->data, &d->db, flags, NULL);
    return code == SQLITE_OK ? 0 : aoei_db_fail(d, d->db ? sqlite3_extended_errcode(d->db) : code, err);
}

int aoei_db_open(aoei_db *d, const char *path, aoei_db_mode mode, int busy_ms, aoe_error *err) {
    *d = (aoei_db){0};
    (void)aoei_alloc_failed(); /* resets the flag of earlier allocations */
    int rc = aoei_start_sqlite(err);
    if (rc)
        return rc;
    if (!(d->path = aoei_strdup(path)))
        return aoei_fail_nomem(err, strlen(path));
    aoei_buffer uri = {0};
    rc = open_file(d, mode, &uri, err);
    aoei_buffer_free(&uri);
    if (rc)
        return rc;
    (void)sqlite3_extended_result_codes(d->db, 1);
    (void)sqlite3_busy_timeout(d->db, busy_ms);
    (void)sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    (void)sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    rc = aoei_db_run(d, settings, err);
    return rc || mode == AOEI_DB_WRITE ? rc : aoei_db_run(d, "PRAGMA query_only = ON", err);
}

void aoei_db_close(aoei_db *d) {
    for (size_t i = 0; i < d->n; i++)
        (void)sqlite3_finalize(d->cached[i].stmt);
    aoei_free(d->cached);
    (void)sqlite3_close(d->db);
    aoei_free(d->path);
    *d = (aoei_db){0};
}

/* -------------------------------------------------------------- statements */

int aoei_find_fts5(sqlite3 *db, fts5_api **api, aoe_error *err) {
    sqlite3_stmt *s = NULL;
    *api = NULL;
    int code = sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &s, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_pointer(s, 1, (void *)api, "fts5_api_ptr", NULL);
        (void)sqlite3_step(s);
        code = sqlite3_finalize(s);
    }
    if (code == SQLITE_OK && *api)
        return 0;
    if (code == SQLITE_NOMEM)
        return aoei_fail_nomem(err, 0);
    return aoei_fail(err, AOE_EUNSUPPORTED, "this SQLite library (%s) has no FTS5; install one that has it",
                     sqlite3_libversion());
}

int aoei_db_run(aoei_db *d, const char *sql, aoe_error *err) {
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : aoei_db_fail(d, sqlite3_extended_errcode(d->db), err);
}

int aoei_db_prepare(aoei_db *d, const char *sql, sqlite3_stmt **stmt, aoe_error *err) {
    *stmt = NULL;
    for (size_t i = 0; i < d->n; i++)
        if (d->cached[i].sql == sql || strcmp(d->cached[i].sql, sql) == 0) {
            *stmt = d->cached[i].stmt;
            aoei_db_reset(*stmt);
            return 0;
        }
    if (aoei_grow((void **)&d->cached, &d->capacity, d->n, sizeof *d->cached))
        return aoei_fail_nomem(err, sizeof *d->cached);
    if (sqlite3_prepare_v3(d->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
        return aoei_db_fail(d, sqlite3_extended_errcode(d->db), err);
    d->cached[d->n++] = (aoei_statement){sql, *stmt};
    return 0;
}

int aoei_db_step(aoei_db *d, sqlite3_stmt *stmt, aoe_error *err) {
    const int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        return 1;
    int rc = code == SQLITE_DONE ? 0 : aoei_db_fail(d, sqlite3_extended_errcode(d->db), err);
    aoei_db_reset(stmt);
    return rc;
}

int aoei_db_finish(aoei_db *d, sqlite3_stmt *stmt, aoe_error *err) {
    int rc;
    while ((rc = aoei_db_step(d, stmt, err)) == 1)
        ;
    return rc;
}

void aoei_db_reset(sqlite3_stmt *stmt) {
    if (!stmt)
        return;
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

int aoei_db_number(aoei_db *d, const char *sql, int64_t *value, aoe_error *err) {
    sqlite3_stmt *stmt = NULL;
    *value = 0;
    if (sqlite3_prepare_v2(d->db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return aoei_db_fail(d, sqlite3_extended_errcode(d->db), err);
    const int rc = aoei_db_step(d, stmt, err);
    if (rc == 1)
        *value = sqlite3_column_int64(stmt, 0);
    (void)sqlite3_finalize(stmt);
    return rc < 0 ? rc : 0;
}

/* ------------------------------------------------------------------ values */

void aoei_bind_text(sqlite3_stmt *stmt, int i, aoe_text text) {
    (void)sqlite3_bind_text64(stmt, i, text.len ? text.data : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

void aoei_bind_string(sqlite3_stmt *stmt, int i, const char *s) {
    if (s)
        aoei_bind_text(stmt, i, aoe_text_of(s));
    else
        (void)sqlite3_bind_null(stmt, i);
}

void aoei_bind_blob(sqlite3_stmt *stmt, int i, const void *data, size_t len) {
    (void)sqlite3_bind_blob64(stmt, i, len ? data : "", len, SQLITE_STATIC);
}

aoe_text aoei_column_text(sqlite3_stmt *stmt, int i) {
    const char *data = (const char *)sqlite3_column_text(stmt, i); /* before sqlite3_column_bytes, as SQLite requires */
    return data ? (aoe_text){data, (size_t)sqlite3_column_bytes(stmt, i)} : (aoe_text){"", 0};
}

aoe_text aoei_column_blob(sqlite3_stmt *stmt, int i) {
    const void *data = sqlite3_column_blob(stmt, i);
    return data ? (aoe_text){data, (size_t)sqlite3_column_bytes(stmt, i)} : (aoe_text){"", 0};
}
