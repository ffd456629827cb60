/* SPDX-License-Identifier: MIT
 * Reads the input for mining hard negatives: training files and corpus files. The files are kept in memory, with their
 * distinct texts and an index of the rows in which texts occur together. A class contains texts that have equal tokens
 * after the prompt is added and the text is truncated; the encoder cannot distinguish such texts. Classes are numbered
 * from 0. The data do not change after they are read.
 */
#pragma once

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

/* A row of a training file with a query and a positive. Both may have alternatives. */
typedef struct aoei_mine_row {
    const aoei_examples *file; /* file that contains the row; borrowed */
    size_t example;            /* index of the row in the file */
    const uint32_t *class_of;  /* class of each text of the file; borrowed */
} aoei_mine_row;

typedef struct aoei_mine_texts {
    aoei_examples *file;        /* [n_files] training files, followed by corpus files; owned */
    size_t n_files, n_training; /* number of all files, and number of training files */
    aoe_text *text;     /* [n_texts] texts of the first file, then of the second file, and so on; array owned, the bytes
                           belong to the files */
    uint32_t *class_of; /* [n_texts] class of each text in `text`; owned */
    size_t n_texts;     /* number of texts */
    size_t n_classes;   /* number of classes */
    size_t n_candidates; /* number of candidates, the classes that contain a possible negative; they are the classes 0
                            to n_candidates - 1 */
    uint32_t *representative;    /* [n_classes] a text of each class: for a candidate, the first possible negative; for
                                    other classes, the first text; owned */
    aoei_token_lists tokens;     /* [n_classes] tokens of each class; freed by aoei_mine_texts_drop_tokens; owned */
    size_t truncated;            /* number of classes whose texts are truncated */
    aoei_mine_row *row;          /* [n_rows] rows of the training files in file order; owned */
    size_t n_rows, row_capacity; /* number of rows, and allocated elements of `row` */
    size_t below;         /* number of labeled pairs that were dropped because their label is below the threshold */
    size_t *member_first; /* [n_classes + 1] the rows of class c are member[member_first[c], member_first[c + 1]);
                             owned */
    uint32_t *member;     /* [member_first[n_classes]] for each class, the rows in which it is a query or a positive,
                             ascending; owned */
} aoei_mine_texts;

/* Reads the files that the options name and tokenizes their texts for model m. The caller calls aoei_mine_texts_free
 * even if this function fails. The errors are documented at aoe_mine. */
int aoei_mine_texts_read(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err);
void aoei_mine_texts_free(aoei_mine_texts *t);        /* accepts a zeroed struct */
void aoei_mine_texts_drop_tokens(aoei_mine_texts *t); /* frees the tokens, which are needed only for embedding */

/* Returns the index in r->file->text of the row's first text with the given role (0: query, 1: positive, 2: negative).
 * The texts of a role end before aoei_mine_role(r, role + 1). */
static inline size_t aoei_mine_role(const aoei_mine_row *r, size_t role) {
    return r->file->first[r->example * r->file->roles + role];
}
/* Returns 1 if a row contains both class a and class b as a query or a positive. In this case, neither can be a
 * negative of the other. If a class is a query or a positive of any row, it is related to itself. */
int aoei_mine_related(const aoei_mine_texts *t, uint32_t a, uint32_t b);
/* Inserts the file name and line number of text i at the beginning of the message in err. Returns code. */
int aoei_mine_prefix_error(const aoei_mine_texts *t, size_t i, int code, aoe_error *err);
