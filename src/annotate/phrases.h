/* SPDX-License-Identifier: MIT
 * Phrases around or instead of the requested sentences: refusals, announcements and closing remarks, in the languages that
 * models use most often.
 */
#ifndef AOEI_ANNOTATE_PHRASES_H
#define AOEI_ANNOTATE_PHRASES_H

#include "aoe.h"

/* Returns 1 if the text declines the task: it begins with an apology or a similar phrase and states that something cannot be
 * done. A text that only apologizes is not a refusal, because it can be a requested sentence. */
int aoei_is_refusal(aoe_text s);
/* Returns 1 if the line announces the sentences: "Here are five sentences:", "Sure!". */
int aoei_is_announcement(aoe_text line);
/* Returns 1 if the line is a closing remark: "I hope this helps!", "Note: ...". */
int aoei_is_remark(aoe_text line);

#endif
