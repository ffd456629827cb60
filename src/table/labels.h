/* SPDX-License-Identifier: MIT
 * The values of labels, which are numbers or label names. Predefined names: entailment=1, contradiction=0, neutral=drop,
 * not_entailment=0. A label map adds names; its entries take precedence.
 */
#ifndef AOEI_TABLE_LABELS_H
#define AOEI_TABLE_LABELS_H

#include <stddef.h>

#include "aoe.h"
#include "table/table.h"

typedef struct aoei_label_rule {
    aoe_text name; /* owned */
    int drop;      /* 1: rows with this label are dropped */
    double value;  /* value of the label, unless dropped */
    int numeric;   /* 1: the name is itself a number and also matches equal numbers ("5" matches 5.000) */
    double number; /* the name as a number, if numeric */
} aoei_label_rule;

typedef struct aoei_labels {
    aoei_label_rule *rule; /* [n] owned; the last matching rule applies */
    size_t n, capacity;
} aoei_labels;

/* Creates the rules. map: "name=number,name=drop,..." or NULL. Errors: AOE_EARG (the message quotes the invalid part),
 * AOE_ENOMEM. */
int aoei_labels_create(aoei_labels *m, const char *map, aoe_error *err);
void aoei_labels_free(aoei_labels *m); /* accepts a zeroed struct */

typedef enum aoei_label { AOEI_LABEL_VALUE, AOEI_LABEL_DROP, AOEI_LABEL_UNKNOWN, AOEI_LABEL_NOT_FINITE } aoei_label;

/* Interprets a label. *value is set if the result is AOEI_LABEL_VALUE. JSON true and false are 1 and 0 unless the map
 * contains these names. */
aoei_label aoei_label_of(const aoei_labels *m, const aoei_field *field, double *value);

/* Parses a decimal number ("3", "-0.5", "1e-3") in the C locale. Returns AOEI_LABEL_VALUE, AOEI_LABEL_NOT_FINITE (too large)
 * or AOEI_LABEL_UNKNOWN (not a number). */
aoei_label aoei_number_of(aoe_text text, double *value);
/* Writes the shortest decimal number that reads back as x, NUL-terminated. x must be finite; numbers with up to 15 digits
 * keep their digits. Returns the length. */
enum { AOEI_NUMBER_TEXT = 32 };
size_t aoei_number_text(char out[AOEI_NUMBER_TEXT], double x);

#endif
