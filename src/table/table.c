/* SPDX-License-Identifier: MIT
 * Reads tables. A row of a .tsv, .csv or .txt file is split into cells, one per column. A row of a .jsonl or .json file
 * is parsed into a JSON object (json_rows.h). The values of the selected columns are then stored in `field`. Texts are
 * not copied: they point into the line, the CSV buffer or the JSON object. Invariant: after a table is opened, its
 * header has been read and the first data row is read next.
 */
#include "table/table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "table/formats.h"
#include "table/json_rows.h"
#include "table/lines.h"
#include "table/quotes.h"

enum {
    MAX_LATE = 16,     /* maximum number of keys that are collected although the first row does not have them */
    MAX_BAD_ROWS = 100 /* maximum number of bad rows before the first valid row of a .jsonl file; with more bad rows,
                          opening fails */
};

/* A bad row that precedes the first valid row of a .jsonl file. */
typedef struct bad_row {
    aoe_error err;
    size_t line;
} bad_row;

struct aoei_table {
    aoei_lines *lines; /* lines of the file; owned */
    /* format that is used to split rows: AOE_TABLE_CSV if fields may be quoted, otherwise AOE_TABLE_TSV, for every
     * delimiter; AOE_TABLE_JSONL also for a JSON array; never AOE_TABLE_AUTO */
    aoe_table_format format;
    aoe_quoting quoting;
    int whole;        /* 1: the whole file is one row; format is then AOE_TABLE_TXT */
    int no_header;    /* 1: the first line is a row */
    aoei_csv csv;     /* CSV parser; if format is AOE_TABLE_TSV, only its delimiter is used */
    int csv_pending;  /* 1: the record in `csv` is the first row, which was parsed to count the columns and is not yet
                         returned */
    aoei_buffer text; /* the text of a whole file, owned */
    aoe_text *column; /* [n_columns] column names; the array and the bytes of the names are owned */
    size_t n_columns, column_capacity; /* used and allocated elements of `column` */
    aoe_text *cell;                    /* [n_columns] cells of the current row; array owned; NULL for .jsonl */
    size_t *select;                    /* [n_select] indices of the selected columns, owned */
    size_t n_select;
    aoei_field *field;   /* [n_select] values of the selected columns in the current row, owned */
    aoei_json_rows json; /* .jsonl only: the rows and the parsed row */
    /* 1: json.object is the first valid row, which was parsed to find the column names and is not yet returned */
    int object_pending;
    size_t object_line; /* line number of the first valid row of a .jsonl file */
    bad_row *bad;       /* [n_bad] bad rows before the first valid row of a .jsonl file, owned */
    /* n_bad: number of elements of `bad`; next_bad: index of the element to return next; bad_capacity: allocated
     * elements */
    size_t n_bad, next_bad, bad_capacity;
    /* Keys of a .jsonl file that its first row does not have. */
    int logs_keys;        /* 1: such keys are collected and logged at the end of the file */
    aoei_key_fn reject;   /* keys for which aoei_table_next fails; NULL: none */
    const char *columns;  /* second argument of reject; borrowed */
    char *late[MAX_LATE]; /* [n_late] collected keys; owned */
    size_t n_late;
    aoei_log log;       /* receives notes */
    size_t line;        /* line number of the current row */
    aoe_text bytes;     /* bytes of the current row, borrowed from `lines` or `csv` */
    aoei_buffer header; /* bytes of the header, owned */
};

static int add_column(aoei_table *t, aoe_text name, aoe_error *err) {
    char *copy = NULL;
    if (aoei_grow((void **)&t->column, &t->column_capacity, t->n_columns, sizeof *t->column) ||
        !(copy = aoei_strndup(name.data, name.len)))
        return aoei_fail_nomem(err, name.len);
    t->column[t->n_columns++] = (aoe_text){copy, name.len};
    return 0;
}

/* Splits a line at the delimiter and stores at most `capacity` cells. Returns the number of cells in the line, which
 * may be larger than `capacity`. */
static size_t split_line(const aoei_table *t, aoe_text *cell, size_t capacity, const char *s, size_t len) {
    size_t n = 0;
    for (const char *end = s + len;;) {
        const char *tab = memchr(s, t->csv.delimiter, (size_t)(end - s));
        if (n < capacity)
            cell[n] = (aoe_text){s, (size_t)((tab ? tab : end) - s)};
        n++;
        if (!tab)
            return n;
        s = tab + 1;
    }
}

/* Fails because a row has n fields and the header has a different number of fields. Returns AOEI_BAD_ROW. */
static int fail_field_count(const aoei_table *t, size_t n, aoe_error *err) {
    aoei_fail(err, AOE_EFORMAT, "%s:%zu: the row has %zu field%s, but the header has %zu; " AOEI_ROW_REMEDY,
              aoei_table_name(t), t->line, n, n == 1 ? "" : "s", t->n_columns);
    return AOEI_BAD_ROW;
}

/* Reads a row of a .tsv or .txt file. If the table has several columns, empty lines are skipped, because many files end
 * with an empty line. */
static int next_line_row(aoei_table *t, aoe_error *err) {
    aoei_line line;
    int rc;
    do {
        rc = aoei_lines_next(t->lines, &line, err);
        if (rc <= 0)
            return rc;
    } while (line.len == 0 && t->n_columns > 1);
    t->line = line.number;
    t->bytes = (aoe_text){line.data, line.len + line.eol};
    if (t->format == AOE_TABLE_TXT) {
        t->cell[0] = (aoe_text){line.data, line.len};
        return 1;
    }
    size_t n = split_line(t, t->cell, t->n_columns, line.data, line.len);
    return n == t->n_columns ? 1 : fail_field_count(t, n, err);
}

/* Reads the whole file as one row, also if the file is empty. Line ends become LF, as in Python's text files. */
static int next_whole_file(aoei_table *t, aoe_error *err) {
    aoei_line line;
    int rc;
    if (t->line)
        return 0;
    t->line = 1;
    while ((rc = aoei_lines_next(t->lines, &line, err)) == 1) {
        aoei_buffer_append(&t->text, line.data, line.len);
        if (line.eol)
            aoei_buffer_putc(&t->text, '\n');
        if (t->text.failed)
            return aoei_fail_nomem(err, t->text.len);
    }
    if (rc < 0)
        return rc;
    t->bytes = t->cell[0] = (aoe_text){t->text.len ? t->text.data : "", t->text.len};
    return 1;
}

/* Reads a row of a .csv file. If the table has several columns, empty lines are skipped. */
static int next_csv_row(aoei_table *t, aoe_error *err) {
    int rc;
    do {
        rc = t->csv_pending ? 1 : aoei_csv_next(&t->csv, t->lines, err);
        t->csv_pending = 0;
    } while (rc == 1 && t->n_columns > 1 && t->csv.n == 1 && t->csv.field[0].len == 0);
    t->line = t->csv.line;
    t->bytes = (aoe_text){t->csv.bytes.data, t->csv.bytes.len};
    if (rc != 1)
        return rc;
    if (t->csv.n != t->n_columns)
        return fail_field_count(t, t->csv.n, err);
    memcpy(t->cell, t->csv.field, t->n_columns * sizeof *t->cell);
    return 1;
}

/* Parses the next row of a .jsonl file into t->json.object. */
static int read_object(aoei_table *t, aoe_error *err) {
    const int rc = aoei_json_rows_next(&t->json, t->lines, err);
    t->line = t->json.line;
    t->bytes = t->json.bytes;
    return rc;
}

/* Returns the next row of a .jsonl file. Opening the file already read all rows up to the first valid one; these rows
 * are returned first. */
static int next_object(aoei_table *t, aoe_error *err) {
    if (!t->object_pending)
        return read_object(t, err);
    if (t->next_bad < t->n_bad) {
        const bad_row *bad = &t->bad[t->next_bad++];
        t->line = bad->line;
        if (err)
            *err = bad->err;
        return AOEI_BAD_ROW;
    }
    t->object_pending = 0;
    t->line = t->object_line;
    return 1;
}

static int is_column(const aoei_table *t, const char *key, size_t likely) {
    if (likely < t->n_columns && !strcmp(key, t->column[likely].data))
        return 1;
    for (size_t i = 0; i < t->n_columns; i++)
        if (!strcmp(key, t->column[i].data))
            return 1;
    return 0;
}

/* Checks the keys of t->json.object that the first row does not have, and collects them. */
static int check_keys(aoei_table *t, aoe_error *err) {
    const char *key;
    json_t *value;
    size_t at = 0;
    json_object_foreach(t->json.object, key, value) {
        size_t known = 0;
        if (is_column(t, key, at++) || json_is_null(value))
            continue;
        if (t->reject && t->reject(aoe_text_of(key), t->columns)) {
            char name[AOEI_EXCERPT];
            aoei_excerpt(name, aoe_text_of(key));
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: the key '%s' is missing in the first row (line %zu), whose keys are the columns of the file; "
                "add it to that row, or set options.columns to ignore=%s",
                aoei_table_name(t), t->line, name, t->object_line, name);
        }
        while (known < t->n_late && strcmp(t->late[known], key) != 0)
            known++;
        if (known < t->n_late || t->n_late == MAX_LATE || !t->logs_keys)
            continue;
        if (!(t->late[t->n_late] = aoei_strdup(key)))
            return aoei_fail_nomem(err, strlen(key));
        t->n_late++;
    }
    return 1;
}

/* Logs the collected keys, once. */
static void log_late_keys(aoei_table *t) {
    char list[MAX_LATE * (AOEI_EXCERPT + 4)] = "", name[AOEI_EXCERPT];
    size_t len = 0;
    for (size_t i = 0; i < t->n_late; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s'%s'", i ? ", " : "",
                                aoei_excerpt(name, aoe_text_of(t->late[i])));
    if (t->n_late)
        aoei_log_write(&t->log, AOE_LOG_INFO, "%s: not used: the keys %s%s, which line %zu does not have",
                       aoei_table_name(t), list, t->n_late == MAX_LATE ? ", ..." : "", t->object_line);
    t->logs_keys = 0;
}

/* Copies the values of the selected keys of t->json.object to t->field. */
static int copy_keys(aoei_table *t, aoe_error *err) {
    for (size_t i = 0; i < t->n_select; i++) {
        const char *key = t->column[t->select[i]].data;
        const json_t *v = json_object_get(t->json.object, key);
        aoei_field *f = &t->field[i];
        *f = (aoei_field){.kind = AOEI_FIELD_OTHER, .text = {"", 0}};
        if (!v) {
            aoei_fail(err, AOE_EFORMAT, "%s:%zu: the object has no key '%s'; " AOEI_ROW_REMEDY, aoei_table_name(t),
                      t->line, key);
            return AOEI_BAD_ROW;
        }
        if (json_is_string(v))
            *f = (aoei_field){.kind = AOEI_FIELD_TEXT, .text = {json_string_value(v), json_string_length(v)}};
        else if (json_is_number(v))
            *f = (aoei_field){.kind = AOEI_FIELD_NUMBER, .text = {"", 0}, .number = json_number_value(v)};
        else if (json_is_boolean(v))
            *f = (aoei_field){.kind = AOEI_FIELD_BOOL,
                              .text = aoe_text_of(json_is_true(v) ? "true" : "false"),
                              .number = json_is_true(v)};
        else if (json_is_array(v))
            *f = (aoei_field){.kind = AOEI_FIELD_LIST, .text = {"", 0}, .list = v};
    }
    return 1;
}

/* ---- detection of the delimiter */

static const char delimiters[] = AOEI_TABLE_DELIMITERS;

static int is_delimiter(char c) {
    return c && (unsigned char)c < 0x80 && !strchr("\"\r\n", c) && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') &&
           !(c >= 'a' && c <= 'z');
}

/* Returns the number of occurrences of c in the line that are not in double quotes. */
static size_t count_unquoted(const aoei_line *line, char c) {
    size_t n = 0;
    int quoted = 0;
    for (size_t i = 0; i < line->len; i++) {
        quoted ^= line->data[i] == '"';
        n += !quoted && line->data[i] == c;
    }
    return n;
}

/* Detects the delimiter of a table. The default delimiter is TAB for .tsv and comma for .csv. If the header line
 * contains the default delimiter, the default delimiter is returned. Otherwise, the element of `delimiters` that occurs
 * most often in the header line is returned. If no element occurs, the default delimiter is returned. */
static char detect_delimiter(const aoei_line *header, aoe_table_format format) {
    const char fallback = format == AOE_TABLE_TSV ? '\t' : ',';
    char best = fallback;
    size_t most = 0;
    if (memchr(header->data, fallback, header->len) && (fallback == '\t' || count_unquoted(header, fallback)))
        return fallback;
    for (size_t i = 0; i < sizeof delimiters - 1; i++) {
        const size_t n = count_unquoted(header, delimiters[i]);
        if (n > most) {
            most = n;
            best = delimiters[i];
        }
    }
    return best;
}

/* Checks if the first line has the form "sep=;", which Excel writes. If so, skips the line; if *delimiter is 0, sets
 * *delimiter to the character after "sep=". Returns 1 on success, 0 if the file is empty, or an error. */
static int read_separator_line(aoei_table *t, char *delimiter, aoe_error *err) {
    aoei_line line = {0};
    const int rc = aoei_lines_peek(t->lines, &line, err);
    if (rc <= 0 || line.len != strlen("sep=;") || strncasecmp(line.data, "sep=", 4) != 0)
        return rc;
    if (!is_delimiter(line.data[4]))
        return aoei_fail(err, AOE_EFORMAT, "%s:1: '%.5s' is not a valid delimiter; write for example sep=,",
                         aoei_table_name(t), line.data);
    *delimiter = *delimiter ? *delimiter : line.data[4];
    if (aoei_buffer_append(&t->header, line.data, line.len + line.eol))
        return aoei_fail_nomem(err, line.len);
    return aoei_lines_next(t->lines, &line, err);
}

/* Sets t->format and t->csv.delimiter. delimiter: 0 to detect the delimiter. Returns 1 on success, 0 if the file is
 * empty, or an error. */
static int choose_delimiter(aoei_table *t, char delimiter, aoe_error *err) {
    aoei_line header = {.data = ""};
    int rc = read_separator_line(t, &delimiter, err);
    if (rc == 1)
        rc = aoei_lines_peek(t->lines, &header, err);
    if (rc <= 0)
        return rc;
    if (t->format == AOE_TABLE_TSV ? memchr(header.data, '\r', header.len) != NULL : count_unquoted(&header, '\r') > 0)
        return aoei_lines_fail_cr(t->lines, err);
    t->csv.delimiter = delimiter ? delimiter : detect_delimiter(&header, t->format);
    if (t->csv.delimiter != '\t' || t->quoting == AOE_QUOTING_CSV)
        t->format = AOE_TABLE_CSV;
    if (t->quoting == AOE_QUOTING_NONE)
        t->format = AOE_TABLE_TSV;
    return 1;
}

/* ---- headers */

/* Names the n columns of a table without header: "text" for a single column, otherwise 1, 2 and so on. Returns 1 or an
 * error.
 */
static int name_columns(aoei_table *t, size_t n, aoe_error *err) {
    char number[24];
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        snprintf(number, sizeof number, "%zu", i + 1);
        rc = add_column(t, aoe_text_of(n == 1 ? "text" : number), err);
    }
    return rc ? rc : 1;
}

static int read_tsv_header(aoei_table *t, aoe_error *err) {
    aoei_line line;
    int rc = t->no_header ? aoei_lines_peek(t->lines, &line, err) : aoei_lines_next(t->lines, &line, err);
    if (rc <= 0)
        return rc;
    if (t->no_header)
        return name_columns(t, split_line(t, NULL, 0, line.data, line.len), err);
    if (aoei_buffer_append(&t->header, line.data, line.len + line.eol))
        return aoei_fail_nomem(err, line.len);
    const char *s = line.data;
    const char *end = line.data + line.len;
    for (;;) {
        const char *tab = memchr(s, t->csv.delimiter, (size_t)(end - s));
        rc = add_column(t, (aoe_text){s, (size_t)((tab ? tab : end) - s)}, err);
        if (rc)
            return rc;
        if (!tab)
            return 1;
        s = tab + 1;
    }
}

static int read_csv_header(aoei_table *t, aoe_error *err) {
    int rc = aoei_csv_next(&t->csv, t->lines, err);
    if (rc != 1)
        return rc;
    t->csv_pending = t->no_header;
    if (t->no_header)
        return name_columns(t, t->csv.n, err);
    if (aoei_buffer_append(&t->header, t->csv.bytes.data, t->csv.bytes.len))
        return aoei_fail_nomem(err, t->csv.bytes.len);
    for (size_t i = 0; i < t->csv.n; i++) {
        rc = add_column(t, t->csv.field[i], err);
        if (rc)
            return rc;
    }
    return 1;
}

/* Reads the rows of a .jsonl file up to the first valid row. Bad rows before this row are stored in t->bad;
 * aoei_table_next returns them first. Returns 1 if a valid row was found, and 0 if the file is empty. Returns
 * AOEI_BAD_ROW if all rows are bad or more than MAX_BAD_ROWS rows are bad. Otherwise returns an error. */
static int first_object(aoei_table *t, aoe_error *err) {
    for (;;) {
        bad_row bad;
        int rc = read_object(t, &bad.err);
        if (rc == 1)
            return 1;
        if (rc < 0 || (rc == 0 && !t->n_bad)) {
            if (rc < 0 && err)
                *err = bad.err;
            return rc;
        }
        if (rc == 0 || t->n_bad == MAX_BAD_ROWS) {
            if (err)
                *err = t->bad[0].err;
            return AOEI_BAD_ROW;
        }
        bad.line = t->line;
        if (aoei_grow((void **)&t->bad, &t->bad_capacity, t->n_bad, sizeof *t->bad))
            return aoei_fail_nomem(err, sizeof *t->bad);
        t->bad[t->n_bad++] = bad;
    }
}

/* Sets the column names to the keys of the first valid row of a .jsonl file. */
static int read_keys(aoei_table *t, aoe_error *err) {
    int rc = aoei_json_rows_begin(&t->json, t->lines, t->format, err);
    t->format = AOE_TABLE_JSONL;
    if (rc == 1)
        rc = first_object(t, err);
    if (rc != 1)
        return rc;
    t->object_pending = 1;
    t->object_line = t->line;
    const char *key;
    json_t *value;
    json_object_foreach(t->json.object, key, value) {
        rc = add_column(t, aoe_text_of(key), err);
        if (rc)
            return rc;
    }
    return 1;
}

/* Checks the first line of a .txt file. Later lines may contain a CR as white space, but a CR in the first line shows
 * that the lines of the file end in CR. */
static int check_first_line(aoei_table *t, aoe_error *err) {
    aoei_line line;
    const int rc = aoei_lines_peek(t->lines, &line, err);
    return rc == 1 && memchr(line.data, '\r', line.len) ? aoei_lines_fail_cr(t->lines, err) : rc < 0 ? rc : 0;
}

/* Reads the header. delimiter: 0 to detect the delimiter. Returns 0 or an error. An empty file is an error
 * (AOE_EFORMAT), except for a .txt file without a delimiter, which has no header. If is_empty is not NULL, *is_empty is
 * set to 1 for this error, and *err is not set. */
static int read_header(aoei_table *t, char delimiter, int *is_empty, aoe_error *err) {
    int rc = 1;
    if (delimiter && !is_delimiter(delimiter))
        return aoei_fail(
            err, AOE_EARG,
            "options.delimiter must be one ASCII character that is neither a letter, a digit, a quote nor a line "
            "end, for example ; or |");
    if (t->whole || (t->format == AOE_TABLE_TXT && !delimiter)) {
        rc = t->whole ? 0 : check_first_line(t, err);
        return rc ? rc : add_column(t, aoe_text_of("text"), err);
    }
    if (t->format == AOE_TABLE_TXT)
        t->format = delimiter == '\t' ? AOE_TABLE_TSV : AOE_TABLE_CSV;
    const int is_json = t->format == AOE_TABLE_JSONL || t->format == AOE_TABLE_JSON;
    if (!is_json)
        rc = choose_delimiter(t, delimiter, err);
    if (rc == 1)
        rc = is_json                      ? read_keys(t, err)
             : t->format == AOE_TABLE_TSV ? read_tsv_header(t, err)
                                          : read_csv_header(t, err);
    if (rc == 0 && is_empty) {
        *is_empty = 1;
        return AOE_EFORMAT;
    }
    if (rc == 0 && t->json.array)
        return aoei_fail(err, AOE_EFORMAT, "%s: the JSON array is empty; expected JSON objects", aoei_table_name(t));
    if (rc == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file is empty; expected %s", aoei_table_name(t),
                         is_json        ? "one JSON object per line"
                         : t->no_header ? "one row per line"
                                        : "a header line with the names of the columns");
    if (rc == AOEI_BAD_ROW)
        return AOE_EFORMAT;
    return rc < 0 ? rc : 0;
}

int aoe_table_format_of(aoe_table_format *format, const char *path, aoe_error *err) {
    AOEI_CHECK(err, format, path);
    return aoei_format_of_name(format, path, err);
}

int aoei_table_format_of(aoe_table_format *format, const char *path, aoe_error *err) {
    if (aoei_format_of_name(format, path, NULL) || *format == AOE_TABLE_AUTO || *format == AOE_TABLE_JSON)
        return aoei_fail(
            err, AOE_EARG,
            "%s: the file name has no known extension (.tsv, .csv, .jsonl or .txt, optionally followed by .gz or "
            ".zst); use another file name",
            path);
    return 0;
}

/* Implements aoei_table_from. format: format of the file. is_empty: see read_header. */
static int table_from(aoei_table **out, aoei_stream *s, aoe_table_format format, const aoe_table_options *o,
                      int *is_empty, aoe_error *err) {
    *out = NULL;
    aoei_lines *lines;
    int rc = aoei_lines_from(&lines, s, err);
    if (rc)
        return rc;
    aoei_table *t = aoei_calloc(1, sizeof *t);
    if (!t) {
        aoei_lines_close(lines);
        return aoei_fail_nomem(err, sizeof *t);
    }
    t->lines = lines;
    t->format = format;
    t->whole = o && o->whole_files;
    t->no_header = o && o->no_header;
    t->quoting = o ? o->quoting : AOE_QUOTING_AUTO;
    rc = read_header(t, o ? o->delimiter : 0, is_empty, err);
    if (!rc && t->format != AOE_TABLE_JSONL && !(t->cell = aoei_malloc_array(t->n_columns, sizeof *t->cell)))
        rc = aoei_fail_nomem(err, t->n_columns * sizeof *t->cell);
    if (rc) {
        aoei_table_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

/* Sets *format to the format in which a file is read. */
static int input_format(aoe_table_format *format, const char *path, const aoe_table_options *o, aoe_error *err) {
    *format = o && o->whole_files ? AOE_TABLE_TXT : o ? o->input_format : AOE_TABLE_AUTO;
    if (o && o->whole_files &&
        ((o->input_format != AOE_TABLE_AUTO && o->input_format != AOE_TABLE_TXT) || o->delimiter))
        return aoei_fail(
            err, AOE_EARG,
            "options.whole_files and the options for tables exclude each other; remove options.input_format and "
            "options.delimiter");
    if (*format != AOE_TABLE_AUTO)
        return 0;
    const int rc = aoei_format_of_name(format, path, err);
    if (rc || *format != AOE_TABLE_AUTO)
        return rc;
    return aoei_fail(
        err, AOE_EARG,
        "%s: the file name has no known extension (.tsv, .csv, .jsonl, .json or .txt, optionally followed by .gz "
        "or .zst); rename the file%s",
        path, o ? " or set options.input_format" : "");
}

int aoei_table_from(aoei_table **out, aoei_stream *s, const aoe_table_options *o, aoe_error *err) {
    aoe_table_format format;
    const int rc = input_format(&format, "-", o, err);
    if (!rc)
        return table_from(out, s, format, o, NULL, err);
    *out = NULL;
    aoei_stream_close(s);
    return rc;
}

/* Fails if the fields of an open .tsv file are quoted as in CSV. */
static int check_quotes(const aoei_table *t, const char *path, aoe_error *err) {
    size_t line = 0;
    const int rc =
        t->format == AOE_TABLE_TSV && t->quoting == AOE_QUOTING_AUTO ? aoei_quotes_find(&line, path, err) : 0;
    if (rc || !line)
        return rc;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s:%zu: the fields are quoted as in CSV; set options.quoting (csv removes the quotes, none keeps them)", path,
        line);
}

void aoei_table_warn_options(const aoe_table_options *o, const char *name, const char *reason) {
    static const aoe_table_options none = {0};
    o = o ? o : &none;
    const aoei_log log = {o->log, o->log_user};
    const char *const names[] = {o->delimiter ? "options.delimiter" : NULL, o->no_header ? "options.no_header" : NULL,
                                 o->quoting != AOE_QUOTING_AUTO ? "options.quoting" : NULL};
    const char *used[sizeof names / sizeof *names];
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i])
            used[n++] = names[i];
    if (n)
        aoei_log_write(&log, AOE_LOG_WARNING, "%s: %s%s%s%s%s %s no effect, because %s", name, used[0],
                       n > 2 ? ", " : "", n > 2 ? used[1] : "", n > 1 ? " and " : "", n > 1 ? used[n - 1] : "",
                       n > 1 ? "have" : "has", reason);
}

/* Warns about options that have no effect on the format of an open file, such as no_header for a .jsonl file. */
static void warn_unused_options(const aoei_table *t, const aoe_table_options *o) {
    if (t->format == AOE_TABLE_TSV || t->format == AOE_TABLE_CSV)
        return;
    aoei_table_warn_options(o, aoei_table_name(t),
                            t->whole                       ? "the file is read as one text"
                            : t->format == AOE_TABLE_JSONL ? "the file is read as JSON objects"
                                                           : "the file is read as one text per line; set "
                                                             "options.input_format if it is a table");
}

/* Implements aoei_table_open with an open stream, which it takes. is_empty: see read_header. */
static int open_stream(aoei_table **out, aoei_stream *s, const char *path, const aoe_table_options *o, int *is_empty,
                       aoe_error *err) {
    aoe_table_format format;
    int rc = input_format(&format, path, o, err);
    if (rc) {
        aoei_stream_close(s);
        return rc;
    }
    rc = table_from(out, s, format, o, is_empty, err);
    if (!rc && o) {
        (*out)->log = (aoei_log){o->log, o->log_user};
        rc = check_quotes(*out, path, err);
        warn_unused_options(*out, o);
    }
    if (rc) {
        aoei_table_close(*out);
        *out = NULL;
    }
    return rc;
}

/* Implements aoei_table_open. is_empty: see read_header. */
static int open_table(aoei_table **out, const char *path, const aoe_table_options *o, int *is_empty, aoe_error *err) {
    *out = NULL;
    aoei_stream *s;
    /* the stream is opened before the extension is checked, so that a missing file is reported as missing */
    const int rc = aoei_stream_open(&s, path, err);
    return rc ? rc : open_stream(out, s, path, o, is_empty, err);
}

int aoei_table_open(aoei_table **out, const char *path, const aoe_table_options *o, aoe_error *err) {
    return open_table(out, path, o, NULL, err);
}

int aoei_table_open_if_any(aoei_table **out, const char *path, const aoe_table_options *o, aoe_error *err) {
    int is_empty = 0;
    const int rc = open_table(out, path, o, &is_empty, err);
    return is_empty ? 0 : rc;
}

int aoei_table_open_fd(aoei_table **out, int fd, const char *path, aoe_error *err) {
    int is_empty = 0;
    aoei_stream *s;
    *out = NULL;
    int rc = aoei_stream_open_fd(&s, fd, path, err);
    if (!rc)
        rc = open_stream(out, s, path, NULL, &is_empty, err);
    return is_empty ? 0 : rc;
}

void aoei_table_close(aoei_table *t) {
    if (!t)
        return;
    aoei_lines_close(t->lines);
    aoei_csv_free(&t->csv);
    aoei_buffer_free(&t->header);
    for (size_t i = 0; i < t->n_columns; i++)
        aoei_free((char *)t->column[i].data);
    aoei_free(t->column);
    aoei_free(t->cell);
    aoei_free(t->select);
    aoei_free(t->field);
    aoei_json_rows_free(&t->json);
    aoei_buffer_free(&t->text);
    aoei_free(t->bad);
    for (size_t i = 0; i < t->n_late; i++)
        aoei_free(t->late[i]);
    aoei_free(t);
}

const char *aoei_table_name(const aoei_table *t) {
    return aoei_lines_name(t->lines);
}

aoe_table_format aoei_table_format(const aoei_table *t) {
    return t->format;
}

int aoei_table_has_header(const aoei_table *t) {
    return t->format == AOE_TABLE_TSV || t->format == AOE_TABLE_CSV ? !t->no_header : 0;
}

size_t aoei_table_columns(const aoei_table *t) {
    return t->n_columns;
}

aoe_text aoei_table_column(const aoei_table *t, size_t i) {
    return t->column[i];
}

aoe_text aoei_table_selected(const aoei_table *t, size_t i) {
    return t->column[t->select[i]];
}

size_t aoei_table_selected_index(const aoei_table *t, size_t i) {
    return t->select[i];
}

size_t aoei_table_selected_count(const aoei_table *t) {
    return t->n_select;
}

const aoei_log *aoei_table_log(const aoei_table *t) {
    return &t->log;
}

void aoei_table_reject_keys(aoei_table *t, aoei_key_fn reject, const char *columns) {
    t->reject = reject;
    t->columns = columns;
}

void aoei_table_log_keys(aoei_table *t) {
    t->logs_keys = 1;
}

aoe_text aoei_table_header_bytes(const aoei_table *t) {
    return t->header.len ? (aoe_text){t->header.data, t->header.len} : (aoe_text){"", 0};
}

aoe_text aoei_table_row_bytes(const aoei_table *t) {
    return t->bytes;
}

size_t aoei_table_line(const aoei_table *t) {
    return t->line;
}

const json_t *aoei_table_object(const aoei_table *t) {
    return t->json.object;
}

int aoei_table_select(aoei_table *t, const size_t *column, size_t n, aoe_error *err) {
    aoei_free(t->select);
    aoei_free(t->field);
    t->n_select = 0;
    t->select = aoei_malloc_array(n, sizeof *t->select);
    t->field = aoei_malloc_array(n, sizeof *t->field);
    if (!t->select || !t->field)
        return aoei_fail_nomem(err, n * sizeof *t->field);
    memcpy(t->select, column, n * sizeof *column);
    t->n_select = n;
    return 0;
}

int aoei_table_next(aoei_table *t, aoei_row *row, aoe_error *err) {
    int rc;
    if (t->format == AOE_TABLE_JSONL) {
        rc = next_object(t, err);
        if (rc == 1 && (t->logs_keys || t->reject))
            rc = check_keys(t, err);
        if (rc == 1)
            rc = copy_keys(t, err);
        if (rc == 0 && t->logs_keys)
            log_late_keys(t);
    } else {
        rc = t->whole                     ? next_whole_file(t, err)
             : t->format == AOE_TABLE_CSV ? next_csv_row(t, err)
                                          : next_line_row(t, err);
        for (size_t i = 0; rc == 1 && i < t->n_select; i++)
            t->field[i] = (aoei_field){.kind = AOEI_FIELD_TEXT, .text = t->cell[t->select[i]]};
    }
    if (rc == 1)
        *row = (aoei_row){t->field, t->line};
    return rc;
}

const char *aoei_excerpt(char out[AOEI_EXCERPT], aoe_text text) {
    size_t n = text.len;
    if (n > AOEI_EXCERPT - 1) {
        n = AOEI_EXCERPT - 4;
        while (n > 0 && ((unsigned char)text.data[n] & 0xc0) == 0x80)
            n--;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = text.data[i] ? text.data[i] : '?';
    out[n] = 0;
    if (n < text.len)
        memcpy(out + n, "...", 4);
    return out;
}
