/* SPDX-License-Identifier: MIT
 * Writes the queued changes: finds vectors that can be reused, embeds the other passages, removes the passages of
 * removed and replaced documents, and inserts the new ones. Vectors are appended to the vector files first.
 */
#include "index/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/plain_number.h"
#include "index/embed_texts.h"
#include "index/extents.h"
#include "index/words.h"
#include "index/writer.h"

#define SLICE_SECONDS 1.0 /* time of a call of the embedder, after which a program can be cancelled */

enum {
    SAME_HASH = 8,   /* passages with the same hash that are compared with a new passage */
    MAX_DIGITS = 18, /* characters of an integer that is stored as such */
    FIRST_SLICE = 16,
    SMALLEST_SLICE = 16,
    LARGEST_SLICE = 1024
};

/* ------------------------------------------------------------------ removal */

static int run_with_id(aoei_db *d, const char *sql, int64_t id, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(d, sql, &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, id);
    return aoei_db_finish(d, stmt, err);
}

/* Reads the place of the passages of a document. Returns 1, or 0 if there is no such document. */
static int find_passages(aoe_index *index, int64_t document, aoei_removal *r, aoe_error *err) {
    aoei_db *d = &index->writer->db;
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(d, "SELECT first_passage, first_row, n_passages FROM documents WHERE id = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, document);
    if ((rc = aoei_db_step(d, stmt, err)) <= 0)
        return rc;
    const int64_t passage = sqlite3_column_int64(stmt, 0), row = sqlite3_column_int64(stmt, 1),
                  n = sqlite3_column_int64(stmt, 2);
    aoei_db_reset(stmt);
    const uint64_t rows = index->writer->now.state.rows;
    if (n < 0 || passage < 0 || row < 0 || (uint64_t)row > rows || (uint64_t)n > rows - (uint64_t)row ||
        passage > INT64_MAX - n)
        return aoei_db_damaged(d, "a document has passages that do not exist", err);
    *r = (aoei_removal){passage, (uint64_t)row, (uint64_t)n};
    return 1;
}

int aoei_changes_remove(aoe_index *index, int64_t document, aoe_error *err) {
    aoei_changes *c = index->changes;
    aoei_db *d = &index->writer->db;
    aoei_removal r = {0};
    int rc = find_passages(index, document, &r, err);
    if (rc <= 0)
        return rc;
    if (aoei_grow((void **)&c->removal, &c->removal_capacity, c->n_removals, sizeof *c->removal))
        return aoei_fail_nomem(err, sizeof *c->removal);
    rc = run_with_id(d, "DELETE FROM documents WHERE id = ?1", document, err);
    if (!rc)
        rc = run_with_id(d, "DELETE FROM fields WHERE document = ?1", document, err);
    if (!rc && r.n)
        c->removal[c->n_removals++] = r;
    return rc;
}

/* Sets writer->words to the words of a passage. */
static int make_words(aoei_index_writer *w, aoe_text heading, aoe_text text, aoe_error *err) {
    aoei_buffer_clear(&w->words);
    int rc = aoei_words_text(&w->words, heading, err);
    if (!rc)
        rc = aoei_words_text(&w->words, text, err);
    return rc;
}

/* Removes the words of the passages of a removal. */
static int delete_words(aoei_index_writer *w, const aoei_removal *r, aoe_error *err) {
    sqlite3_stmt *select, *erase;
    int rc = aoei_db_prepare(&w->db, "SELECT id, heading, text FROM passages WHERE id >= ?1 AND id < ?2 ORDER BY id",
                             &select, err);
    if (!rc)
        rc = aoei_db_prepare(&w->db, "INSERT INTO words (words, rowid, w) VALUES ('delete', ?1, ?2)", &erase, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(select, 1, r->first_passage);
    (void)sqlite3_bind_int64(select, 2, r->first_passage + (int64_t)r->n);
    while ((rc = aoei_db_step(&w->db, select, err)) == 1) {
        rc = make_words(w, aoei_column_text(select, 1), aoei_column_text(select, 2), err);
        if (rc)
            break;
        (void)sqlite3_bind_int64(erase, 1, sqlite3_column_int64(select, 0));
        aoei_bind_text(erase, 2, (aoe_text){w->words.data, w->words.len});
        if ((rc = aoei_db_finish(&w->db, erase, err)))
            break;
        w->now.state.deleted_words++;
    }
    aoei_db_reset(select);
    return rc;
}

static int compare_removals(const void *a, const void *b) {
    const int64_t x = ((const aoei_removal *)a)->first_passage, y = ((const aoei_removal *)b)->first_passage;
    return (x > y) - (x < y);
}

static int delete_range(aoe_index *index, const aoei_removal *r, aoe_error *err) {
    aoei_index_writer *w = index->writer;
    sqlite3_stmt *stmt;
    int rc = delete_words(w, r, err);
    if (!rc)
        rc = aoei_db_prepare(&w->db, "DELETE FROM passages WHERE id >= ?1 AND id < ?2", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, r->first_passage);
    (void)sqlite3_bind_int64(stmt, 2, r->first_passage + (int64_t)r->n);
    rc = aoei_db_finish(&w->db, stmt, err);
    return rc ? rc : aoei_index_writer_kill(index, r->first_row, r->n, err);
}

/* Removes the passages of all queued removals, in the order of their ids. */
static int delete_passages(aoe_index *index, aoe_error *err) {
    const aoei_changes *c = index->changes;
    if (c->n_removals == 0)
        return 0;
    aoei_removal *sorted = aoei_malloc_array(c->n_removals, sizeof *sorted);
    if (!sorted)
        return aoei_fail_nomem(err, c->n_removals * sizeof *sorted);
    memcpy(sorted, c->removal, c->n_removals * sizeof *sorted);
    qsort(sorted, c->n_removals, sizeof *sorted, compare_removals);
    int rc = 0;
    for (size_t i = 0; !rc && i < c->n_removals; i++)
        rc = delete_range(index, &sorted[i], err);
    aoei_free(sorted);
    return rc;
}

/* ------------------------------------------------------------------- vectors */

/* Returns 1 if row i of the queue was set from a passage of the index with the same text. A vector whose checksum is
 * wrong is not used, because the copy would get a new checksum. */
static int reuse_row(aoe_index *index, size_t i, aoe_error *err) {
    aoei_changes *c = index->changes;
    aoei_index_writer *w = index->writer;
    const aoei_queued_passage *p = &c->queue.passage[i];
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(&w->db, "SELECT row, heading, text FROM passages WHERE hash = ?1 AND given = 0 LIMIT ?2",
                             &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)p->hash);
    (void)sqlite3_bind_int(stmt, 2, SAME_HASH);
    while ((rc = aoei_db_step(&w->db, stmt, err)) == 1) {
        const aoe_text heading = aoei_column_text(stmt, 1), text = aoei_column_text(stmt, 2);
        const int64_t row = sqlite3_column_int64(stmt, 0);
        if (heading.len != p->heading.len || memcmp(heading.data, p->heading.data, heading.len) != 0 ||
            text.len != p->text.len || memcmp(text.data, p->text.data, text.len) != 0)
            continue;
        if (row < 0 || (uint64_t)row >= w->now.state.rows)
            rc = aoei_db_damaged(&w->db, "a passage has a vector that does not exist", err);
        else
            rc = aoei_extents_row_is_intact(w, (uint64_t)row, err);
        for (size_t k = 0; rc == 1 && k < w->n_files; k++) {
            unsigned char *to = c->queue.rows.file[k] + i * c->queue.rows.stride[k];
            const int code = aoei_vector_file_read(&w->file[k], (size_t)row, to, 1, err);
            rc = code ? code : 1;
        }
        break;
    }
    aoei_db_reset(stmt);
    return rc;
}

/* Reports the progress of a flush. */
static int report(const aoe_index *index, size_t passages, aoe_error *err) {
    return index->on_flush ? index->on_flush(index->on_flush_user, passages, err) : 0;
}

/* Returns the name of the document that contains passage i of the queue. */
static const char *document_of(const aoei_queue *q, size_t i) {
    for (size_t k = 0; k < q->n_documents; k++)
        if (i >= q->document[k].first && i - q->document[k].first < q->document[k].n)
            return q->document[k].name;
    return "";
}

/* Embeds the pending passages from `first` to first + n. */
static int embed_slice(aoe_index *index, size_t first, size_t n, aoe_error *err) {
    aoei_changes *c = index->changes;
    const size_t dims = index->settings.dims;
    size_t failed;
    if (n > c->capacity) {
        aoei_free(c->vectors);
        c->vectors = aoei_malloc_array(n, dims * sizeof *c->vectors);
        c->capacity = c->vectors ? n : 0;
        if (!c->vectors)
            return aoei_fail_nomem(err, n * dims * sizeof *c->vectors);
    }
    int rc = aoei_embed_texts(index->embedder, c->texts.text + first, n, c->vectors, &c->counts.tokens, &failed, err);
    if (rc && failed < n)
        (void)aoei_error_prefix(err, "%s", document_of(&c->queue, c->pending[first + failed]));
    for (size_t k = 0; !rc && k < n; k++)
        rc = aoei_rows_encode(&c->queue.rows, c->pending[first + k], c->vectors + k * dims, err);
    return rc;
}

/* Embeds the pending passages. If the program reports them, they are embedded in slices that take about a second. */
static int embed(aoe_index *index, aoe_error *err) {
    aoei_changes *c = index->changes;
    const size_t n = c->texts.n, reused = c->queue.n_passages - n;
    int rc = 0;
    for (size_t i = 0, m; !rc && i < n; i += m) {
        const size_t slice = c->slice ? c->slice : FIRST_SLICE;
        m = index->on_flush && n - i > 2 * slice ? slice : n - i;
        const double start = aoei_now();
        rc = embed_slice(index, i, m, err);
        const double rate = (double)m / (aoei_now() - start + 1e-6) * SLICE_SECONDS;
        c->slice = rate < SMALLEST_SLICE ? SMALLEST_SLICE : rate > LARGEST_SLICE ? LARGEST_SLICE : (size_t)rate;
        if (!rc)
            rc = report(index, reused + i + m, err);
    }
    return rc;
}

/* Adds passage i of the queue to the pending ones, or finds an earlier pending one with the same text. */
static int add_pending(aoei_changes *c, size_t i, aoe_error *err) {
    const size_t n = c->texts.n;
    size_t k;
    int rc = aoei_distinct_add(&c->texts, c->queue.passage[i].full, 1, &k, err);
    if (rc)
        return rc;
    if (k < n) {
        c->queue.passage[i].same = c->pending[k];
        c->counts.reused++;
        return 0;
    }
    if (aoei_grow((void **)&c->pending, &c->pending_capacity, n, sizeof *c->pending))
        return aoei_fail_nomem(err, n * sizeof *c->pending);
    c->pending[n] = i;
    return 0;
}

/* Sets the rows of all queued passages. */
static int fill_rows(aoe_index *index, aoe_error *err) {
    aoei_changes *c = index->changes;
    aoei_queue *q = &c->queue;
    int rc = 0;
    for (size_t i = 0; !rc && i < q->n_passages; i++) {
        aoei_queued_passage *p = &q->passage[i];
        p->same = SIZE_MAX;
        if (p->given)
            continue;
        rc = reuse_row(index, i, err);
        if (rc == 0)
            rc = add_pending(c, i, err);
        else if (rc == 1)
            c->counts.reused++;
        rc = rc == 1 ? 0 : rc;
    }
    if (!rc)
        rc = embed(index, err);
    for (size_t i = 0; !rc && i < q->n_passages; i++)
        if (q->passage[i].same != SIZE_MAX)
            aoei_rows_copy(&q->rows, i, q->passage[i].same);
    aoei_distinct_free(&c->texts);
    return rc;
}

/* ----------------------------------------------------------------- insertion */

/* Removes the documents that the queue replaces. */
static int remove_replaced(aoe_index *index, aoe_error *err) {
    aoei_changes *c = index->changes;
    aoei_db *d = &index->writer->db;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->queue.n_documents; i++) {
        sqlite3_stmt *stmt;
        if ((rc = aoei_db_prepare(d, "SELECT id FROM documents WHERE name = ?1", &stmt, err)))
            break;
        aoei_bind_string(stmt, 1, c->queue.document[i].name);
        rc = aoei_db_step(d, stmt, err);
        if (rc == 1) {
            const int64_t id = sqlite3_column_int64(stmt, 0);
            aoei_db_reset(stmt);
            rc = aoei_changes_remove(index, id, err);
            c->counts.changed++;
        } else if (rc == 0) {
            c->counts.added++;
        }
    }
    return rc;
}

static int insert_document(aoei_db *d, const aoei_queued_document *doc, int64_t passage, uint64_t row, int64_t *id,
                           aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = aoei_db_prepare(d,
                             "INSERT INTO documents (file, name, title, first_passage, first_row, n_passages, hash) "
                             "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                             &stmt, err);
    if (rc)
        return rc;
    if (doc->file)
        (void)sqlite3_bind_int64(stmt, 1, doc->file);
    aoei_bind_string(stmt, 2, doc->name);
    aoei_bind_string(stmt, 3, doc->title);
    if (doc->n) {
        (void)sqlite3_bind_int64(stmt, 4, passage);
        (void)sqlite3_bind_int64(stmt, 5, (sqlite3_int64)row);
    }
    (void)sqlite3_bind_int64(stmt, 6, (sqlite3_int64)doc->n);
    (void)sqlite3_bind_int64(stmt, 7, (sqlite3_int64)doc->hash);
    rc = aoei_db_finish(d, stmt, err);
    *id = sqlite3_last_insert_rowid(d->db);
    return rc;
}

static int insert_field(aoei_db *d, int64_t document, const aoe_index_field *f, aoe_error *err) {
    const int is_number = aoei_is_plain_number(f->value);
    const int is_zero = is_number && f->value.len > 1 && memcmp(f->value.data, "-0", 2) == 0; /* no integer keeps '-' */
    const int is_real = is_number && (is_zero || f->value.len > MAX_DIGITS || memchr(f->value.data, '.', f->value.len));
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(
        d,
        is_real     ? "INSERT INTO fields (document, key, value, text) VALUES (?1, ?2, CAST(?3 AS REAL), ?3)"
        : is_number ? "INSERT INTO fields (document, key, value, text) VALUES (?1, ?2, CAST(?3 AS INTEGER), NULL)"
                    : "INSERT INTO fields (document, key, value, text) VALUES (?1, ?2, ?3, NULL)",
        &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, document);
    aoei_bind_string(stmt, 2, f->key);
    aoei_bind_text(stmt, 3, f->value);
    return aoei_db_finish(d, stmt, err);
}

static int insert_passage(aoei_index_writer *w, const aoei_queued_passage *p, int64_t document, int64_t id,
                          uint64_t row, aoe_error *err) {
    sqlite3_stmt *stmt, *words;
    int rc = aoei_db_prepare(&w->db,
                             "INSERT INTO passages (id, document, row, line, last_line, heading, text, hash, given) "
                             "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                             &stmt, err);
    if (!rc)
        rc = aoei_db_prepare(&w->db, "INSERT INTO words (rowid, w) VALUES (?1, ?2)", &words, err);
    if (!rc)
        rc = make_words(w, p->heading, p->text, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, id);
    (void)sqlite3_bind_int64(stmt, 2, document);
    (void)sqlite3_bind_int64(stmt, 3, (sqlite3_int64)row);
    (void)sqlite3_bind_int64(stmt, 4, (sqlite3_int64)p->line);
    (void)sqlite3_bind_int64(stmt, 5, (sqlite3_int64)p->last_line);
    aoei_bind_text(stmt, 6, p->heading);
    aoei_bind_text(stmt, 7, p->text);
    (void)sqlite3_bind_int64(stmt, 8, (sqlite3_int64)p->hash);
    (void)sqlite3_bind_int64(stmt, 9, (sqlite3_int64)p->given);
    if ((rc = aoei_db_finish(&w->db, stmt, err)))
        return rc;
    (void)sqlite3_bind_int64(words, 1, id);
    aoei_bind_text(words, 2, (aoe_text){w->words.data, w->words.len});
    return aoei_db_finish(&w->db, words, err);
}

/* Inserts the queued documents. Their rows begin at `row`, and their passages at `passage`. */
static int insert_documents(aoe_index *index, int64_t passage, uint64_t row, aoe_error *err) {
    aoei_queue *q = &index->changes->queue;
    aoei_index_writer *w = index->writer;
    int rc = 0;
    for (size_t i = 0; !rc && i < q->n_documents; i++) {
        const aoei_queued_document *doc = &q->document[i];
        int64_t id;
        rc = insert_document(&w->db, doc, passage + (int64_t)doc->first, row + doc->first, &id, err);
        for (size_t k = 0; !rc && k < doc->n_fields; k++)
            rc = insert_field(&w->db, id, &q->field[doc->first_field + k], err);
        for (size_t k = doc->first; !rc && k < doc->first + doc->n; k++) {
            rc = insert_passage(w, &q->passage[k], id, passage + (int64_t)k, row + k, err);
            if (!rc && k % SMALLEST_SLICE == 0)
                rc = report(index, q->n_passages, err);
        }
    }
    index->changes->counts.passages += q->n_passages;
    return rc;
}

/* --------------------------------------------------------------------- flush */

/* Writes the queue into the open savepoint. */
static int write_queue(aoe_index *index, aoe_error *err) {
    aoei_queue *q = &index->changes->queue;
    aoei_index_writer *w = index->writer;
    int64_t last;
    int rc = aoei_db_number(&w->db, "SELECT max(id) FROM passages", &last, err);
    if (!rc && (last < 0 || last > INT64_MAX / 4))
        rc = aoei_db_damaged(&w->db, "the id of a passage is out of range", err);
    if (!rc)
        rc = fill_rows(index, err);
    if (!rc)
        rc = remove_replaced(index, err);
    if (!rc)
        rc = delete_passages(index, err);
    const uint64_t row = w->now.state.rows;
    if (!rc && q->n_passages)
        rc = aoei_index_writer_append(index, (const void *const *)q->rows.file, q->n_passages, err);
    return rc ? rc : insert_documents(index, last + 1, row, err);
}

int aoei_changes_flush(aoe_index *index, aoe_error *err) {
    aoei_changes *c = index->changes;
    if (c->queue.n_documents == 0 && c->n_removals == 0)
        return 0;
    const aoei_write_counts counts = c->counts;
    const size_t n_removals = c->n_removals;
    aoei_write_mark mark;
    int rc = aoei_index_writer_save(index, &mark, err);
    if (!rc) {
        rc = write_queue(index, err);
        if (!rc)
            rc = aoei_index_writer_keep(index, err);
        if (rc)
            rc = aoei_index_writer_undo(index, &mark, rc, err);
    }
    aoei_queue_clear(&c->queue);
    c->n_removals = rc && index->writer->in_transaction ? n_removals : 0;
    if (rc)
        c->counts = counts;
    return rc;
}

void aoei_changes_clear(aoei_changes *c) {
    aoei_queue_clear(&c->queue);
    c->n_removals = 0;
    c->file = 0;
}

void aoei_changes_free(aoei_changes *c) {
    if (!c)
        return;
    aoei_queue_free(&c->queue);
    aoei_free(c->removal);
    aoei_free(c->pending);
    aoei_distinct_free(&c->texts);
    aoei_free(c->vectors);
    aoei_free(c);
}
