/* SPDX-License-Identifier: MIT
 * One statement for each operator and each kind of key. SQLite orders numbers before texts, so a text is greater than
 * every number: the statements for numbers exclude texts with the bound ''. The unary plus removes the affinity of the
 * cast, so that the index on (key, value) is used. Metadata has no fixed columns, so the index is what makes a
 * comparison fast; built-in keys read all documents.
 */
#include "index/where_sql.h"

#include <string.h>

#include "base/buffer.h"
#include "base/closest.h"
#include "base/error.h"
#include "base/path.h"

enum { MAX_KEYS = 200 /* keys that are compared with a misspelled key */, SHOWN_KEYS = 10 };

#define FIELD  "SELECT document FROM fields WHERE key = ?1 AND "
#define NUMBER "+CAST(?2 AS NUMERIC)"

static const char *const number_sql[AOEI_COMPARISON_TYPES] = {
    [AOEI_EQUAL] = FIELD "value = " NUMBER,
    [AOEI_LESS] = FIELD "value < " NUMBER,
    [AOEI_LESS_OR_EQUAL] = FIELD "value <= " NUMBER,
    [AOEI_GREATER] = FIELD "value > " NUMBER " AND value < ''",
    [AOEI_GREATER_OR_EQUAL] = FIELD "value >= " NUMBER " AND value < ''",
};

static const char *const text_sql[AOEI_COMPARISON_TYPES] = {
    [AOEI_EQUAL] = FIELD "value = ?2",
    [AOEI_LESS] = FIELD "value < ?2 AND value >= ''",
    [AOEI_LESS_OR_EQUAL] = FIELD "value <= ?2 AND value >= ''",
    [AOEI_GREATER] = FIELD "value > ?2",
    [AOEI_GREATER_OR_EQUAL] = FIELD "value >= ?2",
    [AOEI_LIKE] = FIELD "CAST(value AS TEXT) LIKE ?2 ESCAPE '\\'",
    [AOEI_EXISTS] = "SELECT document FROM fields WHERE key = ?1",
};

/* The statements of a built-in key whose value is an SQL expression. */
#define STATEMENTS(tables, value)                                                                                      \
    {                                                                                                                  \
        [AOEI_EQUAL] = "SELECT d.id FROM " tables " WHERE " value " = ?2",                                             \
        [AOEI_LESS] = "SELECT d.id FROM " tables " WHERE " value " < ?2",                                              \
        [AOEI_LESS_OR_EQUAL] = "SELECT d.id FROM " tables " WHERE " value " <= ?2",                                    \
        [AOEI_GREATER] = "SELECT d.id FROM " tables " WHERE " value " > ?2",                                           \
        [AOEI_GREATER_OR_EQUAL] = "SELECT d.id FROM " tables " WHERE " value " >= ?2",                                 \
        [AOEI_LIKE] = "SELECT d.id FROM " tables " WHERE " value " LIKE ?2 ESCAPE '\\'",                               \
        [AOEI_EXISTS] = "SELECT d.id FROM " tables " WHERE " value " IS NOT NULL",                                     \
    }

/* The functions of SQLite have no inverse search, so `ext` is computed in C: it has only one statement. */
static const struct {
    const char *key;
    const char *sql[AOEI_COMPARISON_TYPES];
} built_in[] = {
    {"name", STATEMENTS("documents d", "d.name")},
    {"path", STATEMENTS("documents d " AOEI_SQL_FILES, "(" AOEI_SQL_PATH ")")},
    {"modified",
     STATEMENTS("documents d " AOEI_SQL_FILES, "strftime('%Y-%m-%dT%H:%M:%SZ', f.mtime_ns / 1000000000, 'unixepoch')")},
};
/* A pattern of paths: the name of a document may begin with the path of the indexed folder, that of a file does not. */
static const char relative_sql[] =
    "SELECT d.id FROM documents d " AOEI_SQL_FILES " WHERE d.name LIKE ?2 ESCAPE '\\' OR f.path LIKE ?2 ESCAPE '\\'";
static const char extensions_sql[] = "SELECT d.id, coalesce(f.path, d.name) FROM documents d " AOEI_SQL_FILES;

static void set_bit(uint64_t *bits, size_t n, sqlite3_int64 document) {
    if (document >= 0 && (uint64_t)document < n)
        bits[document / 64] |= UINT64_C(1) << document % 64;
}

/* Sets the bits of the documents that a statement returns. */
static int run(aoei_db *d, const char *sql, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, sql, &s, err);
    if (code)
        return code;
    if (strstr(sql, "?1"))
        aoei_bind_string(s, 1, c->key);
    if (c->value)
        aoei_bind_string(s, 2, c->value);
    while ((code = aoei_db_step(d, s, err)) > 0)
        set_bit(bits, n, sqlite3_column_int64(s, 0));
    return code;
}

/* ------------------------------------------------------------- extensions */

static int is_true(const aoei_comparison *c, const char *value) {
    const int order = c->value ? strcmp(value, c->value) : 0;
    switch (c->type) {
    case AOEI_EQUAL:
        return order == 0;
    case AOEI_LESS:
        return order < 0;
    case AOEI_LESS_OR_EQUAL:
        return order <= 0;
    case AOEI_GREATER:
        return order > 0;
    case AOEI_GREATER_OR_EQUAL:
        return order >= 0;
    case AOEI_LIKE:
        return sqlite3_strlike(c->value, value, '\\') == 0;
    default:
        return 1;
    }
}

static int compare_extensions(aoei_db *d, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, extensions_sql, &s, err);
    if (code)
        return code;
    while ((code = aoei_db_step(d, s, err)) > 0) {
        char ext[AOEI_EXTENSION_BYTES];
        if (aoei_path_extension(aoei_column_text(s, 1).data, ext) && is_true(c, ext))
            set_bit(bits, n, sqlite3_column_int64(s, 0));
    }
    return code;
}

/* ------------------------------------------------------------ unknown keys */

/* Reads the different keys of the index, at most MAX_KEYS, into `keys`: each ends with NUL. */
static int read_keys(aoei_db *d, aoei_buffer *keys, const char **key, size_t *n, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, "SELECT DISTINCT key FROM fields ORDER BY key", &s, err);
    size_t at[MAX_KEYS];
    *n = 0;
    while (!code && *n < MAX_KEYS && (code = aoei_db_step(d, s, err)) > 0) {
        code = 0;
        at[*n] = keys->len;
        (*n)++;
        const aoe_text text = aoei_column_text(s, 0);
        (void)aoei_buffer_append(keys, text.data, text.len);
        (void)aoei_buffer_putc(keys, 0);
    }
    aoei_db_reset(s);
    if (!code && keys->failed)
        code = aoei_fail_nomem(err, 0);
    for (size_t i = 0; !code && i < *n; i++)
        key[i] = keys->data + at[i];
    return code;
}

/* Fails because no document has the key, and names similar keys or the first keys of the index. */
static int fail_unknown(aoei_db *d, const aoei_comparison *c, aoe_error *err) {
    const char *key[MAX_KEYS + 4];
    aoei_buffer keys = {0}, advice = {0};
    size_t n;
    int code = read_keys(d, &keys, key, &n, err);
    if (code)
        goto end;
    for (size_t i = 0; i < n && i < SHOWN_KEYS; i++)
        (void)aoei_buffer_printf(&advice, "%s%s", i ? ", " : "; the keys of this index are ", key[i]);
    if (n > SHOWN_KEYS)
        (void)aoei_buffer_printf(&advice, ", ... (%zu%s in total)", n, n == MAX_KEYS ? " or more" : "");
    (void)aoei_buffer_printf(&advice, n ? ", and those of all documents: name, path, ext, modified"
                                        : "; this index has no metadata, only name, path, ext and modified");
    key[n] = "ext";
    key[n + 1] = "modified";
    key[n + 2] = "name";
    key[n + 3] = "path";
    const char *closest = aoei_closest(c->key, key, n + 4);
    if (closest && strcmp(closest, c->key) != 0)
        (void)aoei_buffer_printf(&advice, "; did you mean \"%s\"?", closest);
    code = aoei_fail(err, AOE_EARG, "condition: no document has the key \"%s\" (character %zu)%s", c->key, c->position,
                     advice.failed ? "" : advice.data);
end:
    aoei_buffer_free(&keys);
    aoei_buffer_free(&advice);
    return code;
}

/* Fails if no document has the key. */
static int check_key(aoei_db *d, const aoei_comparison *c, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, "SELECT 1 FROM fields WHERE key = ?1 LIMIT 1", &s, err);
    if (code)
        return code;
    aoei_bind_string(s, 1, c->key);
    code = aoei_db_step(d, s, err);
    if (code < 0)
        return code;
    aoei_db_reset(s);
    return code ? 0 : fail_unknown(d, c, err);
}

/* ------------------------------------------------------------------ public */

static int compare(void *user, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    aoei_db *d = user;
    if (!c->position && strcmp(c->key, "name") == 0)
        return run(d, relative_sql, c, bits, n, err);
    if (!c->is_quoted && strcmp(c->key, "ext") == 0)
        return compare_extensions(d, c, bits, n, err);
    for (size_t i = 0; !c->is_quoted && i < sizeof built_in / sizeof *built_in; i++)
        if (strcmp(c->key, built_in[i].key) == 0)
            return run(d, built_in[i].sql[c->type], c, bits, n, err);
    const int code = check_key(d, c, err);
    return code ? code : run(d, c->is_number ? number_sql[c->type] : text_sql[c->type], c, bits, n, err);
}

int aoei_where_documents(const aoei_where *w, aoei_db *d, uint64_t *bits, size_t n, aoe_error *err) {
    return aoei_where_eval(w, compare, d, bits, n, err);
}
