/* SPDX-License-Identifier: MIT
 * Names, the extension, creation and settings of the tables. Settings are texts; the vectors of the probe text are
 * written as 8 hexadecimal digits per component.
 */
#include "postgres/pg_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { FORMAT_VERSION = 2, MAX_SETTINGS = 16, QUERY_BYTES = 2048 };

/* ------------------------------------------------------------------- names */

/* Returns the length of the identifier at s: letters, digits and '_', not beginning with a digit. */
static size_t identifier_length(const char *s) {
    const size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return n && *s >= '0' && *s <= '9' ? 0 : n;
}

int aoei_pg_table_name(aoei_pg_table *t, const char *name, aoe_error *err) {
    const char *given = name ? name : AOEI_PG_TABLE, *table = given;
    size_t schema = 0, n = identifier_length(table);
    if (n && n <= AOEI_PG_NAME_BYTES && table[n] == '.') {
        schema = n;
        table += n + 1;
        n = identifier_length(table);
    }
    if (!n || n > AOEI_PG_NAME_BYTES || table[n])
        return aoei_fail(
            err, AOE_EARG,
            "table name '%s': write TABLE or SCHEMA.TABLE, each with ASCII letters, digits and '_', and at "
            "most %d characters",
            given, AOEI_PG_NAME_BYTES);
    *t = (aoei_pg_table){.version = 0};
    char prefix[AOEI_PG_NAME_BYTES + 4] = "";
    if (schema)
        snprintf(prefix, sizeof prefix, "\"%.*s\".", (int)schema, given);
    snprintf(t->plain, sizeof t->plain, "%s", given);
    snprintf(t->stem, sizeof t->stem, "%s", table);
    snprintf(t->name, sizeof t->name, "%s\"%s\"", prefix, table);
    snprintf(t->settings, sizeof t->settings, "%s\"%s_settings\"", prefix, table);
    return 0;
}

/* --------------------------------------------------------------- extension */

/* Sets t->vector and t->version if the extension exists in the database; *found is 1 in this case. */
static int read_extension(const aoei_pg *s, aoei_pg_table *t, int *found, aoe_error *err) {
    aoei_pq_result *r;
    const int rc = aoei_pg_query(s,
                                 "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e JOIN pg_namespace n "
                                 "ON n.oid = e.extnamespace WHERE e.extname = 'vector'",
                                 NULL, &r, err);
    if (rc)
        return rc;
    *found = aoei_pq.ntuples(r) == 1;
    if (*found) {
        int version[3] = {0};
        snprintf(t->vector, sizeof t->vector, "%s", aoei_pq.getvalue(r, 0, 0));
        (void)sscanf(aoei_pq.getvalue(r, 0, 1), "%4d.%4d.%4d", &version[0], &version[1], &version[2]);
        t->version = 10000 * version[0] + 100 * version[1] + version[2];
    }
    aoei_pq.clear(r);
    return 0;
}

/* Sets *available to 1 if the files of the extension are installed on the server. */
static int is_available(const aoei_pg *s, int *available, aoe_error *err) {
    aoei_pq_result *r;
    const int rc = aoei_pg_query(s, "SELECT FROM pg_available_extensions WHERE name = 'vector'", NULL, &r, err);
    if (rc)
        return rc;
    *available = aoei_pq.ntuples(r) > 0;
    aoei_pq.clear(r);
    return 0;
}

int aoei_pg_find_vector(const aoei_pg *s, aoei_pg_table *t, int create, aoe_error *err) {
    int found = 0, available = 0;
    int rc = read_extension(s, t, &found, err);
    if (rc || found)
        return rc;
    rc = is_available(s, &available, err);
    if (rc)
        return rc;
    if (!available)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s has no pgvector; install the package postgresql-%d-pgvector on the machine of the server "
                         "(Debian or apt.postgresql.org), and run CREATE EXTENSION vector in the database",
                         s->place, aoei_pq.serverVersion(s->conn) / 10000);
    aoe_error reason = {0};
    rc = create ? aoei_pg_run(s, "CREATE EXTENSION IF NOT EXISTS vector", &reason) : AOE_EUNSUPPORTED;
    if (rc)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: pgvector is installed, but this database does not use it%s; run CREATE EXTENSION vector "
                         "in the database as its owner or as a superuser",
                         s->place, create ? " and the user may not create the extension" : "");
    rc = read_extension(s, t, &found, err);
    if (!rc && !found)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: the extension vector was dropped; run the command again", s->place);
    return rc;
}

aoei_pg_vector_index aoei_pg_vector_index_of(const aoei_pg_table *t, size_t dims) {
    if (dims <= AOEI_PG_HNSW_DIMS && t->version >= AOEI_PG_HNSW_VERSION)
        return AOEI_PG_HNSW;
    if (dims <= AOEI_PG_HALF_HNSW_DIMS && t->version >= AOEI_PG_HALF_VERSION)
        return AOEI_PG_HNSW_HALVES;
    return AOEI_PG_NO_INDEX;
}

/* ------------------------------------------------------------------ tables */

int aoei_pg_table_exists(const aoei_pg *s, const aoei_pg_table *t, int *exists, aoe_error *err) {
    aoei_pg_params p = {.n = 0};
    aoei_pq_result *r;
    aoei_pg_add_text(&p, t->name, strlen(t->name));
    aoei_pg_add_text(&p, t->settings, strlen(t->settings));
    const int rc = aoei_pg_query(
        s, "SELECT (to_regclass($1::text) IS NOT NULL)::int, (to_regclass($2::text) IS NOT NULL)::int", &p, &r, err);
    aoei_pg_params_free(&p);
    if (rc)
        return rc;
    const int table = aoei_pg_value_number(r, 0, 0) == 1, settings = aoei_pg_value_number(r, 0, 1) == 1;
    aoei_pq.clear(r);
    *exists = table && settings;
    if (table != settings)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the table %s was not created by aoe, or is incomplete; use another table name, or drop "
                         "the tables %s and %s_settings",
                         s->place, t->plain, t->plain, t->plain);
    return 0;
}

static void append_hex(aoei_buffer *out, const float *x, size_t n) {
    for (size_t i = 0; x && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        aoei_buffer_printf(out, "%08x", (unsigned)bits);
    }
}

/* Settings that are written: texts in one buffer, each followed by a NUL. */
typedef struct setting_list {
    aoe_text key[MAX_SETTINGS];
    size_t at[MAX_SETTINGS + 1]; /* value i is data[at[i] .. at[i + 1] - 1] */
    size_t n;
    aoei_buffer data;
} setting_list;

/* Ends the value of the next setting, which the caller has appended to l->data. */
static void end_setting(setting_list *l, const char *key) {
    l->key[l->n++] = (aoe_text){key, strlen(key)};
    aoei_buffer_putc(&l->data, 0);
    l->at[l->n] = l->data.len;
}

static void add_string(setting_list *l, const char *key, const char *value) {
    const char *s = value ? value : "";
    aoei_buffer_append(&l->data, s, strlen(s));
    end_setting(l, key);
}

static void add_number(setting_list *l, const char *key, uint64_t value) {
    aoei_buffer_printf(&l->data, "%llu", (unsigned long long)value);
    end_setting(l, key);
}

static void add_floats(setting_list *l, const char *key, const float *x, size_t n) {
    append_hex(&l->data, x, n);
    end_setting(l, key);
}

static void list_settings(setting_list *l, const aoei_index_settings *o) {
    add_number(l, "format", FORMAT_VERSION);
    add_number(l, "index", o->id);
    add_string(l, "created", o->created);
    add_string(l, "model", o->model);
    add_number(l, "dims", o->dims);
    add_string(l, "pooling", o->pooling);
    add_string(l, "query_prompt", o->query_prompt);
    add_string(l, "document_prompt", o->document_prompt);
    add_number(l, "passage_tokens", o->passage_tokens);
    add_number(l, "stem", o->stem != 0);
    add_floats(l, "query_probe", o->query_probe, o->dims);
    add_floats(l, "document_probe", o->document_probe, o->dims);
    add_string(l, "state", "writing");
}

static int write_settings(const aoei_pg *s, const aoei_pg_table *t, const aoei_index_settings *settings,
                          aoe_error *err) {
    setting_list l = {.n = 0};
    aoe_text value[MAX_SETTINGS];
    aoei_pg_params p = {.n = 0};
    char sql[QUERY_BYTES];
    list_settings(&l, settings);
    if (l.data.failed) {
        aoei_buffer_free(&l.data);
        return aoei_fail_nomem(err, 0);
    }
    for (size_t i = 0; i < l.n; i++)
        value[i] = (aoe_text){l.data.data + l.at[i], l.at[i + 1] - l.at[i] - 1};
    aoei_pg_add_texts(&p, l.key, l.n);
    aoei_pg_add_texts(&p, value, l.n);
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM unnest($1::text[], $2::text[])", t->settings);
    const int rc = aoei_pg_query(s, sql, &p, NULL, err);
    aoei_pg_params_free(&p);
    aoei_buffer_free(&l.data);
    return rc;
}

int aoei_pg_table_create(const aoei_pg *s, const aoei_pg_table *t, const aoei_index_settings *settings,
                         aoe_error *err) {
    if (settings->dims > AOEI_PG_VECTOR_DIMS)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "the vectors of the index have %zu components, and pgvector supports %d; use fewer dims",
                         settings->dims, AOEI_PG_VECTOR_DIMS);
    char sql[QUERY_BYTES];
    snprintf(sql, sizeof sql,
             "BEGIN; CREATE TABLE %s (number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, "
             "id text COLLATE \"C\" NOT NULL, name text COLLATE \"C\" NOT NULL, "
             "position integer NOT NULL, ext text COLLATE \"C\", line integer, last_line integer, "
             "heading text NOT NULL, passage text NOT NULL, "
             "metadata jsonb NOT NULL, hash bigint NOT NULL, words tsvector NOT NULL, n_words integer NOT NULL, "
             "embedding %s.vector(%zu) NOT NULL); "
             "CREATE TABLE %s (key text COLLATE \"C\" PRIMARY KEY, value text NOT NULL)",
             t->name, t->vector, settings->dims, t->settings);
    int rc = aoei_pg_run(s, sql, err);
    if (!rc)
        rc = write_settings(s, t, settings, err);
    if (!rc)
        rc = aoei_pg_run(s, "COMMIT", err);
    if (rc)
        aoei_pg_rollback(s);
    return rc;
}

int aoei_pg_table_drop(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err) {
    char sql[QUERY_BYTES];
    snprintf(sql, sizeof sql, "BEGIN; DROP TABLE %s; DROP TABLE %s; COMMIT", t->name, t->settings);
    const int rc = aoei_pg_run(s, sql, err);
    if (rc)
        aoei_pg_rollback(s);
    return rc;
}

/* ---------------------------------------------------------------- settings */

/* The rows of the table of settings. */
typedef struct setting_rows {
    const aoei_pg *s;
    const aoei_pg_table *t;
    aoei_pq_result *r;
    int failed; /* 1: out of memory */
} setting_rows;

static int read_rows(setting_rows *rows, const aoei_pg *s, const aoei_pg_table *t, aoe_error *err) {
    char sql[QUERY_BYTES];
    *rows = (setting_rows){.s = s, .t = t};
    snprintf(sql, sizeof sql, "SELECT key, value FROM %s", t->settings);
    return aoei_pg_query(s, sql, NULL, &rows->r, err);
}

/* Returns the value of a setting, "" if it is missing. */
static const char *get(const setting_rows *rows, const char *key) {
    for (int i = 0; i < aoei_pq.ntuples(rows->r); i++)
        if (strcmp(aoei_pq.getvalue(rows->r, i, 0), key) == 0)
            return aoei_pq.getvalue(rows->r, i, 1);
    return "";
}

static uint64_t get_number(const setting_rows *rows, const char *key) {
    return strtoull(get(rows, key), NULL, 10);
}

static char *get_string(setting_rows *rows, const char *key) {
    char *s = aoei_strdup(get(rows, key));
    rows->failed |= !s;
    return s;
}

/* Returns n floats, or NULL if the setting does not contain n floats. */
static float *get_floats(setting_rows *rows, const char *key, size_t n) {
    const char *text = get(rows, key);
    if (!n || strlen(text) != 8 * n)
        return NULL;
    float *x = aoei_malloc_array(n, sizeof *x);
    rows->failed |= !x;
    for (size_t i = 0; x && i < n; i++) {
        char digits[9] = "";
        memcpy(digits, text + 8 * i, 8);
        const uint32_t bits = (uint32_t)strtoul(digits, NULL, 16);
        memcpy(&x[i], &bits, sizeof bits);
    }
    return x;
}

static int check_format(const setting_rows *rows, aoe_error *err) {
    const uint64_t format = get_number(rows, "format"), dims = get_number(rows, "dims");
    if (format == 0 || (format == FORMAT_VERSION && (dims == 0 || dims > AOEI_PG_VECTOR_DIMS)))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the settings of the table %s are damaged; drop the tables %s and %s_settings and write "
                         "the index again",
                         rows->s->place, rows->t->plain, rows->t->plain, rows->t->plain);
    if (format != FORMAT_VERSION)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the table %s has the layout of %s version of aoe (format %llu; this version reads %d); "
                         "use another table name, or drop the tables %s and %s_settings and write the index again",
                         rows->s->place, rows->t->plain, format > FORMAT_VERSION ? "a newer" : "an older",
                         (unsigned long long)format, FORMAT_VERSION, rows->t->plain, rows->t->plain);
    return 0;
}

int aoei_pg_settings_read(const aoei_pg *s, const aoei_pg_table *t, aoei_index_settings *settings, aoe_error *err) {
    setting_rows rows;
    *settings = (aoei_index_settings){.dims = 0};
    int rc = read_rows(&rows, s, t, err);
    if (rc)
        return rc;
    rc = check_format(&rows, err);
    if (!rc) {
        settings->id = get_number(&rows, "index");
        settings->dims = get_number(&rows, "dims");
        settings->passage_tokens = get_number(&rows, "passage_tokens");
        settings->stem = get_number(&rows, "stem") == 1;
        settings->model = get_string(&rows, "model");
        settings->pooling = get_string(&rows, "pooling");
        settings->query_prompt = get_string(&rows, "query_prompt");
        settings->document_prompt = get_string(&rows, "document_prompt");
        settings->query_probe = get_floats(&rows, "query_probe", settings->dims);
        settings->document_probe = get_floats(&rows, "document_probe", settings->dims);
        snprintf(settings->created, sizeof settings->created, "%s", get(&rows, "created"));
        rc = rows.failed ? aoei_fail_nomem(err, 0) : 0;
    }
    aoei_pq.clear(rows.r);
    return rc;
}

int aoei_pg_state_read(const aoei_pg *s, const aoei_pg_table *t, aoei_pg_state *state, aoe_error *err) {
    setting_rows rows;
    const int rc = read_rows(&rows, s, t, err);
    if (rc)
        return rc;
    state->passages = (int64_t)get_number(&rows, "passages");
    state->words = (int64_t)get_number(&rows, "words");
    state->is_complete = strcmp(get(&rows, "state"), "complete") == 0;
    aoei_pq.clear(rows.r);
    return 0;
}

int aoei_pg_state_count(const aoei_pg *s, const aoei_pg_table *t, aoei_pg_state *state, aoe_error *err) {
    char sql[QUERY_BYTES];
    aoei_pq_result *r;
    snprintf(sql, sizeof sql, "SELECT count(*), coalesce(sum(n_words), 0) FROM %s", t->name);
    const int rc = aoei_pg_query(s, sql, NULL, &r, err);
    if (rc)
        return rc;
    *state = (aoei_pg_state){.passages = aoei_pg_value_number(r, 0, 0), .words = aoei_pg_value_number(r, 0, 1)};
    aoei_pq.clear(r);
    return 0;
}

int aoei_pg_state_begin(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err) {
    char sql[QUERY_BYTES];
    snprintf(sql, sizeof sql, "UPDATE %s SET value = 'writing' WHERE key = 'state'", t->settings);
    return aoei_pg_run(s, sql, err);
}

int aoei_pg_state_end(const aoei_pg *s, const aoei_pg_table *t, aoe_error *err) {
    char sql[QUERY_BYTES];
    snprintf(sql, sizeof sql,
             "INSERT INTO %s SELECT u.* FROM (SELECT count(*) AS n, coalesce(sum(n_words), 0) AS words FROM %s) AS c, "
             "unnest(ARRAY['passages', 'words', 'updated', 'state'], ARRAY[c.n::text, c.words::text, "
             "to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), 'complete']) AS u "
             "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
             t->settings, t->name);
    return aoei_pg_run(s, sql, err);
}
