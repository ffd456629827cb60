/* SPDX-License-Identifier: MIT
 * Stores training examples in memory and reads them from tables. An example has one or several alternative texts for
 * each text role of its kind, for example for the roles query and positive. Labeled pairs also have a label. The bytes
 * of the texts are stored in large chunks of memory that never move. Invariant: an example is either appended
 * completely or not at all.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/text_store.h"
#include "table/columns.h"
#include "table/table.h"

typedef struct aoei_examples {
    char *name; /* file name for messages, owned */
    aoe_example_kind kind;
    size_t n;     /* number of examples */
    size_t roles; /* number of text roles of each example: 1 for texts, 2 for pairs and positives, 2 plus the number of
                     negatives for triplets */
    aoe_text *text; /* [n_texts] all texts, sorted by example, then role, then alternative; array owned, the bytes are
                       in `bytes` */
    size_t *first;  /* [n * roles + 1] first[i * roles + r] is the index in `text` of the first alternative of role r of
                       example i; the last element is n_texts; owned */
    double *label;  /* [n] label of each example; 0 for kinds without labels; owned */
    size_t *line;   /* [n] line number of each example in the file, counted from 1; owned */
    size_t n_texts;
    size_t files;       /* number of files that were read in a folder; 0: not a folder */
    size_t skipped;     /* number of bad rows that were skipped */
    int ignores_labels; /* 1: plain texts were read from a table of labeled pairs, whose labels are not used */
    size_t dropped;     /* number of rows that were dropped because options.label_map maps their label to "drop" */
    size_t below;       /* number of labeled pairs that aoei_examples_keep_positives removed */
    int are_classes; /* 1: the labels seem to be classes of natural language inference (aoei_examples_check_scores) */
    size_t text_capacity, first_capacity, label_capacity, line_capacity; /* allocated elements of the arrays */
    aoei_chunks bytes;                                                   /* bytes of the texts, owned */
} aoei_examples;

/* Creates an empty set of examples with the smallest number of roles of its kind. name is copied. The caller calls
 * aoei_examples_free even if this function fails. */
int aoei_examples_create(aoei_examples *e, const char *name, aoe_example_kind kind, aoe_error *err);
void aoei_examples_free(aoei_examples *e); /* accepts a zeroed struct */
/* Appends an example with copies of its texts. texts: all texts of the example, sorted by role. count: [roles] number
 * of alternative texts of each role. line: line number in the file, counted from 1. */
int aoei_examples_append(aoei_examples *e, const aoe_text *texts, const size_t *count, double label, size_t line,
                         aoe_error *err);
/* Reads all rows of an open table, which the caller closes. lists: 1 if a JSON array of strings is a list of
 * alternative texts; 0 if a row with a JSON array is bad. A JSON array in a column such as negatives
 * (aoei_is_negatives_list) contains the negatives of the row, unless options.columns names the column. o: options, of
 * which only columns, label_map, skip_bad_rows and allow_empty are used; or NULL. The caller calls aoei_examples_free
 * even if this function fails. Errors: AOE_EFORMAT; the message contains the file, line and column. */
int aoei_examples_read(aoei_examples *e, aoei_table *t, aoe_example_kind kind, int lists, const aoe_table_options *o,
                       aoe_error *err);
/* Opens a file and reads its examples with aoei_examples_read; lists of alternative texts are allowed. If kind is
 * AOE_EXAMPLES_AUTO, the columns of the file determine the kind. */
int aoei_examples_load(aoei_examples *e, const char *path, aoe_example_kind kind, const aoe_table_options *o,
                       aoe_error *err);

/* Fails with AOE_EFORMAT if the labels of labeled pairs, which the caller uses as scores, seem to be classes of natural
 * language inference: the column of the labels is named label, labels or gold_label, all labels are the integers -1, 0,
 * 1 or 2, at least one is 2, options.label_map does not contain 2, and the texts have the column names premise and
 * hypothesis, or sentence1 and sentence2, or a label is -1. */
int aoei_examples_check_scores(const aoei_examples *e, aoe_error *err);

/* Reads the label of the labeled pair in a line of a file again, for messages. Copies its beginning to `name` and
 * returns 1 if the label is a name, such as "neutral". Returns 0 if it is a number, if there is no such line, or if the
 * file is not a regular file and therefore cannot be read again. o: options of the table. */
int aoei_examples_label_name(char name[AOEI_EXCERPT], const char *path, const aoe_table_options *o, size_t line);

/* Sets columns[size] to the value of options.columns that reads the labeled pairs of a file as positives, without their
 * labels, for messages. Returns 1. Returns 0 if the file cannot be read again, or if a column name is too long or
 * contains a character of the syntax of this option. */
int aoei_examples_as_positives(char *columns, size_t size, const char *path, const aoe_table_options *o);

/* Converts labeled pairs to positives: pairs with a label below `threshold` are removed. */
void aoei_examples_keep_positives(aoei_examples *e, double threshold);

/* Returns the line number in the file of the example that contains e->text[index]. */
size_t aoei_examples_line(const aoei_examples *e, size_t index);

int aoei_text_is_empty(aoe_text text); /* returns 1 if the text is empty or contains only white space */
