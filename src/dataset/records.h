/* SPDX-License-Identifier: MIT
 * The rows of a table for the data tools: the distinct texts of each row, its label, and its bytes for tools that copy rows.
 * Labels are not interpreted here, and empty texts are accepted. Invariant: a row is added completely or not at all.
 */
#ifndef AOEI_DATASET_RECORDS_H
#define AOEI_DATASET_RECORDS_H

#include "aoe_data.h"
#include "table/columns.h"
#include "dataset/distinct.h"
#include "table/labels.h"
#include "table/table.h"

/* An open table and its selected columns: texts first, then label and group if they exist. */
typedef struct aoei_sheet {
    aoei_table *table;     /* owned */
    aoe_example_kind kind; /* PAIRS, POSITIVES or TRIPLETS; TEXTS if no kind was detected */
    size_t texts;          /* number of text columns */
    size_t label;          /* index of the label in the selection; 0: no label */
    size_t group;          /* index of the group in the selection; 0: no group */
} aoei_sheet;

/* Opens a table. o: columns, input_format and delimiter are used as described in aoe_data.h. group: name of a column, or
 * NULL. *s must be closed even if this fails. Errors: AOE_EFORMAT, AOE_EARG. */
int aoei_sheet_open(aoei_sheet *s, const char *path, const aoe_table_options *o, const char *group, aoe_error *err);
void aoei_sheet_close(aoei_sheet *s); /* accepts a zeroed struct */

/* Called for each bad row. message: the reason, with file and line. */
typedef void (*aoei_bad_row_fn)(void *user, size_t line, const char *message);

typedef struct aoei_records_options {
    const aoe_table_options *table; /* borrowed; label_map and allow_empty are ignored */
    const char *group;              /* name of the group column; NULL: none */
    int keep_rows;                  /* 1: keep the bytes of the rows */
    int skip_bad_rows;              /* 1: skip and count bad rows, whatever table->skip_bad_rows is */
    aoei_bad_row_fn bad;            /* called for each skipped row; NULL: none */
    void *user;
} aoei_records_options;

typedef struct aoei_records {
    char *name; /* file name for messages, owned */
    aoe_table_format format;
    aoe_example_kind kind;
    size_t roles;    /* number of text columns */
    int labelled;    /* 1: the table has a label column */
    aoe_text header; /* bytes of the header, line end included; "" if rows are not kept or there is no header */
    size_t n;
    size_t *line;  /* [n] line of each row, owned */
    size_t *first; /* [n * roles + 1] index in `text` of the first text of each role of each row, owned */
    size_t *text;  /* [n_texts] number of each text in names->texts, owned */
    size_t *label; /* [n] number of each row's label in names->labels, 0 without labels; equal numbers have the same number;
                      owned */
    size_t *group; /* [n] number of each row's group in names->groups, 0 without groups; owned */
    aoe_text *row; /* [n] bytes of the rows, line end included, owned; NULL unless rows are kept */
    size_t n_texts;
    size_t skipped; /* number of bad rows */
    size_t line_capacity, first_capacity, text_capacity, label_capacity, group_capacity, row_capacity;
    aoei_chunks bytes;
} aoei_records;

/* The distinct texts, labels and groups of one or several files. */
typedef struct aoei_names {
    aoei_distinct texts, labels, groups;
} aoei_names;
void aoei_names_free(aoei_names *names); /* Accepts a zeroed struct. Call it before the records are freed, because names may
                                            refer to their bytes. */

/* Reads a file. A table without rows is not an error. *r must be freed even if this fails. */
int aoei_records_read(aoei_records *r, aoei_names *names, const char *path, const aoei_records_options *o, aoe_error *err);
void aoei_records_free(aoei_records *r); /* accepts a zeroed struct */
int aoei_records_fail_empty(const aoei_records *r,
                            aoe_error *err); /* fails with AOE_EFORMAT: the file has no rows, or no valid rows */

/* Interprets label number `number` of names; JSON true and false are handled as in labels.h. */
aoei_label aoei_records_label(const aoei_records *r, const aoei_names *names, const aoei_labels *map, size_t number,
                              double *value);

/* Computes a key for each row; rows with equal texts have equal keys. keys: [r->n] numbers in `distinct`, which stores the
 * concatenated classes of the texts, role by role. ordered: 0: pairs with swapped texts are equal. class: [texts] from
 * aoei_distinct_classes. Errors: AOE_ENOMEM. */
int aoei_records_keys(const aoei_records *r, const size_t *class, int ordered, aoei_distinct *distinct, size_t *keys,
                      aoe_error *err);

#endif
