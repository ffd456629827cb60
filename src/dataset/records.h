/* SPDX-License-Identifier: MIT
 * Reads the rows of a table for the data tools. Each row has texts, and may have a label and a group (the value of a
 * column that the caller names). They are stored as indices in lists of distinct values. The bytes of rows are kept for
 * tools that copy rows. Labels are not converted to numbers, and empty texts are accepted. Invariant: a row is added
 * either completely or not at all.
 */
#pragma once

#include "aoe_data.h"
#include "table/columns.h"
#include "base/distinct.h"
#include "table/labels.h"
#include "table/table.h"

/* An open table. Its selected columns are the texts, followed by the label and the group if the table has them. */
typedef struct aoei_sheet {
    aoei_table *table;     /* open table; owned */
    aoe_example_kind kind; /* AOE_EXAMPLES_PAIRS, AOE_EXAMPLES_POSITIVES or AOE_EXAMPLES_TRIPLETS; AOE_EXAMPLES_TEXTS if
                              no kind was detected */
    size_t texts;          /* number of text columns */
    size_t label;          /* index of the label among the selected columns; 0 if the table has no label */
    size_t group;          /* index of the group among the selected columns; 0 if there is no group */
} aoei_sheet;

/* Opens a table and selects its columns. o: options, of which only columns, input_format and delimiter are used;
 * aoe_data.h documents them. group: name of the group column, or NULL. The caller calls aoei_sheet_close even if this
 * function fails. Errors: AOE_EFORMAT, AOE_EARG, and the errors of aoei_table_open. */
int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err);
void aoei_sheet_close(aoei_sheet *s); /* accepts a zeroed struct */

/* Callback that receives a bad row. line: line number of the row. message: the error message, which contains the file
 * and line. */
typedef void (*aoei_bad_row_fn)(void *user, size_t line, const char *message);

typedef struct aoei_records_options {
    const aoe_table_options *table; /* table options; label_map and allow_empty are ignored; borrowed */
    const char *group;              /* name of the group column, or NULL */
    int keep_rows;                  /* 1: keep the bytes of each row, which are needed to copy rows to an output */
    int skip_bad_rows;              /* 1: skip and count bad rows even if table->skip_bad_rows is 0 */
    aoei_bad_row_fn bad;            /* callback that receives each skipped row, or NULL */
    void *user;                     /* first argument of bad */
} aoei_records_options;

typedef struct aoei_records {
    char *name;              /* file name for messages; owned */
    aoe_table_format format; /* format of the file */
    aoe_example_kind kind;   /* kind of the examples; AOE_EXAMPLES_TEXTS if no kind was detected */
    size_t roles;            /* number of text columns */
    int has_labels;          /* 1: the table has a label */
    aoe_text header;         /* bytes of the header line, line end included; empty if keep_rows is 0 or the file has no
                                header */
    size_t n;                /* number of rows */
    size_t *line;            /* [n] line number of each row in the file, counted from 1; owned */
    size_t *first; /* [n * roles + 1] first[i * roles + k]: index in `text` of the first text of row i in text column k;
                      owned */
    size_t *text;  /* [n_texts] for each text, its index in names->texts; owned */
    size_t *label; /* [n] for each row, the index of its label in names->labels; 0 if there are no labels; labels with
                      equal numeric values, such as 1 and 1.0, have one index; owned */
    size_t *group; /* [n] for each row, the index of its group in names->groups; 0 if there are no groups; owned */
    aoe_text *row; /* [n] bytes of each row, line end included; NULL if keep_rows is 0; array owned, the bytes are in
                      `bytes` */
    size_t n_texts; /* number of texts in all rows */
    size_t skipped; /* number of bad rows that were skipped */
    /* allocated elements of the arrays above */
    size_t line_capacity, first_capacity, text_capacity, label_capacity, group_capacity, row_capacity;
    aoei_chunks bytes; /* bytes of the header and the rows; owned */
} aoei_records;

/* The distinct texts, labels and groups of one or several files. */
typedef struct aoei_names {
    aoei_distinct texts, labels, groups;
} aoei_names;
/* Accepts a zeroed struct. Call this function before aoei_records_free, because texts in `names` may point into the
 * bytes of the records. */
void aoei_names_free(aoei_names *names);

/* Reads a file and adds its distinct texts, labels and groups to `names`. A table without rows is accepted. The caller
 * calls aoei_records_free even if this function fails. Errors: AOE_EFORMAT (the message contains the file and line),
 * and the errors of aoei_sheet_open. */
int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o,
                      aoe_error *err);
void aoei_records_free(aoei_records *r); /* accepts a zeroed struct */
/* Fails with AOE_EFORMAT. The message says that the file has no rows, or only bad rows. */
int aoei_records_fail_empty(const aoei_records *r, aoe_error *err);

/* Converts the label names->labels.text[number] to a number. *value is set only if the result is AOEI_LABEL_VALUE. In a
 * .jsonl file, true is 1 and false is 0, unless `map` contains a rule for the name "true" or "false". */
aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value);

/* Computes a key for each row. Rows with equal texts have equal keys. A key is an index in `distinct`, to which the
 * function adds the concatenated class indices of each row's texts.
 * - class: [names->texts.n] result of aoei_text_classes
 * - ordered: 0 if a row with the texts (a, b) and a row with the texts (b, a) get equal keys; otherwise 1. The argument
 *   is used only if no text has alternatives and the rows are labeled pairs or, if no kind was detected, have two text
 *   columns
 * - keys: [r->n] receives the key of each row
 * Errors: AOE_ENOMEM. */
int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err);
