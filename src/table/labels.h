/* SPDX-License-Identifier: MIT
 * Converts labels to numbers. A label is a number or a label name. Predefined names: entailment=1, contradiction=0,
 * neutral=drop (rows with this label are dropped), not_entailment=0. A label map adds names; its entries take precedence.
 */
#ifndef AOEI_TABLE_LABELS_H
#define AOEI_TABLE_LABELS_H

#include <stddef.h>

#include "aoe.h"
#include "table/table.h"

typedef struct aoei_label_rule {
    aoe_text name; /* label to replace; owned */
    int drop;      /* 1: rows with this label are dropped */
    double value;  /* value of the label; unused if drop is 1 */
    int numeric;   /* 1: the name is a number, so it also matches equal numbers ("5" matches 5.000) */
    double number; /* the name as a number; unused if numeric is 0 */
} aoei_label_rule;

typedef struct aoei_labels {
    aoei_label_rule *rule; /* [n] rules, owned; the last matching rule applies */
    size_t n, capacity;    /* used and allocated elements of `rule` */
} aoei_labels;

/* Creates the rules. map: "name=number,name=drop,..." or NULL. Errors: AOE_EARG (the message quotes the invalid part),
 * AOE_ENOMEM. */
int aoei_labels_create(aoei_labels *m, const char *map, aoe_error *err);
void aoei_labels_free(aoei_labels *m); /* accepts a zeroed struct */

typedef enum aoei_label {
    AOEI_LABEL_VALUE,     /* the label has a value */
    AOEI_LABEL_DROP,      /* the row is dropped */
    AOEI_LABEL_UNKNOWN,   /* neither a number nor a label name */
    AOEI_LABEL_NOT_FINITE /* a number that is too large for a double */
} aoei_label;

/* Converts a label. *value is set if the result is AOEI_LABEL_VALUE. JSON true and false have the values 1 and 0, unless the
 * label map contains the names "true" and "false". */
aoei_label aoei_label_of(const aoei_labels *m, const aoei_field *field, double *value);

/* Parses a decimal number ("3", "-0.5", "1e-3") in the C locale. Returns AOEI_LABEL_VALUE, AOEI_LABEL_NOT_FINITE (too large)
 * or AOEI_LABEL_UNKNOWN (not a number). */
aoei_label aoei_number_of(aoe_text text, double *value);
enum { AOEI_NUMBER_TEXT = 32 /* buffer size for a number, NUL included */ };
/* Writes x, which must be finite, as a NUL-terminated decimal number with the fewest significant digits (15 to 17) for which
 * parsing returns x exactly. Trailing zeros are omitted. Returns the length. */
size_t aoei_number_text(char out[AOEI_NUMBER_TEXT], double x);

/* Returns the lowest label of a positive pair: `option`, or lowest + 0.8 (highest - lowest) if `option` is AOE_AUTO. lowest and
 * highest are the extreme labels of a file. */
double aoei_positive_threshold(double option, double lowest, double highest);

#endif
