/* SPDX-License-Identifier: MIT
 * From a chat model's reply to the one number it was asked for: "4.2", "Score: 4/5", "I would rate this 3.5 out
 * of 5", JSON, words. A reply with two numbers that could be meant has no score.
 */
#ifndef AOEI_ANNOTATE_PARSE_SCORE_H
#define AOEI_ANNOTATE_PARSE_SCORE_H

#include "aoe.h"

typedef enum aoei_score_outcome {
    AOEI_SCORE_FOUND,
    AOEI_SCORE_REFUSED,  /* the model declined */
    AOEI_SCORE_AMBIGUOUS /* no number, several, a range, another scale, or one outside of 0 to most */
} aoei_score_outcome;

/* most: the highest score there is (5), a whole number up to 9. *score is set when one is found. 0, or AOE_ENOMEM. */
int aoei_chat_score(aoei_score_outcome *outcome, double *score, aoe_text reply, unsigned most);

#endif
