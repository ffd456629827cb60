/* SPDX-License-Identifier: MIT
 * Extracts the requested score from the response of a chat model. Examples of responses are "4.2", "Score: 4/5", "I
 * would rate this 3.5 out of 5", "four" and JSON. If two different numbers in a response could be the score, the
 * response is ambiguous.
 */
#pragma once

#include "aoe.h"

typedef enum aoei_score_outcome {
    AOEI_SCORE_FOUND,
    AOEI_SCORE_REFUSED,  /* the model declined to give a score */
    AOEI_SCORE_AMBIGUOUS /* no number, several numbers, a range, another scale, or a number that is not between 0 and
                            `max_score` */
} aoei_score_outcome;

/* Parses a response and sets *outcome. If the response contains a score, sets *score. max_score: maximum score, an
 * integer up to 9 (for example 5). Returns 0 or AOE_ENOMEM. */
int aoei_parse_score(aoei_score_outcome *outcome, double *score, aoe_text reply, unsigned max_score);
