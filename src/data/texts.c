/* SPDX-License-Identifier: MIT
 * Recognised names are those of the roles of every form of training file.
 */
#include "data/texts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define COLUMN_LIST                                                                                                             \
    "text, text1, text2, sentence, sentence1, sentence2, question, question1, question2, premise, hypothesis, context, query, " \
    "positive, negative, entailment, contradiction"

static int is_text_column(aoe_text name) {
    static const char list[] = COLUMN_LIST;
    for (const char *s = list; *s;) {
        size_t len = strcspn(s, ",");
        if (len == name.len && !memcmp(s, name.data, len))
            return 1;
        s += len;
        s += strspn(s, ", ");
    }
    return 0;
}

int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err) {
    size_t count = aoei_table_columns(t);
    *n = 1;
    if (columns)
        return aoei_columns_select(t, AOEI_FORM_TEXT, columns, err);
    size_t *column = aoei_malloc_array(count + 1, sizeof *column);
    if (!column)
        return aoei_fail_nomem(err, count * sizeof *column);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_text_column(aoei_table_column(t, i)))
            column[(*n)++] = i;
    int rc = *n ? aoei_table_select(t, column, *n, err)
                : aoei_fail(err, AOE_EFORMAT,
                            "%s: no column of texts: looked for " COLUMN_LIST "; rename a column or give a .txt file",
                            aoei_table_name(t));
    aoei_free(column);
    return rc;
}

static int bad_text(const aoei_table *t, const aoei_row *row, size_t i, const char *what, aoe_error *err) {
    char column[AOEI_EXCERPT];
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line,
              aoei_excerpt(column, aoei_table_selected(t, i)), what);
    return AOEI_BAD_ROW;
}

/* Alternative k of a field. */
static aoe_text text_at(const aoei_field *f, size_t k) {
    if (f->kind != AOEI_FIELD_LIST)
        return f->text;
    const json_t *v = json_array_get(f->list, k);
    return (aoe_text){json_string_value(v), json_string_length(v)};
}

/* 0, or AOEI_BAD_ROW. */
static int check_field(const aoei_table *t, const aoei_row *row, size_t i, int allow_empty, aoe_error *err) {
    const aoei_field *f = &row->field[i];
    if (f->kind != AOEI_FIELD_TEXT && f->kind != AOEI_FIELD_LIST)
        return bad_text(t, row, i, "neither a JSON string nor a list of them", err);
    const size_t n = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
    for (size_t k = 0; k < n; k++) {
        const aoe_text text = text_at(f, k);
        if (!text.data && f->kind == AOEI_FIELD_LIST)
            return bad_text(t, row, i, "an element of the list is not a JSON string", err);
        if (!allow_empty && aoei_text_is_empty(text))
            return bad_text(t, row, i, "the text is empty", err);
    }
    return 0;
}

/* A row is taken whole or not at all. */
static int add_row(aoei_examples *e, const aoei_table *t, const aoei_row *row, size_t n, int allow_empty, aoe_error *err) {
    static const size_t one = 1;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_field(t, row, i, allow_empty, err);
    for (size_t i = 0; i < n && !rc; i++) {
        const aoei_field *f = &row->field[i];
        const size_t count = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
        for (size_t k = 0; k < count && !rc; k++) {
            const aoe_text text = text_at(f, k);
            rc = aoei_examples_append(e, &text, &one, 0, row->line, err);
        }
    }
    return rc;
}

static int read_rows(aoei_examples *e, aoei_table *t, size_t n, const aoe_table_options *o, aoe_error *err) {
    for (;;) {
        aoei_row row;
        int rc = aoei_table_next(t, &row, err);
        if (rc == 0)
            break;
        if (rc == 1)
            rc = add_row(e, t, &row, n, o->allow_empty, err);
        if (rc == AOEI_BAD_ROW && !o->skip_bad_rows)
            return AOE_EFORMAT; /* err is filled */
        if (rc == AOEI_BAD_ROW)
            e->skipped++;
        if (rc < 0)
            return rc;
    }
    return e->n ? 0
                : aoei_fail(err, AOE_EFORMAT, "%s: no text in it (%zu bad rows); give a file with a text a line or row",
                            e->name, e->skipped);
}

int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err) {
    static const aoe_table_options none = {0};
    aoei_table *t = NULL;
    size_t n = 0;
    *e = (aoei_examples){0};
    o = o ? o : &none;
    int rc = aoei_table_open(&t, path, err);
    if (!rc)
        rc = aoei_texts_select(t, &n, o->columns, err);
    if (!rc)
        rc = aoei_examples_create(e, aoei_table_name(t), AOEI_FORM_TEXT, err);
    if (!rc)
        rc = read_rows(e, t, n, o, err);
    aoei_table_close(t);
    return rc;
}
