/* SPDX-License-Identifier: MIT
 * The cache is an SQLite database. All threads share one connection and its prepared statements, protected by a lock.
 * Each function resets its statement and clears the bindings before it returns, so that no lock on the file remains
 * after a call. fetch.c decides which responses are cached and for how long they are used.
 */
#include "net/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/mutex.h"
#include "net/libraries.h"

#define APPLICATION_ID 1634690387 /* the bytes "aoeS" */
#define SCHEMA_VERSION 1
#define BUSY_SECONDS   60                /* maximum wait for a lock that another process holds */
#define BUSY_SLEEP     10                /* milliseconds between two attempts to get a lock */
#define LEVEL          3                 /* compression level of zstd */
#define MAX_BODY       ((size_t)1 << 30) /* maximum bytes of a body before compression */

/* Indices of the prepared statements in aoei_store.stmt. */
enum { GET, PUT, TOUCH, RESULT_GET, RESULT_PUT, STATEMENTS };

static const char schema[] = "CREATE TABLE answers (key TEXT PRIMARY KEY NOT NULL, status INTEGER NOT NULL, moved "
                             "INTEGER NOT NULL, url TEXT NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, time "
                             "INTEGER NOT NULL);CREATE TABLE results (kind TEXT NOT NULL, key TEXT NOT NULL, value "
                             "BLOB NOT NULL, PRIMARY KEY (kind, key));";

static const char *const statements[STATEMENTS] = {
    [GET] = "SELECT status, moved, url, headers, body, time FROM answers WHERE key = ?1",
    [PUT] = "REPLACE INTO answers (key, status, moved, url, headers, body, time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [TOUCH] = "UPDATE answers SET time = ?2 WHERE key = ?1",
    [RESULT_GET] = "SELECT value FROM results WHERE kind = ?1 AND key = ?2",
    [RESULT_PUT] = "REPLACE INTO results (kind, key, value) VALUES (?1, ?2, ?3)",
};

/* Response headers that are stored. */
static const char *const stored_headers[] = {"content-type", "etag", "last-modified", "link"};

struct aoei_store {
    aoei_mutex lock;                /* protects the fields below */
    char *path;                     /* path of the file, owned */
    sqlite3 *db;                    /* owned */
    sqlite3_stmt *stmt[STATEMENTS]; /* prepared statements, owned */
    ZSTD_CCtx *compressor;          /* owned */
    ZSTD_DCtx *decompressor;        /* owned */
    aoei_buffer compressed;         /* compressed body of the response that is being stored, owned */
    aoei_buffer headers;            /* headers of the response that is being stored, owned */
};

/* ------------------------------------------------------------------ errors */

static int fail_damaged(const aoei_store *s, aoe_error *err) {
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the cache is damaged, or is not a cache of aoe; move it away (with %s-wal and %s-shm, if they exist) and "
        "run again to download its contents again",
        s->path, s->path, s->path);
}

static int fail_full(const aoei_store *s, aoe_error *err) {
    return aoei_fail(err, AOE_ENOSPC,
                     "%s: no space left on device; free some space and run again (cached responses are kept)", s->path);
}

/* Converts an SQLite error to an error of aoe. */
static int fail_sqlite(const aoei_store *s, int code, aoe_error *err) {
    const int errnum = s->db ? sqlite3_system_errno(s->db) : 0;
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return aoei_fail_nomem(err, 0);
    case SQLITE_FULL:
        return fail_full(s, err);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fail_damaged(s, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return aoei_fail(err, AOE_EIO,
                         "%s: another program has locked the cache for %d s; wait until it ends, or use another file",
                         s->path, BUSY_SECONDS);
    case SQLITE_CANTOPEN:
        return aoei_fail_errno(err, errnum ? errnum : EACCES, "%s: cannot open the cache", s->path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return aoei_fail_errno(err, EACCES, "%s: cannot write to the cache", s->path);
    case SQLITE_IOERR:
        if (code == SQLITE_IOERR_NOMEM)
            return aoei_fail_nomem(err, 0);
        if (errnum == ENOSPC || errnum == EDQUOT)
            return fail_full(s, err);
        return aoei_fail_errno(err, errnum ? errnum : EIO, "%s: cannot read or write the cache", s->path);
    default:
        return aoei_fail(err, AOE_EIO, "%s: cannot use the cache: %s; move it away and run again", s->path,
                         sqlite3_errstr(code));
    }
}

/* -------------------------------------------------------------------- open */

/* Runs SQL statements without results. SQLite does not wait for the locks that are needed to change the journal mode,
 * so this function retries. Returns an SQLite result code. */
static int run_sql(aoei_store *s, const char *sql) {
    int code = SQLITE_BUSY;
    for (int tries = 0; (code & 0xff) == SQLITE_BUSY && tries < BUSY_SECONDS * 1000 / BUSY_SLEEP; tries++) {
        if (tries)
            (void)sqlite3_sleep(BUSY_SLEEP);
        if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK)
            return SQLITE_OK;
        code = sqlite3_extended_errcode(s->db);
    }
    return code;
}

/* Sets *value to the first column of the first row that a query returns. Returns an SQLite result code. */
static int read_number(aoei_store *s, const char *sql, int64_t *value) {
    sqlite3_stmt *stmt = NULL;
    int code = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(stmt);
    if (code == SQLITE_ROW) {
        *value = sqlite3_column_int64(stmt, 0);
        code = SQLITE_OK;
    } else {
        code = sqlite3_extended_errcode(s->db);
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

/* Sets *is_new to 1 if the file is empty, and to 0 if the file is a cache of aoe. Fails for any other file. The file is
 * not changed. The caller must begin a transaction first, so that the reads are consistent while another process
 * creates the tables. */
static int identify(aoei_store *s, int *is_new, aoe_error *err) {
    int64_t id = 0, version = 0, objects = 0;
    int code = read_number(s, "PRAGMA application_id", &id);
    if (code == SQLITE_OK)
        code = read_number(s, "PRAGMA user_version", &version);
    if (code == SQLITE_OK)
        code = read_number(s, "SELECT count(*) FROM sqlite_master", &objects);
    if (code != SQLITE_OK)
        return fail_sqlite(s, code, err);
    *is_new = id == 0 && version == 0 && objects == 0;
    if (*is_new || (id == APPLICATION_ID && version == SCHEMA_VERSION))
        return 0;
    if (id == APPLICATION_ID)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the cache has schema version %lld, but this version of aoe supports only version %d; use a newer aoe "
            "or another file",
            s->path, (long long)version, SCHEMA_VERSION);
    return aoei_fail(err, AOE_EFORMAT, "%s: the file is a database of another program; choose another file", s->path);
}

/* Creates the tables, unless another process has created them since the call of identify. */
static int create(aoei_store *s, aoe_error *err) {
    int is_new = 0;
    int code = run_sql(s, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return fail_sqlite(s, code, err);
    const int rc = identify(s, &is_new, err);
    if (rc == 0 && is_new) {
        code = run_sql(s, schema);
        char pragmas[96];
        (void)sqlite3_snprintf((int)sizeof pragmas, pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                               APPLICATION_ID, SCHEMA_VERSION);
        if (code == SQLITE_OK)
            code = run_sql(s, pragmas);
    }
    if (rc == 0 && code == SQLITE_OK)
        code = run_sql(s, "COMMIT");
    if (rc || code != SQLITE_OK)
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return rc ? rc : code == SQLITE_OK ? 0 : fail_sqlite(s, code, err);
}

/* Creates a missing file with permissions for its owner only, whatever the umask, because it may contain private data
 * that was read with a token. SQLite gives its -wal and -shm files the same permissions. If this fails, opening the
 * file reports the error. */
static void make_private(const char *path) {
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd >= 0)
        (void)close(fd);
}

/* Opens the file, creates the tables if it is new, and prepares the statements. */
static int open_file(aoei_store *s, aoe_error *err) {
    int is_new = 0;
    make_private(s->path);
    int code = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(s->db, BUSY_SECONDS * 1000);
    if (code != SQLITE_OK)
        return fail_sqlite(s, code, err);
    (void)sqlite3_extended_result_codes(s->db, 1);
    if ((code = run_sql(s, "BEGIN")) != SQLITE_OK)
        return fail_sqlite(s, code, err);
    int rc = identify(s, &is_new, err);
    if (rc)
        return rc; /* closing the database ends the transaction, which has written nothing */
    if ((code = run_sql(s, "COMMIT")) != SQLITE_OK)
        return fail_sqlite(s, code, err);
    /* synchronous = NORMAL: killing the process loses nothing; a power failure may lose the last responses */
    code = run_sql(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    if (code != SQLITE_OK)
        return fail_sqlite(s, code, err);
    if (is_new && (rc = create(s, err)))
        return rc;
    for (int i = 0; i < STATEMENTS; i++)
        if ((code = sqlite3_prepare_v3(s->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT, &s->stmt[i], NULL)) !=
            SQLITE_OK)
            return fail_sqlite(s, code == SQLITE_ERROR ? SQLITE_CORRUPT : code, err); /* a table has the wrong
                                                                                         columns */
    return 0;
}

int aoei_store_open(aoei_store **out, const char *path, aoe_error *err) {
    *out = NULL;
    int rc = aoei_start_sqlite(err);
    if (rc)
        return rc;
    aoei_store *s = aoei_calloc(1, sizeof *s);
    if (!s)
        return aoei_fail_nomem(err, sizeof *s);
    aoei_mutex_init(&s->lock);
    s->path = aoei_strdup(path);
    s->compressor = ZSTD_createCCtx();
    s->decompressor = ZSTD_createDCtx();
    if (!s->path || !s->compressor || !s->decompressor)
        rc = aoei_fail_nomem(err, sizeof *s);
    else
        rc = open_file(s, err);
    if (rc) {
        aoei_store_close(s);
        return rc;
    }
    (void)ZSTD_CCtx_setParameter(s->compressor, ZSTD_c_compressionLevel, LEVEL);
    (void)ZSTD_CCtx_setParameter(s->compressor, ZSTD_c_checksumFlag, 1);
    *out = s;
    return 0;
}

void aoei_store_close(aoei_store *s) {
    if (!s)
        return;
    for (int i = 0; i < STATEMENTS; i++)
        (void)sqlite3_finalize(s->stmt[i]);
    (void)sqlite3_close(s->db);
    (void)ZSTD_freeCCtx(s->compressor);
    (void)ZSTD_freeDCtx(s->decompressor);
    aoei_buffer_free(&s->compressed);
    aoei_buffer_free(&s->headers);
    aoei_mutex_destroy(&s->lock);
    aoei_free(s->path);
    aoei_free(s);
}

/* -------------------------------------------------------------- statements */

static void bind_text(sqlite3_stmt *stmt, int i, aoe_text text) {
    (void)sqlite3_bind_text64(stmt, i, text.data ? text.data : "", text.len, SQLITE_STATIC, SQLITE_UTF8);
}

static void bind_blob(sqlite3_stmt *stmt, int i, aoe_text bytes) {
    (void)sqlite3_bind_blob64(stmt, i, bytes.len ? bytes.data : "", bytes.len, SQLITE_STATIC);
}

/* Runs a statement up to the next row. Returns 1 if there is a row, 0 at the end, or an error. */
static int step(aoei_store *s, sqlite3_stmt *stmt, aoe_error *err) {
    const int code = sqlite3_step(stmt);
    return code == SQLITE_ROW ? 1 : code == SQLITE_DONE ? 0 : fail_sqlite(s, code, err);
}

/* Prepares a statement for its next use. */
static void finish(sqlite3_stmt *stmt) {
    (void)sqlite3_reset(stmt);
    (void)sqlite3_clear_bindings(stmt);
}

/* Returns the bytes of a column, borrowed until the next step. For an empty column, data may be NULL. */
static aoe_text column(sqlite3_stmt *stmt, int i) {
    const void *data = sqlite3_column_blob(stmt, i); /* called before sqlite3_column_bytes, as SQLite requires */
    return (aoe_text){data, (size_t)sqlite3_column_bytes(stmt, i)};
}

/* ----------------------------------------------------------------- responses */

/* Compresses a body into s->compressed. */
static int compress_body(aoei_store *s, const aoei_buffer *body, aoe_error *err) {
    if (body->len > MAX_BODY)
        return aoei_fail(err, AOE_EARG,
                         "%s: a response of %zu bytes is too large for the cache; request less data at a time", s->path,
                         body->len);
    const size_t bound = ZSTD_compressBound(body->len);
    aoei_buffer_clear(&s->compressed);
    if (aoei_buffer_reserve(&s->compressed, bound))
        return aoei_fail_nomem(err, bound);
    const size_t n = ZSTD_compress2(s->compressor, s->compressed.data, bound, body->len ? body->data : "", body->len);
    if (ZSTD_isError(n))
        return aoei_fail_nomem(err, bound);
    s->compressed.len = n;
    return 0;
}

/* Decompresses a stored body. */
static int decompress_body(aoei_store *s, aoe_text stored, aoei_buffer *body, aoe_error *err) {
    const unsigned long long size = ZSTD_getFrameContentSize(stored.data, stored.len);
    if (size > MAX_BODY) /* the error codes of zstd are larger than any valid size */
        return fail_damaged(s, err);
    if (aoei_buffer_reserve(body, (size_t)size))
        return aoei_fail_nomem(err, (size_t)size);
    const size_t n = ZSTD_decompressDCtx(s->decompressor, body->data, (size_t)size, stored.data, stored.len);
    if (ZSTD_isError(n) || n != size)
        return fail_damaged(s, err);
    body->len = n;
    body->data[n] = 0;
    return 0;
}

/* Writes the headers to store to s->headers, one "name: value" per line. */
static int collect_headers(aoei_store *s, const aoei_headers *h, aoe_error *err) {
    aoei_buffer_clear(&s->headers);
    for (size_t i = 0; i < sizeof stored_headers / sizeof *stored_headers; i++) {
        const char *value;
        for (size_t nth = 0; (value = aoei_headers_get(h, stored_headers[i], nth)); nth++)
            (void)aoei_buffer_printf(&s->headers, "%s: %s\n", stored_headers[i], value);
    }
    return s->headers.failed ? aoei_fail_nomem(err, s->headers.len) : 0;
}

/* Parses stored headers, one per line. */
static int read_headers(aoei_store *s, aoe_text text, aoei_headers *h, aoe_error *err) {
    const char *end = text.len ? text.data + text.len : text.data;
    for (const char *line = text.data; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const size_t len = (size_t)((stop ? stop : end) - line);
        const int rc = aoei_headers_add(h, line, len);
        if (rc)
            return rc == AOE_ENOMEM ? aoei_fail_nomem(err, len) : fail_damaged(s, err);
        line += len + (stop != NULL);
    }
    return 0;
}

/* Reads the response in the current row of stmt into r and *time. */
static int read_response(aoei_store *s, sqlite3_stmt *stmt, aoei_http_response *r, int64_t *time, aoe_error *err) {
    const aoe_text url = column(stmt, 2), headers = column(stmt, 3), body = column(stmt, 4);
    if (!url.data || (!headers.data && headers.len) || !body.data)
        return sqlite3_errcode(s->db) == SQLITE_NOMEM ? aoei_fail_nomem(err, 0) : fail_damaged(s, err);
    r->status = sqlite3_column_int(stmt, 0);
    r->moved = sqlite3_column_int(stmt, 1);
    *time = sqlite3_column_int64(stmt, 5);
    if (!(r->url = aoei_strndup(url.data, url.len)))
        return aoei_fail_nomem(err, url.len);
    const int rc = read_headers(s, headers, &r->headers, err);
    return rc ? rc : decompress_body(s, body, &r->body, err);
}

int aoei_store_get(aoei_store *s, aoe_text key, aoei_http_response *r, int64_t *time, aoe_error *err) {
    aoei_free(r->url);
    r->url = NULL;
    r->status = r->moved = r->transient = 0;
    aoei_headers_clear(&r->headers);
    aoei_buffer_clear(&r->body);
    aoei_mutex_lock(&s->lock);
    sqlite3_stmt *stmt = s->stmt[GET];
    bind_text(stmt, 1, key);
    int rc = step(s, stmt, err);
    if (rc == 1) {
        const int read = read_response(s, stmt, r, time, err);
        rc = read ? read : 1;
    }
    finish(stmt);
    aoei_mutex_unlock(&s->lock);
    return rc;
}

int aoei_store_put(aoei_store *s, aoe_text key, const aoei_http_response *r, int64_t time, aoe_error *err) {
    aoei_mutex_lock(&s->lock);
    sqlite3_stmt *stmt = s->stmt[PUT];
    int rc = compress_body(s, &r->body, err);
    if (!rc)
        rc = collect_headers(s, &r->headers, err);
    if (!rc) {
        bind_text(stmt, 1, key);
        (void)sqlite3_bind_int(stmt, 2, r->status);
        (void)sqlite3_bind_int(stmt, 3, r->moved);
        bind_text(stmt, 4, aoe_text_of(r->url));
        bind_text(stmt, 5, (aoe_text){s->headers.data, s->headers.len});
        bind_blob(stmt, 6, (aoe_text){s->compressed.data, s->compressed.len});
        (void)sqlite3_bind_int64(stmt, 7, time);
        rc = step(s, stmt, err);
        finish(stmt);
    }
    aoei_mutex_unlock(&s->lock);
    return rc;
}

int aoei_store_touch(aoei_store *s, aoe_text key, int64_t time, aoe_error *err) {
    aoei_mutex_lock(&s->lock);
    sqlite3_stmt *stmt = s->stmt[TOUCH];
    bind_text(stmt, 1, key);
    (void)sqlite3_bind_int64(stmt, 2, time);
    const int rc = step(s, stmt, err);
    finish(stmt);
    aoei_mutex_unlock(&s->lock);
    return rc;
}

/* ----------------------------------------------------------------- results */

int aoei_store_result_get(aoei_store *s, const char *kind, aoe_text key, aoei_buffer *value, aoe_error *err) {
    aoei_buffer_clear(value);
    aoei_mutex_lock(&s->lock);
    sqlite3_stmt *stmt = s->stmt[RESULT_GET];
    bind_text(stmt, 1, aoe_text_of(kind));
    bind_text(stmt, 2, key);
    int rc = step(s, stmt, err);
    if (rc == 1) {
        const aoe_text found = column(stmt, 0);
        if ((!found.data && found.len) || sqlite3_errcode(s->db) == SQLITE_NOMEM ||
            aoei_buffer_reserve(value, found.len) || aoei_buffer_append(value, found.data, found.len))
            rc = aoei_fail_nomem(err, found.len);
    }
    finish(stmt);
    aoei_mutex_unlock(&s->lock);
    return rc;
}

int aoei_store_result_put(aoei_store *s, const char *kind, aoe_text key, aoe_text value, aoe_error *err) {
    aoei_mutex_lock(&s->lock);
    sqlite3_stmt *stmt = s->stmt[RESULT_PUT];
    bind_text(stmt, 1, aoe_text_of(kind));
    bind_text(stmt, 2, key);
    bind_blob(stmt, 3, value);
    const int rc = step(s, stmt, err);
    finish(stmt);
    aoei_mutex_unlock(&s->lock);
    return rc;
}
