/* SPDX-License-Identifier: MIT
 * Input for mining hard negatives: the training files and the corpus in memory, their distinct texts, and the rows in which
 * texts occur together. Texts whose tokens are equal after adding the prompt and truncation form a class, because the encoder
 * cannot distinguish them; classes are numbered from 0. The data does not change after it was read.
 */
#ifndef AOEI_DATASET_MINE_TEXTS_H
#define AOEI_DATASET_MINE_TEXTS_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

/* A row with a query and a positive, each with optional alternatives. */
typedef struct aoei_mine_row {
    const aoei_examples *file; /* file that contains the row; borrowed */
    size_t example;            /* index of the row in the file */
    const uint32_t *class_of;  /* class of each text of the file; borrowed */
} aoei_mine_row;

typedef struct aoei_mine_texts {
    aoei_examples *file;        /* [n_files] training files, then corpus files; owned */
    size_t n_files, n_training; /* number of files, and of training files among them */
    aoe_text *text;             /* [n_texts] texts of all files, file by file; the bytes belong to the files; owned */
    uint32_t *class_of;         /* [n_texts] class of each text; owned */
    size_t n_texts;             /* number of texts */
    size_t n_classes;           /* number of classes */
    size_t n_candidates; /* number of classes that may be negatives (candidates); they are the classes 0 to n_candidates - 1 */
    uint32_t *representative;    /* [n_classes] first text of each class; for a candidate, its first possible negative; owned */
    aoei_token_lists tokens;     /* [n_classes] tokens of each class; freed by aoei_mine_texts_drop_tokens; owned */
    size_t truncated;            /* number of classes whose texts are truncated */
    aoei_mine_row *row;          /* [n_rows] rows in the order of the files; owned */
    size_t n_rows, row_capacity; /* number of rows; number of elements allocated */
    size_t below;                /* number of labeled pairs that were dropped because their label is below the threshold */
    size_t *member_first;        /* [n_classes + 1] start of the entries of each class in member; owned */
    uint32_t *member; /* [member_first[n_classes]] rows in which each class is a query or positive, ascending; owned */
} aoei_mine_texts;

/* Reads the files and tokenizes their texts for the model. *t must be freed even if this fails. Errors: those of aoe_mine. */
int aoei_mine_texts_read(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err);
void aoei_mine_texts_free(aoei_mine_texts *t);        /* accepts a zeroed struct */
void aoei_mine_texts_drop_tokens(aoei_mine_texts *t); /* frees the tokens, which are needed only for embedding */

/* Returns the index of the first text at a position of the row (0: query, 1: positive, ...) among the texts of its file.
 * aoei_mine_role(r, role + 1) is the end of the texts at this position. */
static inline size_t aoei_mine_role(const aoei_mine_row *r, size_t role) {
    return r->file->first[r->example * r->file->roles + role];
}
/* Returns 1 if a row contains both classes as query or positive, so that neither can be a negative of the other. A class that
 * occurs in a row is related to itself. */
int aoei_mine_related(const aoei_mine_texts *t, uint32_t a, uint32_t b);
/* Inserts the file and the line of text i before the error message. Returns code. */
int aoei_mine_prefix_error(const aoei_mine_texts *t, size_t i, int code, aoe_error *err);

#endif
