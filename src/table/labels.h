/* SPDX-License-Identifier: MIT
 * Labels: numbers, or words with a value each. Words known from the start:
 * entailment=1, contradiction=0, neutral=drop, not_entailment=0; a label map adds
 * to them and wins over them.
 */
#ifndef AOEI_TABLE_LABELS_H
#define AOEI_TABLE_LABELS_H

#include <stddef.h>

#include "aoe.h"
#include "table/table.h"

typedef struct aoei_label_rule {
    aoe_text word; /* owned */
    int drop;      /* rows with this label are left out */
    double value;  /* else their label */
    int numeric;   /* word is itself a number: it also matches numbers equal to it ("5" matches 5.000) */
    double number;
} aoei_label_rule;

typedef struct aoei_labels {
    aoei_label_rule *rule; /* [n] owned; of several that match the last counts */
    size_t n, capacity;
} aoei_labels;

/* map: "word=number,word=drop,..." or NULL. Errors: AOE_EARG (with the part that is wrong), AOE_ENOMEM. */
int aoei_labels_create(aoei_labels *m, const char *map, aoe_error *err);
void aoei_labels_free(aoei_labels *m); /* accepts a zeroed one */

typedef enum aoei_label { AOEI_LABEL_VALUE, AOEI_LABEL_DROP, AOEI_LABEL_UNKNOWN, AOEI_LABEL_NOT_FINITE } aoei_label;

/* *value is set for AOEI_LABEL_VALUE. JSON true and false are 1 and 0 unless the map has those words. */
aoei_label aoei_label_of(const aoei_labels *m, const aoei_field *field, double *value);

/* A whole decimal number ("3", "-0.5", "1e-3"), whatever the locale: AOEI_LABEL_VALUE, _NOT_FINITE (too large) or
 * _UNKNOWN (not a number). */
aoei_label aoei_number_of(aoe_text text, double *value);
/* The shortest decimal number that is read as x again, NUL-terminated; 15 digits and fewer are those it was written with.
 * Returns its length. x is finite. */
enum { AOEI_NUMBER_TEXT = 32 };
size_t aoei_number_text(char out[AOEI_NUMBER_TEXT], double x);

#endif
