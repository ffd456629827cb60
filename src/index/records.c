/* SPDX-License-Identifier: MIT
 * Reads and writes the tables `sources` and `files`.
 */
#include "index/records.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "index/reader.h"
#include "index/where_sql.h"
#include "index/writer.h"

/* ------------------------------------------------------------------ sources */

/* A connection for reading: that of the writer, or one of a reader. */
typedef struct connection {
    aoei_db *db;
    aoei_reader *reader; /* NULL in a writer */
} connection;

static int connect_for_reading(connection *c, aoe_index *index, aoe_error *err) {
    *c = (connection){0};
    if (index->writer) {
        c->db = &index->writer->db;
        return 0;
    }
    const int rc = aoei_reader_begin(&c->reader, index, err);
    if (!rc)
        c->db = &c->reader->db;
    return rc;
}

/* Sets *text to a copy of a column; NULL if the column is NULL. */
static int copy_column(char **text, sqlite3_stmt *stmt, int i, aoe_error *err) {
    if (sqlite3_column_type(stmt, i) == SQLITE_NULL)
        return 0;
    const aoe_text value = aoei_column_text(stmt, i);
    *text = aoei_strndup(value.data, value.len);
    return *text ? 0 : aoei_fail_nomem(err, value.len);
}

static int read_source(aoei_source_record *s, sqlite3_stmt *stmt, aoe_error *err) {
    *s = (aoei_source_record){.id = sqlite3_column_int64(stmt, 0), .kind = sqlite3_column_int(stmt, 2)};
    int rc = copy_column(&s->path, stmt, 1, err);
    if (!rc)
        rc = copy_column(&s->text_column, stmt, 3, err);
    if (!rc)
        rc = copy_column(&s->id_column, stmt, 4, err);
    return rc ? rc : copy_column(&s->excludes, stmt, 5, err);
}

int aoei_sources_read(aoe_index *index, aoei_source_record **sources, size_t *n, aoe_error *err) {
    connection c;
    sqlite3_stmt *stmt = NULL;
    size_t capacity = 0;
    *sources = NULL;
    *n = 0;
    int rc = connect_for_reading(&c, index, err);
    if (!rc)
        rc = aoei_db_prepare(c.db, "SELECT id, path, kind, text_column, id_column, excludes FROM sources ORDER BY id",
                             &stmt, err);
    while (!rc && (rc = aoei_db_step(c.db, stmt, err)) == 1) {
        rc = aoei_grow((void **)sources, &capacity, *n, sizeof **sources) ? aoei_fail_nomem(err, sizeof **sources) : 0;
        if (!rc)
            rc = read_source(&(*sources)[(*n)++], stmt, err);
    }
    aoei_db_reset(stmt);
    aoei_reader_end(c.reader);
    if (rc) {
        aoei_sources_free(*sources, *n);
        *sources = NULL;
        *n = 0;
    }
    return rc;
}

void aoei_sources_free(aoei_source_record *sources, size_t n) {
    for (size_t i = 0; i < n; i++) {
        aoei_free(sources[i].path);
        aoei_free(sources[i].text_column);
        aoei_free(sources[i].id_column);
        aoei_free(sources[i].excludes);
    }
    aoei_free(sources);
}

int aoei_source_write(aoe_index *index, aoei_source_record *s, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = aoei_db_prepare(&index->writer->db,
                             "INSERT INTO sources (path, kind, text_column, id_column, excludes) VALUES (?1, ?2, ?3, "
                             "?4, ?5) ON CONFLICT (path) DO UPDATE SET kind = ?2, text_column = ?3, id_column = ?4, "
                             "excludes = ?5 RETURNING id",
                             &stmt, err);
    if (rc)
        return rc;
    aoei_bind_string(stmt, 1, s->path);
    (void)sqlite3_bind_int(stmt, 2, s->kind);
    aoei_bind_string(stmt, 3, s->text_column);
    aoei_bind_string(stmt, 4, s->id_column);
    aoei_bind_string(stmt, 5, s->excludes);
    rc = aoei_db_step(&index->writer->db, stmt, err);
    if (rc == 1)
        s->id = sqlite3_column_int64(stmt, 0);
    return rc == 1 ? aoei_db_finish(&index->writer->db, stmt, err) : rc;
}

/* Runs a statement with one parameter in the transaction of the writer. */
static int run_with_id(aoe_index *index, const char *sql, int64_t id, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(&index->writer->db, sql, &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, id);
    return aoei_db_finish(&index->writer->db, stmt, err);
}

/* Sets *ids to the ids of the files of a source. */
static int list_files(aoe_index *index, int64_t source, int64_t **ids, size_t *n, aoe_error *err) {
    sqlite3_stmt *stmt;
    size_t capacity = 0;
    int rc = aoei_db_prepare(&index->writer->db, "SELECT id FROM files WHERE source = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, source);
    while ((rc = aoei_db_step(&index->writer->db, stmt, err)) == 1) {
        if (aoei_grow((void **)ids, &capacity, *n, sizeof **ids)) {
            rc = aoei_fail_nomem(err, sizeof **ids);
            break;
        }
        (*ids)[(*n)++] = sqlite3_column_int64(stmt, 0);
    }
    aoei_db_reset(stmt);
    return rc;
}

int aoei_source_remove(aoe_index *index, int64_t source, aoe_error *err) {
    int64_t *ids = NULL;
    size_t n = 0;
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = list_files(index, source, &ids, &n, err);
    for (size_t i = 0; !rc && i < n; i++)
        rc = aoei_file_remove(index, ids[i], err);
    aoei_free(ids);
    return rc ? rc : run_with_id(index, "DELETE FROM sources WHERE id = ?1", source, err);
}

/* -------------------------------------------------------------------- files */

int aoei_files_read(aoe_index *index, int64_t source, aoei_file_fn fn, void *user, aoe_error *err) {
    connection c;
    sqlite3_stmt *stmt = NULL;
    int rc = connect_for_reading(&c, index, err);
    if (!rc)
        rc = aoei_db_prepare(c.db,
                             "SELECT id, path, size, mtime_ns, ctime_ns, inode, hash, state FROM files WHERE source = "
                             "?1 ORDER BY path",
                             &stmt, err);
    if (!rc)
        (void)sqlite3_bind_int64(stmt, 1, source);
    while (!rc && (rc = aoei_db_step(c.db, stmt, err)) == 1) {
        const aoei_file_record f = {.id = sqlite3_column_int64(stmt, 0),
                                    .source = source,
                                    .path = aoei_column_text(stmt, 1).data,
                                    .size = (uint64_t)sqlite3_column_int64(stmt, 2),
                                    .mtime_ns = sqlite3_column_int64(stmt, 3),
                                    .ctime_ns = sqlite3_column_int64(stmt, 4),
                                    .inode = (uint64_t)sqlite3_column_int64(stmt, 5),
                                    .hash = (uint64_t)sqlite3_column_int64(stmt, 6),
                                    .state = (aoei_file_state)sqlite3_column_int(stmt, 7)};
        rc = fn(user, &f, err);
    }
    aoei_db_reset(stmt);
    aoei_reader_end(c.reader);
    return rc;
}

int aoei_file_write(aoe_index *index, aoei_file_record *f, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = aoei_db_prepare(&index->writer->db,
                             "INSERT INTO files (id, source, path, size, mtime_ns, ctime_ns, inode, hash, state) "
                             "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO UPDATE SET source = ?2, path "
                             "= ?3, size = ?4, mtime_ns = ?5, ctime_ns = ?6, inode = ?7, hash = ?8, state = ?9 "
                             "RETURNING id",
                             &stmt, err);
    if (rc)
        return rc;
    if (f->id)
        (void)sqlite3_bind_int64(stmt, 1, f->id);
    (void)sqlite3_bind_int64(stmt, 2, f->source);
    aoei_bind_string(stmt, 3, f->path);
    (void)sqlite3_bind_int64(stmt, 4, (sqlite3_int64)f->size);
    (void)sqlite3_bind_int64(stmt, 5, f->mtime_ns);
    (void)sqlite3_bind_int64(stmt, 6, f->ctime_ns);
    (void)sqlite3_bind_int64(stmt, 7, (sqlite3_int64)f->inode);
    (void)sqlite3_bind_int64(stmt, 8, (sqlite3_int64)f->hash);
    (void)sqlite3_bind_int(stmt, 9, (int)f->state);
    rc = aoei_db_step(&index->writer->db, stmt, err);
    if (rc == 1)
        f->id = sqlite3_column_int64(stmt, 0);
    return rc == 1 ? aoei_db_finish(&index->writer->db, stmt, err) : rc;
}

#define INDEXED "0, 5"
_Static_assert(AOEI_FILE_INDEXED == 0 && AOEI_FILE_FILTERED == 5, "states of files with documents");

int aoei_files_forget(aoe_index *index, int64_t source, aoe_error *err) {
    const int rc = aoei_write_begin(index, err);
    return rc ? rc
              : run_with_id(index,
                            "UPDATE files SET ctime_ns = -1, hash = 0 WHERE source = ?1 AND (state NOT IN (" INDEXED
                            ") OR EXISTS (SELECT 1 FROM documents WHERE file = files.id) OR (SELECT " AOEI_SQL_IS_TABLE
                            " FROM sources s WHERE s.id = ?1))",
                            source, err);
}

int aoei_file_remove(aoe_index *index, int64_t file, aoe_error *err) {
    const int rc = aoei_write_file_clear(index, file, err);
    return rc ? rc : run_with_id(index, "DELETE FROM files WHERE id = ?1", file, err);
}
