/* SPDX-License-Identifier: MIT
 * A list of sentences from the response of a chat model. Models often add quotes, emphasis, labels, comments in
 * parentheses and trailing commas to a sentence; the functions remove these additions. A stored sentence is one line
 * without repeated spaces.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_sentences {
    aoei_buffer text;     /* concatenated sentences, owned */
    size_t *end;          /* [n] offset of the end of each sentence in `text`, owned */
    size_t n, capacity;   /* n: number of sentences in the list; capacity: allocated elements of `end` */
    size_t repeated;      /* number of skipped sentences that were already in the list */
    size_t max_sentences; /* maximum number of sentences in the list */
} aoei_sentences;

/* Cleans the sentence `raw` and appends it to the list. If the list already contains max_sentences sentences, does
 * nothing. A sentence is skipped if one of these conditions holds:
 * - It contains no letter and no digit.
 * - It repeats the input, as in "Input sentence: ...".
 * - It is a placeholder such as "Sentence 1" or "[sentence]".
 * - It is already in the list.
 * - It is longer than 16 KB.
 * Returns 0 or AOE_ENOMEM. */
int aoei_sentences_add(aoei_sentences *l, aoe_text raw);
/* Returns sentence i. The returned text is valid until the next call of aoei_sentences_add. */
aoe_text aoei_sentences_item(const aoei_sentences *l, size_t i);
void aoei_sentences_clear(aoei_sentences *l); /* removes all sentences; keeps the memory and max_sentences */
void aoei_sentences_free(aoei_sentences *l);  /* accepts a zeroed struct */

/* Returns 1 if the line starts with a label such as "Input sentence:" or "Note:", after which no requested sentence
 * follows. */
int aoei_is_echo(aoe_text line);
/* If s starts with a label of a requested sentence, such as "Output:" or "Synonym 1:", returns the text after the
 * label. Otherwise returns s. */
aoe_text aoei_strip_label(aoe_text s);
/* If s is quoted as a whole, returns the length of the opening quote and sets *at_end to the length of the closing
 * quote; otherwise returns 0. */
size_t aoei_quote_bytes(aoe_text s, size_t *at_end);
