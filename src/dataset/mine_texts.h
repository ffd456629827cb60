/* SPDX-License-Identifier: MIT
 * Input of the search for hard negatives: the training files and the corpus in memory, their distinct texts, and the rows
 * in which texts occur together. Texts with equal tokens after prompt and truncation form a class, because the encoder
 * cannot distinguish them. Nothing is embedded here. Immutable once read.
 */
#ifndef AOEI_DATASET_MINE_TEXTS_H
#define AOEI_DATASET_MINE_TEXTS_H

#include "aoe_data.h"
#include "table/examples.h"
#include "model/text_batch.h"

/* A row with a query and a positive. */
typedef struct aoei_mine_row {
    const aoei_examples *file; /* borrowed */
    size_t example;            /* of the file */
    const uint32_t *class_of;  /* classes of the file's texts, borrowed */
} aoei_mine_row;

typedef struct aoei_mine_texts {
    aoei_examples *file; /* owned [n_files] training files, then the corpus */
    size_t n_files, n_training;
    aoe_text *text;     /* owned [n_texts] texts of all files in order; the bytes belong to the files */
    uint32_t *class_of; /* owned [n_texts] */
    size_t n_texts;
    size_t n_classes;
    size_t n_candidates; /* classes 0 to n_candidates - 1 are candidates, in the order of their first occurrence */
    uint32_t
        *representative;     /* owned [n_classes] first text of each class; for candidates the first text that is a candidate */
    aoei_token_lists tokens; /* [n_classes]; aoei_mine_texts_drop_tokens frees them */
    size_t truncated;        /* classes with truncated texts */
    aoei_mine_row *row;      /* owned [n_rows], in the order of the files */
    size_t n_rows, row_capacity;
    size_t below;         /* labeled pairs below the threshold */
    size_t *member_first; /* owned [n_classes + 1] */
    uint32_t *member;     /* owned [member_first[n_classes]] rows in which a class is query or positive, ascending */
} aoei_mine_texts;

/* Reads the files and tokenizes their texts for the model. Errors: those of aoe_mine. *t must be freed in any case. */
int aoei_mine_texts_read(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err);
void aoei_mine_texts_free(aoei_mine_texts *t); /* accepts a zeroed one */
void aoei_mine_texts_drop_tokens(aoei_mine_texts *t);

/* Index of the first text of a role (0: query, 1: positive, ...) among the texts of its file; with role + 1: the end of the
 * role. */
static inline size_t aoei_mine_role(const aoei_mine_row *r, size_t role) {
    return r->file->first[r->example * r->file->roles + role];
}
/* 1: both classes are query or positive in one row, so neither is a negative for the other; also 1 for a class of any row
 * and itself. */
int aoei_mine_related(const aoei_mine_texts *t, uint32_t a, uint32_t b);
/* Inserts file and line of text i before the message in err; returns code. */
int aoei_mine_name_text(const aoei_mine_texts *t, size_t i, int code, aoe_error *err);

#endif
