/* SPDX-License-Identifier: MIT
 * Tables as CSV and Markdown: see table.h.
 */
#include "table.h"

#include <string.h>

#include "progress.h"

static void print_csv_cell(const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, stdout);
        return;
    }
    putchar('"');
    for (; *s; s++) {
        if (*s == '"')
            putchar('"');
        putchar(*s);
    }
    putchar('"');
}

static void print_markdown_cell(const char *s) {
    for (; *s; s++) {
        if (*s == '|' || *s == '\\')
            putchar('\\');
        putchar(*s == '\n' ? ' ' : *s);
    }
}

void cli_table_print_as(cli_table *t, cli_table_format format) {
    if (format == CLI_TABLE_ALIGNED) {
        cli_table_print(t);
        return;
    }
    cli_progress_clear();
    for (size_t i = 0; i < t->cells; i++) {
        const size_t column = i % t->columns;
        const int last = column + 1 == t->columns;
        if (format == CLI_TABLE_CSV) {
            print_csv_cell(t->cell[i]);
            putchar(last ? '\n' : ',');
            continue;
        }
        fputs(column ? " | " : "| ", stdout);
        print_markdown_cell(t->cell[i]);
        if (last)
            fputs(" |\n", stdout);
        if (last && i + 1 == t->columns) {
            for (size_t k = 0; k < t->columns; k++)
                fputs(t->align[k] == 'r' ? "| ---: " : "| --- ", stdout);
            fputs("|\n", stdout);
        }
    }
    cli_table_free(t);
}
