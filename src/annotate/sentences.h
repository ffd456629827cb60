/* SPDX-License-Identifier: MIT
 * The sentences found in a reply, each cleaned of what models put around it: quotes, emphasis, a label, a comment
 * in brackets, a comma behind it. One sentence is one line with single spaces.
 */
#ifndef AOEI_ANNOTATE_SENTENCES_H
#define AOEI_ANNOTATE_SENTENCES_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_chat_list {
    aoei_buffer text; /* sentence after sentence; owned */
    size_t *end;      /* [n] owned: end of each in text */
    size_t n, capacity;
    size_t repeated; /* sentences left out because they were there before */
    size_t most;     /* no more than so many are taken */
} aoei_chat_list;

/* Cleans one sentence and appends it. Left out: what holds no letter or digit, echoes of the input ("Input sentence: ..."),
 * placeholders, what is there already to the byte, what is longer than 16 KB, and all beyond `most`. 0, or AOE_ENOMEM. */
int aoei_chat_list_add(aoei_chat_list *l, aoe_text raw);
aoe_text aoei_chat_list_item(const aoei_chat_list *l, size_t i); /* borrowed until the next add */
void aoei_chat_list_clear(aoei_chat_list *l);                    /* empty; keeps memory and `most` */
void aoei_chat_list_free(aoei_chat_list *l);                     /* accepts a zeroed one */

/* Is the line a label alone or with text behind it, that announces no sentence of the answer ("Input sentence: ...", "Note:
 * ...")? */
int aoei_chat_is_echo(aoe_text line);
/* Without a label in front that announces a sentence ("Output:", "Synonym 1:"). */
aoe_text aoei_chat_take_label(aoe_text s);
/* Bytes of a pair of quotes that s begins with and its end closes: what is taken off both ends; 0: none. */
size_t aoei_chat_quotes(aoe_text s, size_t *at_end);

#endif
