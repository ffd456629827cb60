/* SPDX-License-Identifier: MIT
 * Reads .tsv, .csv, .jsonl, .json and .txt files row by row. Files may be compressed (.gz, .zst). docs/data.md
 * describes the formats. columns.h finds the columns that contain texts and labels, and labels.h converts labels to
 * numbers.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/log.h"
#include "table/csv.h"
#include "table/stream.h"

typedef enum aoei_field_kind {
    AOEI_FIELD_TEXT,   /* JSON string, or any value of a .tsv, .csv or .txt file */
    AOEI_FIELD_NUMBER, /* JSON number; the value is in `number` */
    AOEI_FIELD_BOOL,   /* JSON true or false: `text` is "true" or "false", `number` is 1 or 0 */
    AOEI_FIELD_LIST,   /* JSON array; the value is in `list` */
    AOEI_FIELD_OTHER   /* JSON null or object */
} aoei_field_kind;

typedef struct aoei_field {
    aoei_field_kind kind;
    aoe_text text;      /* text, borrowed until the next row is read; empty for AOEI_FIELD_NUMBER, AOEI_FIELD_LIST and
                           AOEI_FIELD_OTHER */
    double number;      /* value of AOEI_FIELD_NUMBER and AOEI_FIELD_BOOL */
    const json_t *list; /* value of AOEI_FIELD_LIST, borrowed until the next row is read */
} aoei_field;

typedef struct aoei_row {
    const aoei_field *field; /* values of the selected columns, in the order of aoei_table_select; borrowed until the
                                next row is read */
    size_t line;             /* line number of the start of the row, counted from 1 */
} aoei_row;

typedef struct aoei_table aoei_table;

/* Determines the format of an output file from its extension. A final .gz or .zst is removed first, and case is
 * ignored. The format of "-" (standard output) is AOE_TABLE_TXT. Errors: AOE_EARG for an unknown extension and for a
 * format that is only read; the message lists the extensions. */
int aoei_table_format_of(aoe_table_format *format, const char *path, aoe_error *err);
/* Opens a table and reads its header. The columns of a .jsonl file are the keys of its first valid row. If bad rows
 * precede this row, the first calls of aoei_table_next return AOEI_BAD_ROW for them. o: options, of which only
 * input_format, delimiter, no_header, quoting, whole_files and the log are used. If o is NULL, format and delimiter are
 * detected. Errors:
 * - AOE_EFORMAT if the file is empty, the header is invalid, or a .tsv file is quoted as in CSV (quotes.h) and
 *   o->quoting is AOE_QUOTING_AUTO
 * - AOE_EARG if the extension is unknown or belongs to a file that is not read (aoei_format_of_name), or if the
 *   delimiter is invalid
 * - errors of aoei_stream_open and aoei_lines_next */
int aoei_table_open(aoei_table **t, const char *path, const aoe_table_options *o, aoe_error *err);
#define AOEI_FOLDER_FORMATS "the files of a folder have fixed formats"
/* Warns, in the log of o, about options for .tsv and .csv files that are set but have no effect: delimiter, no_header
 * and quoting. name: file or folder for the message; reason: the end of the message, a clause. aoei_table_open calls
 * this function; call it for folders, whose files have fixed formats. o may be NULL. */
void aoei_table_warn_options(const aoe_table_options *o, const char *name, const char *reason);
/* Like aoei_table_open, but if the file is empty, it sets *t to NULL and returns 0. */
int aoei_table_open_if_any(aoei_table **t, const char *path, const aoe_table_options *o, aoe_error *err);
/* Like aoei_table_open_if_any without options, but reads the open file `fd`, which the table owns, also if this
 * function fails. path: determines the format, and is the name for messages. */
int aoei_table_open_fd(aoei_table **t, int fd, const char *path, aoe_error *err);
/* Opens a table that is read from a stream. The table takes ownership of s, even if this function fails. o: as for
 * aoei_table_open, except that o->input_format is not AOE_TABLE_AUTO, unless o->whole_files is 1. */
int aoei_table_from(aoei_table **t, aoei_stream *s, const aoe_table_options *o, aoe_error *err);
void aoei_table_close(aoei_table *t);             /* accepts NULL */
const char *aoei_table_name(const aoei_table *t); /* file name for messages; owned by t */
/* Returns AOE_TABLE_CSV if fields may be quoted (the default for every delimiter except TAB), AOE_TABLE_TSV if quotes
 * are literal, and AOE_TABLE_JSONL for a JSON array. */
aoe_table_format aoei_table_format(const aoei_table *t);
int aoei_table_has_header(const aoei_table *t);            /* returns 1 if the column names come from the file */
size_t aoei_table_columns(const aoei_table *t);            /* number of columns */
aoe_text aoei_table_column(const aoei_table *t, size_t i); /* name of column i; owned by t */

/* Selects the columns whose values aoei_table_next returns. column: [n] column indices, which are copied. Call this
 * function before the first aoei_table_next. */
int aoei_table_select(aoei_table *t, const size_t *column, size_t n, aoe_error *err);
/* aoei_table_selected returns the name of the i-th selected column, which is owned by t. aoei_table_selected_index
 * returns the index of this column in the table. */
aoe_text aoei_table_selected(const aoei_table *t, size_t i);
size_t aoei_table_selected_index(const aoei_table *t, size_t i);
size_t aoei_table_selected_count(const aoei_table *t); /* number of selected columns */

const aoei_log *aoei_table_log(const aoei_table *t); /* log of the options; owned by t */
/* Returns 1 if the rows of a file must not have a key with this name unless its first row has it. columns:
 * options.columns, or NULL. */
typedef int (*aoei_key_fn)(aoe_text key, const char *columns);
/* If reject returns 1 for a key of a .jsonl file that its first row does not have, aoei_table_next fails with
 * AOE_EFORMAT. columns: second argument of reject; borrowed. */
void aoei_table_reject_keys(aoei_table *t, aoei_key_fn reject, const char *columns);
/* Logs the keys of a .jsonl file that its first row does not have as unused, at the end of the file. */
void aoei_table_log_keys(aoei_table *t);

/* Reads a row. Returns:
 * - 1 if a row was read
 * - 0 at the end of the file
 * - AOEI_BAD_ROW if the row is invalid (wrong number of fields, invalid quoting, invalid JSON, missing key): err
 *   contains the reason, and the next row can be read
 * - a negative code for any other error, after which t must not be read again */
int aoei_table_next(aoei_table *t, aoei_row *row, aoe_error *err);

/* aoei_table_header_bytes returns the bytes of the header, which are owned by t. The header is "" in a .jsonl, .json or
 * .txt file and in a file without header.
 * aoei_table_row_bytes returns the bytes of the last row, which are valid until the next row is read. Both return the
 * bytes of the decompressed file, line ends included, except that an element of a JSON array is returned as a line of a
 * .jsonl file. */
aoe_text aoei_table_header_bytes(const aoei_table *t);
aoe_text aoei_table_row_bytes(const aoei_table *t);
size_t aoei_table_line(const aoei_table *t); /* line number of the start of the last row, also of a bad row */
/* Returns the last row of a .jsonl file as a JSON object, which is valid until the next row is read. Returns NULL for
 * other formats. */
const json_t *aoei_table_object(const aoei_table *t);

/* Characters that are detected as the delimiter of a table if they occur in its header. */
#define AOEI_TABLE_DELIMITERS ",;\t|"

/* Copies the beginning of a text to `out`, for use in a message. `out` receives at most AOEI_EXCERPT - 1 bytes and a
 * NUL. A text that is longer is truncated and ends in "...". NUL characters in the text are replaced by '?'. Returns
 * out. */
enum { AOEI_EXCERPT = 64 };
const char *aoei_excerpt(char out[AOEI_EXCERPT], aoe_text text);
