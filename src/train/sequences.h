/* SPDX-License-Identifier: MIT
 * Streams token sequences for pretraining from plain text: a line or table row is a
 * document or a sentence. Texts are packed into a sequence while they fit the maximum
 * length, each followed by the closing token of the tokenizer ([SEP]), and a longer text is
 * split into several sequences; without packing, every text is a sequence. A fraction of the
 * texts, selected by a hash of their content, is held out.
 */
#ifndef AOEI_TRAIN_SEQUENCES_H
#define AOEI_TRAIN_SEQUENCES_H

#include "aoe_data.h"
#include "model/text_batch.h"

typedef struct aoei_sequences_options {
    const char *const *files; /* [n_files] .txt or tables, also .gz and .zst; borrowed */
    size_t n_files;
    const aoe_table_options *table; /* columns, skip_bad_rows; borrowed */
    size_t max_length;              /* tokens of a sequence, special tokens included */
    int pack;                       /* 1: pack several texts into a sequence */
    double held_out;                /* fraction of the texts that is held out */
    int want_held_out;              /* 1: sequences of the held-out texts; 0: of the other texts */
} aoei_sequences_options;

typedef struct aoei_sequences aoei_sequences;

/* Errors: AOE_EARG (max_length is too small for the special tokens), those of the model's tokenizer and of aoei_table_open. */
int aoei_sequences_open(aoei_sequences **s, const aoe_model *m, const aoei_sequences_options *o, aoe_error *err);
void aoei_sequences_close(aoei_sequences *s); /* accepts NULL */
/* 1: *ids [*n], borrowed until the next call; 0: the end; or an error with file and line. */
int aoei_sequences_next(aoei_sequences *s, const int32_t **ids, size_t *n, aoe_error *err);
size_t aoei_sequences_skipped(const aoei_sequences *s); /* bad rows skipped so far */

#endif
