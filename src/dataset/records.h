/* SPDX-License-Identifier: MIT
 * The rows of a table as the data tools see them: which distinct texts a row has, its label, and, where
 * rows are to be written again, its bytes. Labels are not interpreted here, and empty texts are fine.
 * Invariant: a row is taken whole or not at all.
 */
#ifndef AOEI_DATASET_RECORDS_H
#define AOEI_DATASET_RECORDS_H

#include "aoe_data.h"
#include "table/columns.h"
#include "dataset/distinct.h"
#include "table/labels.h"
#include "table/table.h"

/* An open table and what its selected columns are: texts first, then label and group, if any. */
typedef struct aoei_sheet {
    aoei_table *table;     /* owned */
    aoe_example_kind kind; /* PAIRS, POSITIVES or TRIPLETS; TEXTS: texts of any columns */
    size_t texts;          /* columns of texts */
    size_t label;          /* place of the label in the selection; 0: there is none */
    size_t group;          /* likewise */
} aoei_sheet;

/* o: columns, input_format and delimiter are used, as aoe_data.h says; group: name of a column, or NULL. Errors: AOE_EFORMAT,
 * AOE_EARG. *s must be closed in any case. */
int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err);
void aoei_sheet_close(aoei_sheet *s); /* accepts a zeroed one */

/* Called with each bad row; message: why, beginning with file and line. */
typedef void (*aoei_bad_row_fn)(void *user, size_t line, const char *message);

typedef struct aoei_records_options {
    const aoe_table_options *table; /* borrowed; label_map and allow_empty are ignored */
    const char *group;              /* name of the column of groups; NULL: none */
    int keep_rows;                  /* 1: the bytes of the rows are kept */
    int skip_bad_rows;              /* 1: bad rows are counted, whatever table->skip_bad_rows says */
    aoei_bad_row_fn bad;            /* called with each skipped row; NULL: none */
    void *user;
} aoei_records_options;

typedef struct aoei_records {
    char *name; /* owned; of the file, for messages */
    aoe_table_format format;
    aoe_example_kind kind;
    size_t roles;    /* columns of texts */
    int labelled;    /* 1: the table has a label */
    aoe_text header; /* its bytes, line end included; "" where there is none; kept with the rows */
    size_t n;
    size_t *line;  /* owned [n] */
    size_t *first; /* owned [n * roles + 1] first text of each role of each row, in `text` */
    size_t *text;  /* owned [n_texts] numbers of distinct texts */
    size_t *label; /* owned [n] numbers of distinct labels, a number in one spelling; without label 0 */
    size_t *group; /* owned [n] numbers of distinct groups, likewise */
    aoe_text *row; /* owned [n] bytes of the rows, line end included; NULL unless kept */
    size_t n_texts;
    size_t skipped; /* bad rows */
    size_t line_capacity, first_capacity, text_capacity, label_capacity, group_capacity, row_capacity;
    aoei_chunks bytes;
} aoei_records;

/* What the texts, labels and groups of one file or several are numbered by. */
typedef struct aoei_names {
    aoei_distinct texts, labels, groups;
} aoei_names;
void aoei_names_free(aoei_names *names); /* accepts a zeroed one; after the records, whose bytes it may point to: before them */

/* Reads a file. *r is to be freed either way. A table without rows is no error here. */
int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o, aoe_error *err);
void aoei_records_free(aoei_records *r);                            /* accepts a zeroed one */
int aoei_records_fail_empty(const aoei_records *r, aoe_error *err); /* AOE_EFORMAT: there is no row, or no usable one */

/* What label `number` of names means; JSON true and false as in labels.h. */
aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value);

/* keys: [r->n] numbers in `distinct` of what tells the texts of rows apart: their classes, role after role; unordered: the two
 * texts of a pair count in either order. class: [texts] as aoei_distinct_classes gives it. AOE_ENOMEM. */
int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err);

#endif
