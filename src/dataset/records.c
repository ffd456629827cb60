/* SPDX-License-Identifier: MIT
 * Reads the rows of a table. If the bytes of rows are kept, a text that occurs unchanged in the bytes of its row (as in
 * .tsv files) is not copied: it points into these bytes.
 */
#include "dataset/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "table/texts.h"

enum { MAX_EXTRA = 2 /* maximum number of selected columns that are not texts: the label and the group */ };

/* ---- columns */

/* Selects the columns of the detected kind of examples. If no kind is detected, selects the text columns. */
static int select_columns(aoei_sheet *s, const char *columns, aoe_error *err) {
    const int roles = columns && strchr(columns, '='), list = columns && !roles;
    int rc = 0;
    s->kind = AOE_EXAMPLES_TEXTS;
    if (roles && strncmp(columns, "text=", strlen("text=")) != 0)
        rc = aoei_columns_detect(&s->kind, s->table, columns, err);
    else if (!list && !roles && aoei_columns_detect(&s->kind, s->table, NULL, NULL))
        s->kind = AOE_EXAMPLES_TEXTS;
    if (rc)
        return rc;
    if (s->kind == AOE_EXAMPLES_TEXTS)
        return aoei_texts_select(s->table, &s->texts, columns, err);
    rc = aoei_columns_select(s->table, s->kind, columns, err);
    s->texts = rc ? 0 : aoei_table_selected_count(s->table) - (s->kind == AOE_EXAMPLES_PAIRS);
    return rc;
}

/* Returns the index of the label column. In labeled pairs, this is the column with the role label. If no kind of
 * examples was detected, it is a column named label, score, similarity or gold_label that is not a text column.
 * Otherwise, in tables with several text columns, it is the first other column that looks like labels. Returns the
 * number of columns if there is no label column. */
static size_t label_column(const aoei_sheet *s, const char *columns) {
    static const char *const names[] = {"label", "score", "similarity", "gold_label"};
    const aoei_table *t = s->table;
    size_t found;
    if (s->kind == AOE_EXAMPLES_PAIRS)
        return aoei_table_selected_index(t, 2);
    for (size_t i = 0; s->kind == AOE_EXAMPLES_TEXTS && i < sizeof names / sizeof *names; i++) {
        size_t c = 0, k = 0;
        if (!aoei_columns_find(t, aoe_text_of(names[i]), &c))
            continue;
        while (k < s->texts && aoei_table_selected_index(t, k) != c)
            k++;
        if (k == s->texts)
            return c;
    }
    return s->texts > 1 && aoei_columns_find_label(t, columns, &found) ? found : aoei_table_columns(t);
}

static int select_all(aoei_sheet *s, const char *columns, const char *group, aoe_error *err) {
    const aoei_table *t = s->table;
    const size_t label = label_column(s, columns);
    size_t n = s->texts, grouped = 0;
    if (group && !aoei_columns_find(t, aoe_text_of(group), &grouped)) {
        char excerpt[AOEI_EXCERPT], problem[AOEI_EXCERPT + 32];
        snprintf(problem, sizeof problem, "no column '%s'", aoei_excerpt(excerpt, aoe_text_of(group)));
        return aoei_columns_fail(t, problem, "correct options.group", err);
    }
    size_t *column = aoei_malloc_array(n + MAX_EXTRA, sizeof *column);
    if (!column)
        return aoei_fail_nomem(err, n * sizeof *column);
    for (size_t i = 0; i < n; i++)
        column[i] = aoei_table_selected_index(t, i);
    if (label < aoei_table_columns(t)) {
        s->label = n;
        column[n++] = label;
    }
    if (group) {
        s->group = n;
        column[n++] = grouped;
    }
    const int rc = aoei_table_select(s->table, column, n, err);
    aoei_free(column);
    return rc;
}

static int log_columns(const aoei_sheet *s, aoe_error *err) {
    static const char *const pair[] = {"text1", "text2"}, *const example[] = {"query", "positive", "negative"};
    const size_t n = aoei_table_selected_count(s->table);
    const char **role = aoei_malloc_array(n + 1, sizeof *role);
    if (!role)
        return aoei_fail_nomem(err, n * sizeof *role);
    for (size_t i = 0; i < n; i++)
        role[i] = s->kind == AOE_EXAMPLES_TEXTS   ? "texts"
                  : s->kind == AOE_EXAMPLES_PAIRS ? pair[i % 2]
                                                  : example[i < 2 ? i : 2];
    if (s->label)
        role[s->label] = "label";
    if (s->group)
        role[s->group] = "group";
    aoei_columns_log_roles(s->table, role, n);
    aoei_free(role);
    return 0;
}

int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err) {
    *s = (aoei_sheet){0};
    int rc = aoei_table_open(&s->table, path, o, err);
    if (!rc)
        rc = select_columns(s, o->columns, err);
    rc = rc ? rc : select_all(s, o->columns, group, err);
    return rc ? rc : log_columns(s, err);
}

void aoei_sheet_close(aoei_sheet *s) {
    aoei_table_close(s->table);
    *s = (aoei_sheet){0};
}

/* ---- rows */

/* State of aoei_records_read. All pointers are borrowed. */
typedef struct reader {
    aoei_records *r;         /* records to which rows are appended */
    aoei_names *names;       /* distinct texts, labels and groups to which new values are added */
    const aoei_sheet *sheet; /* open table that is read */
    const aoei_records_options *o;
} reader;

static int bad_field(const reader *d, const aoei_row *row, size_t i, const char *what, aoe_error *err) {
    char column[AOEI_EXCERPT];
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; " AOEI_ROW_REMEDY, d->r->name, row->line,
              aoei_excerpt(column, aoei_table_selected(d->sheet->table, i)), what);
    return AOEI_BAD_ROW;
}

static int check_fields(const reader *d, const aoei_row *row, aoe_error *err) {
    for (size_t i = 0; i < d->sheet->texts; i++) {
        const aoei_field *f = &row->field[i];
        if (f->kind != AOEI_FIELD_TEXT && f->kind != AOEI_FIELD_LIST)
            return bad_field(d, row, i, "the value is neither a JSON string nor a list of JSON strings", err);
        for (size_t k = 0; f->kind == AOEI_FIELD_LIST && k < json_array_size(f->list); k++)
            if (!json_is_string(json_array_get(f->list, k)))
                return bad_field(d, row, i, "an element of the list is not a JSON string", err);
        if (f->kind == AOEI_FIELD_LIST && json_array_size(f->list) == 0)
            return bad_field(d, row, i, "the list is empty", err);
    }
    const size_t extra[MAX_EXTRA] = {d->sheet->label, d->sheet->group};
    for (size_t i = 0; i < MAX_EXTRA; i++)
        if (extra[i] && (row->field[extra[i]].kind == AOEI_FIELD_LIST || row->field[extra[i]].kind == AOEI_FIELD_OTHER))
            return bad_field(d, row, extra[i], "the value is neither a number, a string nor a boolean", err);
    return 0;
}

/* Adds the value of a field to d unless d already contains it. *number is set to the index of the value in d. Numbers
 * are compared by value, so 1 and 1.0 have the same index. decimal_comma: as in aoe_table_options. */
static int add_value(aoei_distinct *d, const aoei_field *f, int decimal_comma, size_t *number, aoe_error *err) {
    char text[AOEI_NUMBER_TEXT];
    double x = f->number;
    if (f->kind == AOEI_FIELD_NUMBER || aoei_number_read(f->text, decimal_comma, &x) == AOEI_LABEL_VALUE)
        return aoei_distinct_add(d, (aoe_text){text, aoei_number_text(text, x + 0.0)}, 0, number, err);
    return aoei_distinct_add(d, f->text, 0, number, err);
}

/* Copies the bytes of a row to r->bytes and adds a line end if the row has none. *to is set to the copy. */
static int copy_bytes(aoei_records *r, aoe_text *to, aoe_text bytes, aoe_error *err) {
    char *copy = aoei_chunks_take(&r->bytes, bytes.len + 1); /* one more byte for the line end that the last line of the
                                                                file may lack */
    if (!copy)
        return aoei_fail_nomem(err, bytes.len);
    if (bytes.len)
        memcpy(copy, bytes.data, bytes.len);
    if (bytes.len && copy[bytes.len - 1] != '\n')
        copy[bytes.len++] = '\n';
    *to = (aoe_text){copy, bytes.len};
    return 0;
}

static int add_text(reader *d, aoe_text text, aoe_text row, aoe_text kept, aoe_error *err) {
    aoei_records *r = d->r;
    const uintptr_t at = (uintptr_t)text.data, from = (uintptr_t)row.data;
    const int is_in_row = kept.data && at >= from && at + text.len <= from + row.len;
    if (is_in_row)
        text.data = kept.data + (at - from);
    if (aoei_grow((void **)&r->text, &r->text_capacity, r->n_texts, sizeof *r->text))
        return aoei_fail_nomem(err, r->n_texts * sizeof *r->text);
    const int rc = aoei_distinct_add(&d->names->texts, text, is_in_row, &r->text[r->n_texts], err);
    r->n_texts += !rc;
    return rc;
}

static int reserve(aoei_records *r, int keep_rows) {
    for (size_t i = 0; i <= r->roles; i++)
        if (aoei_grow((void **)&r->first, &r->first_capacity, r->n * r->roles + i, sizeof *r->first))
            return -1;
    return aoei_grow((void **)&r->line, &r->line_capacity, r->n, sizeof *r->line) ||
                   aoei_grow((void **)&r->label, &r->label_capacity, r->n, sizeof *r->label) ||
                   aoei_grow((void **)&r->group, &r->group_capacity, r->n, sizeof *r->group) ||
                   (keep_rows && aoei_grow((void **)&r->row, &r->row_capacity, r->n, sizeof *r->row))
               ? -1
               : 0;
}

static int add_row(reader *d, const aoei_row *row, aoe_error *err) {
    aoei_records *r = d->r;
    const aoei_sheet *s = d->sheet;
    const aoe_text bytes = aoei_table_row_bytes(s->table);
    aoe_text kept = {NULL, 0};
    int rc = check_fields(d, row, err);
    if (rc)
        return rc;
    if (reserve(r, d->o->keep_rows))
        return aoei_fail_nomem(err, r->n * sizeof *r->first);
    r->label[r->n] = r->group[r->n] = 0;
    if (d->o->keep_rows)
        rc = copy_bytes(r, &kept, bytes, err);
    for (size_t i = 0; i < s->texts && !rc; i++) {
        const aoei_field *f = &row->field[i];
        const size_t count = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
        r->first[r->n * r->roles + i] = r->n_texts;
        for (size_t k = 0; k < count && !rc; k++) {
            const json_t *v = f->kind == AOEI_FIELD_LIST ? json_array_get(f->list, k) : NULL;
            rc = add_text(d, v ? (aoe_text){json_string_value(v), json_string_length(v)} : f->text, bytes, kept, err);
        }
    }
    if (!rc && s->label)
        rc = add_value(&d->names->labels, &row->field[s->label], d->o->table->decimal_comma, &r->label[r->n], err);
    if (!rc && s->group)
        rc = add_value(&d->names->groups, &row->field[s->group], 0, &r->group[r->n], err);
    if (rc)
        return rc;
    if (d->o->keep_rows)
        r->row[r->n] = kept;
    r->line[r->n] = row->line;
    r->first[++r->n * r->roles] = r->n_texts;
    return 0;
}

static int read_rows(reader *d, aoe_error *err) {
    aoe_error own;
    err = err ? err : &own; /* the bad row callback needs the message even if the caller passes NULL for err */
    for (;;) {
        aoei_row row;
        int rc = aoei_table_next(d->sheet->table, &row, err);
        if (rc == 0)
            return 0;
        if (rc == 1)
            rc = add_row(d, &row, err);
        if (rc == AOEI_BAD_ROW && !d->o->skip_bad_rows && !d->o->table->skip_bad_rows)
            return AOE_EFORMAT;
        if (rc == AOEI_BAD_ROW) {
            d->r->skipped++;
            if (d->o->bad)
                d->o->bad(d->o->user, aoei_table_line(d->sheet->table), err->message);
        }
        if (rc < 0)
            return rc;
    }
}

int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o,
                      aoe_error *err) {
    aoei_sheet sheet;
    reader d = {.r = r, .names = names, .sheet = &sheet, .o = o};
    *r = (aoei_records){0};
    int rc = aoei_sheet_open(&sheet, path, o->table, o->group, err);
    if (!rc) {
        r->format = aoei_table_format(sheet.table);
        r->kind = sheet.kind;
        r->roles = sheet.texts;
        r->has_labels = sheet.label != 0;
        r->name = aoei_strdup(aoei_table_name(sheet.table));
        if (!r->name)
            rc = aoei_fail_nomem(err, strlen(path));
    }
    if (!rc && o->keep_rows)
        rc = copy_bytes(r, &r->header, aoei_table_header_bytes(sheet.table), err);
    if (!rc)
        rc = read_rows(&d, err);
    aoei_sheet_close(&sheet);
    return rc;
}

void aoei_records_free(aoei_records *r) {
    aoei_chunks_free(&r->bytes);
    aoei_free(r->name);
    aoei_free(r->line);
    aoei_free(r->first);
    aoei_free(r->text);
    aoei_free(r->label);
    aoei_free(r->group);
    aoei_free(r->row);
    *r = (aoei_records){0};
}

void aoei_names_free(aoei_names *names) {
    aoei_distinct_free(&names->texts);
    aoei_distinct_free(&names->labels);
    aoei_distinct_free(&names->groups);
}

int aoei_records_fail_empty(const aoei_records *r, aoe_error *err) {
    if (!r->skipped)
        return aoei_fail(err, AOE_EFORMAT, "%s: the table has no rows; use a table with rows", r->name);
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the file has no valid rows (%zu bad); check options.columns, or correct the rows", r->name,
                     r->skipped);
}

aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value) {
    aoei_field f = {.kind = AOEI_FIELD_TEXT, .text = names->labels.text[number]};
    const aoei_label kind = aoei_label_of(map, &f, value);
    const int is_true = f.text.len == 4 && !memcmp(f.text.data, "true", 4);
    const int is_false = f.text.len == 5 && !memcmp(f.text.data, "false", 5);
    if (kind != AOEI_LABEL_UNKNOWN || r->format != AOE_TABLE_JSONL || !(is_true || is_false))
        return kind;
    *value = is_true;
    return AOEI_LABEL_VALUE;
}

/* ---- keys */

int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err) {
    const int pairs = !ordered && r->roles == 2 && (r->kind == AOE_EXAMPLES_PAIRS || r->kind == AOE_EXAMPLES_TEXTS);
    aoei_buffer key = {0};
    int rc = 0;
    for (size_t i = 0; i < r->n && !rc; i++) {
        const size_t *first = r->first + i * r->roles;
        aoei_buffer_clear(&key);
        for (size_t role = 0; role < r->roles; role++) {
            const size_t separator = SIZE_MAX; /* appended after the classes of each role if a role has alternatives, so
                                                  that ({a, b}, c) and (a, {b, c}) have different keys */
            for (size_t k = first[role]; k < first[role + 1]; k++)
                aoei_buffer_append(&key, &class[r->text[k]], sizeof *class);
            if (first[r->roles] - first[0] != r->roles)
                aoei_buffer_append(&key, &separator, sizeof separator);
        }
        if (key.failed)
            rc = aoei_fail_nomem(err, key.len);
        else if (pairs && first[2] - first[0] == 2)
            qsort(key.data, 2, sizeof(size_t), aoei_compare_sizes);
        if (!rc)
            rc = aoei_distinct_add(distinct, (aoe_text){key.data, key.len}, 0, &keys[i], err);
    }
    aoei_buffer_free(&key);
    return rc;
}
