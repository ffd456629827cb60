/* SPDX-License-Identifier: MIT
 * Converts labels to numbers. A label is a name or a decimal number. Numbers are parsed in the C locale. The characters
 * of a number are checked before strtod is called, because strtod also accepts "nan", "infinity", hexadecimal numbers
 * and leading spaces.
 */
#include "table/labels.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/options.h"

enum { MAX_DIGITS = 400 }; /* maximum characters of a number; a longer text is not a number */

static const char defaults[] = "entailment=1,contradiction=0,neutral=drop,not_entailment=0";

static int equal(aoe_text a, aoe_text b) {
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* Adds a copy of *rule to m. `word` is the label to which the new rule applies; it is copied. */
static int add_rule(aoei_labels *m, aoe_text word, const aoei_label_rule *rule, aoe_error *err) {
    char *copy = NULL;
    if (aoei_grow((void **)&m->rule, &m->capacity, m->n, sizeof *m->rule) ||
        !(copy = aoei_strndup(word.data, word.len)))
        return aoei_fail_nomem(err, word.len);
    aoei_label_rule *r = &m->rule[m->n++];
    *r = *rule;
    r->name = (aoe_text){copy, word.len};
    r->numeric = aoei_number_of(word, &r->number) == AOEI_LABEL_VALUE;
    return 0;
}

/* Adds the rules of a label map "name=number,name=drop,...". A rule overrides the rules of earlier maps for the same
 * name. A name that occurs twice in `map` is an error (AOE_EARG). */
static int add_map(aoei_labels *m, const char *map, aoe_error *err) {
    const size_t first = m->n;
    char excerpt[AOEI_EXCERPT];
    for (const char *s = map; *s;) {
        aoe_text part = {s, strcspn(s, ",")};
        const char *equals = memrchr(s, '=', part.len);
        aoei_label_rule rule = {0};
        if (equals) {
            aoe_text value = {equals + 1, part.len - (size_t)(equals + 1 - s)};
            rule.drop = equal(value, aoe_text_of("drop"));
            if (!rule.drop && aoei_number_of(value, &rule.value) != AOEI_LABEL_VALUE)
                equals = NULL;
        }
        if (!equals || equals == s)
            return aoei_fail(err, AOE_EARG,
                             "options.label_map: '%s' is not NAME=NUMBER or NAME=drop; write for example neutral=0.5",
                             aoei_excerpt(excerpt, part));
        aoe_text word = {s, (size_t)(equals - s)};
        for (size_t i = first; i < m->n; i++)
            if (equal(m->rule[i].name, word))
                return aoei_fail(err, AOE_EARG, "options.label_map: '%s' is given twice; remove one",
                                 aoei_excerpt(excerpt, word));
        int rc = add_rule(m, word, &rule, err);
        if (rc)
            return rc;
        s += part.len;
        s += *s == ',';
    }
    return 0;
}

int aoei_labels_create(aoei_labels *m, const aoe_table_options *o, aoe_error *err) {
    *m = (aoei_labels){.decimal_comma = o->decimal_comma};
    int rc = add_map(m, defaults, err);
    if (!rc && o->label_map)
        rc = add_map(m, o->label_map, err);
    if (rc)
        aoei_labels_free(m);
    return rc;
}

int aoei_labels_map_number(const aoei_labels *m, double number) {
    for (size_t i = 0; i < m->n; i++)
        if (m->rule[i].numeric && m->rule[i].number <= number && m->rule[i].number >= number)
            return 1;
    return 0;
}

void aoei_labels_free(aoei_labels *m) {
    for (size_t i = 0; i < m->n; i++)
        aoei_free((char *)m->rule[i].name.data);
    aoei_free(m->rule);
    *m = (aoei_labels){0};
}

void aoei_labels_log_dropped(const aoei_log *log, const char *name, size_t dropped, const char *values) {
    aoei_log_write(log, AOE_LOG_INFO, "%s: the label map drops %zu row%s; to keep such rows, map their labels to %s",
                   name, dropped, dropped == 1 ? "" : "s", values);
}

aoei_label aoei_number_of(aoe_text text, double *value) {
    char copy[MAX_DIGITS + 1];
    if (text.len == 0 || text.len > MAX_DIGITS)
        return AOEI_LABEL_UNKNOWN;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    if (strspn(copy, "0123456789+-.eE") != text.len)
        return AOEI_LABEL_UNKNOWN;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc returns a static object, so this is cheap */
    char *end = copy;
    double x = c ? strtod_l(copy, &end, c) : 0;
    if (c)
        freelocale(c);
    if (end != copy + text.len)
        return AOEI_LABEL_UNKNOWN;
    if (!isfinite(x))
        return AOEI_LABEL_NOT_FINITE;
    *value = x;
    return AOEI_LABEL_VALUE;
}

aoei_label aoei_number_read(aoe_text text, int decimal_comma, double *value) {
    char copy[MAX_DIGITS];
    const char *comma = text.len && text.len <= MAX_DIGITS ? memchr(text.data, ',', text.len) : NULL;
    if (!decimal_comma || !comma)
        return aoei_number_of(text, value);
    memcpy(copy, text.data, text.len);
    copy[comma - text.data] = '.';
    return aoei_number_of((aoe_text){copy, text.len}, value);
}

int aoei_has_decimal_comma(aoe_text text) {
    double value;
    return aoei_number_of(text, &value) == AOEI_LABEL_UNKNOWN && aoei_number_read(text, 1, &value) == AOEI_LABEL_VALUE;
}

size_t aoei_number_text(char out[AOEI_NUMBER_TEXT], double x) {
    double back = 0;
    size_t len = 0;
    for (int digits = 15; digits <= 17; digits++) {
        len = (size_t)snprintf(out, AOEI_NUMBER_TEXT, "%.*g", digits, x);
        for (size_t i = 0; i < len; i++)
            out[i] = strchr("0123456789+-e", out[i]) ? out[i] : '.'; /* replaces the decimal separator of the locale */
        if (aoei_number_of((aoe_text){out, len}, &back) == AOEI_LABEL_VALUE && back == x)
            break;
    }
    return len;
}

aoei_label aoei_label_of(const aoei_labels *m, const aoei_field *field, double *value) {
    double number = field->number;
    aoei_label kind = AOEI_LABEL_VALUE;
    int is_number = field->kind == AOEI_FIELD_NUMBER;
    if (field->kind == AOEI_FIELD_OTHER || field->kind == AOEI_FIELD_LIST)
        return AOEI_LABEL_UNKNOWN;
    if (field->kind == AOEI_FIELD_TEXT) {
        kind = aoei_number_read(field->text, m->decimal_comma, &number);
        is_number = kind == AOEI_LABEL_VALUE;
    }
    for (size_t i = m->n; i-- > 0;) {
        const aoei_label_rule *r = &m->rule[i];
        int matches = r->numeric && is_number ? r->number == number
                                              : field->kind != AOEI_FIELD_NUMBER && equal(r->name, field->text);
        if (!matches)
            continue;
        *value = r->value;
        return r->drop ? AOEI_LABEL_DROP : AOEI_LABEL_VALUE;
    }
    if (kind == AOEI_LABEL_VALUE)
        *value = number;
    return kind;
}

double aoei_positive_threshold(double option, double lowest, double highest) {
    return aoei_is_auto(option) ? lowest + 0.8 * (highest - lowest) : option;
}
