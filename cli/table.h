/* SPDX-License-Identifier: MIT
 * Tables for other programs: what output.h prints in columns, as CSV (RFC 4180)
 * or Markdown. The first row is the heading.
 */
#ifndef AOE_CLI_TABLE_H
#define AOE_CLI_TABLE_H

#include "output.h"

typedef enum cli_table_format { CLI_TABLE_ALIGNED, CLI_TABLE_CSV, CLI_TABLE_MARKDOWN } cli_table_format;

void cli_table_print_as(cli_table *t, cli_table_format format); /* to stdout, then empties the table */

#endif
