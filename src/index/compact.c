/* SPDX-License-Identifier: MIT
 * Compaction: copies the rows of all documents to vector files of the next generation, in the order of their rows, and
 * switches to them in one transaction. Readers keep the old files mapped until their next search. A row is copied only
 * if its checksum is right, so that damage is never hidden by a new checksum.
 *
 * New passages always get new ids, and a search allocates memory for all ids up to the largest one. If most ids are
 * unused, a compaction therefore also numbers documents and passages 1, 2, ... in the order that they have. The word
 * index contains the ids of passages, so it is then built again, which takes most of the time.
 */
#include "index/compact.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "index/embed_texts.h"
#include "index/encode.h"
#include "index/extents.h"
#include "index/reader.h"
#include "index/words.h"
#include "index/writer.h"

enum {
    BLOCK = 256,     /* rows that are copied together */
    MIN_DEAD = 256,  /* removed rows of an automatic compaction */
    MIN_GAPS = 1000, /* unused ids of an automatic compaction, in addition to the number of used ones */
    LARGE = 10000,   /* passages that a compaction moves in about half a second */
    PATIENCE = 4     /* larger indexes are compacted during a search only if they have this multiple of unused rows */
};

/* The place of the passages of a document. */
typedef struct place {
    int64_t id, first_passage;
    uint64_t first_row, n;
} place;

typedef struct compaction {
    aoe_index *index;
    aoei_index_writer *w;
    aoei_compaction kind;
    aoei_view *view; /* vectors of the last commit, owned */
    int swapped;     /* 1: the writer has the new files, and `old` has the old ones */
    uint64_t *bad;   /* [rows] bitmap of damaged rows, owned */
    place *document; /* [n_documents] in the order of their rows, owned */
    size_t n_documents, capacity;
    int documents_renumbered, renumbered; /* 1: the id of a document, or of a passage, has changed */
    aoei_vector_file old[3];              /* files of the old generation, owned */
    aoei_rows rows;                       /* [BLOCK] rows of the new generation */
    size_t n;                             /* rows in the block */
    size_t at[BLOCK];                     /* damaged rows of the block */
    size_t n_damaged;
    aoe_text text[BLOCK]; /* texts of these rows, owned */
    float *vectors;       /* [BLOCK, D], owned */
} compaction;

/* ------------------------------------------------------------------ documents */

static int bind_and_run(aoei_db *d, const char *sql, int64_t a, int64_t b, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = aoei_db_prepare(d, sql, &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, a);
    (void)sqlite3_bind_int64(stmt, 2, b);
    return aoei_db_finish(d, stmt, err);
}

/* Numbers the documents 1, 2, ... in the order of their ids. An id never becomes larger, so the next ids are free. */
static int number_documents(compaction *c, aoe_error *err) {
    aoei_db *d = &c->w->db;
    int64_t id = 0;
    for (int64_t next = 1;; next++) {
        sqlite3_stmt *stmt;
        int rc = aoei_db_prepare(d, "SELECT id FROM documents WHERE id > ?1 ORDER BY id LIMIT 1", &stmt, err);
        if (rc)
            return rc;
        (void)sqlite3_bind_int64(stmt, 1, id);
        if ((rc = aoei_db_step(d, stmt, err)) <= 0)
            return rc;
        id = sqlite3_column_int64(stmt, 0);
        aoei_db_reset(stmt);
        if (id == next)
            continue;
        c->documents_renumbered = 1;
        rc = bind_and_run(d, "UPDATE documents SET id = ?2 WHERE id = ?1", id, next, err);
        if (!rc)
            rc = bind_and_run(d, "UPDATE fields SET document = ?2 WHERE document = ?1", id, next, err);
        if (rc)
            return rc;
    }
}

/* Reads the places of all documents, and checks that they do not overlap and that their rows exist. */
static int read_documents(compaction *c, aoe_error *err) {
    aoei_db *d = &c->w->db;
    const aoei_view *v = c->view;
    sqlite3_stmt *stmt;
    uint64_t next = 0, live = 0;
    int rc = aoei_db_prepare(
        d, "SELECT id, first_passage, first_row, n_passages FROM documents WHERE n_passages > 0 ORDER BY first_row",
        &stmt, err);
    while (!rc && (rc = aoei_db_step(d, stmt, err)) == 1) {
        const int64_t row = sqlite3_column_int64(stmt, 2), n = sqlite3_column_int64(stmt, 3),
                      passage = sqlite3_column_int64(stmt, 1);
        rc = 0;
        if (row < 0 || (uint64_t)row < next || (uint64_t)row > v->rows || (uint64_t)n > v->rows - (uint64_t)row ||
            passage < 0 || passage > INT64_MAX - n)
            rc = aoei_db_damaged(d, "documents have the wrong vectors", err);
        else if (aoei_grow((void **)&c->document, &c->capacity, c->n_documents, sizeof *c->document))
            rc = aoei_fail_nomem(err, sizeof *c->document);
        if (rc)
            break;
        c->document[c->n_documents++] = (place){sqlite3_column_int64(stmt, 0), passage, (uint64_t)row, (uint64_t)n};
        next = (uint64_t)(row + n);
        live += (uint64_t)n;
    }
    if (rc) {
        aoei_db_reset(stmt);
        return rc;
    }
    return live == v->live_rows ? 0 : aoei_db_damaged(d, "documents have the wrong vectors", err);
}

/* Records the new place of a document. If its passages get new ids, these begin at `row` + 1. Documents move in the
 * order of their ids, and an id never becomes larger, so the new ids are free. */
static int move_document(compaction *c, const place *p, uint64_t row, aoe_error *err) {
    aoei_db *d = &c->w->db;
    sqlite3_stmt *document, *passages;
    const int64_t first = c->kind == AOEI_COMPACT_ROWS ? p->first_passage : (int64_t)row + 1;
    if (row == p->first_row && first == p->first_passage && !c->documents_renumbered)
        return 0;
    int rc =
        aoei_db_prepare(d, "UPDATE documents SET first_row = ?2, first_passage = ?3 WHERE id = ?1", &document, err);
    if (!rc)
        rc = aoei_db_prepare(d,
                             "UPDATE passages SET id = id - ?1 + ?3, row = id - ?1 + ?4, document = ?5 WHERE id >= ?1 "
                             "AND id < ?1 + ?2",
                             &passages, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(document, 1, p->id);
    (void)sqlite3_bind_int64(document, 2, (sqlite3_int64)row);
    (void)sqlite3_bind_int64(document, 3, first);
    (void)sqlite3_bind_int64(passages, 1, p->first_passage);
    (void)sqlite3_bind_int64(passages, 2, (sqlite3_int64)p->n);
    (void)sqlite3_bind_int64(passages, 3, first);
    (void)sqlite3_bind_int64(passages, 4, (sqlite3_int64)row);
    (void)sqlite3_bind_int64(passages, 5, p->id);
    c->renumbered |= first != p->first_passage;
    rc = aoei_db_finish(d, document, err);
    if (!rc)
        rc = aoei_db_finish(d, passages, err);
    if (!rc && (uint64_t)sqlite3_changes(d->db) != p->n)
        rc = aoei_db_damaged(d, "the passages of a document are missing", err);
    return rc;
}

/* --------------------------------------------------------------------- rows */

/* Writes the rows of the block, after the damaged ones are embedded again. */
static int write_block(compaction *c, aoe_error *err) {
    size_t tokens = 0, failed;
    int rc = c->n_damaged
                 ? aoei_embed_texts(c->index->embedder, c->text, c->n_damaged, c->vectors, &tokens, &failed, err)
                 : 0;
    for (size_t i = 0; i < c->n_damaged; i++) {
        if (!rc)
            rc = aoei_rows_encode(&c->rows, c->at[i], c->vectors + i * c->rows.dims, err);
        aoei_free((char *)(size_t)c->text[i].data);
    }
    c->n_damaged = 0;
    if (!rc && c->n)
        rc = aoei_index_writer_append(c->index, (const void *const *)c->rows.file, c->n, err);
    c->n = 0;
    return rc;
}

/* Sets *text to the text that is embedded for a passage; the caller frees text->data. */
static int read_text(aoei_db *d, int64_t passage, aoe_text *text, aoe_error *err) {
    sqlite3_stmt *stmt;
    aoei_buffer b = {0};
    int rc = aoei_db_prepare(d, "SELECT heading, text FROM passages WHERE id = ?1", &stmt, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 1, passage);
    rc = aoei_db_step(d, stmt, err);
    if (rc <= 0)
        return rc ? rc : aoei_db_damaged(d, "a passage is missing", err);
    const aoe_text heading = aoei_column_text(stmt, 0), body = aoei_column_text(stmt, 1);
    (void)aoei_buffer_append(&b, heading.data, heading.len);
    if (heading.len)
        (void)aoei_buffer_putc(&b, '\n');
    (void)aoei_buffer_append(&b, body.data, body.len);
    aoei_db_reset(stmt);
    if (b.failed) {
        aoei_buffer_free(&b);
        return aoei_fail_nomem(err, body.len);
    }
    *text = (aoe_text){b.data, b.len};
    return 0;
}

/* Adds the row of a passage to the block. */
static int add_row(compaction *c, uint64_t row, int64_t passage, aoe_error *err) {
    const aoei_view *v = c->view;
    const aoei_vectors *const files[] = {&v->codes, &v->signs, &v->values};
    if (c->n == BLOCK) {
        const int rc = write_block(c, err);
        if (rc)
            return rc;
    }
    const size_t i = c->n++;
    if (c->bad[row / 64] >> (row % 64) & 1) {
        const int rc = read_text(&c->w->db, passage, &c->text[c->n_damaged], err);
        if (!rc)
            c->at[c->n_damaged++] = i;
        return rc;
    }
    for (size_t k = 0; k < 3 && k < c->w->n_files; k++)
        memcpy(c->rows.file[k] + i * c->rows.stride[k], files[k]->rows + (size_t)row * files[k]->stride,
               c->rows.stride[k]);
    return 0;
}

static int copy_documents(compaction *c, aoe_error *err) {
    uint64_t row = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < c->n_documents; i++) {
        const place *p = &c->document[i];
        for (uint64_t k = 0; !rc && k < p->n; k++)
            rc = add_row(c, p->first_row + k, p->first_passage + (int64_t)k, err);
        if (!rc)
            rc = move_document(c, p, row, err);
        row += p->n;
    }
    return rc ? rc : write_block(c, err);
}

/* --------------------------------------------------------------------- words */

/* Builds the word index again from the texts of all passages. */
static int rebuild_words(compaction *c, aoe_error *err) {
    aoei_db *d = &c->w->db;
    sqlite3_stmt *select = NULL, *insert;
    int rc = c->kind == AOEI_COMPACT_REPAIR ? aoei_words_empty(d, err) : 0;
    if (!rc)
        rc = aoei_words_create(d, c->index->settings.stem, err);
    if (!rc)
        rc = aoei_db_prepare(d, "SELECT id, heading, text FROM passages ORDER BY id", &select, err);
    if (!rc)
        rc = aoei_db_prepare(d, "INSERT INTO words (rowid, w) VALUES (?1, ?2)", &insert, err);
    while (!rc && (rc = aoei_db_step(d, select, err)) == 1) {
        aoei_buffer *b = &c->w->words;
        aoei_buffer_clear(b);
        rc = aoei_words_text(b, aoei_column_text(select, 1), err);
        if (!rc)
            rc = aoei_words_text(b, aoei_column_text(select, 2), err);
        if (rc)
            break;
        (void)sqlite3_bind_int64(insert, 1, sqlite3_column_int64(select, 0));
        aoei_bind_text(insert, 2, (aoe_text){b->data, b->len});
        rc = aoei_db_finish(d, insert, err);
    }
    aoei_db_reset(select);
    return rc;
}

/* ---------------------------------------------------------------- compaction */

/* Begins the transaction, and reads the places of the documents and the checksums of their rows. */
static int begin(compaction *c, aoe_error *err) {
    aoei_reader *r;
    size_t n_bad = 0;
    int rc = aoei_reader_begin_damaged(&r, c->index, err);
    if (rc)
        return rc;
    c->view = aoei_view_keep(r->view);
    aoei_reader_end(r); /* with a rollback journal, a reader would prevent the commit */
    if ((rc = aoei_db_run(&c->w->db, "BEGIN IMMEDIATE", err)))
        return rc;
    c->w->in_transaction = 1;
    rc = c->kind == AOEI_COMPACT_ROWS ? 0 : number_documents(c, err);
    if (!rc)
        rc = read_documents(c, err);
    if (!rc)
        rc = aoei_extents_check(&c->bad, &n_bad, &c->w->db, c->view, err);
    if (!rc && n_bad && c->kind != AOEI_COMPACT_REPAIR)
        rc = aoei_db_damaged(&c->w->db, "the checksum of some vectors is wrong", err);
    if (!rc && n_bad && !c->index->embedder)
        rc = aoei_fail(err, AOE_EARG, "%s: repairing the vectors needs an embedder", c->index->dir);
    if (!rc)
        rc = aoei_rows_reserve(&c->rows, BLOCK, c->index->settings.dims, c->index->settings.store, err);
    if (!rc && n_bad && !(c->vectors = aoei_malloc_array(BLOCK, c->rows.dims * sizeof *c->vectors)))
        rc = aoei_fail_nomem(err, BLOCK * c->rows.dims * sizeof *c->vectors);
    return rc;
}

/* Gives the writer empty files of the next generation. */
static int swap_files(compaction *c, aoe_error *err) {
    aoei_index_writer *w = c->w;
    aoei_vector_header h[3];
    memcpy(c->old, w->file, sizeof c->old);
    memset(w->file, 0, sizeof w->file);
    c->swapped = 1;
    w->n_checked = 0;
    w->now.state.generation++;
    w->now.state.rows = w->now.state.live = w->now.state.deleted_words = 0;
    w->now.extent = (aoei_extent){0};
    w->all_live = 1;
    int rc = 0;
    const size_t n = aoei_view_headers(h, &c->index->settings, w->now.state.generation);
    for (size_t i = 0; !rc && i < n; i++) {
        char *path = aoei_vector_path(c->index->dir, h[i].type, w->now.state.generation);
        rc = path ? aoei_vector_file_create(&w->file[i], path, &h[i], err) : aoei_fail_nomem(err, 0);
        aoei_free(path);
    }
    return rc ? rc : aoei_db_run(&w->db, "DELETE FROM extents", err);
}

static int rewrite(compaction *c, aoe_error *err) {
    int rc = begin(c, err);
    if (!rc)
        rc = swap_files(c, err);
    if (!rc)
        rc = copy_documents(c, err);
    if (!rc && (c->renumbered || c->kind == AOEI_COMPACT_REPAIR))
        rc = rebuild_words(c, err);
    if (!rc)
        rc = aoei_db_run(&c->w->db, "INSERT INTO words (words) VALUES ('optimize')", err);
    return rc ? rc : aoei_index_writer_commit(c->index, err);
}

/* Closes files, and removes them unless `keep` is 1. */
static void close_and_remove(aoei_vector_file file[3], int keep) {
    for (int i = 0; i < 3; i++) {
        if (file[i].path && !keep)
            (void)unlink(file[i].path);
        aoei_vector_file_close(&file[i]);
    }
}

/* Removes the files that are not needed: the old ones after success, the new ones after a failure. If it is uncertain
 * which files the database names, all stay until the writer is settled. */
static void finish(compaction *c, int failed) {
    aoei_index_writer *w = c->w;
    w->all_live = 0;
    if (c->swapped && failed) {
        close_and_remove(w->file, w->uncertain);
        memcpy(w->file, c->old, sizeof w->file);
    } else if (c->swapped) {
        close_and_remove(c->old, 0);
    }
    if (failed)
        aoei_index_writer_rollback(c->index);
    for (size_t i = 0; i < c->n_damaged; i++)
        aoei_free((char *)(size_t)c->text[i].data);
    aoei_view_release(c->view);
    aoei_rows_free(&c->rows);
    aoei_free(c->vectors);
    aoei_free(c->bad);
    aoei_free(c->document);
    aoei_free(c);
}

int aoei_compact(aoe_index *index, aoei_compaction kind, aoe_error *err) {
    compaction *c = aoei_calloc(1, sizeof *c);
    if (!c)
        return aoei_fail_nomem(err, sizeof *c);
    c->index = index;
    c->kind = kind;
    c->w = index->writer;
    int rc = aoei_index_writer_settle(index, err);
    if (!rc)
        rc = rewrite(c, err);
    finish(c, rc != 0);
    if (rc)
        return rc;
    /* Both are only for the size of the files. Readers of older commits can prevent them. */
    (void)sqlite3_exec(index->writer->db.db, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    (void)sqlite3_exec(index->writer->db.db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    return 0;
}

/* Returns 1 if most ids of a table are unused. max: SQL of the largest id; most: number of ids that may be used */
static int is_sparse(aoei_db *d, const char *max, uint64_t most) {
    int64_t last;
    return !aoei_db_number(d, max, &last, NULL) && last > MIN_GAPS && (uint64_t)last - MIN_GAPS > most;
}

/* Returns 1 if documents or passages have ids that are much larger than their number. The number of documents is
 * counted only if it can be the reason, because most documents have passages. */
static int has_gaps(aoei_db *d, uint64_t passages, uint64_t factor) {
    static const char last[] = "SELECT max(id) FROM documents";
    int64_t n;
    if (is_sparse(d, "SELECT max(id) FROM passages", factor * passages))
        return 1;
    return is_sparse(d, last, factor * passages) && !aoei_db_number(d, "SELECT count(*) FROM documents", &n, NULL) &&
           is_sparse(d, last, factor * (uint64_t)n);
}

void aoei_compact_if_needed(aoe_index *index, int in_search) {
    const aoei_index_state *s = &index->writer->committed.state;
    const uint64_t dead = s->rows - s->live, factor = in_search && s->live > LARGE ? PATIENCE : 1;
    const int renumber = has_gaps(&index->writer->db, s->live, 2 * factor);
    aoe_error err;
    if (!renumber && (dead <= MIN_DEAD || dead <= factor * s->live / 2))
        return;
    if (aoei_compact(index, renumber ? AOEI_COMPACT_IDS : AOEI_COMPACT_ROWS, &err))
        aoei_log_write(&index->log, AOE_LOG_WARNING, "the index was not compacted: %s", err.message);
}
