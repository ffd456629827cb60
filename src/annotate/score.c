/* SPDX-License-Identifier: MIT
 * Implements aoe_score: chat models rate the similarity of the two texts in each row of a table. The table is read
 * twice, because its rows are not kept in memory. The first pass sends the requests, and the second pass writes the
 * rows with their scores.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "aoe_annotate.h"
#include "base/alloc.h"
#include "base/error.h"
#include "annotate/calls.h"
#include "annotate/chat_options.h"
#include "annotate/prompt.h"
#include "annotate/parse_score.h"
#include "annotate/reply_text.h"
#include "base/options.h"
#include "table/columns.h"
#include "table/examples.h"
#include "table/labels.h"
#include "table/table_write.h"

#define SCORE_PREFIX "score:" /* the column with the scores of one model is named "score:SOURCE" */

enum {
    MAX_SCORE = 5,       /* maximum score */
    EXPECTED_TOKENS = 4, /* expected number of tokens in a response, used to estimate the cost */
    TEXTS = 2            /* number of texts in a pair */
};

typedef struct job job;
typedef int (*row_fn)(job *j, const aoei_row *row, aoe_error *err);

struct job {
    const aoe_score_options *o;
    aoe_score_result *result;
    aoei_table *table;  /* input table while it is open, owned */
    size_t columns;     /* number of columns in the input table; all columns are read */
    size_t text[TEXTS]; /* indices of the two text columns */
    /* index of the column whose cells the scores replace; `columns` if the scores are written to a new column */
    size_t label;
    size_t rows;  /* number of rows read so far */
    size_t *call; /* [rows, n_models] index in `calls` of the call for each row and model, owned */
    size_t capacity;
    aoei_chat_calls *calls; /* the calls (requests to chat models) of this run, owned */
    aoei_buffer prompt;     /* workspace: prompt of the current row */
    aoei_table_writer writer;
    aoe_text *name; /* [columns + 1 + n_models] names of the output columns; the array is owned */
    /* the names "score:SOURCE", each terminated by NUL and stored one after the other; owned */
    char *own_names;
    aoei_cell *cell;                  /* [columns + 1 + n_models] cells of the current row, owned */
    char (*number)[AOEI_NUMBER_TEXT]; /* [1 + n_models] the mean score and the score of each model as decimal text,
                                         owned */
    double total;                     /* sum of the mean scores of all rows that were written */
};

AOEI_DEFAULTS(aoe_score_options) {
    *o = (aoe_score_options){.struct_size = sizeof *o, .label = "label"};
    aoe_table_options_defaults(&o->table);
    aoe_chat_options_defaults(&o->chat);
    o->chat.temperature = 0;
    o->chat.max_tokens = 64;
}

static const char *prompt_of(const aoe_score_options *o) {
    return o->prompt ? o->prompt : aoei_prompt_score;
}

static const char *source_of(const job *j, size_t model) {
    const aoe_chat_model *m = &j->o->chat.models[model];
    return m->source ? m->source : m->name;
}

/* ---- columns */

static int is_named(aoe_text column, const char *name, size_t len) {
    return column.len == len && !memcmp(column.data, name, len);
}

static size_t find_column(const aoei_table *t, const char *name, size_t len) {
    size_t i = 0;
    while (i < aoei_table_columns(t) && !is_named(aoei_table_column(t, i), name, len))
        i++;
    return i;
}

/* Returns the index of the column with this name, or the number of columns if no column has this name. */
static size_t find_text(const aoei_table *t, aoe_text name) {
    size_t column = aoei_table_columns(t);
    (void)aoei_columns_find(t, name, &column);
    return column;
}

static int fail_column(const job *j, aoe_text name, aoe_error *err) {
    char wanted[AOEI_EXCERPT], problem[AOEI_EXCERPT + 32];
    snprintf(problem, sizeof problem, "no column '%s'", aoei_excerpt(wanted, name));
    return aoei_columns_fail(j->table, problem, "set options.columns to text1=NAME,text2=NAME", err);
}

/* Parses options.columns, for example "text1=NAME,text2=NAME", and sets j->text. If the option names only one text, the
 * column of the other text is not changed. */
static int read_columns(job *j, const char *s, aoe_error *err) {
    while (*s) {
        const size_t len = strcspn(s, ","), key = strcspn(s, "=");
        const int role = key < len && !strncmp(s, "text1", key) && key == 5   ? 0
                         : key < len && !strncmp(s, "text2", key) && key == 5 ? 1
                                                                              : -1;
        if (role < 0)
            return aoei_fail(err, AOE_EARG, "options.columns: '%.*s' is not text1=NAME or text2=NAME; correct it",
                             (int)len, s);
        const aoe_text name = {s + key + 1, len - key - 1};
        j->text[role] = find_text(j->table, name);
        if (j->text[role] == j->columns)
            return fail_column(j, name, err);
        s += len;
        s += *s == ',';
    }
    return 0;
}

/* Rejects options for which two output columns would have the same name, and options for which the scores would replace
 * one of the two texts. */
static int check_names(job *j, aoe_error *err) {
    const size_t models = j->o->each ? j->o->chat.n_models : 0;
    if (j->label == j->text[0] || j->label == j->text[1])
        return aoei_fail(
            err, AOE_EARG,
            "options.label: the column '%s' contains texts, which the scores would replace; choose another name",
            j->o->label);
    for (size_t m = 0; m < models; m++) {
        const char *source = source_of(j, m);
        int twice = strncmp(j->o->label, SCORE_PREFIX, strlen(SCORE_PREFIX)) == 0 &&
                    strcmp(j->o->label + strlen(SCORE_PREFIX), source) == 0;
        for (size_t k = 0; k < m; k++)
            twice |= strcmp(source, source_of(j, k)) == 0;
        for (size_t i = 0; i < j->columns; i++) {
            const aoe_text name = aoei_table_column(j->table, i);
            twice |= name.len > strlen(SCORE_PREFIX) && memcmp(name.data, SCORE_PREFIX, strlen(SCORE_PREFIX)) == 0 &&
                     is_named(aoei_text_skip(name, strlen(SCORE_PREFIX)), source, strlen(source));
        }
        if (twice)
            return aoei_fail(err, AOE_EARG,
                             "options.each: the output would have two columns " SCORE_PREFIX
                             "%s; set another source for the model or rename the column",
                             source);
    }
    return 0;
}

/* Finds the columns of the two texts and of the label. options.columns can name the columns of the texts. A column that
 * it does not name is found by a common name such as "text1" or "sentence1". */
static int select_columns(job *j, aoe_error *err) {
    static const char *const known[TEXTS][8] = {
        {"text1", "sentence1", "question1", "premise", "question", "context", "query", NULL},
        {"text2", "sentence2", "question2", "hypothesis", "sentence", "positive", NULL, NULL}};
    j->columns = aoei_table_columns(j->table);
    for (size_t r = 0; r < TEXTS; r++) {
        j->text[r] = j->columns;
        for (size_t i = 0; known[r][i] && j->text[r] == j->columns; i++)
            j->text[r] = find_text(j->table, aoe_text_of(known[r][i]));
    }
    int rc = j->o->table.columns ? read_columns(j, j->o->table.columns, err) : 0;
    for (size_t r = 0; r < TEXTS && !rc; r++)
        if (j->text[r] == j->columns)
            rc = fail_column(j, aoe_text_of(known[r][0]), err);
    if (rc)
        return rc;
    size_t *all = aoei_malloc_array(j->columns, sizeof *all);
    if (!all)
        return aoei_fail_nomem(err, j->columns * sizeof *all);
    for (size_t i = 0; i < j->columns; i++)
        all[i] = i;
    rc = aoei_table_select(j->table, all, j->columns, err);
    aoei_free(all);
    j->label = find_column(j->table, j->o->label, strlen(j->o->label));
    return rc ? rc : check_names(j, err);
}

/* ---- reading the table */

static int check_row(const job *j, const aoei_row *row, aoe_error *err) {
    for (size_t r = 0; r < TEXTS; r++) {
        const aoei_field *f = &row->field[j->text[r]];
        if (f->kind == AOEI_FIELD_TEXT && !aoei_text_is_empty(f->text))
            continue;
        char column[AOEI_EXCERPT];
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s': %s; " AOEI_ROW_REMEDY, aoei_table_name(j->table), row->line,
                  aoei_excerpt(column, aoei_table_selected(j->table, j->text[r])),
                  f->kind == AOEI_FIELD_TEXT ? "the text is empty" : "not a JSON string");
        return AOEI_BAD_ROW;
    }
    return 0;
}

/* Reads the table once and calls fn for each valid row. Invalid rows are skipped, and *skipped is set to their
 * number. */
static int for_each_row(job *j, row_fn fn, size_t *skipped, aoe_error *err) {
    int rc = j->table ? 0 : aoei_table_open(&j->table, j->o->file, &j->o->table, err);
    if (!rc && !j->columns)
        rc = select_columns(j, err);
    j->rows = 0;
    while (!rc) {
        aoei_row row;
        rc = aoei_table_next(j->table, &row, err);
        if (rc == 0)
            break;
        if (rc == 1)
            rc = check_row(j, &row, err);
        if (!rc) {
            rc = fn(j, &row, err);
            j->rows++;
        }
        if (rc == AOEI_BAD_ROW && j->o->table.skip_bad_rows) {
            ++*skipped;
            rc = 0;
        }
    }
    aoei_table_close(j->table);
    j->table = NULL;
    j->columns = 0;
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc;
}

/* ---- first pass: the calls */

static int add_calls(job *j, const aoei_row *row, aoe_error *err) {
    const size_t models = j->o->chat.n_models;
    const aoei_prompt_values v = {.text1 = row->field[j->text[0]].text, .text2 = row->field[j->text[1]].text};
    int rc = 0;
    for (size_t i = 0; i < j->columns && !rc; i++)
        if (row->field[i].kind == AOEI_FIELD_TEXT)
            rc = aoei_check_tsv_text(row->field[i].text, j->o->name, aoei_table_name(j->table), row->line, err);
    aoei_buffer_clear(&j->prompt);
    if (!rc && aoei_prompt_fill(&j->prompt, prompt_of(j->o), &v))
        rc = aoei_fail_nomem(err, v.text1.len + v.text2.len);
    for (size_t m = 0; m < models && !rc; m++) {
        const size_t at = j->rows * models + m;
        if (aoei_grow((void **)&j->call, &j->capacity, at, sizeof *j->call))
            return aoei_fail_nomem(err, at * sizeof *j->call);
        rc = aoei_chat_calls_add(j->calls, m, (aoe_text){j->prompt.data, j->prompt.len}, EXPECTED_TOKENS, &j->call[at],
                                 err);
    }
    return rc;
}

/* ---- second pass: the rows */

static int open_writer(job *j, aoe_error *err) {
    const size_t models = j->o->chat.n_models, max_columns = j->columns + 1 + models;
    size_t n = j->columns, bytes = 1;
    for (size_t m = 0; m < models; m++) {
        bytes += strlen(SCORE_PREFIX) + strlen(source_of(j, m)) + 1;
    }
    j->name = aoei_calloc(max_columns, sizeof *j->name);
    j->cell = aoei_calloc(max_columns, sizeof *j->cell);
    j->number = aoei_calloc(1 + models, sizeof *j->number);
    j->own_names = aoei_malloc(bytes);
    if (!j->name || !j->cell || !j->number || !j->own_names)
        return aoei_fail_nomem(err, max_columns * sizeof *j->cell);
    for (size_t i = 0; i < n; i++)
        j->name[i] = aoei_table_column(j->table, i);
    if (j->label == n)
        j->name[n++] = aoe_text_of(j->o->label);
    char *at = j->own_names;
    for (size_t m = 0; m < models && j->o->each; m++) {
        const size_t len = (size_t)sprintf(at, SCORE_PREFIX "%s", source_of(j, m));
        j->name[n++] = (aoe_text){at, len};
        at += len + 1;
    }
    return aoei_table_writer_open(&j->writer, j->o->name, j->name, n, NULL, NULL, j->o->write, j->o->user, err);
}

static aoei_cell cell_of(const job *j, const aoei_row *row, size_t i) {
    const aoei_field *f = &row->field[i];
    if (f->kind == AOEI_FIELD_TEXT)
        return (aoei_cell){.text = f->text};
    const aoe_text name = aoei_table_column(j->table, i);
    return (aoei_cell){.json = json_object_getn(aoei_table_object(j->table), name.data, name.len)};
}

static aoei_cell number_cell(char text[AOEI_NUMBER_TEXT], double x) {
    const size_t n = isnan(x) ? 0 : aoei_number_text(text, x);
    return (aoei_cell){.text = {text, n}, .is_number = n != 0};
}

/* Sets *score to the score that a model gave to the current row, or to NaN if the model gave no score. */
static int read_score(job *j, size_t model, double *score, aoe_error *err) {
    const aoei_chat_reply *r = aoei_chat_calls_reply(j->calls, j->call[j->rows * j->o->chat.n_models + model]);
    aoei_score_outcome outcome = AOEI_SCORE_REFUSED;
    *score = NAN;
    if (!r)
        return 0;
    if (!r->refused && aoei_parse_score(&outcome, score, (aoe_text){r->content.data, r->content.len}, MAX_SCORE))
        return aoei_fail_nomem(err, r->content.len);
    j->result->chat.refused += outcome == AOEI_SCORE_REFUSED;
    j->result->chat.unreadable += outcome == AOEI_SCORE_AMBIGUOUS;
    return 0;
}

/* Writes the row with the mean of the scores of all models. If no model gave a score, the row is omitted. */
static int write_row(job *j, const aoei_row *row, aoe_error *err) {
    size_t n = j->columns, given = 0;
    double sum = 0;
    int rc = j->rows < j->result->rows
                 ? 0
                 : aoei_fail(err, AOE_EFORMAT, "%s: the file changed while it was scored; run again", j->o->file);
    if (!rc && !j->name)
        rc = open_writer(j, err);
    for (size_t i = 0; i < n && !rc; i++)
        j->cell[i] = cell_of(j, row, i);
    const size_t label = j->label;
    n += j->label == n;
    for (size_t m = 0; m < j->o->chat.n_models && !rc; m++) {
        double x;
        rc = read_score(j, m, &x, err);
        if (!rc && !isnan(x)) {
            sum += x;
            given++;
        }
        if (!rc && j->o->each)
            j->cell[n++] = number_cell(j->number[1 + m], x);
    }
    if (rc || !given)
        return rc;
    const double mean = sum / (double)given;
    j->cell[label] = number_cell(j->number[0], mean);
    j->total += mean;
    j->result->scored++;
    return aoei_table_writer_row(&j->writer, j->cell, j->o->file, row->line, err);
}

static int write_rows(job *j, aoe_error *err) {
    size_t skipped = 0;
    int rc = for_each_row(j, write_row, &skipped, err);
    if (!rc && !j->result->scored)
        return 0;
    return rc ? rc : aoei_table_writer_end(&j->writer, err);
}

static void destroy(job *j) {
    aoei_table_close(j->table);
    aoei_chat_calls_destroy(j->calls);
    aoei_buffer_free(&j->prompt);
    aoei_table_writer_free(&j->writer);
    aoei_free(j->call);
    aoei_free(j->name);
    aoei_free(j->own_names);
    aoei_free(j->cell);
    aoei_free(j->number);
}

/* Rejects pipes, because a pipe cannot be read twice. */
static int check_file(const char *path, aoe_error *err) {
    struct stat st;
    if (!path)
        return aoei_fail(err, AOE_EARG, "options.file is missing");
    if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return aoei_fail(err, AOE_EARG, "%s: the table is read twice; use a regular file, not a pipe or standard input",
                         path);
    return 0;
}

int aoe_score(const aoe_score_options *o, aoe_score_result *result, aoe_error *err) {
    AOEI_RESULT(aoe_score_result, result, err);
    AOEI_OPTIONS(aoe_score_options, o, err);
    aoe_chat_model model;
    aoe_chat_model_defaults(&model);
    AOEI_ARRAY(aoe_chat_model, o, chat.models, chat.n_models, &model, err);
    job j = {.o = o, .result = result};
    result->mean = NAN;
    int rc = aoei_check_output(&o->chat, o->name, o->write, err);
    if (!rc)
        rc = aoei_prompt_check(prompt_of(o), 1, "options.prompt", err);
    if (!rc)
        rc = check_file(o->file, err);
    if (!rc)
        rc = aoei_chat_calls_create(&j.calls, &o->chat, err);
    if (!rc)
        rc = for_each_row(&j, add_calls, &j.result->skipped, err);
    j.result->rows = j.rows;
    if (!rc && !j.rows)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: the table has no pairs (%zu bad rows); use a table with text1 and text2",
                       o->file, j.result->skipped);
    if (!rc)
        rc = aoei_chat_calls_run(j.calls, err);
    if (j.calls)
        aoei_chat_calls_result(j.calls, &j.result->chat);
    if (!rc && !o->chat.dry_run)
        rc = write_rows(&j, err);
    if (!rc && j.result->scored)
        j.result->mean = j.total / (double)j.result->scored;
    destroy(&j);
    return rc;
}
