/* SPDX-License-Identifier: MIT
 * The sentences of an answer, without the decoration that models add: quotes, emphasis, a label, a comment in brackets, a
 * trailing comma. A sentence is one line with single spaces.
 */
#ifndef AOEI_ANNOTATE_SENTENCES_H
#define AOEI_ANNOTATE_SENTENCES_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_chat_list {
    aoei_buffer text; /* owned: concatenated sentences */
    size_t *end;      /* owned [n] end of each sentence in text */
    size_t n, capacity;
    size_t repeated; /* sentences skipped because they were repeated */
    size_t most;     /* maximum number of sentences */
} aoei_chat_list;

/* Cleans a sentence and appends it. Skipped: sentences without a letter or digit, repetitions of the input ("Input sentence:
 * ..."), placeholders, sentences that are already in the list, sentences longer than 16 KB, and sentences after the first
 * `most`. Returns 0 or AOE_ENOMEM. */
int aoei_chat_list_add(aoei_chat_list *l, aoe_text raw);
aoe_text aoei_chat_list_item(const aoei_chat_list *l, size_t i); /* borrowed until the next add */
void aoei_chat_list_clear(aoei_chat_list *l);                    /* removes all sentences; keeps the memory and `most` */
void aoei_chat_list_free(aoei_chat_list *l);                     /* accepts a zeroed one */

/* 1: the line is a label, alone or with text after it, that does not announce a sentence of the answer ("Input sentence:
 * ...", "Note: ..."). */
int aoei_chat_is_echo(aoe_text line);
/* Removes a label at the start that announces a sentence ("Output:", "Synonym 1:"). */
aoe_text aoei_chat_take_label(aoe_text s);
/* Length of the quote at the start of s if its closing quote is at the end (*at_end: its length); 0: s is not quoted. */
size_t aoei_chat_quotes(aoe_text s, size_t *at_end);

#endif
