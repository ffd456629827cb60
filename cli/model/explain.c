/* SPDX-License-Identifier: MIT
 * Prints the settings of a model with their sources.
 */
#include "cli/model/explain.h"

#include <string.h>

#include "cli/common/common.h"

enum { VALUE_LENGTH = 48 }; /* longer values are truncated in the table */

typedef struct rows {
    cli_table table;
    const char *dir;
} rows;

static void add_row(void *user, const aoe_model_setting *s) {
    rows *r = user;
    const size_t len = strlen(r->dir), size = strlen(s->value);
    size_t shown = size > VALUE_LENGTH ? VALUE_LENGTH - 3 : size;
    while (shown < size && shown && (s->value[shown] & 0xc0) == 0x80) /* do not divide a character */
        shown--;
    const char *file = s->file;
    if (file && !strncmp(file, r->dir, len) && file[len] == '/')
        file += len + 1;
    cli_table_cell(&r->table, "%s", s->name);
    cli_table_cell(&r->table, "%.*s%s", (int)shown, s->value, shown < size ? "..." : "");
    cli_table_cell(&r->table, "%s", file ? file : "");
    cli_table_cell(&r->table, "%s", s->key ? s->key : s->reason ? s->reason : "");
}

int cli_explain_print(const aoe_model *m, const char *dir) {
    rows r = {.dir = dir};
    aoe_error err;
    cli_table_begin(&r.table, "llll");
    cli_table_cell(&r.table, "setting");
    cli_table_cell(&r.table, "value");
    cli_table_cell(&r.table, "file");
    cli_table_cell(&r.table, "key or reason");
    const int rc = aoe_model_explain(m, add_row, &r, &err);
    cli_table_print(&r.table);
    return rc ? cli_fail("%s", err.message) : 0;
}

static void add_object(void *user, const aoe_model_setting *s) {
    json_t *o = json_object();
    json_object_set_new(o, "name", cli_json_text(s->name, strlen(s->name)));
    json_object_set_new(o, "value", json_loads(s->value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL));
    json_object_set_new(o, "file", s->file ? cli_json_text(s->file, strlen(s->file)) : json_null());
    json_object_set_new(o, "key", s->key ? cli_json_text(s->key, strlen(s->key)) : json_null());
    json_object_set_new(o, "reason", s->reason ? json_string(s->reason) : json_null());
    json_array_append_new(user, o);
}

json_t *cli_explain_json(const aoe_model *m) {
    json_t *array = json_array();
    aoe_error err;
    if (!aoe_model_explain(m, add_object, array, &err))
        return array;
    (void)cli_fail("%s", err.message);
    json_decref(array);
    return NULL;
}
