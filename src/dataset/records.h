/* SPDX-License-Identifier: MIT
 * The rows of a table for the data tools: the texts of each row, its label and its group as indices in lists of distinct
 * values, and the bytes of the row for tools that copy rows. Labels are not interpreted here, and empty texts are accepted.
 * Invariant: a row is added completely or not at all.
 */
#ifndef AOEI_DATASET_RECORDS_H
#define AOEI_DATASET_RECORDS_H

#include "aoe_data.h"
#include "table/columns.h"
#include "dataset/distinct.h"
#include "table/labels.h"
#include "table/table.h"

/* An open table and its selected columns: first the texts, then label and group if they exist. */
typedef struct aoei_sheet {
    aoei_table *table;     /* open table; owned */
    aoe_example_kind kind; /* AOE_EXAMPLES_PAIRS, _POSITIVES or _TRIPLETS; _TEXTS if no kind was detected */
    size_t texts;          /* number of text columns */
    size_t label;          /* index of the label among the selected columns; 0: no label */
    size_t group;          /* index of the group among the selected columns; 0: no group */
} aoei_sheet;

/* Opens a table. o: the fields columns, input_format and delimiter are used as described in aoe_data.h; the other fields are
 * ignored. group: name of the group column; NULL: none. The caller closes *s, even if the function fails. Errors:
 * AOE_EFORMAT, AOE_EARG, those of opening a table. */
int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err);
void aoei_sheet_close(aoei_sheet *s); /* accepts a zeroed struct */

/* A function that is called for each bad row. message: the reason, with file and line. */
typedef void (*aoei_bad_row_fn)(void *user, size_t line, const char *message);

typedef struct aoei_records_options {
    const aoe_table_options *table; /* table options; label_map and allow_empty are ignored; borrowed */
    const char *group;              /* name of the group column; NULL: none */
    int keep_rows;                  /* 1: keep the bytes of the rows, so that rows can be copied */
    int skip_bad_rows;              /* 1: skip and count bad rows even if table->skip_bad_rows is 0 */
    aoei_bad_row_fn bad;            /* function that is called for each skipped row; NULL: none */
    void *user;                     /* first argument of bad */
} aoei_records_options;

typedef struct aoei_records {
    char *name;              /* file name for messages; owned */
    aoe_table_format format; /* format of the file */
    aoe_example_kind kind;   /* kind of the examples; AOE_EXAMPLES_TEXTS if no kind was detected */
    size_t roles;            /* number of text columns */
    int has_labels;          /* 1: the table has a label column */
    aoe_text header;         /* bytes of the header line, line end included; empty if rows are not kept or there is no header */
    size_t n;                /* number of rows */
    size_t *line;            /* [n] line number of each row; owned */
    size_t *first;  /* [n * roles + 1] index in `text` of the first text at each position (text column) of each row; owned */
    size_t *text;   /* [n_texts] index in names->texts of each text; owned */
    size_t *label;  /* [n] index in names->labels of each row's label; 0 if there are no labels; numbers such as 1 and 1.0 are
                       one label; owned */
    size_t *group;  /* [n] index in names->groups of each row's group; 0 if there are no groups; owned */
    aoe_text *row;  /* [n] bytes of the rows, line end included; NULL if rows are not kept; owned */
    size_t n_texts; /* number of texts of all rows */
    size_t skipped; /* number of bad rows that were skipped */
    /* elements allocated for the arrays above */
    size_t line_capacity, first_capacity, text_capacity, label_capacity, group_capacity, row_capacity;
    aoei_chunks bytes; /* bytes of header and rows; owned */
} aoei_records;

/* The distinct texts, labels and groups of one or several files. */
typedef struct aoei_names {
    aoei_distinct texts, labels, groups;
} aoei_names;
/* Accepts a zeroed struct. Call it before the records are freed, because names may refer to their bytes. */
void aoei_names_free(aoei_names *names);

/* Reads a file and adds its distinct values to names. The function accepts a table without rows. The caller frees *r, even
 * if the function fails. Errors: AOE_EFORMAT with file and line, those of opening a table. */
int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o, aoe_error *err);
void aoei_records_free(aoei_records *r); /* accepts a zeroed struct */
/* Fails with AOE_EFORMAT. The message says that the file has no rows, or no valid rows. */
int aoei_records_fail_empty(const aoei_records *r, aoe_error *err);

/* Interprets label names->labels.text[number] and sets *value if it has one. Labels true and false of JSON files are handled
 * as in labels.h. */
aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value);

/* Computes a key for each row; rows with equal texts have equal keys. keys: [r->n] receives indices in `distinct`, which
 * stores the concatenated classes of the texts. class: [names->texts.n] from aoei_distinct_classes. ordered: 0 if pairs with
 * swapped texts are equal. Errors: AOE_ENOMEM. */
int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err);

#endif
