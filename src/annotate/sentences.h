/* SPDX-License-Identifier: MIT
 * A list of sentences from a response, without the decoration that models add: quotes, emphasis, labels, comments in
 * parentheses, trailing commas. A sentence is one line with single spaces.
 */
#ifndef AOEI_ANNOTATE_SENTENCES_H
#define AOEI_ANNOTATE_SENTENCES_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_sentences {
    aoei_buffer text; /* concatenated sentences, owned */
    size_t *end;      /* [n] end of each sentence in text, owned */
    size_t n, capacity;
    size_t repeated; /* number of sentences skipped because they were repetitions */
    size_t most;     /* maximum number of sentences */
} aoei_sentences;

/* Cleans a sentence and appends it. Skipped are sentences without a letter or digit, repetitions of the input ("Input
 * sentence: ..."), placeholders, sentences that are already in the list, sentences longer than 16 KB, and sentences after
 * the first `most`. Returns 0 or AOE_ENOMEM. */
int aoei_sentences_add(aoei_sentences *l, aoe_text raw);
aoe_text aoei_sentences_item(const aoei_sentences *l, size_t i); /* borrowed until the next add */
void aoei_sentences_clear(aoei_sentences *l);                    /* removes all sentences; keeps the memory and `most` */
void aoei_sentences_free(aoei_sentences *l);                     /* accepts a zeroed struct */

/* 1 if the line starts with a label that does not announce a requested sentence ("Input sentence: ...", "Note: ..."), with
 * or without text after it. */
int aoei_is_echo(aoe_text line);
/* Removes a label at the start that announces a sentence ("Output:", "Synonym 1:"). */
aoe_text aoei_strip_label(aoe_text s);
/* Length of the opening quote if s is quoted as a whole; *at_end is the length of the closing quote. 0: s is not quoted. */
size_t aoei_quote_bytes(aoe_text s, size_t *at_end);

#endif
