/* SPDX-License-Identifier: MIT
 * Describes training options as JSON: all options of the option tables that change the trained model, the options of
 * the model, and the lists of options, such as the training files.
 */
#include "experiment/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/options.h"
#include "options/model.h"
#include "options/table.h"
#include "options/training.h"

/* Returns AOE_AUTO as "auto" and another number that is not finite as null. */
static json_t *real(double x) {
    return aoei_is_auto(x) ? json_string("auto") : isfinite(x) ? json_real(x) : json_null();
}

/* Adds table options to the JSON object o. Options that have their default values are not added. Returns a nonzero
 * value if out of memory. */
static int add_table(json_t *o, const aoe_table_options *t) {
    aoe_table_options defaults;
    char field[AOEI_NAME_SIZE];
    int bad = 0;
    aoe_table_options_defaults(&defaults);
    for (size_t i = 0; i < AOEI_TABLE_ROWS; i++) {
        const aoei_option *row = &aoei_table_table[i];
        const int flag = row->kind == AOEI_OPTION_FLAG;
        json_t *value = aoei_option_json(row, (const char *)t + row->offset, flag);
        json_t *usual = aoei_option_json(row, (const char *)&defaults + row->offset, flag);
        bad |=
            !value || !usual || (!json_equal(value, usual) && json_object_set(o, aoei_option_field(field, row), value));
        json_decref(value);
        json_decref(usual);
    }
    return bad;
}

static json_t *training_file(const aoe_train_data *d) {
    json_t *o = json_object();
    int bad = !o;
    bad |= json_object_set_new(o, "path", aoei_name_json(d->path));
    bad |= json_object_set_new(o, "kind", json_integer(d->kind));
    bad |= json_object_set_new(o, "weight", real(d->weight));
    bad |= json_object_set_new(o, "prompt", aoei_name_json(d->prompt));
    bad |= json_object_set_new(o, "doc_prompt", aoei_name_json(d->doc_prompt));
    bad |= json_object_set_new(o, "ibn_threshold", real(d->ibn_threshold));
    if (!bad && !add_table(o, &d->table))
        return o;
    json_decref(o);
    return NULL;
}

/* Adds the options that are lists: the training files, the teachers and the Matryoshka sizes. */
static int add_lists(json_t *r, const aoe_train_options *o) {
    json_t *data = json_array(), *prefixes = json_array();
    int bad = !data || !prefixes;
    for (size_t i = 0; i < o->n_data; i++)
        bad |= json_array_append_new(data, training_file(&o->data[i]));
    for (size_t i = 0; i < o->n_matryoshka; i++)
        bad |= json_array_append_new(prefixes,
                                     json_pack("[I, f]", (json_int_t)o->matryoshka[i].dims, o->matryoshka[i].weight));
    bad |= json_object_set_new(r, "data", data);
    bad |= json_object_set_new(r, "matryoshka", prefixes);
    bad |= json_object_set_new(r, "teacher", aoei_name_json(o->teachers[0]));
    for (size_t i = 1; i < AOE_MAX_TEACHERS; i++) {
        char key[32];
        snprintf(key, sizeof key, "teachers[%zu]", i);
        bad |= json_object_set_new(r, key, aoei_name_json(o->teachers[i]));
    }
    return bad;
}

/* Adds the options of a table, except those that do not change the trained model. base: struct of the targets. */
static int add_rows(json_t *r, const aoei_option *rows, size_t n, const void *base) {
    char field[AOEI_NAME_SIZE];
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        if (rows[i].record != AOEI_RECORD_NEVER)
            bad |= json_object_set_new(r, aoei_option_field(field, &rows[i]),
                                       aoei_option_json(&rows[i], (const char *)base + rows[i].offset, 0));
    return bad;
}

json_t *aoei_describe_options(const aoe_train_options *o) {
    json_t *r = json_object();
    int bad = !r || json_object_set_new(r, "model", aoei_name_json(o->args.model)) ||
              add_rows(r, aoei_model_table, AOEI_MODEL_ROWS, &o->args.model_options) || add_lists(r, o);
    for (size_t i = 0; i < AOEI_TRAIN_GROUPS && !bad; i++) {
        const aoei_option_group *g = &aoei_train_groups[i];
        bad = add_rows(r, g->options, g->n, (const char *)o + g->offset);
    }
    if (!bad)
        return r;
    json_decref(r);
    return NULL;
}

json_t *aoei_describe_file(const aoe_evaluation_file *f) {
    if (!f)
        return json_null();
    json_t *o = json_object();
    int bad = !o;
    bad |= json_object_set_new(o, "path", aoei_name_json(f->path));
    bad = bad || add_table(o, &f->table);
    json_t *value = bad ? NULL : json_object_size(o) == 1 ? aoei_name_json(f->path) : json_incref(o);
    json_decref(o);
    return value;
}

/* Returns the name of the option with this key. The first teacher has the key of the time when there was only one. */
static const char *option_name(const char *key) {
    return strcmp(key, "teacher") == 0 ? "teachers" : key;
}

/* Returns the JSON text of a value in a description, with the name of a value that has a name instead of its number. */
static char *value_text(const char *key, const json_t *value) {
    char field[AOEI_NAME_SIZE];
    const char *name = NULL;
    for (size_t g = 0; g < AOEI_TRAIN_GROUPS && json_is_integer(value); g++) {
        for (size_t i = 0; i < aoei_train_groups[g].n; i++) {
            const aoei_option *row = &aoei_train_groups[g].options[i];
            if (row->kind != AOEI_OPTION_SET && strcmp(aoei_option_field(field, row), key) == 0)
                name = aoei_option_choice(row, (size_t)json_integer_value(value));
        }
    }
    json_t *named = name ? json_string(name) : json_incref((json_t *)value);
    char *text = named ? aoei_json_text(named, JSON_COMPACT) : NULL;
    json_decref(named);
    return text;
}

/* Returns the description of a run with the method of the description `now` and the default values of all options. */
static json_t *describe_defaults(const json_t *now) {
    aoe_train_options o;
    aoe_train_options_defaults(&o);
    aoe_train_method_defaults(&o, (aoe_method)json_integer_value(json_object_get(now, "method")));
    return aoei_describe_options(&o);
}

int aoei_describe_difference(const json_t *before, const json_t *now, char *text, size_t size) {
    const char *name;
    const json_t *value;
    int differs = 0;
    if (!json_is_object(before)) {
        snprintf(text, size, "the options were not recorded");
        return 1;
    }
    json_t *defaults = describe_defaults(now);
    if (!defaults)
        return AOE_ENOMEM;
    json_object_foreach((json_t *)now, name, value) {
        const json_t *old = json_object_get(before, name), *then = old ? old : json_object_get(defaults, name);
        differs = !json_equal(then, value);
        if (!differs)
            continue;
        char *was = value_text(name, then), *is = value_text(name, value);
        snprintf(text, size, "options.%s was %s%.200s%s and is now %.200s", option_name(name),
                 old ? "" : "not recorded (default: ", was ? was : "another value", old ? "" : ")",
                 is ? is : "different");
        aoei_free(was);
        aoei_free(is);
        break;
    }
    json_decref(defaults);
    return differs;
}
