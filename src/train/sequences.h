/* SPDX-License-Identifier: MIT
 * Streams token sequences for pretraining from text files or tables. Each line or row is one text,
 * a document or a sentence. With packing, a sequence contains as many texts as fit the maximum
 * length, each followed by the final special token of the tokenizer ([SEP]). Without packing, each
 * text is one sequence. A text longer than a sequence is split. A fraction of the texts, selected by
 * a hash of their content, is held out.
 */
#ifndef AOEI_TRAIN_SEQUENCES_H
#define AOEI_TRAIN_SEQUENCES_H

#include "aoe_data.h"
#include "model/text_batch.h"

typedef struct aoei_sequences_options {
    const char *const *files; /* [n_files] .txt or tables, also .gz and .zst; borrowed */
    size_t n_files;
    const aoe_table_options *table; /* columns, skip_bad_rows; borrowed */
    size_t max_length;              /* maximum tokens of a sequence, special tokens included */
    int pack;                       /* 1: pack several texts into a sequence */
    double held_out;                /* fraction of the texts that is held out */
    int want_held_out;              /* 1: sequences of the held-out texts; 0: of the other texts */
} aoei_sequences_options;

typedef struct aoei_sequences aoei_sequences;

/* Opens the stream. Errors: AOE_ENOENT (the model has no tokenizer), AOE_EARG (max_length is too small for the special tokens),
 * AOE_ENOMEM. */
int aoei_sequences_open(aoei_sequences **s, const aoe_model *m, const aoei_sequences_options *o, aoe_error *err);
void aoei_sequences_close(aoei_sequences *s); /* accepts NULL */
/* Reads the next sequence. Returns 1 and sets ids [*n], borrowed until the next call; 0 at the end; or an error with file and
 * line. */
int aoei_sequences_next(aoei_sequences *s, const int32_t **ids, size_t *n, aoe_error *err);
size_t aoei_sequences_skipped(const aoei_sequences *s); /* bad rows skipped so far */

#endif
