/* SPDX-License-Identifier: MIT
 * Plain text to token sequences for pretraining, streamed: a line or table row is a
 * document or a sentence. Texts are joined while they fit the maximum length, each
 * ended by the tokenizer's closing token ([SEP]), and a longer one is cut into several
 * sequences; or every text is a sequence of its own. A share of the texts, chosen by
 * their content, is held out: the same text is always on the same side.
 */
#ifndef AOEI_TRAIN_SEQUENCES_H
#define AOEI_TRAIN_SEQUENCES_H

#include "aoe_data.h"
#include "model/text_batch.h"

typedef struct aoei_sequences_options {
    const char *const *files; /* [n_files] .txt or tables, .gz and .zst too; borrowed */
    size_t n_files;
    const aoe_table_options *table; /* columns, skip_bad_rows; borrowed */
    size_t max_length;              /* tokens of a sequence, specials included */
    int pack;                       /* 1: join texts */
    double held_out;                /* share of the texts */
    int want_held_out;              /* 1: the sequences of the held-out texts, 0: those of the others */
} aoei_sequences_options;

typedef struct aoei_sequences aoei_sequences;

/* Errors: AOE_EARG (max_length leaves no room beside the specials), those of the model's tokenizer and of aoei_table_open. */
int aoei_sequences_open(aoei_sequences **s, const aoe_model *m, const aoei_sequences_options *o, aoe_error *err);
void aoei_sequences_close(aoei_sequences *s); /* NULL accepted */
/* 1: *ids [*n], borrowed until the next call; 0: the end; or an error with file and line. */
int aoei_sequences_next(aoei_sequences *s, const int32_t **ids, size_t *n, aoe_error *err);
size_t aoei_sequences_skipped(const aoei_sequences *s); /* bad rows left out so far */

#endif
