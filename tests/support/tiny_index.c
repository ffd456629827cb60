/* SPDX-License-Identifier: MIT
 * Small indexes for tests.
 */
#include "tiny_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "index/lengths.h"
#include "index/reader.h"
#include "support.h"
#include "tiny_model.h"

aoe_embedder *tiny_index_embedder;
char *tiny_index_dir;
static aoe_context *context;
static aoe_model *model;

int tiny_index_begin(void **state) {
    (void)state;
    aoe_error err;
    tiny_index_dir = tiny_dir_create();
    tiny_model o = tiny_defaults();
    o.positions = 64;
    char *dir = test_path(tiny_index_dir, "model");
    tiny_model_write(dir, &o);
    context = tiny_context(1);
    if (aoe_model_open(&model, context, dir, NULL, &err) ||
        aoe_embedder_create(&tiny_index_embedder, model, NULL, &err))
        fail_msg("%s", err.message);
    free(dir);
    return 0;
}

int tiny_index_end(void **state) {
    (void)state;
    aoe_embedder_destroy(tiny_index_embedder);
    aoe_model_close(model);
    aoe_context_destroy(context);
    test_dir_remove(tiny_index_dir);
    return 0;
}

char *tiny_index_path(void) {
    static int n;
    char name[32];
    snprintf(name, sizeof name, "index%d", n++);
    return test_path(tiny_index_dir, name);
}

aoe_index *tiny_index_open(const char *path, aoe_index_access access, const aoe_index_options *o) {
    aoe_index *index;
    aoe_error err;
    if (aoe_index_open(&index, path, access, tiny_index_embedder, o, &err))
        fail_msg("%s", err.message);
    return index;
}

int tiny_index_add(aoe_index *index, const char *name, const char *text, aoe_error *err) {
    const aoe_index_document d = {.struct_size = sizeof d, .name = name, .text = aoe_text_of(text)};
    return aoe_index_add(index, &d, 1, err);
}

const char *tiny_index_text(uint32_t i, uint32_t version) {
    static char text[4096];
    size_t at = 0;
    for (uint32_t k = 0; k <= (i + version) % 7; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s.", k ? (k % 3 ? " " : "\n\n") : "",
                               tiny_text(i * 31 + version * 17 + k));
    return text;
}

static void append_words(aoei_buffer *b, aoei_db *db) {
    sqlite3_stmt *stmt;
    aoe_error err;
    if (aoei_db_prepare(db, "SELECT term, doc, cnt FROM vocabulary ORDER BY term", &stmt, &err))
        fail_msg("%s", err.message);
    while (aoei_db_step(db, stmt, &err) == 1)
        aoei_buffer_printf(b, "%s %d %d\n", aoei_column_text(stmt, 0).data, sqlite3_column_int(stmt, 1),
                           sqlite3_column_int(stmt, 2));
}

/* Appends the words of each passage in their order, and the recorded numbers of words. */
static void append_passage_words(aoei_buffer *b, aoei_db *db) {
    sqlite3_stmt *stmt;
    aoe_error err;
    aoei_lengths *lengths;
    int64_t last = -1;
    int rc = aoei_db_run(db,
                         "PRAGMA query_only = OFF; CREATE VIRTUAL TABLE IF NOT EXISTS temp.dumped_words USING "
                         "fts5vocab(main, words, instance); PRAGMA query_only = ON",
                         &err);
    if (rc || aoei_lengths_read(&lengths, db, &err) ||
        aoei_db_prepare(db,
                        "SELECT w.doc, coalesce(d.name, 'no document'), w.doc - d.first_passage, w.term FROM "
                        "temp.dumped_words w LEFT JOIN passages p ON p.id = w.doc LEFT JOIN documents d ON d.id = "
                        "p.document ORDER BY d.name, w.doc, w.\"offset\"",
                        &stmt, &err))
        fail_msg("%s", err.message);
    while ((rc = aoei_db_step(db, stmt, &err)) == 1) {
        const int64_t id = sqlite3_column_int64(stmt, 0);
        if (id != last)
            aoei_buffer_printf(b, "\nwords %s %d, %d:", aoei_column_text(stmt, 1).data, sqlite3_column_int(stmt, 2),
                               id >= 0 && (uint64_t)id < lengths->n ? (int)lengths->words[id] : -1);
        aoei_buffer_printf(b, " %s", aoei_column_text(stmt, 3).data);
        last = id;
    }
    if (rc)
        fail_msg("%s", err.message);
    aoei_buffer_printf(b, "\npassages with words: %zu, words: %llu\n", lengths->passages,
                       (unsigned long long)lengths->total);
    aoei_lengths_free(lengths);
}

static void append_fields(aoei_buffer *b, aoei_db *db, int64_t document) {
    sqlite3_stmt *stmt;
    aoe_error err;
    if (aoei_db_prepare(
            db, "SELECT key, coalesce(text, value), typeof(value) FROM fields WHERE document = ?1 ORDER BY rowid",
            &stmt, &err))
        fail_msg("%s", err.message);
    sqlite3_bind_int64(stmt, 1, document);
    while (aoei_db_step(db, stmt, &err) == 1)
        aoei_buffer_printf(b, "  %s=%s %s\n", aoei_column_text(stmt, 0).data, aoei_column_text(stmt, 1).data,
                           aoei_column_text(stmt, 2).data);
}

char *tiny_index_dump(aoe_index *index) {
    aoei_buffer b = {0};
    aoei_reader *r;
    aoe_error err;
    sqlite3_stmt *stmt;
    int rc;
    if (aoei_reader_begin(&r, index, &err) ||
        aoei_db_prepare(&r->db,
                        "SELECT d.name, d.title, d.id, p.id - d.first_passage, p.row, p.line, p.last_line, p.heading, "
                        "p.text, p.row - d.first_row FROM documents d LEFT JOIN passages p ON p.document = d.id ORDER "
                        "BY d.name, p.id",
                        &stmt, &err))
        fail_msg("%s", err.message);
    float *vector = malloc(r->view->dims * sizeof *vector);
    size_t live = 0;
    while ((rc = aoei_db_step(&r->db, stmt, &err)) == 1) {
        aoei_buffer_printf(&b, "%s|%s", aoei_column_text(stmt, 0).data, aoei_column_text(stmt, 1).data);
        if (sqlite3_column_type(stmt, 4) != SQLITE_NULL) {
            const size_t row = (size_t)sqlite3_column_int64(stmt, 4);
            assert_true(aoei_view_is_live(r->view, row));
            assert_int_equal(sqlite3_column_int64(stmt, 3), sqlite3_column_int64(stmt, 9));
            aoei_view_vector(r->view, row, vector);
            const uint64_t h = aoei_hash(AOEI_HASH_START, vector, r->view->dims * sizeof *vector),
                           c = aoei_hash(h, r->view->codes.rows + row * r->view->codes.stride, r->view->codes.stride);
            aoei_buffer_printf(&b, " %d %d-%d [%s] %s %016llx", sqlite3_column_int(stmt, 3),
                               sqlite3_column_int(stmt, 5), sqlite3_column_int(stmt, 6), aoei_column_text(stmt, 7).data,
                               aoei_column_text(stmt, 8).data,
                               (unsigned long long)aoei_hash(c, r->view->signs.rows + row * r->view->signs.stride,
                                                             r->view->signs.stride));
            live++;
        }
        aoei_buffer_putc(&b, '\n');
        append_fields(&b, &r->db, sqlite3_column_int64(stmt, 2));
    }
    if (rc)
        fail_msg("%s", err.message);
    assert_int_equal(live, r->view->live_rows);
    append_words(&b, &r->db);
    append_passage_words(&b, &r->db);
    free(vector);
    aoei_reader_end(r);
    char *text = strdup(b.data ? b.data : "");
    aoei_buffer_free(&b);
    return text;
}

char *tiny_index_dump_path(const char *path, aoe_error *err) {
    aoe_index *index;
    if (aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, err))
        return NULL;
    char *text = tiny_index_dump(index);
    aoe_index_close(index);
    return text;
}
