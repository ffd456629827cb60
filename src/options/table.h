/* SPDX-License-Identifier: MIT
 * The options with which tables are read (aoe_table_options).
 */
#pragma once

#include "options/option.h"

/* The first rows are for columns and labels. The rows after them are for the format of the input files: the first of
 * these is only for tables with labels, and the last one only for texts. */
enum { AOEI_COLUMN_ROWS = 3, AOEI_TABLE_ROWS = 9 };
extern const aoei_option aoei_table_table[AOEI_TABLE_ROWS];

/* NULL-terminated lists of names: the values of aoe_table_format, the values of aoe_example_kind, and the kinds of rows
 * that are generated. */
extern const char *const aoei_table_formats[], *const aoei_forms[], *const aoei_output_forms[];

/* Parse the name of an aoe_example_kind, one of aoei_forms or of aoei_output_forms; "triples" means "triplets". */
int aoei_parse_form(void *target, const char *text, aoe_error *err);
int aoei_parse_output_form(void *target, const char *text, aoe_error *err);
/* Returns the name of an aoe_example_kind, or NULL for AOE_EXAMPLES_AUTO. */
const char *aoei_form_name(char out[AOEI_NAME_SIZE], const void *target);
