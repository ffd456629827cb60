/* SPDX-License-Identifier: MIT
 * What hard negatives are mined from: the training files and the corpus in memory,
 * their distinct texts, and which of them belong together. A text's identity is its
 * class: equal token lists, after prompt and truncation, are one text, for the encoder
 * cannot tell them apart. It embeds nothing. Immutable once read.
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
    const uint32_t *class_of;  /* of the file's texts, borrowed */
} aoei_mine_row;

typedef struct aoei_mine_texts {
    aoei_examples *file; /* owned [n_files]: training files, behind them the corpus */
    size_t n_files, n_training;
    aoe_text *text;     /* owned [n_texts] all texts, file after file; memory of the files */
    uint32_t *class_of; /* owned [n_texts] */
    size_t n_texts;
    size_t n_classes;
    size_t n_candidates;      /* the classes below are candidates, numbered as they first come */
    uint32_t *representative; /* owned [n_classes] the first text of a class, of a candidate the first that may be one */
    aoei_token_lists tokens;  /* [n_classes]; aoei_mine_texts_drop_tokens frees them */
    size_t truncated;         /* classes that lost tokens */
    aoei_mine_row *row;       /* owned [n_rows], in the order of the files */
    size_t n_rows, row_capacity;
    size_t below;         /* labelled pairs that are no positives */
    size_t *member_first; /* owned [n_classes + 1] */
    uint32_t *member;     /* owned [member_first[n_classes]] rows that a class is a query or a positive of, ascending */
} aoei_mine_texts;

/* Reads the files, tokenizes for the model. Errors: as aoe_mine. *t is to be freed either way. */
int aoei_mine_texts_read(aoei_mine_texts *t, const aoe_model *m, const aoe_mine_options *o, aoe_error *err);
void aoei_mine_texts_free(aoei_mine_texts *t); /* accepts a zeroed one */
void aoei_mine_texts_drop_tokens(aoei_mine_texts *t);

/* First text of a row's role (0: query, 1: positive, ...) among the texts of its file; role + 1: the end. */
static inline size_t aoei_mine_role(const aoei_mine_row *r, size_t role) {
    return r->file->first[r->example * r->file->roles + role];
}
/* 1: in some row both are query or positive, so neither is a negative of the other; also for a text of rows with itself. */
int aoei_mine_related(const aoei_mine_texts *t, uint32_t a, uint32_t b);
/* Puts file and line of text i before the message in err; returns code. */
int aoei_mine_name_text(const aoei_mine_texts *t, size_t i, int code, aoe_error *err);

#endif
