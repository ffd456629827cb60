/* SPDX-License-Identifier: MIT
 * Copies the rows of a table to another file format, with all columns or the columns in options.keep. The conversion
 * fails if the output format cannot represent a value.
 */
#include "dataset/convert_rows.h"

#include <math.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "table/table_write.h"

#define LARGEST_EXACT 9007199254740992.0 /* 2^53: a double represents every integer below this value exactly */

/* Selects all columns of t. *name and *cell are set to arrays with one element per column, which the caller frees. */
static int select_all(aoei_table *t, aoe_text **name, aoei_cell **cell, aoe_error *err) {
    const size_t n = aoei_table_columns(t);
    size_t *column = aoei_malloc_array(n, sizeof *column);
    *name = aoei_malloc_array(n, sizeof **name);
    *cell = aoei_calloc(n, sizeof **cell);
    int rc = column && *name && *cell ? 0 : aoei_fail_nomem(err, n * sizeof **cell);
    for (size_t i = 0; i < n && !rc; i++) {
        column[i] = i;
        (*name)[i] = aoei_table_column(t, i);
    }
    if (!rc)
        rc = aoei_table_select(t, column, n, err);
    aoei_free(column);
    return rc;
}

/* Returns 1 if the absolute value of every number in v is below LARGEST_EXACT, so that the JSON parser read it
 * exactly. */
static int is_exact(const json_t *v) {
    if (json_is_number(v))
        return fabs(json_number_value(v)) < LARGEST_EXACT;
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++)
        if (!is_exact(json_array_get(v, i)))
            return 0;
    const char *key;
    json_t *member;
    if (json_is_object(v))
        json_object_foreach((json_t *)(uintptr_t)v, key, member) {
            if (!is_exact(member))
                return 0;
        }
    return 1;
}

/* Sets cell[i] to the value of column i. all: 1 if all columns are written; a .jsonl row must then have as many keys as
 * the table has columns. Returns 0 or AOEI_BAD_ROW. */
static int fill_cells(const aoei_table *t, const aoei_row *row, int all, aoei_cell *cell, aoe_error *err) {
    const size_t n = aoei_table_columns(t);
    const json_t *object = aoei_table_object(t);
    char excerpt[AOEI_EXCERPT];
    if (object && all && json_object_size(object) != n) {
        aoei_fail(
            err, AOE_EFORMAT,
            "%s:%zu: the row has %zu keys, but the first row has %zu; choose the columns to write with options.keep",
            aoei_table_name(t), row->line, json_object_size(object), n);
        return AOEI_BAD_ROW;
    }
    for (size_t i = 0; i < n; i++) {
        cell[i] = (aoei_cell){.text = row->field[i].text};
        if (!object)
            continue;
        cell[i].json = json_object_get(object, aoei_table_column(t, i).data);
        if (!is_exact(cell[i].json)) {
            aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: the number in '%s' is too large to be converted exactly; write it as a string in the input",
                aoei_table_name(t), row->line, aoei_excerpt(excerpt, aoei_table_column(t, i)));
            return AOEI_BAD_ROW;
        }
    }
    return 0;
}

static int copy_rows(aoei_table *t, aoei_table_writer *w, aoei_cell *cell, const aoe_data_convert_options *o,
                     aoe_data_convert_result *result, aoe_error *err) {
    for (;;) {
        aoei_row row;
        int rc = aoei_table_next(t, &row, err);
        if (rc == 0)
            break;
        if (rc == 1)
            rc = fill_cells(t, &row, !o->keep, cell, err);
        if (rc == AOEI_BAD_ROW && !o->table.skip_bad_rows)
            return AOE_EFORMAT;
        if (rc == AOEI_BAD_ROW) {
            result->skipped++;
            continue;
        }
        if (!rc)
            rc = aoei_table_writer_row(w, cell, aoei_table_name(t), row.line, err);
        if (rc)
            return rc;
        result->rows++;
        result->written++;
    }
    if (!result->rows)
        return aoei_fail(err, AOE_EFORMAT, "%s: the table has no valid rows (%zu bad rows); use a table with rows",
                         aoei_table_name(t), result->skipped);
    return aoei_table_writer_end(w, err);
}

int aoei_convert_rows(const char *path, const aoe_data_convert_options *o, aoe_data_convert_result *result,
                      aoe_error *err) {
    aoei_table *t = NULL;
    aoei_table_writer w = {0};
    aoe_text *name = NULL;
    aoei_cell *cell = NULL;
    int rc = aoei_table_open(&t, path, &o->table, err);
    if (!rc)
        rc = select_all(t, &name, &cell, err);
    if (!rc)
        rc = aoei_table_writer_open(&w, o->name, name, aoei_table_columns(t), o->keep, o->rename, o->write, o->user,
                                    err);
    if (!rc)
        rc = copy_rows(t, &w, cell, o, result, err);
    aoei_table_writer_free(&w);
    aoei_free(name);
    aoei_free(cell);
    aoei_table_close(t);
    return rc;
}
