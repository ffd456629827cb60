/* SPDX-License-Identifier: MIT
 * Extracts the requested sentences from the answer of a chat model, in the formats that models use: numbered, lettered and
 * bulleted lists, JSON and code fences, tables, quoted lines, plain lines, with text before and after them. Ambiguous
 * parts are skipped: sentences may be missing, but are never invented.
 */
#ifndef AOEI_ANNOTATE_PARSE_SENTENCES_H
#define AOEI_ANNOTATE_PARSE_SENTENCES_H

#include "annotate/sentences.h"

typedef enum aoei_chat_outcome {
    AOEI_CHAT_LIST,    /* sentences were found */
    AOEI_CHAT_REFUSED, /* the model declined */
    AOEI_CHAT_NOTHING  /* no sentence was recognized */
} aoei_chat_outcome;

/* Replaces the contents of *l (zero it before the first call; release it with aoei_chat_list_free) with at most `most` > 0
 * sentences. cut: 1: the answer was truncated, so an incomplete last sentence is skipped. Returns 0 or AOE_ENOMEM. */
int aoei_chat_parse(aoei_chat_list *l, aoei_chat_outcome *outcome, aoe_text reply, size_t most, int cut);

#endif
