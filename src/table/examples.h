/* SPDX-License-Identifier: MIT
 * Training examples in memory. An example has one text or several alternatives per role of its kind (columns.h), and a
 * label if it is a labeled pair. Texts are stored in large chunks that never move. Invariant: an example is appended
 * completely or not at all.
 */
#ifndef AOEI_TABLE_EXAMPLES_H
#define AOEI_TABLE_EXAMPLES_H

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"
#include "table/columns.h"
#include "table/table.h"

typedef struct aoei_examples {
    char *name; /* owned; name of the file, for messages */
    aoe_example_kind kind;
    size_t n;
    size_t roles;   /* texts per example: 2; triplets: 3; texts: 1 */
    aoe_text *text; /* owned [n_texts]: example by example, role by role, alternative by alternative; bytes in `bytes` */
    size_t *first;  /* owned [n * roles + 1] index of the first text of each role */
    double *label;  /* owned [n]; 0 for kinds without labels */
    size_t *line;   /* owned [n] line in the file, from 1 */
    size_t n_texts;
    size_t skipped, dropped; /* bad rows that were skipped; rows dropped by the label map */
    size_t text_capacity, first_capacity, label_capacity, line_capacity;
    aoei_chunks bytes; /* of the texts */
} aoei_examples;

/* Creates an empty set; name is copied. It must be freed in any case. */
int aoei_examples_create(aoei_examples *e, const char *name, aoe_example_kind kind, aoe_error *err);
void aoei_examples_free(aoei_examples *e); /* accepts a zeroed one */
/* Appends an example with copies of the texts: count[role] alternatives per role, role by role. */
int aoei_examples_append(aoei_examples *e, const aoe_text *texts, const size_t *count, double label, size_t line,
                         aoe_error *err);
/* Reads an open table, which the caller closes. lists: 1: a JSON array of strings is a list of alternatives; 0: it makes a
 * bad row. *e must be freed in any case. Errors: AOE_EFORMAT with file, line and column. */
int aoei_examples_read(aoei_examples *e, aoei_table *t, aoe_example_kind kind, int lists, const aoe_table_options *o,
                       aoe_error *err);
/* Opens a file and reads it, lists allowed; AOE_EXAMPLES_AUTO: the kind whose columns it has. */
int aoei_examples_load(aoei_examples *e, const char *path, aoe_example_kind kind, const aoe_table_options *o, aoe_error *err);

/* Converts labeled pairs to positives: keeps the pairs with a label of at least `threshold`. */
void aoei_examples_keep_positives(aoei_examples *e, double threshold);

size_t aoei_examples_line(const aoei_examples *e, size_t text); /* line of the example that contains this text */

int aoei_text_is_empty(aoe_text text); /* 1: the text has only ASCII white space */

#endif
