/* SPDX-License-Identifier: MIT
 * Reads training examples of all kinds from tables.
 */
#include "table/examples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "table/column_names.h"
#include "table/labels.h"

enum {
    NEGATIVE = 2 /* index of the first negative of triplets */,
    LABEL = 2 /* index of the role "label" in labeled pairs, which have the roles text1, text2 and label */
};

int aoei_examples_create(aoei_examples *e, const char *name, aoe_example_kind kind, aoe_error *err) {
    *e = (aoei_examples){.kind = kind, .roles = kind == AOE_EXAMPLES_TRIPLETS ? 3 : kind == AOE_EXAMPLES_TEXTS ? 1 : 2};
    e->name = aoei_strdup(name);
    return e->name ? 0 : aoei_fail_nomem(err, strlen(name));
}

void aoei_examples_free(aoei_examples *e) {
    aoei_chunks_free(&e->bytes);
    aoei_free(e->text);
    aoei_free(e->first);
    aoei_free(e->label);
    aoei_free(e->line);
    aoei_free(e->name);
    *e = (aoei_examples){0};
}

/* Reserves memory for one more example with `count` texts. Returns 0, or -1 if out of memory. */
static int reserve(aoei_examples *e, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (aoei_grow((void **)&e->text, &e->text_capacity, e->n_texts + i, sizeof *e->text))
            return -1;
    for (size_t i = 0; i <= e->roles; i++)
        if (aoei_grow((void **)&e->first, &e->first_capacity, e->n * e->roles + i, sizeof *e->first))
            return -1;
    return aoei_grow((void **)&e->label, &e->label_capacity, e->n, sizeof *e->label) ||
                   aoei_grow((void **)&e->line, &e->line_capacity, e->n, sizeof *e->line)
               ? -1
               : 0;
}

int aoei_examples_append(aoei_examples *e, const aoe_text *texts, const size_t *count, double label, size_t line,
                         aoe_error *err) {
    size_t total = 0, bytes = 0;
    for (size_t role = 0; role < e->roles; role++)
        total += count[role];
    for (size_t i = 0; i < total; i++)
        if (aoei_add_size(bytes, texts[i].len, &bytes))
            return aoei_fail_nomem(err, texts[i].len);
    char *destination = reserve(e, total) ? NULL : aoei_chunks_take(&e->bytes, bytes);
    if (!destination)
        return aoei_fail_nomem(err, bytes);
    size_t *first = e->first + e->n * e->roles, at = e->n_texts;
    for (size_t role = 0; role < e->roles; role++) {
        first[role] = at;
        at += count[role];
    }
    first[e->roles] = at;
    for (size_t i = 0; i < total; i++) {
        if (texts[i].len)
            memcpy(destination, texts[i].data, texts[i].len);
        e->text[e->n_texts++] = (aoe_text){destination, texts[i].len};
        destination += texts[i].len;
    }
    e->label[e->n] = label;
    e->line[e->n++] = line;
    return 0;
}

static int bad_label(const aoei_table *t, const aoei_row *row, aoei_label kind, aoe_error *err) {
    const aoei_field *f = &row->field[LABEL];
    char column[AOEI_EXCERPT], value[AOEI_EXCERPT];
    aoei_excerpt(column, aoei_table_selected(t, LABEL));
    aoei_excerpt(value, f->text);
    if (kind == AOEI_LABEL_NOT_FINITE)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': '%s' is too large; " AOEI_ROW_REMEDY, aoei_table_name(t),
                  row->line, column, value);
    else if (f->kind == AOEI_FIELD_LIST)
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: column '%s': the label is a list; write one row for each text of the list, with its own "
                  "label, or set options.skip_bad_rows",
                  aoei_table_name(t), row->line, column);
    else if (f->kind == AOEI_FIELD_OTHER)
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: column '%s': the label is neither a number, a name nor a boolean; " AOEI_ROW_REMEDY,
                  aoei_table_name(t), row->line, column);
    else if (f->text.len == 0)
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': the label is empty; " AOEI_ROW_REMEDY, aoei_table_name(t),
                  row->line, column);
    else if (aoei_has_decimal_comma(f->text))
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: column '%s': '%s' has a decimal comma; set options.decimal_comma, or write a decimal point",
                  aoei_table_name(t), row->line, column, value);
    else if (f->text.len == 1 && *f->text.data == '-')
        aoei_fail(err, AOE_EFORMAT,
                  "%s:%zu: column '%s': '-' marks a pair without a gold label (SNLI); drop such rows with '-=drop' in "
                  "options.label_map, or set options.skip_bad_rows",
                  aoei_table_name(t), row->line, column);
    else
        aoei_fail(
            err, AOE_EFORMAT,
            "%s:%zu: column '%s': '%s' is neither a number nor a known label name; correct it, give it a value in "
            "options.label_map, or set options.skip_bad_rows",
            aoei_table_name(t), row->line, column, value);
    return AOEI_BAD_ROW;
}

static int bad_text(const aoei_table *t, const aoei_row *row, size_t role, const char *what, aoe_error *err) {
    char column[AOEI_EXCERPT];
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; " AOEI_ROW_REMEDY, aoei_table_name(t), row->line,
              aoei_excerpt(column, aoei_table_selected(t, role)), what);
    return AOEI_BAD_ROW;
}

/* Appends the texts that one field of a row contains to *texts, which has *n elements. role: index of the selected
 * column. lists: 1 if the field may be a JSON array of alternative texts. Returns 0, AOEI_BAD_ROW or an error. */
static int read_role(const aoei_table *t, const aoei_row *row, size_t role, int lists, int allow_empty,
                     aoe_text **texts, size_t *capacity, size_t *n, aoe_error *err) {
    const aoei_field *f = &row->field[role];
    const size_t count = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
    if (f->kind != AOEI_FIELD_TEXT && !(lists && f->kind == AOEI_FIELD_LIST))
        return bad_text(t, row, role,
                        lists ? "the value is neither a JSON string nor a list of JSON strings"
                              : "the text is not a JSON string",
                        err);
    if (count == 0)
        return bad_text(t, row, role, "the list is empty", err);
    for (size_t i = 0; i < count; i++) {
        aoe_text text = f->text;
        if (f->kind == AOEI_FIELD_LIST) {
            const json_t *v = json_array_get(f->list, i);
            if (!json_is_string(v))
                return bad_text(t, row, role, "an element of the list is not a JSON string", err);
            text = (aoe_text){json_string_value(v), json_string_length(v)};
        }
        if (!allow_empty && aoei_text_is_empty(text))
            return bad_text(t, row, role, "the text is empty", err);
        if (aoei_grow((void **)texts, capacity, *n, sizeof **texts))
            return aoei_fail_nomem(err, (*n + 1) * sizeof **texts);
        (*texts)[(*n)++] = text;
    }
    return 0;
}

/* State of the functions that read a table. */
typedef struct reader {
    aoei_table *t;              /* open table; borrowed */
    const aoe_table_options *o; /* options; borrowed */
    aoei_labels labels;
    int lists;       /* 1: a JSON array of strings is a list of alternative texts; 0: a row with a JSON array is bad */
    aoe_text *texts; /* [capacity] texts of the current row; array owned */
    size_t capacity; /* allocated elements of `texts` */
    size_t *count;   /* [count_capacity] number of texts in each role of the current row; array owned */
    size_t count_capacity;
    size_t columns;      /* number of selected columns with texts */
    size_t first_line;   /* line of the first example */
    int is_label;        /* 1: the column of the labels is named label, labels or gold_label */
    int are_nli_columns; /* 1: the texts have the column names of data of natural language inference */
    int has_two, has_minus_one, has_other; /* 1: a label is 2; -1; none of -1, 0, 1 and 2 */
} reader;

/* Returns 1 if the elements of a list in selected column i are negatives of their own. */
static int is_negatives_list(const reader *r, const aoei_examples *e, size_t i) {
    return e->kind == AOE_EXAMPLES_TRIPLETS && i >= NEGATIVE && aoei_is_negatives_list(aoei_table_selected(r->t, i)) &&
           !(r->o->columns && strstr(r->o->columns, "negative="));
}

/* Fails because the number of negatives in a row differs from that of the first row. Returns AOEI_BAD_ROW. */
static int fail_negatives(const reader *r, const aoei_examples *e, const aoei_row *row, size_t n, aoe_error *err) {
    size_t i = NEGATIVE;
    char column[AOEI_EXCERPT];
    while (i + 1 < r->columns && !is_negatives_list(r, e, i))
        i++;
    aoei_excerpt(column, aoei_table_selected(r->t, i));
    aoei_fail(
        err, AOE_EFORMAT,
        "%s:%zu: column '%s': the row has %zu negative%s, but line %zu has %zu; give every row the same number, set "
        "options.columns to negative=%s to draw one of them in each epoch, or set options.skip_bad_rows",
        e->name, row->line, column, n - NEGATIVE, n - NEGATIVE == 1 ? "" : "s", r->first_line, e->roles - NEGATIVE,
        column);
    return AOEI_BAD_ROW;
}

/* Reads the texts of a row. Sets r->texts, r->count and *n, the number of roles. */
static int read_texts(reader *r, const aoei_examples *e, const aoei_row *row, size_t *n, aoe_error *err) {
    size_t texts = 0;
    *n = 0;
    for (size_t i = 0; i < r->columns; i++) {
        const size_t before = texts;
        const int spread = is_negatives_list(r, e, i);
        const int rc =
            read_role(r->t, row, i, r->lists || spread, r->o->allow_empty, &r->texts, &r->capacity, &texts, err);
        if (rc)
            return rc;
        for (size_t k = 0; k < (spread ? texts - before : 1); k++) {
            if (aoei_grow((void **)&r->count, &r->count_capacity, *n, sizeof *r->count))
                return aoei_fail_nomem(err, (*n + 1) * sizeof *r->count);
            r->count[(*n)++] = spread ? 1 : texts - before;
        }
    }
    return 0;
}

/* Records if the value of a label is 2, and if it is not a class of natural language inference. */
static void record_class(reader *r, const aoei_field *label, double value) {
    double number;
    if (label->kind != AOEI_FIELD_NUMBER && aoei_number_of(label->text, &number) != AOEI_LABEL_VALUE)
        r->has_other = 1;
    r->has_two |= value >= 2 && value <= 2;
    r->has_minus_one |= value >= -1 && value <= -1;
    r->has_other |= !(value >= -1 && value <= 2 && value <= floor(value));
}

/* Returns 1 if the selected column i has one of these names. */
static int is_named(const aoei_table *t, size_t i, const char *a, const char *b, const char *c) {
    const aoe_text name = aoei_table_selected(t, i);
    const char *const names[] = {a, b, c};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (names[k] && name.len == strlen(names[k]) && !strncasecmp(name.data, names[k], name.len))
            return 1;
    return 0;
}

static int are_nli_columns(const aoei_table *t) {
    return (is_named(t, 0, "premise", NULL, NULL) && is_named(t, 1, "hypothesis", NULL, NULL)) ||
           (is_named(t, 0, "sentence1", NULL, NULL) && is_named(t, 1, "sentence2", NULL, NULL));
}

int aoei_examples_check_scores(const aoei_examples *e, aoe_error *err) {
    return !e->are_classes
               ? 0
               : aoei_fail(err, AOE_EFORMAT,
                           "%s: all labels are integers up to 2, as the classes of natural language inference (0 "
                           "entailment, 1 neutral, 2 contradiction), of which 2 would be the most similar; set "
                           "options.label_map to 0=1,1=0.5,2=0,-1=drop, or for scores to 2=2",
                           e->name);
}

/* Adds the example of a row. If options.label_map maps the row's label to "drop", the row is only counted; its texts
 * are not checked. Returns 0, AOEI_BAD_ROW or an error. */
static int add_row(aoei_examples *e, reader *r, const aoei_row *row, aoe_error *err) {
    double label = 0;
    if (e->kind == AOE_EXAMPLES_PAIRS) {
        const aoei_label kind = aoei_label_of(&r->labels, &row->field[LABEL], &label);
        if (kind == AOEI_LABEL_DROP) {
            e->dropped++;
            return 0;
        }
        if (kind != AOEI_LABEL_VALUE)
            return bad_label(r->t, row, kind, err);
        record_class(r, &row->field[LABEL], label);
    }
    size_t n;
    const int rc = read_texts(r, e, row, &n, err);
    if (rc)
        return rc;
    if (e->n == 0) {
        e->roles = n;
        r->first_line = row->line;
    }
    return n == e->roles ? aoei_examples_append(e, r->texts, r->count, label, row->line, err)
                         : fail_negatives(r, e, row, n, err);
}

/* Fails because no example was read. The message contains the numbers of bad and dropped rows, or says that the table
 * has no rows. */
static int fail_no_rows(const aoei_examples *e, aoe_error *err) {
    if (e->skipped + e->dropped == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the table has no rows; use a table with one row per %s", e->name,
                         e->kind == AOE_EXAMPLES_TEXTS || e->kind == AOE_EXAMPLES_GROUPS ? "text" : "pair");
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: the table has no valid rows (bad: %zu, dropped because of their labels: %zu); check options.columns and "
        "options.label_map, or correct the rows",
        e->name, e->skipped, e->dropped);
}

/* Reads all rows of r->t and appends their examples to e. */
static int read_rows(aoei_examples *e, reader *r, aoe_error *err) {
    for (;;) {
        aoei_row row;
        int rc = aoei_table_next(r->t, &row, err);
        if (rc == 0)
            return e->n ? 0 : fail_no_rows(e, err);
        if (rc == 1)
            rc = add_row(e, r, &row, err);
        if (rc == AOEI_BAD_ROW && !r->o->skip_bad_rows)
            return AOE_EFORMAT; /* err already contains the message */
        if (rc == AOEI_BAD_ROW)
            e->skipped++;
        if (rc < 0)
            return rc;
    }
}

int aoei_text_is_empty(aoe_text text) {
    return aoei_utf8_is_blank(text.data, text.len);
}

int aoei_examples_read(aoei_examples *e, aoei_table *t, aoe_example_kind kind, int lists, const aoe_table_options *o,
                       aoe_error *err) {
    static const aoe_table_options none = {0};
    reader r = {.t = t, .o = o ? o : &none, .lists = lists};
    *e = (aoei_examples){0};
    int rc = aoei_columns_select(t, kind, r.o->columns, err);
    if (!rc)
        aoei_columns_log(t, kind);
    r.columns = aoei_table_selected_count(t) - (kind == AOE_EXAMPLES_PAIRS);
    r.is_label = !rc && kind == AOE_EXAMPLES_PAIRS && is_named(t, LABEL, "label", "labels", "gold_label");
    r.are_nli_columns = !rc && kind == AOE_EXAMPLES_PAIRS && are_nli_columns(t);
    if (!rc)
        rc = aoei_labels_create(&r.labels, r.o, err);
    if (!rc)
        rc = aoei_examples_create(e, aoei_table_name(t), kind, err);
    if (!rc)
        rc = read_rows(e, &r, err);
    e->are_classes = r.is_label && (r.are_nli_columns || r.has_minus_one) && r.has_two && !r.has_other &&
                     !aoei_labels_map_number(&r.labels, 2);
    aoei_labels_free(&r.labels);
    aoei_free(r.texts);
    aoei_free(r.count);
    return rc;
}

int aoei_examples_load(aoei_examples *e, const char *path, aoe_example_kind kind, const aoe_table_options *o,
                       aoe_error *err) {
    aoei_table *t;
    *e = (aoei_examples){0};
    if (kind > AOE_EXAMPLES_TRIPLETS)
        return aoei_fail(err, AOE_EARG, "%s: the kind of examples must be auto, pairs, positives or triplets", path);
    int rc = aoei_table_open(&t, path, o, err);
    if (rc)
        return rc;
    aoe_example_kind found = kind;
    if (kind == AOE_EXAMPLES_AUTO)
        rc = aoei_columns_detect_used(&found, t, o ? o->columns : NULL, err);
    if (!rc)
        rc = aoei_examples_read(e, t, found, 1, o, err);
    aoei_table_close(t);
    return rc;
}

/* Opens a file of labeled pairs, which was already read, again for a message. Returns NULL if this is not possible. */
static aoei_table *reopen_pairs(const char *path, const aoe_table_options *o) {
    struct stat st;
    aoei_table *t;
    aoe_table_options silent = *o;
    silent.log = NULL;
    if (stat(path, &st) || !S_ISREG(st.st_mode) || aoei_table_open(&t, path, &silent, NULL))
        return NULL;
    if (!aoei_columns_select(t, AOE_EXAMPLES_PAIRS, o->columns, NULL))
        return t;
    aoei_table_close(t);
    return NULL;
}

int aoei_examples_as_positives(char *columns, size_t size, const char *path, const aoe_table_options *o) {
    static const char *const roles[] = {"query", "positive", "ignore"}; /* of text1, text2 and label */
    aoei_table *t = reopen_pairs(path, o);
    size_t at = 0;
    int ok = t != NULL;
    for (size_t i = 0; ok && i <= LABEL; i++) {
        const aoe_text name = aoei_table_selected(t, i);
        ok = name.len && name.len < size && !memchr(name.data, ',', name.len) && !memchr(name.data, '=', name.len) &&
             !memchr(name.data, '\'', name.len);
        const int n =
            ok ? snprintf(columns + at, size - at, "%s%s=%.*s", i ? "," : "", roles[i], (int)name.len, name.data) : 0;
        at += (size_t)n;
        ok = ok && at < size;
    }
    aoei_table_close(t);
    return ok;
}

int aoei_examples_label_name(char name[AOEI_EXCERPT], const char *path, const aoe_table_options *o, size_t line) {
    aoei_table *t = reopen_pairs(path, o);
    aoei_row row;
    double number;
    int rc = 1, found = 0;
    if (!t)
        return 0;
    while (!found && (rc == 1 || rc == AOEI_BAD_ROW)) {
        rc = aoei_table_next(t, &row, NULL);
        found = rc == 1 && row.line == line;
    }
    const aoei_field *label = found ? &row.field[LABEL] : NULL;
    found = label && label->kind == AOEI_FIELD_TEXT && aoei_number_of(label->text, &number) == AOEI_LABEL_UNKNOWN;
    if (found)
        aoei_excerpt(name, label->text);
    aoei_table_close(t);
    return found;
}

void aoei_examples_keep_positives(aoei_examples *e, double threshold) {
    size_t n = 0, texts = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (!(e->label[i] >= threshold))
            continue;
        for (size_t role = 0; role < e->roles; role++) {
            const size_t from = e->first[i * e->roles + role], end = e->first[i * e->roles + role + 1];
            e->first[n * e->roles + role] = texts;
            for (size_t k = from; k < end; k++)
                e->text[texts++] = e->text[k];
        }
        e->line[n] = e->line[i];
        e->label[n++] = 0;
    }
    e->first[n * e->roles] = texts;
    e->below = e->n - n;
    e->n = n;
    e->n_texts = texts;
    e->kind = AOE_EXAMPLES_POSITIVES;
}

size_t aoei_examples_line(const aoei_examples *e, size_t index) {
    size_t low = 0, high = e->n - 1;
    while (low < high) {
        const size_t middle = (low + high + 1) / 2;
        if (e->first[middle * e->roles] <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return e->line[low];
}
