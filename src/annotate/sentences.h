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
    size_t repeated;      /* number of sentences skipped because they were already in the list */
    size_t max_sentences; /* maximum number of sentences */
} aoei_sentences;

/* Cleans a sentence and appends it. A sentence is skipped if it contains no letter or digit, repeats the input ("Input
 * sentence: ..."), is a placeholder, is already in the list, is longer than 16 KB, or if the list already contains
 * max_sentences sentences. Returns 0 or AOE_ENOMEM. */
int aoei_sentences_add(aoei_sentences *l, aoe_text raw);
aoe_text aoei_sentences_item(const aoei_sentences *l, size_t i); /* borrowed until the next add */
void aoei_sentences_clear(aoei_sentences *l);                    /* removes all sentences; keeps the memory and max_sentences */
void aoei_sentences_free(aoei_sentences *l);                     /* accepts a zeroed struct */

/* Returns 1 if the line starts with a label that does not announce a requested sentence, such as "Input sentence:" or "Note:".
 */
int aoei_is_echo(aoe_text line);
/* Returns the text without a label at its start that announces a sentence, such as "Output:" or "Synonym 1:". */
aoe_text aoei_strip_label(aoe_text s);
/* If s is quoted as a whole, returns the length of the opening quote and sets *at_end to the length of the closing quote;
 * otherwise returns 0. */
size_t aoei_quote_bytes(aoe_text s, size_t *at_end);

#endif
