/* SPDX-License-Identifier: MIT
 * Each comparison is written with its own parameters. Equality is a containment, for which the server can use the GIN
 * index on the metadata; the other operators examine the values of a key one by one.
 */
#include "postgres/pg_where.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define LETTERS       "'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'"
#define VALUE_AS_TEXT "(e.v #>> '{}')"

enum { SHOWN_KEYS = 10 /* keys that a message about an unknown key names */ };

typedef struct writer {
    aoei_buffer *sql;
    aoei_pg_params *p;
} writer;

static size_t add_string(const writer *w, const char *s) {
    return aoei_pg_add_text(w->p, s, strlen(s));
}

/* Returns the column of a built-in key, or NULL for a key of the metadata. */
static const char *column_of(const aoei_comparison *c) {
    if (c->is_quoted)
        return NULL;
    if (strcmp(c->key, "name") == 0)
        return "name";
    if (strcmp(c->key, "ext") == 0)
        return "ext";
    return NULL;
}

/* Returns 1 for a built-in key of the local index that a server does not have. */
static int is_missing_column(const aoei_comparison *c) {
    return !c->is_quoted && (strcmp(c->key, "path") == 0 || strcmp(c->key, "modified") == 0);
}

static const char *operator_of(aoei_comparison_type type) {
    switch (type) {
    case AOEI_LESS:
        return "<";
    case AOEI_LESS_OR_EQUAL:
        return "<=";
    case AOEI_GREATER:
        return ">";
    case AOEI_GREATER_OR_EQUAL:
        return ">=";
    default:
        return "=";
    }
}

/* Adds a pattern with small ASCII letters as a parameter. Returns 0 if a single '\' at its end makes it match nothing,
 * or if memory runs out. */
static size_t add_pattern(const writer *w, const char *pattern) {
    const size_t n = strlen(pattern);
    size_t escapes = 0;
    while (escapes < n && pattern[n - 1 - escapes] == '\\')
        escapes++;
    if (escapes % 2)
        return 0;
    char *small = aoei_strndup(pattern, n);
    if (!small) {
        w->p->failed = 1;
        return 0;
    }
    for (char *s = small; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            *s = (char)(*s + 32);
    const size_t number = aoei_pg_add_text(w->p, small, n);
    aoei_free(small);
    return number;
}

/* Writes a comparison of the text expression `left`. */
static void write_text_comparison(const writer *w, const char *left, const aoei_comparison *c) {
    if (c->type == AOEI_LIKE) {
        const size_t number = add_pattern(w, c->value);
        if (number)
            aoei_buffer_printf(w->sql, "translate(%s, " LETTERS ") COLLATE \"C\" LIKE $%zu::text", left, number);
        else
            aoei_buffer_printf(w->sql, "false");
        return;
    }
    aoei_buffer_printf(w->sql, "%s COLLATE \"C\" %s $%zu::text", left, operator_of(c->type), add_string(w, c->value));
}

/* Writes that the metadata contain the key with this value, alone or as one of several values. */
static void write_equal(const writer *w, const aoei_comparison *c, size_t key) {
    const char *type = c->is_number ? "numeric" : "text";
    const size_t value = add_string(w, c->value);
    aoei_buffer_printf(w->sql,
                       "(metadata @> jsonb_build_object($%zu::text, to_jsonb($%zu::%s)) OR "
                       "metadata @> jsonb_build_object($%zu::text, jsonb_build_array(to_jsonb($%zu::%s))))",
                       key, value, type, key, value, type);
}

/* Writes that one of the values of the key satisfies the comparison. */
static void write_any(const writer *w, const aoei_comparison *c, size_t key) {
    aoei_buffer_printf(
        w->sql,
        "EXISTS (SELECT FROM jsonb_array_elements(CASE jsonb_typeof(metadata -> $%zu::text) WHEN 'array' "
        "THEN metadata -> $%zu::text ELSE jsonb_build_array(metadata -> $%zu::text) END) AS e(v) WHERE ",
        key, key, key);
    if (c->is_number) {
        aoei_buffer_printf(w->sql,
                           "CASE jsonb_typeof(e.v) WHEN 'number' THEN " VALUE_AS_TEXT
                           "::numeric %s $%zu::numeric ELSE false END)",
                           operator_of(c->type), add_string(w, c->value));
        return;
    }
    aoei_buffer_printf(w->sql, "jsonb_typeof(e.v) %s AND ",
                       c->type == AOEI_LIKE ? "IN ('string', 'number')" : "= 'string'");
    write_text_comparison(w, VALUE_AS_TEXT, c);
    aoei_buffer_putc(w->sql, ')');
}

static int write_comparison(const writer *w, const aoei_comparison *c, aoe_error *err) {
    const char *column = column_of(c);
    if (is_missing_column(c) && !c->position)
        return aoei_fail(err, AOE_EARG,
                         "the paths of files are not stored on a server; give patterns of the names of documents, "
                         "such as src/, not absolute paths");
    if (is_missing_column(c))
        return aoei_fail(err, AOE_EARG,
                         "condition: '%s' at character %zu is not stored on a server; use name, ext or metadata "
                         "(in backticks if the key is %s)",
                         c->key, c->position, c->key);
    if (column) {
        aoei_buffer_printf(w->sql, "(%s IS NOT NULL", column);
        if (c->type != AOEI_EXISTS) {
            aoei_buffer_printf(w->sql, " AND ");
            write_text_comparison(w, column, c);
        }
        aoei_buffer_putc(w->sql, ')');
        return 0;
    }
    const size_t key = add_string(w, c->key);
    if (c->type == AOEI_EXISTS)
        aoei_buffer_printf(w->sql, "metadata ? $%zu::text", key);
    else if (c->type == AOEI_EQUAL)
        write_equal(w, c, key);
    else
        write_any(w, c, key);
    return 0;
}

static int write_element(void *user, aoei_where_element element, aoei_where_element parent, const aoei_comparison *c,
                         aoe_error *err) {
    const writer *w = user;
    switch (element) {
    case AOEI_WHERE_COMPARISON:
        return write_comparison(w, c, err);
    case AOEI_WHERE_NEXT:
        aoei_buffer_printf(w->sql, parent == AOEI_WHERE_BEGIN_OR ? " OR " : " AND ");
        return 0;
    case AOEI_WHERE_END:
        aoei_buffer_putc(w->sql, ')');
        return 0;
    default:
        aoei_buffer_printf(w->sql, element == AOEI_WHERE_BEGIN_NOT ? "NOT (" : "(");
        return 0;
    }
}

int aoei_pg_where(const aoei_where *w, aoei_buffer *sql, aoei_pg_params *p, aoe_error *err) {
    writer out = {sql, p};
    aoei_buffer_putc(sql, '(');
    int rc = aoei_where_visit(w, write_element, &out, err);
    aoei_buffer_putc(sql, ')');
    if (!rc && (sql->failed || p->failed))
        rc = aoei_fail_nomem(err, sql->len);
    return rc;
}

/* --------------------------------------------------------------- unknown keys */

typedef struct checker {
    const aoei_pg *s;
    const aoei_pg_table *t;
} checker;

/* Appends the names of some keys of the table to `out`. */
static int list_keys(const checker *k, aoei_buffer *out, aoe_error *err) {
    aoei_buffer sql = {0};
    aoei_pq_result *r = NULL;
    aoei_buffer_printf(&sql,
                       "SELECT DISTINCT k FROM (SELECT metadata FROM %s LIMIT 10000) AS x, jsonb_object_keys(metadata) "
                       "AS k ORDER BY k LIMIT %d",
                       k->t->name, SHOWN_KEYS + 1);
    const int rc = sql.failed ? aoei_fail_nomem(err, 0) : aoei_pg_query(k->s, sql.data, NULL, &r, err);
    const int n = rc ? 0 : aoei_pq.ntuples(r);
    for (int i = 0; i < n && i < SHOWN_KEYS; i++)
        aoei_buffer_printf(out, "%s%s", i ? ", " : "; the keys of this table are ", aoei_pq.getvalue(r, i, 0));
    if (!rc)
        aoei_buffer_printf(out, n > SHOWN_KEYS ? ", ..." : n ? "" : "; this table has no metadata, only name and ext");
    aoei_pq.clear(r);
    aoei_buffer_free(&sql);
    return rc;
}

static int fail_unknown(const checker *k, const aoei_comparison *c, aoe_error *err) {
    aoei_buffer keys = {0};
    int rc = list_keys(k, &keys, err);
    if (!rc)
        rc = aoei_fail(err, AOE_EARG, "condition: no document has the key \"%s\" (character %zu)%s", c->key,
                       c->position, keys.failed ? "" : keys.data);
    aoei_buffer_free(&keys);
    return rc;
}

static int check_element(void *user, aoei_where_element element, aoei_where_element parent, const aoei_comparison *c,
                         aoe_error *err) {
    const checker *k = user;
    (void)parent;
    if (element != AOEI_WHERE_COMPARISON || column_of(c) || is_missing_column(c))
        return 0;
    aoei_pg_params p = {.n = 0};
    aoei_buffer sql = {0};
    aoei_pq_result *r = NULL;
    aoei_pg_add_text(&p, c->key, strlen(c->key));
    aoei_buffer_printf(&sql, "SELECT EXISTS (SELECT FROM %s WHERE metadata ? $1::text)::int", k->t->name);
    const int rc = sql.failed ? aoei_fail_nomem(err, 0) : aoei_pg_query(k->s, sql.data, &p, &r, err);
    const int exists = !rc && aoei_pg_value_number(r, 0, 0) == 1;
    aoei_pq.clear(r);
    aoei_pg_params_free(&p);
    aoei_buffer_free(&sql);
    return rc || exists ? rc : fail_unknown(k, c, err);
}

int aoei_pg_where_check(const aoei_pg *s, const aoei_pg_table *t, const aoei_where *w, aoe_error *err) {
    checker k = {s, t};
    return aoei_where_visit(w, check_element, &k, err);
}
