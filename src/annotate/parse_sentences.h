/* SPDX-License-Identifier: MIT
 * Extracts the requested sentences from the response of a chat model in the formats that models use: numbered, lettered and
 * bulleted lists, JSON, code fences, tables, quoted lines and plain lines, with text before and after them. Ambiguous parts
 * are skipped: sentences may be missing, but are never invented.
 */
#ifndef AOEI_ANNOTATE_PARSE_SENTENCES_H
#define AOEI_ANNOTATE_PARSE_SENTENCES_H

#include "annotate/sentences.h"

typedef enum aoei_parse_outcome {
    AOEI_CHAT_LIST,    /* sentences were found */
    AOEI_CHAT_REFUSED, /* the model declined */
    AOEI_CHAT_NOTHING  /* no sentence was recognized */
} aoei_parse_outcome;

/* Parses a response. *l, which is zeroed before the first call, receives at most max_sentences (at least 1) sentences; its
 * previous contents are removed. If truncated is 1, the response was truncated, so an incomplete last sentence is skipped.
 * Returns 0 or AOE_ENOMEM. */
int aoei_parse_sentences(aoei_sentences *l, aoei_parse_outcome *outcome, aoe_text reply, size_t max_sentences, int truncated);

#endif
