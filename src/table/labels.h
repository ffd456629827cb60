/* SPDX-License-Identifier: MIT
 * Converts labels to numbers. A label is a number or a label name. These names are predefined: "entailment" has the
 * value 1, "contradiction" and "not_entailment" have the value 0, and rows with the label "neutral" are dropped. A
 * label map (options.label_map) adds names and overrides predefined names.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/log.h"
#include "table/table.h"

/* A rule of a label map: it replaces a label by a number, or drops the rows with this label. */
typedef struct aoei_label_rule {
    aoe_text name; /* label to which the rule applies; owned */
    int drop;      /* 1: rows with this label are dropped */
    double value;  /* value that replaces the label; unused if drop is 1 */
    int numeric;   /* 1: `name` is a number; the rule then applies to all labels with this numeric value (the name "5"
                      applies to 5.000) */
    double number; /* numeric value of `name`; unused if numeric is 0 */
} aoei_label_rule;

typedef struct aoei_labels {
    aoei_label_rule *rule; /* [n] rules, owned; if several rules apply to a label, the last one is used */
    size_t n, capacity;    /* used and allocated elements of `rule` */
    int decimal_comma;     /* 1: numbers may have a decimal comma */
} aoei_labels;

/* Creates the rules from the predefined names and the label map in the options o, of which only label_map and
 * decimal_comma are used. Errors: AOE_EARG (the message quotes the invalid part of the map), AOE_ENOMEM. */
int aoei_labels_create(aoei_labels *m, const aoe_table_options *o, aoe_error *err);
/* Returns 1 if a rule applies to this number. */
int aoei_labels_map_number(const aoei_labels *m, double number);
void aoei_labels_free(aoei_labels *m); /* accepts a zeroed struct */

typedef enum aoei_label {
    AOEI_LABEL_VALUE,     /* the label was converted to a number */
    AOEI_LABEL_DROP,      /* the row is dropped */
    AOEI_LABEL_UNKNOWN,   /* the label is neither a number nor a label name */
    AOEI_LABEL_NOT_FINITE /* the label is a number that is too large for a double */
} aoei_label;

/* Converts a label to a number. *value is set only if the result is AOEI_LABEL_VALUE. JSON true is 1 and JSON false is
 * 0, unless m contains a rule for the name "true" or "false". */
aoei_label aoei_label_of(const aoei_labels *m, const aoei_field *field, double *value);

/* Logs that the label map drops rows of a file, and how to keep them. values: values to which their labels can be
 * mapped, with an example, such as "scores, for example neutral=0.5". */
void aoei_labels_log_dropped(const aoei_log *log, const char *name, size_t dropped, const char *values);

/* Parses a decimal number such as "3", "-0.5" or "1e-3" in the C locale. Returns AOEI_LABEL_VALUE and sets *value, or
 * returns AOEI_LABEL_NOT_FINITE if the number is too large, or AOEI_LABEL_UNKNOWN if the text is not a number. */
aoei_label aoei_number_of(aoe_text text, double *value);
/* Parses a number like aoei_number_of. If decimal_comma is 1, the number may also have a decimal comma, such as
 * "0,5". */
aoei_label aoei_number_read(aoe_text text, int decimal_comma, double *value);
/* Returns 1 if the text is a number with a decimal comma. */
int aoei_has_decimal_comma(aoe_text text);
enum { AOEI_NUMBER_TEXT = 32 /* buffer size for a number, NUL included */ };
/* Writes x, which must be finite, to out as a NUL-terminated decimal number. The number has 15, 16 or 17 significant
 * digits, the fewest for which parsing returns exactly x. Trailing zeros are omitted. Returns the length without the
 * NUL. */
size_t aoei_number_text(char out[AOEI_NUMBER_TEXT], double x);

/* Returns the threshold for positive pairs: a pair is positive if its label is at least the threshold. The threshold is
 * `option`, or lowest + 0.8 (highest - lowest) if `option` is AOE_AUTO. lowest, highest: range of the labels in the
 * file. */
double aoei_positive_threshold(double option, double lowest, double highest);
