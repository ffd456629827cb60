/* SPDX-License-Identifier: MIT
 * Which column of a table plays which role. A form is a list of roles; each role
 * has recognised column names in order of precedence, and --columns names others.
 */
#ifndef AOEI_TABLE_COLUMNS_H
#define AOEI_TABLE_COLUMNS_H

#include "aoe.h"
#include "table/table.h"

typedef enum aoei_form {
    AOEI_FORM_PAIR,     /* A: text1, text2, label */
    AOEI_FORM_POSITIVE, /* B: query, positive */
    AOEI_FORM_TRIPLE,   /* C: query, positive, negative */
    AOEI_FORM_TEXT,     /* D: text */
    AOEI_FORM_GROUP     /* E: group, text: texts with the same group belong together */
} aoei_form;

/* Selects the columns of a form's roles in t, so that row.field[i] is role i in the order above.
 * columns: "role=name,..." for roles whose column has another name, or NULL.
 * Errors: AOE_EARG (columns is malformed, role unknown or given twice), AOE_EFORMAT (no such column, or two of that
 * name; the message lists the names looked for and the columns found), AOE_ENOMEM. */
int aoei_columns_select(aoei_table *t, aoei_form form, const char *columns, aoe_error *err);
/* The form whose columns t has: labelled pairs, else triples, else positives. AOE_EFORMAT when it has those of none. */
int aoei_columns_detect(aoei_form *form, aoei_table *t, const char *columns, aoe_error *err);

/* The names of a table's columns, as many as fit, for a message; "" when there are none. */
enum { AOEI_COLUMN_LIST = 400 };
void aoei_columns_list(const aoei_table *t, char found[AOEI_COLUMN_LIST]);

#endif
