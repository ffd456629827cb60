/* SPDX-License-Identifier: MIT
 * Reads and writes the values of options.
 */
#include "options/option.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/options.h"

size_t aoei_choose(const char *const *names, const char *text, const char *noun, aoe_error *err) {
    size_t n = 0;
    for (; names[n]; n++)
        if (strcmp(text, names[n]) == 0)
            return n;
    err->code = AOE_EARG;
    int at = snprintf(err->message, sizeof err->message, "unknown %s '%.100s'; choose", noun, text);
    for (size_t i = 0; i < n; i++)
        at += snprintf(err->message + at, sizeof err->message - (size_t)at, "%s%s",
                       i == 0       ? " "
                       : i + 1 == n ? " or "
                                    : ", ",
                       names[i]);
    return n;
}

const char *aoei_next_item(const char *list, char item[AOEI_NAME_SIZE]) {
    const size_t n = strcspn(list, ",");
    snprintf(item, AOEI_NAME_SIZE, "%.*s", (int)n, list);
    return list[n] ? list + n + 1 : NULL;
}

int aoei_parse_set(unsigned *set, const aoei_option *o, const char *text, aoe_error *err) {
    char item[AOEI_NAME_SIZE];
    *set = 0;
    for (const char *rest = text; rest;) {
        rest = aoei_next_item(rest, item);
        const size_t i = aoei_choose(o->choices, item, o->noun, err);
        if (!o->choices[i])
            return AOE_EARG;
        *set |= strcmp(item, "all") == 0 ? (1u << i) - 1 : 1u << i;
    }
    return AOE_OK;
}

const char *aoei_set_text(char out[AOEI_NAME_SIZE], const aoei_option *o, unsigned set) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; o->choices[i] && used < AOEI_NAME_SIZE; i++)
        if (set >> i & 1)
            used += (size_t)snprintf(out + used, AOEI_NAME_SIZE - used, "%s%s", used ? "," : "", o->choices[i]);
    return out;
}

const char *aoei_option_value(const aoei_option *o) {
    static const char *const usual[] = {
        [AOEI_OPTION_SIZE] = "N", [AOEI_OPTION_SEED] = "N", [AOEI_OPTION_REAL] = "X", [AOEI_OPTION_CHOICE] = "NAME"};
    return o->value || o->kind >= sizeof usual / sizeof *usual ? o->value : usual[o->kind];
}

const char *aoei_option_choice(const aoei_option *o, size_t i) {
    if (o->choice)
        return o->choice(i);
    for (size_t k = 0; o->choices && o->choices[k]; k++)
        if (k == i)
            return o->choices[k];
    return NULL;
}

const char *aoei_option_field(char out[AOEI_NAME_SIZE], const aoei_option *o) {
    snprintf(out, AOEI_NAME_SIZE, "%s", o->field ? o->field : o->name);
    for (char *dash = o->field ? NULL : strchr(out, '-'); dash; dash = strchr(dash, '-'))
        *dash = '_';
    return out;
}

const char *aoei_real_text(char out[AOEI_NAME_SIZE], const void *target) {
    const double x = *(const double *)target;
    snprintf(out, AOEI_NAME_SIZE, "%g", x);
    return aoei_is_auto(x) ? NULL : out;
}

int aoei_option_is_used(const aoei_option *o, int method) {
    return !o->methods || o->methods & AOEI_METHOD_BIT(method);
}

void aoei_option_limits(const aoei_option *o, int typed, double *min, double *max) {
    *min = typed && o->least > 0 ? o->least : o->min;
    *max = typed && o->most > 0 ? o->most : o->max > 0 ? o->max : o->kind == AOEI_OPTION_REAL ? DBL_MAX : INFINITY;
}

const char *aoei_option_range(char out[AOEI_NAME_SIZE], const aoei_option *o, int typed) {
    double min, max;
    aoei_option_limits(o, typed, &min, &max);
    const int open = min > 0 && min <= AOEI_ABOVE_0, below = max >= AOEI_BELOW_1 && max < 1,
              limited = max < AOEI_NO_LIMIT;
    int at = snprintf(out, AOEI_NAME_SIZE, o->kind == AOEI_OPTION_REAL ? "a number" : "an integer");
    if (min <= -AOEI_NO_LIMIT)
        return out;
    if (open)
        at += snprintf(out + at, AOEI_NAME_SIZE - (size_t)at, " above 0");
    else
        at += snprintf(out + at, AOEI_NAME_SIZE - (size_t)at, limited && !below ? " from %.10g" : " of at least %.10g",
                       min);
    if (below)
        snprintf(out + at, AOEI_NAME_SIZE - (size_t)at, " and below 1");
    else if (limited)
        snprintf(out + at, AOEI_NAME_SIZE - (size_t)at, open ? " and at most %.10g" : " to %.10g", max);
    return out;
}

/* Checks the value of an option of kind SIZE or REAL. */
static int check_number(const aoei_option *o, const void *target, aoe_error *err) {
    const size_t n = o->kind == AOEI_OPTION_SIZE ? *(const size_t *)target : 0;
    const double x = o->kind == AOEI_OPTION_SIZE ? (double)n : *(const double *)target;
    char field[AOEI_NAME_SIZE], range[AOEI_NAME_SIZE];
    double min, max;
    aoei_option_limits(o, 0, &min, &max);
    if ((o->automatic && aoei_is_auto(x)) || (x >= min && x <= max))
        return AOE_OK;
    aoei_option_field(field, o);
    aoei_option_range(range, o, 0);
    if (o->kind == AOEI_OPTION_SIZE)
        return aoei_fail(err, AOE_EARG, "options.%s is %zu; give %s", field, n, range);
    return aoei_fail(err, AOE_EARG, "options.%s is %g; give %s", field, x, range);
}

/* Checks the value of an option of kind CHOICE. */
static int check_choice(const aoei_option *o, int value, aoe_error *err) {
    char field[AOEI_NAME_SIZE], names[512];
    int n = 0, at = 0;
    for (; o->choices[n]; n++)
        at += snprintf(names + at, sizeof names - (size_t)at, "%s%d (%s)",
                       n == 0              ? ""
                       : o->choices[n + 1] ? ", "
                                           : " or ",
                       n, o->choices[n]);
    if ((o->automatic && value == AOE_AUTO) || (value >= 0 && value < n))
        return AOE_OK;
    return aoei_fail(err, AOE_EARG, "options.%s is %d; give %s", aoei_option_field(field, o), value, names);
}

int aoei_option_check(const aoei_option *o, const void *target, aoe_error *err) {
    if (o->kind == AOEI_OPTION_SIZE || o->kind == AOEI_OPTION_REAL)
        return check_number(o, target, err);
    return o->kind == AOEI_OPTION_CHOICE ? check_choice(o, *(const int *)target, err) : AOE_OK;
}

int aoei_option_group_check(const aoei_option_group *g, const void *options, int method, aoe_error *err) {
    int code = AOE_OK;
    for (size_t i = 0; i < g->n && !code; i++)
        if (method == AOEI_ALL_METHODS || aoei_option_is_used(&g->options[i], method))
            code = aoei_option_check(&g->options[i], (const char *)options + g->options[i].offset, err);
    return code;
}

static json_t *set_json(const aoei_option *o, unsigned set) {
    json_t *list = json_array();
    int bad = !list;
    for (size_t i = 0; o->choices[i]; i++)
        if (set >> i & 1)
            bad |= json_array_append_new(list, json_string(o->choices[i]));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *automatic(int names) {
    return names ? json_null() : json_string("auto");
}

static json_t *integer(json_int_t x, int names) {
    return x == AOE_AUTO ? automatic(names) : json_integer(x);
}

json_t *aoei_option_json(const aoei_option *o, const void *target, int names) {
    if (o->json_of)
        return o->json_of(target);
    switch (o->kind) {
    case AOEI_OPTION_FLAG:
        return names ? json_boolean(*(const int *)target) : integer(*(const int *)target, names);
    case AOEI_OPTION_CHOICE: { /* a value without a name, such as -1, means that the option was not given */
        const char *name = names ? aoei_option_choice(o, (size_t) * (const int *)target) : NULL;
        return name ? json_string(name) : names ? json_null() : integer(*(const int *)target, names);
    }
    case AOEI_OPTION_SET:
        return names ? set_json(o, *(const unsigned *)target) : json_integer(*(const unsigned *)target);
    case AOEI_OPTION_SIZE:
        return integer((json_int_t) * (const size_t *)target, names);
    case AOEI_OPTION_REAL: {
        const double x = *(const double *)target;
        return aoei_is_auto(x) ? automatic(names) : isfinite(x) ? json_real(x) : json_null();
    }
    case AOEI_OPTION_TEXT:
    case AOEI_OPTION_PROMPT:
    case AOEI_OPTION_MODEL:
        return aoei_name_json(*(const char *const *)target);
    case AOEI_OPTION_NAMED:
        return integer(*(const int *)target, names);
    case AOEI_OPTION_SEED:
        return json_integer((json_int_t) * (const uint64_t *)target);
    case AOEI_OPTION_MODELS:
    case AOEI_OPTION_TEXTS:
    case AOEI_OPTION_LIST:
        break;
    }
    return json_null();
}

int aoei_option_group_record(json_t *record, const aoei_option_group *g, const void *options, const void *defaults,
                             int method) {
    int bad = 0;
    for (size_t i = 0; i < g->n && !bad; i++) {
        const aoei_option *o = &g->options[i];
        char field[AOEI_NAME_SIZE];
        if (o->record >= AOEI_RECORD_OWN || (o->record != AOEI_RECORD_ALWAYS && !aoei_option_is_used(o, method)))
            continue;
        json_t *value = aoei_option_json(o, (const char *)options + o->offset, 1);
        json_t *usual =
            o->record == AOEI_RECORD_CHANGED ? aoei_option_json(o, (const char *)defaults + o->offset, 1) : NULL;
        bad = !value || (!json_equal(value, usual) && json_object_set(record, aoei_option_field(field, o), value));
        json_decref(value);
        json_decref(usual);
    }
    return bad;
}
