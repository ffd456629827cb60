/* SPDX-License-Identifier: MIT
 * The rows of a table for the data tools: the distinct texts of each row, its label, and, for tools that copy rows, its
 * bytes. Labels are not interpreted here, and empty texts are accepted. Invariant: a row is added completely or not at
 * all.
 */
#ifndef AOEI_DATASET_RECORDS_H
#define AOEI_DATASET_RECORDS_H

#include "aoe_data.h"
#include "table/columns.h"
#include "dataset/distinct.h"
#include "table/labels.h"
#include "table/table.h"

/* An open table and its selected columns: texts first, then label and group, if any. */
typedef struct aoei_sheet {
    aoei_table *table;     /* owned */
    aoe_example_kind kind; /* PAIRS, POSITIVES or TRIPLETS; TEXTS: texts of any columns */
    size_t texts;          /* columns of texts */
    size_t label;          /* index of the label in the selection; 0: no label */
    size_t group;          /* index of the group in the selection; 0: no group */
} aoei_sheet;

/* o: columns, input_format and delimiter are used, as aoe_data.h says; group: name of a column, or NULL. Errors: AOE_EFORMAT,
 * AOE_EARG. *s must be closed in any case. */
int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err);
void aoei_sheet_close(aoei_sheet *s); /* accepts a zeroed one */

/* Called with each bad row. message: the reason, with file and line. */
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
    aoe_text header; /* bytes of the header, line end included, if rows are kept; "" if there is none */
    size_t n;
    size_t *line;  /* owned [n] */
    size_t *first; /* owned [n * roles + 1] index in `text` of the first text of each role of each row */
    size_t *text;  /* owned [n_texts] numbers of distinct texts */
    size_t *label; /* owned [n] numbers of distinct labels, equal numbers have one; 0 without labels */
    size_t *group; /* owned [n] numbers of distinct groups; 0 without groups */
    aoe_text *row; /* owned [n] bytes of the rows, line end included; NULL unless rows are kept */
    size_t n_texts;
    size_t skipped; /* bad rows */
    size_t line_capacity, first_capacity, text_capacity, label_capacity, group_capacity, row_capacity;
    aoei_chunks bytes;
} aoei_records;

/* Distinct texts, labels and groups of one or several files. */
typedef struct aoei_names {
    aoei_distinct texts, labels, groups;
} aoei_names;
void aoei_names_free(aoei_names *names); /* accepts a zeroed one; to be called before the records are freed, because their bytes
                                            may be referenced */

/* Reads a file. *r must be freed in any case. A table without rows is not an error. */
int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o, aoe_error *err);
void aoei_records_free(aoei_records *r); /* accepts a zeroed one */
int aoei_records_fail_empty(const aoei_records *r,
                            aoe_error *err); /* fails with AOE_EFORMAT: the file has no rows, or no valid ones */

/* Interprets label `number` of names; JSON true and false are handled as in labels.h. */
aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value);

/* Computes for each row a number that is equal for rows with equal texts: keys: [r->n] numbers in `distinct` of the
 * concatenated classes of the texts, role by role. ordered: 0: the two texts of a pair may be swapped. class: [texts] from
 * aoei_distinct_classes. Errors: AOE_ENOMEM. */
int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err);

#endif
