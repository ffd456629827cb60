/* SPDX-License-Identifier: MIT
 * Implements aoe_data_check. All files are read first; then their rows are checked in order. Rows with equal texts have
 * the same key. To find duplicates in a file, and rows or texts that are also in an earlier file, the first row with
 * each key and the first row with each text are stored. A row number counts the rows of all files from 0. The value
 * NONE means that there is no such row.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/utf8.h"
#include "table/examples.h"
#include "dataset/records.h"
#include "dataset/text_classes.h"

#define NONE SIZE_MAX

/* A bad row of a file. */
typedef struct bad_row {
    size_t line;     /* line number in the file */
    aoe_text reason; /* why the row is bad; points into checked_file.bytes */
} bad_row;

/* An input file and its rows. The struct owns all its memory. */
typedef struct checked_file {
    aoei_records records;       /* valid rows */
    size_t start;               /* row number of the first row of the file */
    size_t *key;                /* [records.n] key of each row, an index in check.keys */
    bad_row *bad;               /* [n_bad] bad rows */
    size_t n_bad, bad_capacity; /* number of bad rows, and allocated elements of `bad` */
    aoei_chunks bytes;          /* bytes of the reasons in `bad` */
    int no_memory;              /* 1: memory ran out while a bad row was stored */
} checked_file;

/* State of aoe_data_check. */
typedef struct check {
    const aoe_data_check_options *o; /* options; borrowed */
    aoe_data_check_result *result;   /* result of the call; borrowed */
    checked_file *file;              /* [n] files; owned, like all arrays below */
    size_t n;                        /* number of files */
    aoei_names names;                /* distinct texts and labels of all files */
    aoei_distinct keys;              /* distinct keys of rows */
    aoei_labels map;                 /* label map (options.table.label_map) */
    size_t *class; /* [names.texts.n] class of each distinct text: the index of the first text that is equal to it */
    size_t *text_first; /* [names.texts.n] for each class of texts, the first row that contains such a text in the files
                           before the current file */
    size_t *key_first;  /* [keys.n] for each key, the first row with this key in the files before the current file */
    size_t *key_here; /* [keys.n] for each key, the first row with this key in the latest file that contains the key */
} check;

static const char *const finding_names[AOE_FINDING_COUNT] = {
#define AOE_X(name, word, text) [AOE_FINDING_##name] = (word),
    AOE_FINDING_LIST(AOE_X)
#undef AOE_X
};
static const char *const finding_texts[AOE_FINDING_COUNT] = {
#define AOE_X(name, word, text) [AOE_FINDING_##name] = (text),
    AOE_FINDING_LIST(AOE_X)
#undef AOE_X
};

const char *aoe_finding_name(aoe_finding_kind kind) {
    return finding_names[kind];
}

const char *aoe_finding_text(aoe_finding_kind kind) {
    return finding_texts[kind];
}

AOEI_DEFAULTS(aoe_data_check_options) {
    *o = (aoe_data_check_options){.struct_size = sizeof *o,
                                  .equality = AOE_TEXT_EQUAL_CASE,
                                  .low = -INFINITY,
                                  .high = INFINITY,
                                  .longest = 20000};
    aoe_table_options_defaults(&o->table);
}

static int is_enabled(const check *c, aoe_finding_kind kind) {
    return !(c->o->ignore >> kind & 1);
}

static void report_finding(check *c, const aoe_finding *f) {
    if (!is_enabled(c, f->kind))
        return;
    c->result->found[f->kind]++;
    c->result->total++;
    if (c->o->report)
        c->o->report(c->o->user, f);
}

/* ---- reading */

/* Extracts the reason from an error message about a bad row. For "FILE:LINE: REASON; ADVICE", it returns REASON. name:
 * FILE. */
static aoe_text extract_reason(const char *message, const char *name) {
    const size_t len = strlen(name);
    const char *s = message, *end = message + strlen(message);
    if (!strncmp(s, name, len) && s[len] == ':') {
        s += len + 1 + strspn(s + len + 1, "0123456789");
        s += *s == ':' && s[1] != ' ' ? 1 + strspn(s + 1, "0123456789") : 0; /* skips the byte column */
        s += strspn(s, ": ");
    }
    for (const char *at = s; (at = strstr(at, "; ")); at++)
        end = at;
    return (aoe_text){s, (size_t)(end - s)};
}

static void add_bad_row(void *user, size_t line, const char *message) {
    checked_file *f = user;
    const aoe_text reason = extract_reason(message, f->records.name);
    char *copy = aoei_grow((void **)&f->bad, &f->bad_capacity, f->n_bad, sizeof *f->bad)
                     ? NULL
                     : aoei_chunks_take(&f->bytes, reason.len);
    f->no_memory |= !copy;
    if (!copy)
        return;
    memcpy(copy, reason.data, reason.len);
    f->bad[f->n_bad++] = (bad_row){line, {copy, reason.len}};
}

/* Returns 1 if err says that the first row of the file is bad. In this case, the columns of the file are unknown. *line
 * is set to the line number of the row. */
static int is_bad_first_row(const aoe_error *err, const char *path, size_t *line) {
    const size_t len = strlen(path);
    char *end = NULL;
    if (err->code != AOE_EFORMAT || strncmp(err->message, path, len) != 0 || err->message[len] != ':' ||
        !strstr(err->message, AOEI_ROW_REMEDY))
        return 0;
    *line = strtoul(err->message + len + 1, &end, 10);
    return *line > 0 && *end == ':';
}

/* Reads a file. If its first row is bad, the columns are unknown, so only this bad row is stored. */
static int read_file(check *c, checked_file *f, const char *path, aoe_error *err) {
    const aoei_records_options read = {.table = &c->o->table, .skip_bad_rows = 1, .bad = add_bad_row, .user = f};
    aoe_error reason = {.code = 0};
    size_t line;
    int rc = aoei_records_read(&f->records, &c->names, path, &read, &reason);
    if (rc && !f->records.name && is_bad_first_row(&reason, path, &line)) {
        f->records.name = aoei_strdup(path);
        rc = f->records.name ? 0 : AOE_ENOMEM;
        if (!rc)
            add_bad_row(f, line, reason.message);
    }
    if (rc == AOE_ENOMEM || (!rc && f->no_memory))
        return aoei_fail_nomem(err, (f->n_bad + 1) * sizeof *f->bad);
    return rc ? aoei_fail(err, rc, "%s", reason.message) : 0;
}

static int read_files(check *c, const char *const *paths, aoe_error *err) {
    size_t rows = 0;
    int rc = 0;
    for (size_t i = 0; i < c->n && !rc; i++) {
        checked_file *f = &c->file[i];
        f->start = rows;
        rc = read_file(c, f, paths[i], err);
        if (!rc && !f->records.n && !f->n_bad)
            rc = aoei_records_fail_empty(&f->records, err);
        rows += f->records.n;
        c->result->rows += f->records.n + f->n_bad;
    }
    return rc;
}

/* Returns an array of n elements with the value NONE, which the caller frees, or NULL if out of memory. */
static size_t *create_indices(size_t n) {
    size_t *a = aoei_malloc_array(n, sizeof *a);
    for (size_t i = 0; i < n && a; i++)
        a[i] = NONE;
    return a;
}

static int index_files(check *c, aoe_error *err) {
    const size_t texts = c->names.texts.n;
    c->class = aoei_malloc_array(texts, sizeof *c->class);
    int rc = c->class ? aoei_text_classes(&c->names.texts, c->o->equality, c->class, err)
                      : aoei_fail_nomem(err, texts * sizeof *c->class);
    for (size_t i = 0; i < c->n && !rc; i++) {
        checked_file *f = &c->file[i];
        f->key = aoei_malloc_array(f->records.n, sizeof *f->key);
        rc = f->key ? aoei_records_keys(&f->records, c->class, c->o->ordered, &c->keys, f->key, err)
                    : aoei_fail_nomem(err, f->records.n * sizeof *f->key);
    }
    if (rc)
        return rc;
    c->text_first = create_indices(texts);
    c->key_first = create_indices(c->keys.n);
    c->key_here = create_indices(c->keys.n);
    return c->text_first && c->key_first && c->key_here ? 0 : aoei_fail_nomem(err, texts * sizeof *c->class);
}

/* ---- checks of rows */

/* Sets f->other_file and f->other_line to the position of the row with number `row`. */
static void set_other_row(const check *c, size_t row, aoe_finding *f) {
    size_t i = c->n - 1;
    while (c->file[i].start > row || !c->file[i].records.n)
        i--;
    f->other_file = c->file[i].records.name;
    f->other_line = c->file[i].records.line[row - c->file[i].start];
}

static aoe_finding finding(const checked_file *f, size_t i, aoe_finding_kind kind) {
    return (aoe_finding){.struct_size = sizeof(aoe_finding),
                         .kind = kind,
                         .file = f->records.name,
                         .line = f->records.line[i],
                         .text = {"", 0},
                         .other_label = {"", 0}};
}

static void check_label(check *c, const checked_file *f, size_t i) {
    double value = 0;
    const size_t label = f->records.label[i];
    const aoei_label kind = aoei_records_label(&f->records, &c->names, &c->map, label, &value);
    aoe_finding x = finding(f, i, kind == AOEI_LABEL_VALUE ? AOE_FINDING_RANGE : AOE_FINDING_LABEL);
    x.text = c->names.labels.text[label];
    if (kind == AOEI_LABEL_UNKNOWN || kind == AOEI_LABEL_NOT_FINITE ||
        (kind == AOEI_LABEL_VALUE && (value < c->o->low || value > c->o->high)))
        report_finding(c, &x);
}

/* Checks the texts of row i. Reports at most one empty text and one text that is too long. */
static void check_texts(check *c, const checked_file *f, size_t i) {
    const aoei_records *r = &f->records;
    int empty = 0, too_long = 0;
    for (size_t k = r->first[i * r->roles]; k < r->first[(i + 1) * r->roles]; k++) {
        const aoe_text text = c->names.texts.text[r->text[k]];
        if (!empty && aoei_text_is_empty(text)) {
            const aoe_finding x = finding(f, i, AOE_FINDING_EMPTY);
            report_finding(c, &x);
            empty = 1;
        }
        if (!too_long && c->o->longest && text.len > c->o->longest &&
            aoei_utf8_chars(text.data, text.len) > c->o->longest) {
            aoe_finding x = finding(f, i, AOE_FINDING_LONG);
            x.text = text;
            x.length = aoei_utf8_chars(text.data, text.len);
            report_finding(c, &x);
            too_long = 1;
        }
    }
}

static void check_duplicates(check *c, const checked_file *f, size_t i) {
    const size_t key = f->key[i], first = c->key_here[key];
    if (first == NONE || first < f->start) {
        c->key_here[key] = f->start + i;
        return;
    }
    const size_t label = f->records.label[i], other = f->records.label[first - f->start];
    aoe_finding x = finding(f, i, label == other ? AOE_FINDING_DUPLICATE : AOE_FINDING_CONFLICT);
    set_other_row(c, first, &x);
    if (label != other) {
        x.text = c->names.labels.text[label];
        x.other_label = c->names.labels.text[other];
    }
    report_finding(c, &x);
}

static void check_leaks(check *c, const checked_file *f, size_t i) {
    const aoei_records *r = &f->records;
    if (c->key_first[f->key[i]] != NONE) {
        aoe_finding x = finding(f, i, AOE_FINDING_LEAK);
        set_other_row(c, c->key_first[f->key[i]], &x);
        report_finding(c, &x);
        return;
    }
    for (size_t k = r->first[i * r->roles]; k < r->first[(i + 1) * r->roles]; k++) {
        const size_t first = c->text_first[c->class[r->text[k]]];
        if (first == NONE)
            continue;
        aoe_finding x = finding(f, i, AOE_FINDING_SHARED);
        x.text = c->names.texts.text[r->text[k]];
        set_other_row(c, first, &x);
        report_finding(c, &x);
        return;
    }
}

/* Reports a file in which all labels are equal. Such a file is useless for training and evaluation. */
static void check_equal_labels(check *c, const checked_file *f) {
    size_t only = NONE;
    double value;
    for (size_t i = 0; i < f->records.n; i++) {
        if (aoei_records_label(&f->records, &c->names, &c->map, f->records.label[i], &value) == AOEI_LABEL_DROP)
            continue;
        if (only != NONE && f->records.label[i] != only)
            return;
        only = f->records.label[i];
    }
    if (only == NONE || f->records.n < 2)
        return;
    const aoe_finding x = {.struct_size = sizeof(aoe_finding),
                           .kind = AOE_FINDING_CLASS,
                           .file = f->records.name,
                           .text = c->names.labels.text[only],
                           .other_label = {"", 0}};
    report_finding(c, &x);
}

/* Stores the first row with each key and the first row with each text of a file. Rows of later files are compared with
 * the stored rows. */
static void store_first_rows(check *c, const checked_file *f) {
    const aoei_records *r = &f->records;
    for (size_t i = 0; i < r->n; i++) {
        size_t *key = &c->key_first[f->key[i]];
        *key = *key == NONE ? f->start + i : *key;
        for (size_t k = r->first[i * r->roles]; k < r->first[(i + 1) * r->roles]; k++) {
            size_t *text = &c->text_first[c->class[r->text[k]]];
            *text = *text == NONE ? f->start + i : *text;
        }
    }
}

static void check_file(check *c, const checked_file *f) {
    size_t bad = 0;
    for (size_t i = 0; i <= f->records.n; i++) {
        for (; bad < f->n_bad && (i == f->records.n || f->bad[bad].line < f->records.line[i]); bad++) {
            const aoe_finding x = {.struct_size = sizeof(aoe_finding),
                                   .kind = AOE_FINDING_INVALID,
                                   .file = f->records.name,
                                   .line = f->bad[bad].line,
                                   .text = f->bad[bad].reason,
                                   .other_label = {"", 0}};
            report_finding(c, &x);
        }
        if (i == f->records.n)
            break;
        if (f->records.has_labels)
            check_label(c, f, i);
        check_texts(c, f, i);
        check_duplicates(c, f, i);
        check_leaks(c, f, i);
    }
    if (f->records.has_labels)
        check_equal_labels(c, f);
    store_first_rows(c, f);
}

static void check_free(check *c) {
    aoei_names_free(&c->names);
    aoei_distinct_free(&c->keys);
    aoei_labels_free(&c->map);
    for (size_t i = 0; i < c->n && c->file; i++) {
        aoei_records_free(&c->file[i].records);
        aoei_chunks_free(&c->file[i].bytes);
        aoei_free(c->file[i].key);
        aoei_free(c->file[i].bad);
    }
    aoei_free(c->file);
    aoei_free(c->class);
    aoei_free(c->text_first);
    aoei_free(c->key_first);
    aoei_free(c->key_here);
}

int aoe_data_check(const char *const *paths, size_t n_paths, const aoe_data_check_options *o,
                   aoe_data_check_result *result, aoe_error *err) {
    AOEI_CHECK(err, paths);
    AOEI_RESULT(aoe_data_check_result, result, err);
    AOEI_OPTIONS(aoe_data_check_options, o, err);
    if (aoei_check_option("options.low", o->low, err) || aoei_check_option("options.high", o->high, err))
        return AOE_EARG;
    check c = {.o = o, .result = result, .n = n_paths};
    c.file = aoei_calloc(n_paths, sizeof *c.file);
    int rc = c.file ? aoei_labels_create(&c.map, &o->table, err) : aoei_fail_nomem(err, n_paths * sizeof *c.file);
    if (!rc)
        rc = read_files(&c, paths, err);
    if (!rc)
        rc = index_files(&c, err);
    for (size_t i = 0; i < n_paths && !rc; i++)
        check_file(&c, &c.file[i]);
    check_free(&c);
    return rc;
}
