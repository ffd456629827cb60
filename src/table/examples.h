/* SPDX-License-Identifier: MIT
 * Training examples in memory: the roles of a kind (columns.h), each with a text or
 * several alternatives to draw from, and for labelled pairs a label. Texts lie in
 * large chunks that do not move. Invariant: an example is appended whole or not at all.
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
    char *name; /* owned; of the file, for messages */
    aoe_example_kind kind;
    size_t n;
    size_t roles;   /* texts of an example: 2, of triples 3, of texts 1 */
    aoe_text *text; /* owned [n_texts]; alternatives of a role after each other, role after role; memory below */
    size_t *first;  /* owned [n * roles + 1] first text of each role */
    double *label;  /* owned [n]; 0 for forms without */
    size_t *line;   /* owned [n] line in the file, from 1 */
    size_t n_texts;
    size_t skipped, dropped; /* bad rows left out; rows whose label the map drops */
    size_t text_capacity, first_capacity, label_capacity, line_capacity;
    aoei_chunks bytes; /* of the texts */
} aoei_examples;

/* Empty; name is copied. Free with aoei_examples_free, after a failure too. */
int aoei_examples_create(aoei_examples *e, const char *name, aoe_example_kind kind, aoe_error *err);
void aoei_examples_free(aoei_examples *e); /* accepts a zeroed one */
/* Copies the texts: count[role] alternatives of each role, role after role. */
int aoei_examples_append(aoei_examples *e, const aoe_text *texts, const size_t *count, double label, size_t line,
                         aoe_error *err);
/* Reads an open table, which stays the caller's. lists: 1: a JSON array of strings is a list of alternatives, else it is a bad
 * row. *e is to be freed either way. Errors: AOE_EFORMAT with file, line and column. */
int aoei_examples_read(aoei_examples *e, aoei_table *t, aoe_example_kind kind, int lists, const aoe_table_options *o,
                       aoe_error *err);
/* Opens a file and reads it, lists allowed; AOE_EXAMPLES_AUTO: the kind whose columns it has. */
int aoei_examples_load(aoei_examples *e, const char *path, aoe_example_kind kind, const aoe_table_options *o, aoe_error *err);

/* Of labelled pairs the positives: those with a label from `threshold` on; the others go. */
void aoei_examples_keep_positives(aoei_examples *e, double threshold);

size_t aoei_examples_line(const aoei_examples *e, size_t text); /* of the example that a text is of */

int aoei_text_is_empty(aoe_text text); /* nothing but ASCII white space */

#endif
