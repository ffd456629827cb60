/* SPDX-License-Identifier: MIT
 * Extracts the requested score from the response of a chat model: "4.2", "Score: 4/5", "I would rate this 3.5 out of 5",
 * JSON, number words. A response with two possible numbers has no score.
 */
#ifndef AOEI_ANNOTATE_PARSE_SCORE_H
#define AOEI_ANNOTATE_PARSE_SCORE_H

#include "aoe.h"

typedef enum aoei_score_outcome {
    AOEI_SCORE_FOUND,
    AOEI_SCORE_REFUSED,  /* the model declined */
    AOEI_SCORE_AMBIGUOUS /* no number, several numbers, a range, another scale, or a number that is not between 0 and
                            `max_score` */
} aoei_score_outcome;

/* Parses a response. max_score: the maximum score (for example 5), an integer up to 9. *score is set if a score is found.
 * Returns 0 or AOE_ENOMEM. */
int aoei_parse_score(aoei_score_outcome *outcome, double *score, aoe_text reply, unsigned max_score);

#endif
