/* SPDX-License-Identifier: MIT
 * Reads token sequences for pretraining from text files or tables. Each line or row is one text, which is a sentence or
 * a document. With packing, a sequence contains as many texts as the maximum length allows. Each of them is followed by
 * the tokenizer's final special token, such as [SEP]. Without packing, a sequence contains one text. A text that is
 * longer than the maximum length is split into several sequences. A fraction of the texts is held out for evaluation; a
 * hash of a text decides if it is held out.
 */
#pragma once

#include "aoe_data.h"
#include "model/text_batch.h"

typedef struct aoei_sequences_options {
    const char *const *files;       /* [n_files] paths of .txt files or tables, optionally .gz or .zst; borrowed */
    size_t n_files;                 /* number of files */
    const aoe_table_options *table; /* table options; only the fields columns and skip_bad_rows are used; borrowed */
    size_t max_length;              /* maximum number of tokens in a sequence, special tokens included */
    int pack;                       /* 1: a sequence may contain several texts */
    double held_out;                /* fraction of the texts that is held out */
    int want_held_out;              /* 1: read the held-out texts; 0: read all other texts */
} aoei_sequences_options;

typedef struct aoei_sequences aoei_sequences;

/* Prepares reading. No file is opened yet. Errors: AOE_ENOENT if the model has no tokenizer, AOE_EARG if max_length has
 * no space for text tokens, AOE_ENOMEM. */
int aoei_sequences_open(aoei_sequences **s, const aoe_model *m, const aoei_sequences_options *o, aoe_error *err);
void aoei_sequences_close(aoei_sequences *s); /* accepts NULL */
/* Reads the next sequence. *ids is set to its *n token ids, which are valid until the next call. Returns 1, 0 after the
 * last sequence, or an error. Error messages contain the file and the line. */
int aoei_sequences_next(aoei_sequences *s, const int32_t **ids, size_t *n, aoe_error *err);
size_t aoei_sequences_skipped(const aoei_sequences *s); /* number of bad rows skipped so far */
