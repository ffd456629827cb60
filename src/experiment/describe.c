/* SPDX-License-Identifier: MIT
 * Describes training options as JSON. A table lists the option fields that every description contains. The training
 * files, and options of the method that do not have their default values, are added.
 */
#include "experiment/describe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/options.h"

/* Type of an option field. TEXT is a string, COUNT a size_t, INTEGER an int or an enum, and REAL a double. */
typedef enum kind { TEXT, COUNT, INTEGER, REAL } kind;

/* A field of aoe_train_options that a description (describe.h) contains. */
typedef struct field {
    const char *name; /* key of the option in the description */
    kind kind;        /* type of the field */
    size_t offset;    /* offset of the field in aoe_train_options */
} field;

#define FIELD(name, kind, member)                                                                                      \
    { name, kind, offsetof(aoe_train_options, member) }

static const field fields[] = {
    FIELD("model", TEXT, args.model),
    FIELD("base", TEXT, args.model_options.base),
    FIELD("dtype", INTEGER, args.model_options.dtype),
    FIELD("pooling", INTEGER, args.model_options.pooling),
    FIELD("prompt", TEXT, args.model_options.prompt),
    FIELD("prompt_name", TEXT, args.model_options.prompt_name),
    FIELD("max_length", COUNT, args.model_options.max_length),
    FIELD("normalize", INTEGER, args.model_options.normalize),
    FIELD("bidirectional_from", COUNT, args.model_options.bidirectional_from),
    FIELD("epochs", COUNT, args.epochs),
    FIELD("max_steps", COUNT, args.max_steps),
    FIELD("max_minutes", REAL, args.max_minutes),
    FIELD("lr", REAL, args.lr),
    FIELD("warmup", REAL, args.warmup),
    FIELD("weight_decay", REAL, args.weight_decay),
    FIELD("max_grad_norm", REAL, args.max_grad_norm),
    FIELD("dropout", REAL, args.dropout),
    FIELD("eval_every", COUNT, args.eval_every),
    FIELD("patience", COUNT, args.patience),
    FIELD("method", INTEGER, method),
    FIELD("w_cosine", REAL, objective.w_cosine),
    FIELD("w_ibn", REAL, objective.w_ibn),
    FIELD("w_angle", REAL, objective.w_angle),
    FIELD("w_cln", REAL, objective.w_cln),
    FIELD("tau_cosine", REAL, objective.tau_cosine),
    FIELD("tau_ibn", REAL, objective.tau_ibn),
    FIELD("tau_angle", REAL, objective.tau_angle),
    FIELD("hard_negative", REAL, objective.hard_negative),
    FIELD("isp", INTEGER, objective.isp),
    FIELD("angle_form", INTEGER, objective.angle_form),
    FIELD("ibn_threshold", REAL, objective.ibn_threshold),
    FIELD("label_max", REAL, label_max),
    FIELD("classes", COUNT, classes),
    FIELD("no_projection", INTEGER, no_projection),
    FIELD("allow_duplicates", INTEGER, allow_duplicates),
    FIELD("batch_size", COUNT, batch_size),
    FIELD("accumulate", COUNT, accumulate),
    FIELD("cache_chunk", COUNT, cache_chunk),
    FIELD("teacher", TEXT, teachers[0]),
    FIELD("w_teacher", REAL, w_teacher),
    FIELD("distill", INTEGER, distill),
    FIELD("lora.r", COUNT, lora.r),
    FIELD("lora.alpha", REAL, lora.alpha),
    FIELD("lora.dropout", REAL, lora.dropout),
    FIELD("lora.targets", TEXT, lora.targets),
    FIELD("lora.load_8bit", INTEGER, lora.load_8bit),
};

/* Options of single methods. A description contains only those that do not have their default values, so that records
 * of earlier versions stay valid. */
static const field method_fields[] = {
    FIELD("directions", INTEGER, objective.directions),
    FIELD("joint", INTEGER, objective.joint),
    FIELD("guide_margin", REAL, objective.guide_margin),
    FIELD("guide_relative", INTEGER, objective.guide_relative),
    FIELD("features", INTEGER, objective.features),
    FIELD("views[0].kind", INTEGER, views[0].kind),
    FIELD("views[0].rate", REAL, views[0].rate),
    FIELD("views[1].kind", INTEGER, views[1].kind),
    FIELD("views[1].rate", REAL, views[1].rate),
    FIELD("negatives", COUNT, negatives),
    FIELD("generator", TEXT, generator),
    FIELD("w_detection", REAL, w_detection),
    FIELD("mask_rate", REAL, mask_rate),
    FIELD("matryoshka_per_step", COUNT, matryoshka_per_step),
    FIELD("new_head", INTEGER, new_head),
    FIELD("teachers[1]", TEXT, teachers[1]),
    FIELD("teachers[2]", TEXT, teachers[2]),
    FIELD("teachers[3]", TEXT, teachers[3]),
    FIELD("teacher_cache", TEXT, teacher_cache),
    FIELD("teacher_map", INTEGER, teacher_map),
    FIELD("w_vectors", REAL, objective.w_vectors),
    FIELD("w_similarities", REAL, objective.w_similarities),
    FIELD("vector_loss", INTEGER, objective.vector_loss),
};

/* These functions return the JSON value of an option: "auto" if the option is AOE_AUTO, otherwise a number. */
static json_t *integer(json_int_t x) {
    return x == AOE_AUTO ? json_string("auto") : json_integer(x);
}

static json_t *real(double x) {
    return aoei_is_auto(x) ? json_string("auto") : isfinite(x) ? json_real(x) : json_null();
}

static json_t *field_value(const field *f, const aoe_train_options *o) {
    const char *at = (const char *)o + f->offset;
    switch (f->kind) {
    case TEXT:
        return aoei_name_json(*(const char *const *)at);
    case COUNT:
        return integer((json_int_t) * (const size_t *)at);
    case INTEGER:
        return integer(*(const int *)at);
    case REAL:
        return real(*(const double *)at);
    }
    return NULL;
}

/* Adds table options to the JSON object o. Options that have their default values are not added. Returns a nonzero
 * value if out of memory. */
static int add_table(json_t *o, const aoe_table_options *t) {
    int bad = 0;
    if (t->columns)
        bad |= json_object_set_new(o, "columns", aoei_name_json(t->columns));
    if (t->label_map)
        bad |= json_object_set_new(o, "label_map", aoei_name_json(t->label_map));
    if (t->skip_bad_rows)
        bad |= json_object_set_new(o, "skip_bad_rows", json_true());
    if (t->input_format != AOE_TABLE_AUTO)
        bad |= json_object_set_new(o, "input_format", json_integer(t->input_format));
    if (t->delimiter)
        bad |= json_object_set_new(o, "delimiter", json_integer(t->delimiter));
    if (t->no_header)
        bad |= json_object_set_new(o, "no_header", json_true());
    if (t->quoting != AOE_QUOTING_AUTO)
        bad |= json_object_set_new(o, "quoting", json_integer(t->quoting));
    if (t->decimal_comma)
        bad |= json_object_set_new(o, "decimal_comma", json_true());
    if (t->whole_files)
        bad |= json_object_set_new(o, "whole_files", json_true());
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

/* Adds the options of single methods that do not have their default values. Returns a nonzero value if out of
 * memory. */
static int add_method_options(json_t *r, const aoe_train_options *o) {
    aoe_train_options defaults;
    json_t *sizes = json_array();
    int bad = !sizes;
    aoe_train_options_defaults(&defaults);
    for (size_t i = 0; i < sizeof method_fields / sizeof *method_fields && !bad; i++) {
        json_t *value = field_value(&method_fields[i], o), *usual = field_value(&method_fields[i], &defaults);
        bad = !value || !usual || (!json_equal(value, usual) && json_object_set(r, method_fields[i].name, value));
        json_decref(value);
        json_decref(usual);
    }
    for (size_t i = 0; i < o->n_matryoshka && !bad; i++)
        bad = json_array_append_new(sizes,
                                    json_pack("[I, f]", (json_int_t)o->matryoshka[i].dims, o->matryoshka[i].weight));
    if (o->n_matryoshka && !bad)
        bad = json_object_set(r, "matryoshka", sizes);
    json_decref(sizes);
    return bad;
}

json_t *aoei_describe_options(const aoe_train_options *o) {
    aoei_json_init();
    json_t *r = json_object(), *data = json_array();
    int bad = !r || !data;
    for (size_t i = 0; i < o->n_data && !bad; i++)
        bad |= json_array_append_new(data, training_file(&o->data[i]));
    bad |= json_object_set_new(r, "data", data);
    for (size_t i = 0; i < sizeof fields / sizeof *fields && !bad; i++)
        bad |= json_object_set_new(r, fields[i].name, field_value(&fields[i], o));
    bad = bad || add_method_options(r, o);
    if (!bad)
        return r;
    json_decref(r);
    return NULL;
}

json_t *aoei_describe_file(const aoe_evaluation_file *f) {
    aoei_json_init();
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

int aoei_describe_difference(const json_t *before, const json_t *now, char *text, size_t size) {
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)now, name, value) {
        const json_t *old = json_object_get(before, name);
        if (old && json_equal(old, value))
            continue;
        char *was = old ? aoei_json_text(old, JSON_COMPACT) : NULL;
        char *is = aoei_json_text(value, JSON_COMPACT);
        snprintf(text, size, "options.%s was %.200s and is now %.200s", option_name(name), was ? was : "not recorded",
                 is ? is : "different");
        aoei_free(was);
        aoei_free(is);
        return 1;
    }
    json_object_foreach((json_t *)before, name, value) {
        if (json_object_get(now, name))
            continue;
        char *was = aoei_json_text(value, JSON_COMPACT);
        snprintf(text, size, "options.%s was %.200s and is now not set", option_name(name), was ? was : "set");
        aoei_free(was);
        return 1;
    }
    return 0;
}
