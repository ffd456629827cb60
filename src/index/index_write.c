/* SPDX-License-Identifier: MIT
 * Adds, replaces and removes documents, and commits.
 */
#include "index/index_write.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "index/compact.h"
#include "index/where_sql.h"
#include "index/writer.h"

enum {
    QUEUE_PASSAGES = 1024,    /* passages that are embedded together */
    QUEUE_BYTES = 32 << 20,   /* bytes of texts that are queued */
    QUEUE_VECTORS = 64 << 20, /* bytes of vectors that are queued */
};

/* ------------------------------------------------------------- transaction */

int aoei_write_begin(aoe_index *index, aoe_error *err) {
    const int rc = aoei_index_writer_begin(index, err);
    if (rc || index->changes)
        return rc;
    index->changes = aoei_calloc(1, sizeof *index->changes);
    return index->changes ? 0 : aoei_fail_nomem(err, sizeof *index->changes);
}

int aoei_write_flush(aoe_index *index, aoe_error *err) {
    const int rc = aoei_write_begin(index, err);
    return rc ? rc : aoei_changes_flush(index, err);
}

int aoei_write_commit_in_search(aoe_index *index, int in_search, aoe_error *err) {
    int rc = aoei_write_flush(index, err);
    if (!rc)
        rc = aoei_index_writer_commit(index, err);
    if (rc) {
        aoei_write_rollback(index);
        return rc;
    }
    aoei_compact_if_needed(index, in_search);
    return 0;
}

int aoei_write_commit(aoe_index *index, aoe_error *err) {
    return aoei_write_commit_in_search(index, 0, err);
}

void aoei_write_rollback(aoe_index *index) {
    aoei_index_writer_rollback(index);
    if (index->changes)
        aoei_changes_clear(index->changes);
}

aoei_write_counts aoei_write_counted(const aoe_index *index) {
    return index->changes ? index->changes->counts : (aoei_write_counts){0};
}

size_t aoei_write_queued(const aoe_index *index) {
    return index->changes ? index->changes->queue.n_passages : 0;
}

/* ----------------------------------------------------------------- documents */

/* Finds a document by name. Returns 1 and sets *id, *file and *hash, or 0. */
static int find_document(aoe_index *index, const char *name, int64_t *id, int64_t *file, uint64_t *hash,
                         aoe_error *err) {
    aoei_db *d = &index->writer->db;
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(d, "SELECT id, file, hash FROM documents WHERE name = ?1", &stmt, err);
    if (rc)
        return rc;
    aoei_bind_string(stmt, 1, name);
    rc = aoei_db_step(d, stmt, err);
    if (rc == 1) {
        *id = sqlite3_column_int64(stmt, 0);
        *file = sqlite3_column_int64(stmt, 1);
        *hash = (uint64_t)sqlite3_column_int64(stmt, 2);
    }
    aoei_db_reset(stmt);
    return rc;
}

/* Returns 1 if a document of a file, which is now written without a vector, has a given one and is equal otherwise. */
static int keeps_vector(aoe_index *index, int64_t id, const aoe_index_document *d, aoe_error *err) {
    aoei_db *db = &index->writer->db;
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(
        db, "SELECT p.given FROM documents d JOIN passages p ON p.id = d.first_passage WHERE d.id = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, id);
    rc = aoei_db_step(db, stmt, err);
    if (rc == 1)
        rc = (uint64_t)sqlite3_column_int64(stmt, 0) == aoei_given_hash(d);
    aoei_db_reset(stmt);
    return rc;
}

/* Records that a document of the current file was written. */
static int mark_seen(aoe_index *index, const char *name, aoe_error *err) {
    aoei_db *d = &index->writer->db;
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(d, "INSERT OR IGNORE INTO temp.seen (name) VALUES (?1)", &stmt, err);
    if (rc)
        return rc;
    aoei_bind_string(stmt, 1, name);
    return aoei_db_finish(d, stmt, err);
}

/* Moves a document that did not change to another file. */
static int move_document(aoe_index *index, int64_t id, int64_t file, aoe_error *err) {
    aoei_db *d = &index->writer->db;
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(d, "UPDATE documents SET file = ?2 WHERE id = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, id);
    if (file)
        (void)sqlite3_bind_int64(stmt, 2, file);
    return aoei_db_finish(d, stmt, err);
}

/* Prepares the queue for a document: starts the splitter if its text must be embedded. */
static int prepare_queue(aoe_index *index, const aoe_index_document *d, aoe_error *err) {
    aoei_splitter *s = &index->changes->queue.splitter;
    s->report = index->on_flush;
    s->report_user = index->on_flush_user;
    if (d->vector || s->tokens)
        return 0;
    if (!index->embedder)
        return aoei_fail(err, AOE_EARG, "%s: the document has no vector, and the index was opened without an embedder",
                         d->name);
    const int rc = aoei_splitter_start(s, index->embedder, index->settings.passage_tokens, err);
    if (rc)
        aoei_splitter_free(s);
    return rc;
}

static int is_full(const aoe_index *index) {
    const aoei_queue *q = &index->changes->queue;
    return q->n_passages >= QUEUE_PASSAGES || q->bytes >= QUEUE_BYTES || q->n_documents >= QUEUE_PASSAGES ||
           q->n_passages * index->settings.dims * sizeof(float) >= QUEUE_VECTORS;
}

int aoei_write_document(aoe_index *index, const aoe_index_document *d, int64_t file, aoe_error *err) {
    int64_t id = 0, old_file = 0;
    uint64_t hash = 0;
    int rc = aoei_document_check(d, err);
    if (!rc)
        rc = aoei_write_begin(index, err);
    if (!rc)
        rc = prepare_queue(index, d, err);
    if (!rc && aoei_queue_contains(&index->changes->queue, d->name))
        rc = aoei_write_flush(index, err);
    if (!rc && index->changes->file)
        rc = mark_seen(index, d->name, err);
    if (rc)
        return rc;
    rc = find_document(index, d->name, &id, &old_file, &hash, err);
    if (rc == 1 && hash != aoei_document_hash(d, index->settings.dims))
        rc = file && !d->vector ? keeps_vector(index, id, d, err) : 0;
    if (rc == 1) {
        index->changes->counts.unchanged++;
        return old_file == file ? 0 : move_document(index, id, file, err);
    }
    if (rc >= 0)
        rc = aoei_queue_add(&index->changes->queue, d, file, index->settings.dims, index->settings.store, err);
    return !rc && is_full(index) ? aoei_write_flush(index, err) : rc;
}

int aoei_write_remove_id(aoe_index *index, int64_t document, aoe_error *err) {
    aoei_write_mark mark;
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = aoei_index_writer_save(index, &mark, err);
    if (rc)
        return rc;
    const size_t n = index->changes->n_removals;
    rc = aoei_changes_remove(index, document, err);
    if (!rc)
        rc = aoei_index_writer_keep(index, err);
    if (!rc) {
        index->changes->counts.removed++;
        return 0;
    }
    index->changes->n_removals = n;
    rc = aoei_index_writer_undo(index, &mark, rc, err);
    if (!index->writer->in_transaction)
        aoei_changes_clear(index->changes);
    return rc;
}

int aoei_write_remove(aoe_index *index, const char *name, int *removed, aoe_error *err) {
    int64_t id = 0, file = 0;
    uint64_t hash = 0;
    *removed = 0;
    int rc = aoei_write_begin(index, err);
    if (!rc && aoei_queue_contains(&index->changes->queue, name))
        rc = aoei_write_flush(index, err);
    if (!rc)
        rc = find_document(index, name, &id, &file, &hash, err);
    if (rc == 1) {
        rc = aoei_write_remove_id(index, id, err);
        *removed = !rc;
    }
    return rc;
}

/* Removes the documents that a query finds, one after the other, because a removal must not change the table that the
 * query reads. The first column of the query is documents.id; the parameters are already bound. */
static int remove_found(aoe_index *index, sqlite3_stmt *stmt, size_t *removed, aoe_error *err) {
    int64_t *ids = NULL;
    size_t n = 0, capacity = 0;
    int rc;
    while ((rc = aoei_db_step(&index->writer->db, stmt, err)) == 1) {
        if (aoei_grow((void **)&ids, &capacity, n, sizeof *ids)) {
            rc = aoei_fail_nomem(err, n * sizeof *ids);
            break;
        }
        ids[n++] = sqlite3_column_int64(stmt, 0);
    }
    aoei_db_reset(stmt);
    for (size_t i = 0; !rc && i < n; i++)
        rc = aoei_write_remove_id(index, ids[i], err);
    aoei_free(ids);
    *removed += rc ? 0 : n;
    return rc;
}

/* Removes the documents whose names begin with a prefix that ends with '/'. */
static int remove_below(aoe_index *index, const char *prefix, size_t *removed, aoe_error *err) {
    sqlite3_stmt *stmt;
    char *end = aoei_strdup(prefix);
    if (!end)
        return aoei_fail_nomem(err, strlen(prefix));
    end[strlen(end) - 1] = '/' + 1;
    int rc = aoei_write_flush(index, err);
    if (!rc)
        rc = aoei_db_prepare(&index->writer->db, "SELECT id FROM documents WHERE name >= ?1 AND name < ?2", &stmt, err);
    if (!rc) {
        aoei_bind_string(stmt, 1, prefix);
        aoei_bind_string(stmt, 2, end);
        rc = remove_found(index, stmt, removed, err);
    }
    aoei_free(end);
    return rc;
}

/* Removes the documents of the file with an absolute path, or of the files below a path that ends with '/'. The rows of
 * a table are not removed, because the record of the table is removed with them (aoe_index_remove_source). */
static int remove_files(aoe_index *index, const char *path, size_t *removed, aoe_error *err) {
    static const char file[] =
        "SELECT d.id FROM documents d " AOEI_SQL_FILES " WHERE NOT " AOEI_SQL_IS_TABLE " AND (" AOEI_SQL_PATH ") = ?1",
                      below[] = "SELECT d.id FROM documents d " AOEI_SQL_FILES " WHERE NOT " AOEI_SQL_IS_TABLE
                                " AND substr((" AOEI_SQL_PATH "), 1, length(?1)) = ?1";
    sqlite3_stmt *stmt;
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = aoei_write_flush(index, err);
    if (!rc)
        rc = aoei_db_prepare(&index->writer->db, path[strlen(path) - 1] == '/' ? below : file, &stmt, err);
    if (rc)
        return rc;
    aoei_bind_string(stmt, 1, path);
    return remove_found(index, stmt, removed, err);
}

int aoei_write_file_begin(aoe_index *index, int64_t file, aoe_error *err) {
    int rc = aoei_write_begin(index, err);
    if (!rc)
        rc = aoei_db_run(&index->writer->db,
                         "CREATE TEMP TABLE IF NOT EXISTS seen (name TEXT PRIMARY KEY) WITHOUT ROWID; DELETE FROM "
                         "temp.seen",
                         err);
    if (!rc)
        index->changes->file = file;
    return rc;
}

int aoei_write_file_end(aoe_index *index, aoe_error *err) {
    sqlite3_stmt *stmt;
    size_t removed = 0;
    int rc = aoei_write_begin(index, err);
    if (rc || !index->changes->file)
        return rc;
    rc = aoei_db_prepare(&index->writer->db,
                         "SELECT id FROM documents WHERE file = ?1 AND name NOT IN (SELECT name FROM temp.seen)", &stmt,
                         err);
    if (!rc) {
        (void)sqlite3_bind_int64(stmt, 1, index->changes->file);
        rc = remove_found(index, stmt, &removed, err);
    }
    index->changes->file = 0;
    return rc;
}

int aoei_write_file_clear(aoe_index *index, int64_t file, aoe_error *err) {
    sqlite3_stmt *stmt;
    size_t removed = 0;
    int rc = aoei_write_flush(index, err);
    if (!rc)
        rc = aoei_db_prepare(&index->writer->db, "SELECT id FROM documents WHERE file = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, file);
    return remove_found(index, stmt, &removed, err);
}

/* ----------------------------------------------------------- public functions */

/* Begins a part of the transaction that is undone if a public function fails. The queues are empty before and after. */
static int begin_part(aoe_index *index, aoei_write_mark *mark, aoei_write_counts *counts, aoe_error *err) {
    int rc = aoei_write_flush(index, err);
    if (!rc)
        rc = aoei_index_writer_save(index, mark, err);
    *counts = aoei_write_counted(index);
    return rc;
}

static int end_part(aoe_index *index, const aoei_write_mark *mark, const aoei_write_counts *counts, int code,
                    aoe_error *err) {
    if (!code)
        code = aoei_write_flush(index, err);
    if (!code)
        code = aoei_index_writer_keep(index, err);
    if (!code)
        return 0;
    aoei_changes_clear(index->changes);
    index->changes->counts = *counts;
    return index->writer->in_transaction ? aoei_index_writer_undo(index, mark, code, err) : code;
}

int aoe_index_add(aoe_index *index, const aoe_index_document *documents, size_t n, aoe_error *err) {
    AOEI_CHECK(err, index, documents);
    const aoe_index_document defaults = {.struct_size = sizeof defaults};
    AOEI_CLEANUP(aoei_options_free) void *memory = NULL;
    aoei_write_mark mark;
    aoei_write_counts counts;
    int rc = aoei_options_array(&memory, documents, n, &defaults, &aoei_layout_aoe_index_document, __func__, err);
    if (!rc)
        rc = begin_part(index, &mark, &counts, err);
    if (rc)
        return rc;
    const aoe_index_document *full = memory;
    for (size_t i = 0; !rc && i < n; i++)
        rc = aoei_write_document(index, &full[i], 0, err);
    return end_part(index, &mark, &counts, rc, err);
}

int aoe_index_remove(aoe_index *index, const char *const *names, size_t n, size_t *removed, aoe_error *err) {
    size_t count = 0;
    if (removed)
        *removed = 0;
    AOEI_CHECK(err, index, names);
    aoei_write_mark mark;
    aoei_write_counts counts;
    int rc = begin_part(index, &mark, &counts, err);
    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < n; i++) {
        const size_t len = names[i] ? strlen(names[i]) : 0, before = count;
        int one = 0;
        if (len == 0)
            rc = aoei_fail(err, AOE_EARG, "aoe_index_remove: name %zu is empty", i);
        else if (names[i][len - 1] == '/')
            rc = remove_below(index, names[i], &count, err);
        else
            rc = aoei_write_remove(index, names[i], &one, err);
        count += (size_t)one;
        if (!rc && count == before && names[i][0] == '/')
            rc = remove_files(index, names[i], &count, err);
    }
    rc = end_part(index, &mark, &counts, rc, err);
    if (!rc && removed)
        *removed = count;
    return rc;
}

int aoe_index_commit(aoe_index *index, aoe_error *err) {
    AOEI_CHECK(err, index);
    if (index->writer && !index->writer->in_transaction)
        return 0;
    return aoei_write_commit(index, err);
}
