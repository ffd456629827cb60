/* SPDX-License-Identifier: MIT
 * Extracts the requested sentences from the response of a chat model. Models use many formats: numbered, lettered and
 * bulleted lists, JSON, code fences, tables, quoted lines and plain lines. Other text may precede and follow the
 * sentences. Ambiguous parts of a response are skipped, so the parser may miss a sentence but returns only sentences
 * that the model wrote as requested.
 */
#pragma once

#include "annotate/sentences.h"

typedef enum aoei_parse_outcome {
    AOEI_CHAT_LIST,    /* sentences were found */
    AOEI_CHAT_REFUSED, /* the model declined the request */
    AOEI_CHAT_NOTHING  /* no sentence was recognized */
} aoei_parse_outcome;

/* Parses a response, sets *outcome, and replaces the contents of *l with the sentences that are found. The caller
 * zeroes *l before the first call. At most max_sentences sentences are returned; max_sentences must be at least 1.
 * truncated: 1 if the response was truncated at the token limit; an incomplete last sentence is then skipped. Returns 0
 * or AOE_ENOMEM. */
int aoei_parse_sentences(aoei_sentences *l, aoei_parse_outcome *outcome, aoe_text reply, size_t max_sentences,
                         int truncated);
