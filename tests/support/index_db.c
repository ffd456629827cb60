/* SPDX-License-Identifier: MIT
 * Writes the rows of documents directly. The library writes them in the same way, together with vectors.
 */
#include "index_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/plain_number.h"
#include "index/schema.h"
#include "index/words.h"
#include "support.h"

void test_index_open(aoei_db *d, int stem) {
    char *path = test_path(test_dir, "index.db");
    float probe = 1;
    char none[] = "";
    const aoei_index_settings s = {.dims = 1,
                                   .passage_tokens = 400,
                                   .stem = stem,
                                   .model = none,
                                   .pooling = none,
                                   .query_prompt = none,
                                   .document_prompt = none,
                                   .place = none,
                                   .query_probe = &probe,
                                   .document_probe = &probe};
    aoe_error err = {0};
    (void)remove(path);
    if (aoei_db_open(d, path, AOEI_DB_WRITE, 0, &err) || aoei_schema_create(d, &s, &err))
        fail_msg("%s", err.message);
    free(path);
}

static void run(aoei_db *d, sqlite3_stmt *s) {
    aoe_error err = {0};
    if (aoei_db_finish(d, s, &err))
        fail_msg("%s", err.message);
}

static void add_passage(aoei_db *d, int64_t document, int64_t passage, size_t line, const char *text) {
    sqlite3_stmt *s;
    assert_int_equal(
        aoei_db_prepare(d,
                        "INSERT INTO passages (id, document, row, line, last_line, heading, text, hash, given) "
                        "VALUES (?1, ?2, ?1 - 1, ?3, ?3, '', ?4, 0, 0)",
                        &s, NULL),
        0);
    (void)sqlite3_bind_int64(s, 1, passage);
    (void)sqlite3_bind_int64(s, 2, document);
    (void)sqlite3_bind_int64(s, 3, (sqlite3_int64)line);
    aoei_bind_string(s, 4, text);
    run(d, s);
    aoei_buffer words = {0};
    assert_int_equal(aoei_words_text(&words, aoe_text_of(text), NULL), 0);
    assert_int_equal(aoei_db_prepare(d, "INSERT INTO words (rowid, w) VALUES (?1, ?2)", &s, NULL), 0);
    (void)sqlite3_bind_int64(s, 1, passage);
    aoei_bind_text(s, 2, (aoe_text){words.data, words.len});
    run(d, s);
    aoei_buffer_free(&words);
}

static void add_field(aoei_db *d, int64_t document, const char *field) {
    sqlite3_stmt *s;
    const char *equal = strchr(field, '=');
    const aoe_text value = aoe_text_of(equal + 1);
    const char *sql = aoei_is_plain_number(value)
                          ? "INSERT INTO fields (document, key, value, text) VALUES (?1, ?2, CAST(?3 AS NUMERIC), ?3)"
                          : "INSERT INTO fields (document, key, value) VALUES (?1, ?2, ?3)";
    assert_int_equal(aoei_db_prepare(d, sql, &s, NULL), 0);
    (void)sqlite3_bind_int64(s, 1, document);
    aoei_bind_text(s, 2, (aoe_text){field, (size_t)(equal - field)});
    aoei_bind_text(s, 3, value);
    run(d, s);
}

int64_t test_index_add(aoei_db *d, const char *name, const char *const *passages, size_t n, const char *const *fields) {
    sqlite3_stmt *s;
    int64_t document, first;
    assert_int_equal(aoei_db_number(d, "SELECT coalesce(max(id), 0) + 1 FROM documents", &document, NULL), 0);
    assert_int_equal(aoei_db_number(d, "SELECT coalesce(max(id), 0) + 1 FROM passages", &first, NULL), 0);
    assert_int_equal(
        aoei_db_prepare(d, "INSERT INTO documents VALUES (?1, NULL, ?2, NULL, ?3, ?3 - 1, ?4, 0)", &s, NULL), 0);
    (void)sqlite3_bind_int64(s, 1, document);
    aoei_bind_string(s, 2, name);
    if (n)
        (void)sqlite3_bind_int64(s, 3, first);
    (void)sqlite3_bind_int64(s, 4, (sqlite3_int64)n);
    run(d, s);
    for (size_t i = 0; i < n; i++)
        add_passage(d, document, first + (int64_t)i, i + 1, passages[i]);
    for (; fields && *fields; fields++)
        add_field(d, document, *fields);
    return first;
}

int64_t test_index_add_text(aoei_db *d, const char *name, const char *text) {
    return test_index_add(d, name, &text, 1, NULL);
}
