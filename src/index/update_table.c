/* SPDX-License-Identifier: MIT
 * Updates the documents of a table. If the table changed, all rows are compared with the index; rows that are equal
 * keep their documents. While the rows are read, the record of the table says that it is incomplete, so that a commit
 * in between is safe.
 */
#include "index/update_table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/distinct.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"
#include "document/beneath.h"
#include "index/update_folder.h"
#include "index/writer.h"
#include "table/columns.h"
#include "table/stream.h"
#include "table/texts.h"

#define LARGEST_EXACT 9007199254740992.0 /* 2^53: a double represents every integer below this value exactly */

enum { SAMPLE = 4096 /* bytes at the beginning of the table with which the budget is checked */ };

/* A value that was formatted: bytes of `values`, whose address can still change. */
typedef struct formatted {
    size_t field;  /* index of the metadata */
    size_t offset; /* in the buffer */
} formatted;

typedef struct table_update {
    aoei_update *u;
    aoei_update_source *s;
    aoei_file *file;
    aoei_table *table;       /* owned */
    aoei_file_record record; /* old record; id 0: none. Without path */
    size_t text, id;         /* positions of the columns in a row; id: SIZE_MAX if there is no such column */
    aoe_index_field *field;  /* metadata of the current row, owned */
    size_t n_fields, field_capacity;
    formatted *formatted; /* owned */
    size_t n_formatted, formatted_capacity;
    aoei_buffer values, name; /* owned */
    aoei_distinct ids;        /* names of the rows, if they come from a column; owned */
    size_t rows;
} table_update;

/* ------------------------------------------------------------------------- columns */

/* Sets *column to the column `wanted`. */
static int find_column(const aoei_table *t, const char *wanted, const char *what, size_t *column, aoe_error *err) {
    char problem[AOEI_EXCERPT + 64], excerpt[AOEI_EXCERPT];
    if (aoei_columns_find(t, aoe_text_of(wanted), column))
        return 0;
    snprintf(problem, sizeof problem, "the table has no column '%s'", aoei_excerpt(excerpt, aoe_text_of(wanted)));
    return aoei_columns_fail(t, problem, what, err);
}

/* Sets *column to the column of texts: "text", or the only column with a recognized name. */
static int find_text(aoei_table *t, const char *wanted, size_t *column, aoe_error *err) {
    size_t n;
    if (wanted)
        return find_column(t, wanted, "set source.text_column to the column of texts", column, err);
    if (aoei_columns_find(t, aoe_text_of("text"), column))
        return 0;
    int code = aoei_texts_select(t, &n, NULL, NULL);
    if (code == AOE_ENOMEM)
        return aoei_fail_nomem(err, aoei_table_columns(t));
    if (code || n != 1)
        return aoei_columns_fail(t,
                                 code ? "no column is named 'text' or has another recognized name for texts"
                                      : "several columns have recognized names for texts, and none is named 'text'",
                                 "set source.text_column to the column of texts", err);
    *column = aoei_table_selected_index(t, 0);
    return 0;
}

/* Selects the columns: in JSON rows only text and id, because other keys may be missing in a row; otherwise all. */
static int select_columns(table_update *f, aoe_error *err) {
    aoei_table *t = f->table;
    const size_t n = aoei_table_columns(t);
    size_t text, id = SIZE_MAX;
    int code = find_text(t, f->s->record.text_column, &text, err);
    if (code == 0 && f->s->record.id_column)
        code = find_column(t, f->s->record.id_column, "set source.id_column to the column of names", &id, err);
    if (code)
        return code;
    if (aoei_table_format(t) == AOE_TABLE_JSONL) {
        const size_t column[2] = {text, id};
        f->text = 0;
        f->id = id == SIZE_MAX ? id : 1;
        return aoei_table_select(t, column, id == SIZE_MAX ? 1 : 2, err);
    }
    size_t *column = aoei_malloc_array(n, sizeof *column);
    if (!column)
        return aoei_fail_nomem(err, n * sizeof *column);
    for (size_t i = 0; i < n; i++)
        column[i] = i;
    f->text = text;
    f->id = id;
    code = aoei_table_select(t, column, n, err);
    aoei_free(column);
    return code;
}

/* Opens the file of the table in the folder that was listed. In the meantime, its path can lead to something else. */
static int open_file(const table_update *f, int *fd, aoe_error *err) {
    struct stat st;
    *fd = aoei_open_beneath(f->s->folder->fd, f->file->real, O_RDONLY);
    if (*fd < 0 && errno != ELOOP)
        return aoei_fail_errno(err, errno, "cannot open %s", f->s->record.path);
    if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return 0;
    if (*fd >= 0)
        (void)close(*fd);
    return aoei_fail(err, AOE_EIO, "%s was replaced while it was read; try again", f->s->record.path);
}

/* Opens the table and selects its columns. f->table stays NULL if the table is empty. */
static int open_table(table_update *f, aoe_error *err) {
    int fd, code = open_file(f, &fd, err);
    if (code == 0)
        code = aoei_table_open_fd(&f->table, fd, f->s->record.path, err);
    return code || !f->table ? code : select_columns(f, err);
}

/* ---------------------------------------------------------------------------- rows */

static int add_field(table_update *f, const char *key, aoe_text value, aoe_error *err) {
    if (!*key || !value.len)
        return 0;
    if (aoei_grow((void **)&f->field, &f->field_capacity, f->n_fields, sizeof *f->field))
        return aoei_fail_nomem(err, (f->n_fields + 1) * sizeof *f->field);
    f->field[f->n_fields++] = (aoe_index_field){key, value};
    return 0;
}

/* Returns 1 if a value is a number without a fraction that a double represents exactly. */
static int is_whole(const json_t *value) {
    const double number = json_is_number(value) ? json_number_value(value) : 0.5;
    return fabs(number) < LARGEST_EXACT && number == floor(number);
}

static json_t *integer_of(const json_t *number) {
    return json_integer((json_int_t)json_number_value(number));
}

/* Replaces the whole numbers inside lists and objects by integers. The depth is limited by the parser. */
static int set_integers(json_t *value) {
    int code = 0;
    void *next;
    json_t *member;
    const char *key;
    const int is_list = json_is_array(value);
    const size_t n = is_list ? json_array_size(value) : 0;
    for (size_t i = 0; i < n && !code; i++) {
        member = json_array_get(value, i);
        code = is_whole(member) ? json_array_set_new(value, i, integer_of(member)) : set_integers(member);
    }
    json_object_foreach_safe(value, next, key, member) {
        if (!code)
            code = is_whole(member) ? json_object_set_new(value, key, integer_of(member)) : set_integers(member);
    }
    return code;
}

/* Appends a value as JSON text. All numbers of a row are reals; whole numbers are written without a fraction. */
static int append_json(aoei_buffer *b, json_t *value) {
    if (is_whole(value))
        return aoei_buffer_printf(b, "%.0f", json_number_value(value));
    if (set_integers(value))
        return AOE_ENOMEM;
    return aoei_json_append(b, value, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* Adds a value that is not a list of values. Numbers, objects and lists become JSON text. */
static int add_one(table_update *f, const char *key, json_t *value, aoe_error *err) {
    if (json_is_string(value))
        return add_field(f, key, (aoe_text){json_string_value(value), json_string_length(value)}, err);
    if (!*key || !value || json_is_null(value))
        return 0;
    const size_t offset = f->values.len;
    if (append_json(&f->values, value) ||
        aoei_grow((void **)&f->formatted, &f->formatted_capacity, f->n_formatted, sizeof *f->formatted))
        return aoei_fail_nomem(err, f->values.len);
    f->formatted[f->n_formatted++] = (formatted){f->n_fields, offset};
    return add_field(f, key, (aoe_text){"", f->values.len - offset}, err);
}

/* Returns 1 if a value is a list without lists and objects in it. */
static int is_simple_list(const json_t *value) {
    for (size_t i = 0; i < json_array_size(value); i++)
        if (json_is_array(json_array_get(value, i)) || json_is_object(json_array_get(value, i)))
            return 0;
    return json_is_array(value);
}

/* Adds a value of a JSON row. The items of a list of texts and numbers are several values of the key. */
static int add_json(table_update *f, const char *key, json_t *value, aoe_error *err) {
    int code = 0;
    if (!is_simple_list(value))
        return add_one(f, key, value, err);
    for (size_t i = 0; i < json_array_size(value) && code == 0; i++)
        code = add_one(f, key, json_array_get(value, i), err);
    return code;
}

/* Sets f->field to the columns of a row except text and id. */
static int set_fields(table_update *f, const aoei_row *row, aoe_error *err) {
    json_t *object = (json_t *)(uintptr_t)aoei_table_object(f->table), *value;
    const char *key, *text = aoei_table_selected(f->table, f->text).data;
    const char *id = f->id == SIZE_MAX ? NULL : aoei_table_selected(f->table, f->id).data;
    int code = 0;
    f->n_fields = f->n_formatted = 0;
    aoei_buffer_clear(&f->values);
    if (object) {
        json_object_foreach(object, key, value) {
            if (code == 0 && strcmp(key, text) != 0 && (!id || strcmp(key, id) != 0))
                code = add_json(f, key, value, err);
        }
    } else {
        for (size_t i = 0; i < aoei_table_selected_count(f->table) && code == 0; i++)
            if (i != f->text && i != f->id)
                code = add_field(f, aoei_table_selected(f->table, i).data, row->field[i].text, err);
    }
    for (size_t i = 0; i < f->n_formatted && code == 0; i++)
        f->field[f->formatted[i].field].value.data = f->values.data + f->formatted[i].offset;
    return code;
}

/* Sets f->name to the name of the document of a row. */
static int set_name(table_update *f, const aoei_row *row, aoe_error *err) {
    aoei_buffer *b = &f->name;
    aoei_buffer_clear(b);
    aoei_buffer_printf(b, "%s", f->s->prefix);
    if (f->id == SIZE_MAX) {
        aoei_buffer_printf(b, "%s:%zu", f->file->path, row->line);
        return b->failed ? aoei_fail_nomem(err, b->len) : 0;
    }
    const aoei_field *id = &row->field[f->id];
    const char *column = f->s->record.id_column;
    size_t index;
    const size_t n = f->ids.n;
    if (f->s->record.kind & AOEI_SOURCE_LONG) /* ids of several tables can be equal */
        aoei_buffer_printf(b, "%s:", f->file->path);
    if (id->kind == AOEI_FIELD_NUMBER) {
        json_t *value = json_object_get(aoei_table_object(f->table), aoei_table_selected(f->table, f->id).data);
        if (append_json(b, value))
            return aoei_fail_nomem(err, b->len);
    } else {
        aoei_buffer_append(b, id->text.data, id->text.len);
    }
    if (b->failed)
        return aoei_fail_nomem(err, b->len);
    if (id->kind == AOEI_FIELD_LIST || id->kind == AOEI_FIELD_OTHER || (id->kind == AOEI_FIELD_TEXT && !id->text.len) ||
        memchr(b->data, 0, b->len))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s:%zu: column '%s' is not a name; it must be a number or a text that is not empty",
                         aoei_table_name(f->table), row->line, column);
    const int code = aoei_distinct_add(&f->ids, (aoe_text){b->data, b->len}, 0, &index, err);
    if (code == 0 && f->ids.n == n)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s:%zu: '%.100s' in column '%s' is also the name of an earlier row; use a column with distinct "
            "values",
            aoei_table_name(f->table), row->line, b->data, column);
    return code;
}

/* Sets *vector to the vector of the current row, or NULL. */
static int take_vector(const table_update *f, const float **vector, aoe_error *err) {
    const aoe_index_source *given = f->s->given;
    *vector = NULL;
    if (!given || !given->vectors)
        return 0;
    if (f->rows >= given->n_vectors)
        return aoei_fail(err, AOE_EARG,
                         "%s: the table has more rows than source.vectors (%zu); compute the vectors of "
                         "this table again",
                         f->s->record.path, given->n_vectors);
    *vector = given->vectors + f->rows * f->u->index->settings.dims;
    return 0;
}

static int write_row(table_update *f, const aoei_row *row, int64_t id, aoe_error *err) {
    const aoei_field *text = &row->field[f->text];
    if (text->kind != AOEI_FIELD_TEXT && text->kind != AOEI_FIELD_OTHER)
        return aoei_fail(err, AOE_EFORMAT, "%s:%zu: the value of column '%s' is not a text; it must be a string",
                         aoei_table_name(f->table), row->line, aoei_table_selected(f->table, f->text).data);
    aoe_index_document d = {.struct_size = sizeof d, .text = text->text, .kind = AOE_INDEX_TEXT};
    int code = set_name(f, row, err);
    if (code == 0)
        code = set_fields(f, row, err);
    if (code == 0)
        code = take_vector(f, &d.vector, err);
    if (code)
        return code;
    d.name = f->name.data;
    d.field = f->field;
    d.n_fields = f->n_fields;
    f->rows++;
    code = aoei_update_write(f->u, &d, id, err);
    return code ? code : aoei_update_report(f->u, f->file->path, 0, err);
}

static int write_rows(table_update *f, int64_t id, aoe_error *err) {
    int code = aoei_write_file_begin(f->u->index, id, err);
    while (code == 0) {
        aoei_row row;
        code = aoei_table_next(f->table, &row, err);
        if (code == 0)
            break;
        code = code == 1 ? write_row(f, &row, id, err) : code == AOEI_BAD_ROW ? AOE_EFORMAT : code;
    }
    const aoe_index_source *given = f->s->given;
    if (code == 0 && given && given->vectors && f->rows != given->n_vectors)
        code = aoei_fail(err, AOE_EARG,
                         "%s: the table has %zu rows, but source.vectors has %zu; compute the vectors of "
                         "this table again",
                         f->s->record.path, f->rows, given->n_vectors);
    if (code == 0)
        return aoei_write_file_end(f->u->index, err);
    (void)aoei_write_file_begin(f->u->index, 0, NULL); /* rows that were not read are not removed */
    return code;
}

/* ---------------------------------------------------------------------- comparison */

/* Computes the hash of the file, and sets sample[SAMPLE] to its beginning. */
static int hash_table(const table_update *f, uint64_t *hash, char *sample, size_t *n_sample, aoe_error *err) {
    char data[65536];
    int fd, code = open_file(f, &fd, err);
    if (code)
        return code;
    *hash = AOEI_HASH_START;
    *n_sample = 0;
    ssize_t n;
    while ((n = read(fd, data, sizeof data)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        if (*n_sample == 0) {
            *n_sample = (size_t)n < SAMPLE ? (size_t)n : SAMPLE;
            memcpy(sample, data, *n_sample);
        }
        *hash = aoei_hash(*hash, data, (size_t)n);
    }
    if (n < 0)
        code = aoei_fail_errno(err, errno, "cannot read %s", f->s->record.path);
    (void)close(fd);
    return code;
}

static int copy_record(void *user, const aoei_file_record *r, aoe_error *err) {
    (void)err;
    table_update *f = user;
    f->record = *r;
    f->record.path = NULL;
    return 0;
}

/* Adds the number of documents of the table to the unchanged ones. */
static int count_unchanged(table_update *f, aoe_error *err) {
    aoei_db *d = &f->u->index->writer->db;
    sqlite3_stmt *stmt;
    int code = aoei_db_prepare(d, "SELECT count(*) FROM documents WHERE file = ?1", &stmt, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(stmt, 1, f->record.id);
    code = aoei_db_step(d, stmt, err);
    if (code == 1)
        f->u->result->unchanged += (size_t)sqlite3_column_int64(stmt, 0);
    aoei_db_reset(stmt);
    return code < 0 ? code : 0;
}

/* Sets *has to 1 if the caller gave vectors of this table in an earlier update. */
static int find_given(const table_update *f, int *has, aoe_error *err) {
    aoei_db *d = &f->u->index->writer->db;
    sqlite3_stmt *stmt;
    int code = aoei_db_prepare(d,
                               "SELECT 1 FROM documents d JOIN passages p ON p.id = d.first_passage WHERE d.file = ?1 "
                               "AND p.given <> 0 LIMIT 1",
                               &stmt, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(stmt, 1, f->record.id);
    code = aoei_db_step(d, stmt, err);
    *has = code == 1;
    aoei_db_reset(stmt);
    return code < 0 ? code : 0;
}

/* Warns if the model computed vectors for a table of which others were given. before: counts before the table. */
static int warn_mixed(const table_update *f, const aoei_write_counts *before, aoe_error *err) {
    const int code = aoei_write_flush(f->u->index, err);
    const aoei_write_counts now = aoei_write_counted(f->u->index);
    const size_t n = now.added - before->added + now.changed - before->changed;
    f->u->result->computed += n;
    if (code == 0 && n)
        aoei_log_write(&f->u->index->log, AOE_LOG_WARNING,
                       "%s: the model of the index computed the vectors of %zu new or changed row%s, but vectors were "
                       "given for the others; give the vectors of all rows again",
                       f->s->record.path, n, n == 1 ? "" : "s");
    return code;
}

/* Reads all rows. hash: of the file before it is read. */
static int read_table(table_update *f, uint64_t hash, aoe_error *err) {
    int64_t id;
    const aoei_file_record *old = f->record.id ? &f->record : NULL;
    aoei_file incomplete = *f->file;
    incomplete.ctime_ns = -1; /* differs from all times */
    int code = open_table(f, err);
    if (code == 0)
        code = aoei_update_begin_large(f->u, f->file->size, err);
    if (code == 0)
        code = aoei_update_record(f->u, f->s, &incomplete, old, 0, AOEI_FILE_INDEXED, &id, err);
    if (code == 0 && f->table)
        code = write_rows(f, id, err);
    else if (code == 0) /* the table is empty */
        code = aoei_write_file_clear(f->u->index, id, err);
    f->u->may_drop = 0;
    aoei_file now = *f->file;
    aoei_folder_stat(f->s->folder, &now);
    if (code == 0 && (now.skip || now.size != f->file->size || now.mtime_ns != f->file->mtime_ns))
        return 0; /* changed while it was read; the next update reads it again */
    const aoei_file_record written = {.id = id, .ctime_ns = -1};
    return code ? code : aoei_update_record(f->u, f->s, f->file, &written, hash, AOEI_FILE_INDEXED, &id, err);
}

static int run(table_update *f, aoe_error *err) {
    char sample[SAMPLE];
    size_t n_sample;
    uint64_t hash;
    int64_t id;
    const int has_vectors = f->s->given && f->s->given->vectors;
    int code = aoei_files_read(f->u->index, f->s->record.id, copy_record, f, err);
    if (code)
        return code;
    const aoei_file_record *old = f->record.id ? &f->record : NULL;
    if (old && aoei_update_is_same(old, f->file) && !has_vectors)
        return count_unchanged(f, err);
    if (aoei_update_is_late(f->u)) {
        f->u->result->left_out++;
        return 0;
    }
    code = hash_table(f, &hash, sample, &n_sample, err);
    if (code == 0 && old && old->hash == hash && !has_vectors) {
        code = aoei_update_record(f->u, f->s, f->file, old, hash, AOEI_FILE_INDEXED, &id, err);
        return code ? code : count_unchanged(f, err);
    }
    n_sample = code ? 0 : aoei_utf8_valid(sample, n_sample);
    const int has_unknown_size = f->u->o->budget > 0 && aoei_codec_of(f->s->record.path) != AOEI_CODEC_PLAIN;
    if (code == 0 && (has_unknown_size || !aoei_update_fits(f->u, f->file->size, (aoe_text){sample, n_sample}))) {
        f->u->result->left_out++;
        return 0;
    }
    int has_given = 0;
    if (code == 0 && old && !has_vectors)
        code = find_given(f, &has_given, err);
    if (code == 0 && has_given && f->u->o->budget > 0) { /* the user decides whether the model computes vectors */
        f->u->result->left_out++;
        return 0;
    }
    const aoei_write_counts before = aoei_write_counted(f->u->index);
    if (code == 0)
        code = read_table(f, hash, err);
    return code || !has_given ? code : warn_mixed(f, &before, err);
}

static void free_update(table_update *f) {
    aoei_table_close(f->table);
    aoei_free(f->field);
    aoei_free(f->formatted);
    aoei_buffer_free(&f->values);
    aoei_buffer_free(&f->name);
    aoei_distinct_free(&f->ids);
}

int aoei_update_table(aoei_update *u, aoei_update_source *s, aoe_error *err) {
    table_update f = {.u = u, .s = s, .file = &s->folder->file[0]};
    int code = aoei_update_report(u, f.file->path, 0, err);
    if (code == 0)
        code = run(&f, err);
    u->progress.files++;
    u->progress.bytes += f.file->size;
    free_update(&f);
    return code;
}

int aoei_update_table_check(aoei_update_source *s, aoe_error *err) {
    table_update f = {.s = s, .file = &s->folder->file[0]};
    const int code = open_table(&f, err);
    free_update(&f);
    return code;
}
