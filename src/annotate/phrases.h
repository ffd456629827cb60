/* SPDX-License-Identifier: MIT
 * Recognizes phrases that chat models write around or instead of the requested sentences: refusals, announcements and
 * closing remarks. The phrases are in the languages that models use most often.
 */
#pragma once

#include "aoe.h"

/* Returns 1 if the text is a refusal. A refusal begins with an apology or a similar phrase and states that something
 * cannot be done. A text that only apologizes is not a refusal, because it can be a requested sentence. */
int aoei_is_refusal(aoe_text s);
/* Returns 1 if the line is an announcement such as "Here are five sentences:" or "Sure!". */
int aoei_is_announcement(aoe_text line);
/* Returns 1 if the line is a closing remark such as "I hope this helps!" or "Note: ...". */
int aoei_is_remark(aoe_text line);
