/* SPDX-License-Identifier: MIT
 * All texts of a file, whatever its form: every column of texts, row after row.
 * What the columns are to each other (pairs, triples, labels) is examples.h. A text that
 * the caller refuses is named with its file, line and column.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "data/columns.h"
#include "data/table.h"

#define TEXT_COLUMNS                                                                                                            \
    "text, text1, text2, sentence, sentence1, sentence2, question, question1, question2, premise, hypothesis, context, query, " \
    "positive, negative, entailment, contradiction"

/* Is name one of those in "a, b" or "a,b"? */
static int is_listed(const char *list, aoe_text name) {
    for (const char *s = list; *s;) {
        const size_t len = strcspn(s, ",");
        if (len == name.len && !memcmp(s, name.data, len))
            return 1;
        s += len;
        s += strspn(s, ", ");
    }
    return 0;
}

/* Every name that was asked for has to be there. */
static int check_columns(const aoei_table *t, const char *columns, aoe_error *err) {
    for (const char *s = columns; *s; s += *s == ',') {
        const size_t len = strcspn(s, ",");
        size_t i = 0, n = aoei_table_columns(t);
        while (i < n && !(aoei_table_column(t, i).len == len && !memcmp(aoei_table_column(t, i).data, s, len)))
            i++;
        if (i == n) {
            char wanted[AOEI_EXCERPT], found[AOEI_COLUMN_LIST];
            aoei_columns_list(t, found);
            return aoei_fail(err, AOE_EFORMAT, "%s: no column '%s'; found %s; correct --columns", aoei_table_name(t),
                             aoei_excerpt(wanted, (aoe_text){s, len}), *found ? found : "none");
        }
        s += len;
    }
    return 0;
}

/* Selects the columns of texts; *n is their number. */
static int select_columns(aoei_table *t, const char *columns, size_t *n, aoe_error *err) {
    const size_t count = aoei_table_columns(t);
    int rc = columns ? check_columns(t, columns, err) : 0;
    if (rc)
        return rc;
    size_t *column = aoei_malloc_array(count + 1, sizeof *column);
    if (!column)
        return aoei_fail_nomem(err, count * sizeof *column);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_listed(columns ? columns : TEXT_COLUMNS, aoei_table_column(t, i)))
            column[(*n)++] = i;
    rc = *n ? aoei_table_select(t, column, *n, err)
            : aoei_fail(err, AOE_EFORMAT,
                        "%s: no column of texts: looked for " TEXT_COLUMNS "; rename a column or give a .txt file",
                        aoei_table_name(t));
    aoei_free(column);
    return rc;
}

static int fail_kind(const aoei_table *t, const aoei_row *row, size_t i, aoe_error *err) {
    char column[AOEI_EXCERPT];
    return aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s' is not a text; correct the row", aoei_table_name(t), row->line,
                     aoei_excerpt(column, aoei_table_selected(t, i)));
}

static int give_text(const aoei_table *t, const aoei_row *row, size_t i, aoe_text text, aoe_text_fn fn, void *user,
                     aoe_error *err) {
    char column[AOEI_EXCERPT];
    const int rc = fn(user, text, err);
    if (rc)
        aoei_error_prefix(err, "%s:%zu: column '%s'", aoei_table_name(t), row->line,
                          aoei_excerpt(column, aoei_table_selected(t, i)));
    return rc;
}

static int give_field(const aoei_table *t, const aoei_row *row, size_t i, aoe_text_fn fn, void *user, aoe_error *err) {
    const aoei_field *f = &row->field[i];
    int rc = 0;
    if (f->kind == AOEI_FIELD_TEXT)
        return give_text(t, row, i, f->text, fn, user, err);
    if (f->kind != AOEI_FIELD_LIST)
        return fail_kind(t, row, i, err);
    for (size_t k = 0; !rc && k < json_array_size(f->list); k++) {
        const json_t *v = json_array_get(f->list, k);
        rc = json_is_string(v) ? give_text(t, row, i, (aoe_text){json_string_value(v), json_string_length(v)}, fn, user, err)
                               : fail_kind(t, row, i, err);
    }
    return rc;
}

int aoe_texts_read(const char *path, const char *columns, aoe_text_fn fn, void *user, aoe_error *err) {
    aoei_table *t = NULL;
    aoei_row row;
    size_t n = 0;
    int rc = aoei_table_open(&t, path, err);
    if (!rc)
        rc = select_columns(t, columns, &n, err);
    while (!rc && (rc = aoei_table_next(t, &row, err)) == 1) {
        rc = 0;
        for (size_t i = 0; !rc && i < n; i++)
            rc = give_field(t, &row, i, fn, user, err);
    }
    aoei_table_close(t);
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc;
}
