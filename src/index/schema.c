/* SPDX-License-Identifier: MIT
 * Creates and checks the tables of an index, and reads and writes its settings and state. All numbers are checked when
 * they are read, because the database may be damaged or come from somebody else.
 */
#include "index/schema.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"

#define APPLICATION_ID 1634690377 /* the bytes "aoeI" */
#define SCHEMA_VERSION 1
#define MAX_ROWS       ((uint64_t)UINT32_MAX - 1)
#define MAX_COUNT      ((uint64_t)1 << 53)
#define MAX_DIMS       65536 /* of the scans (vectors/scan.h) */

static const char tables[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;"
    "CREATE TABLE sources (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL, text_column TEXT, "
    "id_column TEXT, excludes TEXT) STRICT;"
    "CREATE TABLE files (id INTEGER PRIMARY KEY, source INTEGER NOT NULL, path TEXT NOT NULL, size INTEGER NOT NULL, "
    "mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, hash INTEGER NOT NULL, state "
    "INTEGER NOT NULL, UNIQUE (source, path)) STRICT;"
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, file INTEGER, name TEXT NOT NULL UNIQUE, title TEXT, "
    "first_passage INTEGER UNIQUE, first_row INTEGER UNIQUE, n_passages INTEGER NOT NULL, hash INTEGER NOT NULL) "
    "STRICT;"
    "CREATE INDEX documents_file ON documents (file);"
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER NOT NULL, row INTEGER NOT NULL, line INTEGER NOT "
    "NULL, last_line INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL, hash INTEGER NOT NULL, given INTEGER "
    "NOT NULL) STRICT;"
    "CREATE INDEX passages_hash ON passages (hash);"
    "CREATE TABLE fields (document INTEGER NOT NULL, key TEXT NOT NULL, value NOT NULL, text TEXT);"
    "CREATE INDEX fields_document ON fields (document);"
    "CREATE INDEX fields_key ON fields (key, value, document);"
    "CREATE TABLE extents (first_row INTEGER PRIMARY KEY, n INTEGER NOT NULL, codes INTEGER NOT NULL, signs INTEGER "
    "NOT NULL, vals INTEGER NOT NULL) STRICT;";

/* ----------------------------------------------------------------- creation */

int aoei_schema_check(aoei_db *d, int *is_new, aoe_error *err) {
    int64_t id, version, objects;
    int rc = aoei_db_number(d, "PRAGMA application_id", &id, err);
    if (!rc)
        rc = aoei_db_number(d, "PRAGMA user_version", &version, err);
    if (!rc)
        rc = aoei_db_number(d, "SELECT count(*) FROM sqlite_master", &objects, err);
    if (rc)
        return rc;
    *is_new = id == 0 && version == 0 && objects == 0;
    if (*is_new || (id == APPLICATION_ID && version == SCHEMA_VERSION))
        return 0;
    if (id == APPLICATION_ID)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the index has format version %lld, but this version of aoe supports only version %d; use "
                         "a newer aoe, or create the index again",
                         d->path, (long long)version, SCHEMA_VERSION);
    return aoei_fail(err, AOE_EFORMAT, "%s: the file is a database of another program; choose another directory",
                     d->path);
}

int aoei_words_create(aoei_db *d, int stem, aoe_error *err) {
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "DROP TABLE IF EXISTS vocabulary; DROP TABLE IF EXISTS words;"
                   "CREATE VIRTUAL TABLE words USING fts5(w, content='', tokenize='%sunicode61 remove_diacritics 2');"
                   "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
                   stem ? "porter " : "");
    return aoei_db_run(d, sql, err);
}

int aoei_words_empty(aoei_db *d, aoe_error *err) {
    /* The record 10 is the structure: a cookie of 4 bytes, and 0 levels, segments and writes. The record 1 contains the
     * numbers of rows and words. */
    static const char sql[] = "DELETE FROM words_config; INSERT INTO words_config (k, v) VALUES ('version', 4);"
                              "DELETE FROM words_idx; DELETE FROM words_docsize; DELETE FROM words_data;"
                              "INSERT INTO words_data (id, block) VALUES (1, x''), (10, x'00000000000000')";
    (void)sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL); /* it protects these tables */
    const int code = aoei_db_run(d, sql, err);
    (void)sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return code;
}

static int put_value(aoei_db *d, sqlite3_stmt **stmt, const char *key, aoe_error *err) {
    const int rc = aoei_db_prepare(d, "REPLACE INTO meta (key, value) VALUES (?1, ?2)", stmt, err);
    if (!rc)
        aoei_bind_string(*stmt, 1, key);
    return rc;
}

static int put_number(aoei_db *d, const char *key, uint64_t value, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = put_value(d, &stmt, key, err);
    if (rc)
        return rc;
    (void)sqlite3_bind_int64(stmt, 2, (sqlite3_int64)value);
    return aoei_db_finish(d, stmt, err);
}

static int put_string(aoei_db *d, const char *key, const char *value, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = put_value(d, &stmt, key, err);
    if (rc)
        return rc;
    aoei_bind_string(stmt, 2, value);
    return aoei_db_finish(d, stmt, err);
}

static int put_blob(aoei_db *d, const char *key, const void *data, size_t bytes, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = put_value(d, &stmt, key, err);
    if (rc)
        return rc;
    aoei_bind_blob(stmt, 2, data, bytes);
    return aoei_db_finish(d, stmt, err);
}

static int write_settings(aoei_db *d, const aoei_index_settings *s, aoe_error *err) {
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {{"id", s->id},
                   {"dims", s->dims},
                   {"passage_tokens", s->passage_tokens},
                   {"store", (uint64_t)s->store},
                   {"stem", (uint64_t)s->stem}};
    const struct {
        const char *key, *value;
    } strings[] = {{"model", s->model},
                   {"pooling", s->pooling},
                   {"query_prompt", s->query_prompt},
                   {"document_prompt", s->document_prompt},
                   {"place", s->place},
                   {"created", s->created}};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof numbers / sizeof *numbers; i++)
        rc = put_number(d, numbers[i].key, numbers[i].value, err);
    for (size_t i = 0; !rc && i < sizeof strings / sizeof *strings; i++)
        rc = put_string(d, strings[i].key, strings[i].value, err);
    if (!rc)
        rc = put_blob(d, "query_probe", s->query_probe, s->dims * sizeof(float), err);
    return rc ? rc : put_blob(d, "document_probe", s->document_probe, s->dims * sizeof(float), err);
}

int aoei_schema_create(aoei_db *d, const aoei_index_settings *s, aoe_error *err) {
    char pragmas[96];
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d", APPLICATION_ID,
                   SCHEMA_VERSION);
    int rc = aoei_db_run(d, tables, err);
    if (!rc)
        rc = aoei_db_run(d, pragmas, err);
    if (!rc)
        rc = aoei_words_create(d, s->stem, err);
    if (!rc)
        rc = write_settings(d, s, err);
    aoei_index_state state = {.generation = 1};
    memcpy(state.updated, s->created, sizeof state.updated);
    if (!rc)
        rc = aoei_dead_write(d, NULL, 0, err);
    return rc ? rc : aoei_index_state_write(d, &state, err);
}

/* ----------------------------------------------------------------- settings */

/* Sets *stmt to the row of a key. */
static int find(aoei_db *d, const char *key, sqlite3_stmt **stmt, aoe_error *err) {
    int rc = aoei_db_prepare(d, "SELECT value FROM meta WHERE key = ?1", stmt, err);
    if (rc)
        return rc;
    aoei_bind_string(*stmt, 1, key);
    rc = aoei_db_step(d, *stmt, err);
    if (rc == 1)
        return 0;
    char what[96];
    (void)snprintf(what, sizeof what, "the setting %s is missing", key);
    return rc ? rc : aoei_db_damaged(d, what, err);
}

/* Reads a number from `least` to `most`. */
static int get_number(aoei_db *d, const char *key, uint64_t least, uint64_t most, uint64_t *value, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = find(d, key, &stmt, err);
    if (rc)
        return rc;
    const int is_number = sqlite3_column_type(stmt, 0) == SQLITE_INTEGER;
    *value = (uint64_t)sqlite3_column_int64(stmt, 0);
    aoei_db_reset(stmt);
    if (is_number && *value >= least && *value <= most)
        return 0;
    char what[96];
    (void)snprintf(what, sizeof what, "the value of %s is out of range", key);
    return aoei_db_damaged(d, what, err);
}

static int get_string(aoei_db *d, const char *key, char **value, aoe_error *err) {
    sqlite3_stmt *stmt;
    const int rc = find(d, key, &stmt, err);
    if (rc)
        return rc;
    const aoe_text text = aoei_column_text(stmt, 0);
    *value = aoei_strndup(text.data, text.len);
    aoei_db_reset(stmt);
    return *value ? 0 : aoei_fail_nomem(err, text.len);
}

static int get_time(aoei_db *d, const char *key, char value[32], aoe_error *err) {
    char *text = NULL;
    const int rc = get_string(d, key, &text, err);
    if (!rc)
        (void)snprintf(value, 32, "%s", text);
    aoei_free(text);
    return rc;
}

static int get_floats(aoei_db *d, const char *key, float **value, size_t n, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = find(d, key, &stmt, err);
    if (rc)
        return rc;
    const aoe_text blob = aoei_column_blob(stmt, 0);
    if (blob.len != n * sizeof **value)
        rc = aoei_db_damaged(d, "a stored vector has the wrong size", err);
    else if (!(*value = aoei_malloc_array(n, sizeof **value)))
        rc = aoei_fail_nomem(err, blob.len);
    else
        memcpy(*value, blob.data, blob.len);
    aoei_db_reset(stmt);
    return rc;
}

int aoei_index_settings_read(aoei_db *d, aoei_index_settings *s, aoe_error *err) {
    uint64_t dims = 0, tokens = 0, store = 0, stem = 0;
    *s = (aoei_index_settings){0};
    int rc = get_number(d, "id", 0, UINT64_MAX, &s->id, err);
    if (!rc)
        rc = get_number(d, "dims", 1, MAX_DIMS, &dims, err);
    if (!rc)
        rc = get_number(d, "passage_tokens", 1, UINT32_MAX, &tokens, err);
    if (!rc)
        rc = get_number(d, "store", 0, AOE_INDEX_INT8, &store, err);
    if (!rc)
        rc = get_number(d, "stem", 0, 1, &stem, err);
    s->dims = (size_t)dims;
    s->passage_tokens = (size_t)tokens;
    s->store = (aoe_index_store)store;
    s->stem = (int)stem;
    const struct {
        const char *key;
        char **value;
    } strings[] = {{"model", &s->model},
                   {"pooling", &s->pooling},
                   {"query_prompt", &s->query_prompt},
                   {"document_prompt", &s->document_prompt},
                   {"place", &s->place}};
    for (size_t i = 0; !rc && i < sizeof strings / sizeof *strings; i++)
        rc = get_string(d, strings[i].key, strings[i].value, err);
    if (!rc)
        rc = get_floats(d, "query_probe", &s->query_probe, s->dims, err);
    if (!rc)
        rc = get_floats(d, "document_probe", &s->document_probe, s->dims, err);
    return rc ? rc : get_time(d, "created", s->created, err);
}

int aoei_index_place_write(aoei_db *d, const char *place, const char *model, aoe_error *err) {
    const int rc = put_string(d, "place", place, err);
    return rc ? rc : put_string(d, "model", model, err);
}

void aoei_index_settings_free(aoei_index_settings *s) {
    aoei_free(s->model);
    aoei_free(s->pooling);
    aoei_free(s->query_prompt);
    aoei_free(s->document_prompt);
    aoei_free(s->place);
    aoei_free(s->query_probe);
    aoei_free(s->document_probe);
    *s = (aoei_index_settings){0};
}

/* -------------------------------------------------------------------- state */

int aoei_index_state_read(aoei_db *d, aoei_index_state *s, aoe_error *err) {
    *s = (aoei_index_state){0};
    int rc = get_number(d, "commits", 0, MAX_COUNT, &s->commits, err);
    if (!rc)
        rc = get_number(d, "generation", 1, MAX_COUNT, &s->generation, err);
    if (!rc)
        rc = get_number(d, "rows", 0, MAX_ROWS, &s->rows, err);
    if (!rc)
        rc = get_number(d, "live", 0, s->rows, &s->live, err);
    if (!rc)
        rc = get_number(d, "deleted_words", 0, MAX_COUNT, &s->deleted_words, err);
    return rc ? rc : get_time(d, "updated", s->updated, err);
}

int aoei_index_state_write(aoei_db *d, const aoei_index_state *s, aoe_error *err) {
    int rc = put_number(d, "commits", s->commits, err);
    if (!rc)
        rc = put_number(d, "generation", s->generation, err);
    if (!rc)
        rc = put_number(d, "rows", s->rows, err);
    if (!rc)
        rc = put_number(d, "live", s->live, err);
    if (!rc)
        rc = put_number(d, "deleted_words", s->deleted_words, err);
    return rc ? rc : put_string(d, "updated", s->updated, err);
}

static size_t bitmap_bytes(size_t rows) {
    return (rows + 63) / 64 * sizeof(uint64_t);
}

int aoei_dead_read(aoei_db *d, uint64_t *dead, size_t rows, aoe_error *err) {
    sqlite3_stmt *stmt;
    int rc = find(d, "dead", &stmt, err);
    if (rc)
        return rc;
    const aoe_text blob = aoei_column_blob(stmt, 0);
    if (blob.len != bitmap_bytes(rows))
        rc = aoei_db_damaged(d, "the list of removed vectors has the wrong size", err);
    else if (blob.len)
        memcpy(dead, blob.data, blob.len);
    aoei_db_reset(stmt);
    return rc;
}

int aoei_dead_write(aoei_db *d, const uint64_t *dead, size_t rows, aoe_error *err) {
    return put_blob(d, "dead", dead, bitmap_bytes(rows), err);
}

void aoei_time_now(char text[32]) {
    const time_t now = time(NULL);
    struct tm tm;
    if (!gmtime_r(&now, &tm) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        text[0] = 0;
}
