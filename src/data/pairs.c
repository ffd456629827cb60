/* SPDX-License-Identifier: MIT
 * Labelled pairs in memory. The texts of a pair lie next to each other in large
 * chunks, a record a pair points at them; nothing moves once it is stored.
 * Invariant: a pair is appended whole or not at all.
 */
#include "data/pairs.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "data/columns.h"
#include "data/labels.h"

enum { CHUNK = 1 << 20 };

typedef struct record {
    const char *text; /* [len1 + len2] text1, then text2 */
    size_t len1, len2;
    size_t line;
    double label;
} record;

struct aoe_pairs {
    char *name;
    record *record; /* [n] */
    size_t n, capacity;
    char **chunk; /* [n_chunks], each owned */
    size_t n_chunks, chunk_capacity;
    size_t room; /* bytes left at the end of the last chunk */
    char *free;  /* where they begin */
    size_t skipped, dropped;
};

/* Roles in the order of form A. */
enum { TEXT1, TEXT2, LABEL };

/* bytes of storage that will not move. */
static char *take(aoe_pairs *p, size_t bytes) {
    if (bytes > p->room || !p->free) {
        size_t size = bytes > CHUNK ? bytes : CHUNK;
        if (aoei_grow((void **)&p->chunk, &p->chunk_capacity, p->n_chunks, sizeof *p->chunk))
            return NULL;
        char *chunk = aoei_malloc(size);
        if (!chunk)
            return NULL;
        p->chunk[p->n_chunks++] = chunk;
        p->free = chunk;
        p->room = size;
    }
    char *place = p->free;
    p->free += bytes;
    p->room -= bytes;
    return place;
}

static int bad_label(const aoei_table *t, const aoei_row *row, aoei_label kind, aoe_error *err) {
    const aoei_field *f = &row->field[LABEL];
    char column[AOEI_EXCERPT], value[AOEI_EXCERPT];
    aoei_excerpt(column, aoei_table_selected(t, LABEL));
    aoei_excerpt(value, f->text);
    if (kind == AOEI_LABEL_NOT_FINITE)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': '%s' is too large; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line,
                  column, value);
    else if (f->kind == AOEI_FIELD_OTHER)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': the label is no number, word or boolean; " AOEI_ROW_REMEDY,
                  aoei_table_name(t), row->line, column);
    else if (f->text.len == 0)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': the label is empty; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line,
                  column);
    else
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: column '%s': '%s' is not a number and no known label word; correct it, give the word a value with "
                  "--label-map, or leave such rows out with --skip-bad-rows",
                  aoei_table_name(t), row->line, column, value);
    return AOEI_BAD_ROW;
}

static int bad_text(const aoei_table *t, const aoei_row *row, size_t role, const char *what, aoe_error *err) {
    char column[AOEI_EXCERPT];
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line,
              aoei_excerpt(column, aoei_table_selected(t, role)), what);
    return AOEI_BAD_ROW;
}

/* 0, AOEI_BAD_ROW or an error. A row that is to be dropped is not looked at any further. */
static int add_row(aoe_pairs *p, const aoei_table *t, const aoei_row *row, const aoei_labels *labels, int allow_empty,
                   aoe_error *err) {
    double label = 0;
    aoei_label kind = aoei_label_of(labels, &row->field[LABEL], &label);
    if (kind == AOEI_LABEL_DROP) {
        p->dropped++;
        return 0;
    }
    if (kind != AOEI_LABEL_VALUE)
        return bad_label(t, row, kind, err);
    for (size_t role = TEXT1; role <= TEXT2; role++) {
        const aoei_field *f = &row->field[role];
        if (f->kind != AOEI_FIELD_TEXT)
            return bad_text(t, row, role, "the text is not a JSON string", err);
        if (!allow_empty && aoei_text_is_empty(f->text))
            return bad_text(t, row, role, "the text is empty", err);
    }
    return aoei_pairs_append(p, row->field[TEXT1].text, row->field[TEXT2].text, label, row->line, err);
}

static int fail_no_rows(const aoe_pairs *p, aoe_error *err) {
    if (p->skipped + p->dropped == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the table has no rows; give one with a row a pair", p->name);
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: no usable row: %zu bad, %zu dropped by their label; check --columns and --label-map, or correct the rows", p->name,
        p->skipped, p->dropped);
}

static int read_rows(aoe_pairs *p, aoei_table *t, const aoei_labels *labels, const aoe_table_options *o, aoe_error *err) {
    for (;;) {
        aoei_row row;
        int rc = aoei_table_next(t, &row, err);
        if (rc == 0)
            return p->n ? 0 : fail_no_rows(p, err);
        if (rc == 1)
            rc = add_row(p, t, &row, labels, o->allow_empty, err);
        if (rc == AOEI_BAD_ROW && !o->skip_bad_rows)
            return AOE_EFORMAT; /* err is filled */
        if (rc == AOEI_BAD_ROW)
            p->skipped++;
        if (rc < 0)
            return rc;
    }
}

int aoei_text_is_empty(aoe_text text) {
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] != ' ' && (text.data[i] < '\t' || text.data[i] > '\r'))
            return 0;
    return 1;
}

int aoei_pairs_create(aoe_pairs **out, const char *name, aoe_error *err) {
    *out = NULL;
    aoe_pairs *p = aoei_calloc(1, sizeof *p);
    if (!p || !(p->name = aoei_strdup(name))) {
        aoei_free(p);
        aoei_fail_nomem(err, sizeof *p);
        return AOE_ENOMEM;
    }
    *out = p;
    return 0;
}

int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err) {
    size_t bytes;
    char *place = NULL;
    if (aoei_add_size(text1.len, text2.len, &bytes) || aoei_grow((void **)&p->record, &p->capacity, p->n, sizeof *p->record) ||
        !(place = take(p, bytes)))
        return aoei_fail_nomem(err, p->n * sizeof *p->record + text1.len);
    if (text1.len)
        memcpy(place, text1.data, text1.len);
    if (text2.len)
        memcpy(place + text1.len, text2.data, text2.len);
    p->record[p->n++] = (record){place, text1.len, text2.len, line, label};
    return 0;
}

const char *aoei_pairs_name(const aoe_pairs *p) {
    return p->name;
}

int aoei_pairs_read(aoe_pairs **out, aoei_table *t, const aoe_table_options *o, aoe_error *err) {
    static const aoe_table_options none = {0};
    aoei_labels labels = {0};
    aoe_pairs *p = NULL;
    *out = NULL;
    if (!o)
        o = &none;
    int rc = aoei_columns_select(t, AOEI_FORM_PAIR, o->columns, err);
    if (!rc)
        rc = aoei_labels_create(&labels, o->label_map, err);
    if (!rc)
        rc = aoei_pairs_create(&p, aoei_table_name(t), err);
    if (!rc)
        rc = read_rows(p, t, &labels, o, err);
    aoei_labels_free(&labels);
    if (rc) {
        aoe_pairs_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

int aoe_pairs_load(aoe_pairs **out, const char *path, const aoe_table_options *o, aoe_error *err) {
    *out = NULL;
    aoei_table *t;
    int rc = aoei_table_open(&t, path, err);
    if (rc)
        return rc;
    rc = aoei_pairs_read(out, t, o, err);
    aoei_table_close(t);
    return rc;
}

void aoe_pairs_free(aoe_pairs *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->n_chunks; i++)
        aoei_free(p->chunk[i]);
    aoei_free(p->chunk);
    aoei_free(p->record);
    aoei_free(p->name);
    aoei_free(p);
}

size_t aoe_pairs_count(const aoe_pairs *p) {
    return p->n;
}

aoe_text aoe_pairs_text1(const aoe_pairs *p, size_t i) {
    return (aoe_text){p->record[i].text, p->record[i].len1};
}

aoe_text aoe_pairs_text2(const aoe_pairs *p, size_t i) {
    return (aoe_text){p->record[i].text + p->record[i].len1, p->record[i].len2};
}

double aoe_pairs_label(const aoe_pairs *p, size_t i) {
    return p->record[i].label;
}

size_t aoe_pairs_line(const aoe_pairs *p, size_t i) {
    return p->record[i].line;
}

size_t aoe_pairs_skipped(const aoe_pairs *p) {
    return p->skipped;
}

size_t aoe_pairs_dropped(const aoe_pairs *p) {
    return p->dropped;
}
