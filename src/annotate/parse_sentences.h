/* SPDX-License-Identifier: MIT
 * From a chat model's reply to the sentences it was asked for, in the shapes that models return: numbered,
 * lettered and bulleted lists, JSON and code fences, tables, quoted lines, plain lines, with talk before and
 * behind. What may be read in two ways is not read: fewer sentences, never invented ones.
 */
#ifndef AOEI_ANNOTATE_PARSE_SENTENCES_H
#define AOEI_ANNOTATE_PARSE_SENTENCES_H

#include "annotate/sentences.h"

typedef enum aoei_chat_outcome {
    AOEI_CHAT_LIST,    /* there are sentences */
    AOEI_CHAT_REFUSED, /* the model declined */
    AOEI_CHAT_NOTHING  /* no sentence can be told apart */
} aoei_chat_outcome;

/* Replaces the contents of *l (zero it before the first call; aoei_chat_list_free) with at most `most` > 0 sentences.
 * cut: the reply ended for want of room, so a last sentence without its end is left out. 0, or AOE_ENOMEM. */
int aoei_chat_parse(aoei_chat_list *l, aoei_chat_outcome *outcome, aoe_text reply, size_t most, int cut);

#endif
