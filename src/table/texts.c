/* SPDX-License-Identifier: MIT
 * Reads all texts of a file and passes them to a callback. COLUMN_LIST contains the recognized column names: the names
 * that training files may use for texts. All texts of a row are checked before the first one is passed to the callback.
 * Therefore, an invalid row is skipped completely.
 */
#include "table/texts.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/options.h"
#include "base/path.h"
#include "table/sts_folder.h"

#define COLUMN_LIST                                                                                                    \
    "text, text1, text2, sentence, sentence1, sentence2, question, question1, question2, premise, hypothesis, "        \
    "context, query, "                                                                                                 \
    "positive, negative, entailment, contradiction"

/* Returns 1 if a name in `list` ("a,b" or "a, b") selects column i. A name selects the column with exactly this name,
 * or the only column that has this name when case is ignored (aoei_columns_find). */
static int is_selected(const aoei_table *t, size_t i, const char *list) {
    const aoe_text column = aoei_table_column(t, i);
    for (const char *s = list; *s;) {
        const aoe_text name = {s, strcspn(s, ",")};
        size_t found = i;
        if (name.len == column.len && !memcmp(name.data, column.data, name.len))
            return 1;
        if (aoei_columns_find(t, name, &found) == 1 && found == i)
            return 1;
        s += name.len;
        s += strspn(s, ", ");
    }
    return 0;
}

/* Checks that the table has a column for every name in `names` ("a,b"). */
static int check_names(const aoei_table *t, const char *names, aoe_error *err) {
    for (const char *s = names; *s; s += *s == ',') {
        const aoe_text name = {s, strcspn(s, ",")};
        size_t column;
        if (!aoei_columns_find(t, name, &column)) {
            char wanted[AOEI_EXCERPT], problem[AOEI_EXCERPT + 32];
            snprintf(problem, sizeof problem, "no column '%s'", aoei_excerpt(wanted, name));
            return aoei_columns_fail(t, problem, "correct options.columns", err);
        }
        s += name.len;
    }
    return 0;
}

int aoei_texts_select(aoei_table *t, size_t *n, const char *columns, aoe_error *err) {
    const size_t count = aoei_table_columns(t);
    *n = 1;
    if (columns && (!*columns || strchr(columns, '=')))
        return aoei_columns_select(t, AOE_EXAMPLES_TEXTS, columns, err);
    int rc = columns ? aoei_columns_check_txt(t, columns, err) : 0;
    if (!rc && columns)
        rc = check_names(t, columns, err);
    if (rc)
        return rc;
    size_t *column = aoei_malloc_array(count + 1, sizeof *column);
    if (!column)
        return aoei_fail_nomem(err, count * sizeof *column);
    *n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_selected(t, i, columns ? columns : COLUMN_LIST))
            column[(*n)++] = i;
    rc = *n ? aoei_table_select(t, column, *n, err)
            : aoei_columns_fail(t, "no column has a recognized name for texts (" COLUMN_LIST ")",
                                "set options.columns to the names of the columns of texts", err);
    aoei_free(column);
    return rc;
}

/* Callback that receives one text. line: line number of the text's row in the file. */
typedef int (*row_text_fn)(void *user, aoe_text text, size_t line, aoe_error *err);

/* A callback and the options for checking texts. */
typedef struct receiver {
    row_text_fn fn;
    void *user;         /* first argument of fn */
    int allow_empty;    /* 1: texts may be empty */
    const char *remedy; /* advice at the end of the messages about invalid rows; static string */
} receiver;

static int bad_text(const receiver *r, const aoei_table *t, const aoei_row *row, size_t i, const char *what,
                    aoe_error *err) {
    char column[AOEI_EXCERPT];
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; %s", aoei_table_name(t), row->line,
              aoei_excerpt(column, aoei_table_selected(t, i)), what, r->remedy);
    return AOEI_BAD_ROW;
}

/* Returns the k-th alternative text of a field. The result's data is NULL if the field is a list and its k-th element
 * is not a string. */
static aoe_text text_at(const aoei_field *f, size_t k) {
    if (f->kind != AOEI_FIELD_LIST)
        return f->text;
    const json_t *v = json_array_get(f->list, k);
    return (aoe_text){json_string_value(v), json_string_length(v)};
}

/* Checks the texts of the i-th selected column of a row. Returns 0 or AOEI_BAD_ROW. */
static int check_field(const receiver *r, const aoei_table *t, const aoei_row *row, size_t i, aoe_error *err) {
    const aoei_field *f = &row->field[i];
    if (f->kind != AOEI_FIELD_TEXT && f->kind != AOEI_FIELD_LIST)
        return bad_text(r, t, row, i, "the value is neither a JSON string nor a list of JSON strings", err);
    const size_t n = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
    for (size_t k = 0; k < n; k++) {
        const aoe_text text = text_at(f, k);
        if (!text.data && f->kind == AOEI_FIELD_LIST)
            return bad_text(r, t, row, i, "an element of the list is not a JSON string", err);
        if (!r->allow_empty && aoei_text_is_empty(text))
            return bad_text(r, t, row, i, "the text is empty", err);
    }
    return 0;
}

/* Checks the n selected columns of a row and passes their texts to the callback. */
static int pass_row(const receiver *r, const aoei_table *t, const aoei_row *row, size_t n, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = check_field(r, t, row, i, err);
    for (size_t i = 0; i < n && !rc; i++) {
        const aoei_field *f = &row->field[i];
        const size_t count = f->kind == AOEI_FIELD_LIST ? json_array_size(f->list) : 1;
        for (size_t k = 0; k < count && !rc; k++)
            rc = r->fn(r->user, text_at(f, k), row->line, err);
        char column[AOEI_EXCERPT];
        if (rc && aoei_table_format(t) == AOE_TABLE_TXT)
            aoei_error_prefix(err, "%s:%zu", aoei_table_name(t), row->line);
        else if (rc)
            aoei_error_prefix(err, "%s:%zu: column '%s'", aoei_table_name(t), row->line,
                              aoei_excerpt(column, aoei_table_selected(t, i)));
    }
    return rc;
}

/* Passes every text of an open table to the callback. If skipped is not NULL, bad rows are skipped and counted in
 * *skipped. If skipped is NULL, the function fails at the first bad row. */
static int pass_rows(const receiver *r, aoei_table *t, const char *columns, size_t *skipped, aoe_error *err) {
    static const char *const roles[] = {"texts"};
    size_t n = 0;
    int rc = aoei_texts_select(t, &n, columns, err);
    if (!rc)
        aoei_columns_log_roles(t, roles, 1);
    while (!rc) {
        aoei_row row;
        rc = aoei_table_next(t, &row, err);
        if (rc == 0)
            return 0;
        if (rc == 1)
            rc = pass_row(r, t, &row, n, err);
        if (rc == AOEI_BAD_ROW && skipped) {
            ++*skipped;
            rc = 0;
        }
    }
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc; /* err already contains the message */
}

/* ----------------------------------------------------------------- folders */

/* The receiver of the texts of a folder, and the numbers of bad lines and of files. */
typedef struct folder_reader {
    const receiver *to;
    size_t *skipped; /* as for pass_rows */
    size_t files;    /* number of files so far */
    uint64_t last;   /* hash of the path of the last file */
} folder_reader;

/* Checks both sentences of a pair and passes them to the receiver. */
static int pass_sentences(void *user, const char *file, size_t line, const aoe_text pair[2], aoe_error *err) {
    folder_reader *r = user;
    const uint64_t name = aoei_hash(AOEI_HASH_START, file, strlen(file));
    r->files += !r->files || name != r->last;
    r->last = name;
    const char *problem = !pair[0].data ? "the line has too few columns" : NULL;
    for (size_t i = 0; i < 2 && !problem && !r->to->allow_empty; i++)
        problem = aoei_text_is_empty(pair[i]) ? "a sentence is empty" : NULL;
    if (problem && r->skipped) {
        ++*r->skipped;
        return 0;
    }
    if (problem)
        return aoei_fail(err, AOE_EFORMAT, "%s:%zu: %s; %s", file, line, problem, r->to->remedy);
    for (size_t i = 0; i < 2; i++) {
        const int rc = r->to->fn(r->to->user, pair[i], line, err);
        if (rc) {
            aoei_error_prefix(err, "%s:%zu", file, line);
            return rc;
        }
    }
    return 0;
}

/* Passes every sentence of a folder of SentEval's STS data to the receiver. *files is set to the number of files. */
static int pass_folder(const receiver *r, const char *dir, const aoe_table_options *o, size_t *skipped, size_t *files,
                       aoe_error *err) {
    folder_reader reader = {r, skipped, 0, 0};
    if (o->columns)
        return aoei_fail(err, AOE_EARG, "%s is a folder, whose files have no named columns; leave options.columns out",
                         dir);
    aoei_table_warn_options(o, dir, AOEI_FOLDER_FORMATS);
    const int rc = aoei_sts_folder_read(dir, pass_sentences, &reader, err);
    *files = reader.files;
    return rc;
}

/* ------------------------------------------------------------------- files */

/* The callback of aoe_texts_read and its argument. */
typedef struct reader {
    aoe_text_fn fn;
    void *user;
} reader;

static int call_reader(void *user, aoe_text text, size_t line, aoe_error *err) {
    const reader *r = user;
    (void)line;
    return r->fn(r->user, text, err);
}

int aoe_texts_read(const char *path, const aoe_table_options *o, aoe_text_fn fn, void *user, aoe_error *err) {
    AOEI_CHECK(err, path, fn);
    AOEI_OPTIONS(aoe_table_options, o, err);
    reader own = {fn, user};
    const receiver r = {.fn = call_reader, .user = &own, .allow_empty = 1, .remedy = "correct the row"};
    aoei_table *t = NULL;
    int rc = aoei_table_open_if_any(&t, path, o, err);
    if (!rc && t)
        rc = pass_rows(&r, t, o ? o->columns : NULL, NULL, err);
    aoei_table_close(t);
    return rc;
}

/* Passes the rows of an open table to the callback. */
static int pass_pairs(aoei_table *t, const char *columns, aoe_text_pair_fn fn, void *user, aoe_error *err) {
    const receiver r = {.allow_empty = 1, .remedy = "correct the row"};
    aoei_row row;
    static const char *const roles[] = {"text1", "text2"};
    int rc = aoei_columns_select_pair(t, columns, err);
    if (!rc)
        aoei_columns_log_roles(t, roles, 2);
    while (!rc && (rc = aoei_table_next(t, &row, err)) == 1) {
        rc = 0;
        for (size_t i = 0; i < 2 && !rc; i++)
            if (row.field[i].kind != AOEI_FIELD_TEXT)
                rc = bad_text(&r, t, &row, i, "the value is not a JSON string", err);
        if (!rc && (rc = fn(user, row.field[0].text, row.field[1].text, row.line, err)))
            aoei_error_prefix(err, "%s:%zu", aoei_table_name(t), row.line);
    }
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc; /* err already contains the message */
}

int aoe_text_pairs_read(const char *path, const aoe_table_options *o, aoe_text_pair_fn fn, void *user, aoe_error *err) {
    AOEI_CHECK(err, path, fn);
    AOEI_OPTIONS(aoe_table_options, o, err);
    aoei_table *t = NULL;
    int rc = aoei_table_open_if_any(&t, path, o, err);
    if (!rc && t)
        rc = pass_pairs(t, o ? o->columns : NULL, fn, user, err);
    aoei_table_close(t);
    return rc;
}

/* Callback that appends a text to the aoei_examples `user`. */
static int append(void *user, aoe_text text, size_t line, aoe_error *err) {
    static const size_t one = 1;
    return aoei_examples_append(user, &text, &one, 0, line, err);
}

int aoei_texts_load(aoei_examples *e, const char *path, const aoe_table_options *o, aoe_error *err) {
    static const aoe_table_options none = {0};
    aoei_table *t = NULL;
    *e = (aoei_examples){0};
    o = o ? o : &none;
    const receiver r = {.fn = append, .user = e, .allow_empty = o->allow_empty, .remedy = AOEI_ROW_REMEDY};
    const int folder = aoei_is_dir(path);
    int rc = folder ? 0 : aoei_table_open(&t, path, o, err);
    if (!rc)
        rc = aoei_examples_create(e, folder ? path : aoei_table_name(t), AOE_EXAMPLES_TEXTS, err);
    size_t *skipped = o->skip_bad_rows ? &e->skipped : NULL;
    aoe_example_kind kind;
    if (!rc && !folder && !o->columns)
        e->ignores_labels = !aoei_columns_detect(&kind, t, NULL, NULL) && kind == AOE_EXAMPLES_PAIRS;
    if (!rc)
        rc = folder ? pass_folder(&r, path, o, skipped, &e->files, err) : pass_rows(&r, t, o->columns, skipped, err);
    if (!rc && !e->n)
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: the file contains no texts (%zu bad rows); use a file with one text per line or row",
                       e->name, e->skipped);
    aoei_table_close(t);
    return rc;
}

/* Callback that ends the reading of a folder at its first pair. */
static int stop(void *user, const char *file, size_t line, const aoe_text pair[2], aoe_error *err) {
    (void)file;
    (void)line;
    (void)pair;
    (void)err;
    *(int *)user = 1;
    return AOE_ECANCELLED;
}

int aoei_texts_are_plain(const char *path, const aoe_table_options *o) {
    struct stat st;
    aoei_table *t;
    aoe_example_kind kind;
    size_t n = 0;
    int plain = 0;
    if (stat(path, &st))
        return 0;
    if (S_ISDIR(st.st_mode)) {
        aoei_sts_folder_read(path, stop, &plain, NULL);
        return plain;
    }
    aoe_table_options silent = o ? *o : (aoe_table_options){0};
    silent.log = NULL;
    if (!S_ISREG(st.st_mode) || aoei_table_open(&t, path, &silent, NULL))
        return 0;
    plain = aoei_table_format(t) == AOE_TABLE_TXT ||
            (aoei_columns_detect(&kind, t, NULL, NULL) && !aoei_columns_select(t, AOE_EXAMPLES_TEXTS, NULL, NULL) &&
             !aoei_texts_select(t, &n, NULL, NULL) && n == 1);
    aoei_table_close(t);
    return plain;
}
