/* SPDX-License-Identifier: MIT
 * The options with which tables are read (aoe_table_options).
 */
#pragma once

#include "options/option.h"

/* The first rows are for columns and labels. The rows after them are for the format of the input files: the first of
 * these is only for tables with labels, and the last one only for texts. */
enum { AOEI_COLUMN_ROWS = 3, AOEI_TABLE_ROWS = 9 };
extern const aoei_option aoei_table_table[AOEI_TABLE_ROWS];
