/* SPDX-License-Identifier: MIT
 * jansson would write the number 1.50 as 1.5. So a number of the metadata is an object with one string, its text, until
 * the line is written. The members of the object "fields" are otherwise strings and lists of strings.
 */
#include "cli/search/hit_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hit_lines.h"
#include "base/json.h"
#include "base/plain_number.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/visible.h"

/* What a JSON value is. */
typedef enum value_kind { OTHER, METADATA, METADATA_VALUE } value_kind;

/* --------------------------------------------------------------------- write */

static void append_value(aoei_buffer *b, json_t *value, value_kind kind);

static void append_json(aoei_buffer *b, const json_t *value) {
    char *text = aoei_json_text(value, JSON_COMPACT);
    if (text)
        aoei_buffer_append(b, text, strlen(text));
    else
        b->failed = 1;
    aoei_free(text);
}

/* Appends an object; the kind of its members follows from its own kind. */
static void append_object(aoei_buffer *b, json_t *object, value_kind kind) {
    const char *name, *comma = "";
    json_t *value;
    aoei_buffer_putc(b, '{');
    json_object_foreach(object, name, value) {
        json_t *key = json_string(name);
        aoei_buffer_printf(b, "%s", comma);
        append_json(b, key);
        aoei_buffer_putc(b, ':');
        append_value(b, value, kind == METADATA ? METADATA_VALUE : strcmp(name, "fields") == 0 ? METADATA : OTHER);
        json_decref(key);
        comma = ",";
    }
    aoei_buffer_putc(b, '}');
}

/* Appends the JSON text of a value. */
static void append_value(aoei_buffer *b, json_t *value, value_kind kind) {
    const json_t *number = kind == METADATA_VALUE ? json_object_get(value, "") : NULL;
    if (number) {
        aoei_buffer_append(b, json_string_value(number), json_string_length(number));
    } else if (json_is_object(value)) {
        append_object(b, value, kind);
    } else if (json_is_array(value) && (kind == METADATA_VALUE || json_is_object(json_array_get(value, 0)))) {
        aoei_buffer_putc(b, '[');
        for (size_t i = 0; i < json_array_size(value); i++) {
            aoei_buffer_printf(b, i ? "," : "");
            append_value(b, json_array_get(value, i), kind);
        }
        aoei_buffer_putc(b, ']');
    } else {
        append_json(b, value);
    }
}

int cli_write_hit_json(FILE *f, json_t *value) {
    aoei_buffer text = {0}, b = {0};
    append_value(&text, value, OTHER);
    if (!text.failed)
        cli_append_visible_json(&b, text.data, text.len);
    aoei_buffer_putc(&b, '\n');
    const int failed = text.failed || b.failed;
    if (!failed)
        fwrite(b.data, 1, b.len, f);
    aoei_buffer_free(&text);
    aoei_buffer_free(&b);
    json_decref(value);
    return failed;
}

void cli_print_hit_json(json_t *value) {
    cli_progress_clear();
    if (cli_write_hit_json(stdout, value)) {
        cli_fail("out of memory while printing JSON");
        exit(1);
    }
    cli_flush_stdout();
}

/* ---------------------------------------------------------------------- hits */

/* Returns metadata as an object. Several values of a key are an array, in their order. */
static json_t *fields_json(const aoe_index_hit *hit) {
    json_t *fields = json_object();
    for (size_t i = 0; i < hit->n_fields; i++) {
        const aoe_index_field *f = &hit->field[i];
        json_t *value = cli_json_text(f->value.data, f->value.len), *earlier = json_object_get(fields, f->key);
        if (aoei_is_exact_number(f->value))
            value = json_pack("{s:o}", "", value);
        if (json_is_array(earlier))
            json_array_append_new(earlier, value);
        else if (earlier)
            json_object_set_new(fields, f->key, json_pack("[O,o]", earlier, value));
        else
            json_object_set_new(fields, f->key, value);
    }
    return fields;
}

static json_t *name_json(const char *s) {
    return s ? cli_json_text(s, strlen(s)) : json_null();
}

json_t *cli_hit_json(const aoe_index_hit *hit, double score, int explain) {
    json_t *o = json_object();
    size_t line, last_line;
    (void)aoei_hit_lines(hit, &line, &last_line);
    json_object_set_new(o, "id", name_json(hit->id));
    json_object_set_new(o, "name", name_json(hit->name));
    json_object_set_new(o, "path", name_json(hit->path));
    json_object_set_new(o, "line", json_integer((json_int_t)line));
    json_object_set_new(o, "last_line", json_integer((json_int_t)last_line));
    json_object_set_new(o, "heading", name_json(hit->heading));
    if (!isnan(score))
        json_object_set_new(o, "score", cli_json_real(score));
    if (explain) {
        json_object_set_new(o, "dense_rank", hit->dense_rank ? json_integer((json_int_t)hit->dense_rank) : json_null());
        json_object_set_new(o, "cosine", cli_json_real(hit->cosine));
        json_object_set_new(o, "lexical_rank",
                            hit->lexical_rank ? json_integer((json_int_t)hit->lexical_rank) : json_null());
        json_object_set_new(o, "bm25", cli_json_real(hit->bm25));
        json_object_set_new(o, "search_score", cli_json_real(hit->score));
    }
    json_object_set_new(o, "text", cli_json_text(hit->text.data, hit->text.len));
    if (hit->n_fields)
        json_object_set_new(o, "fields", fields_json(hit));
    return o;
}
