/* SPDX-License-Identifier: MIT
 * Phrases around or instead of an answer: refusals, announcements and closing remarks, in the languages in which models
 * answer most often.
 */
#ifndef AOEI_ANNOTATE_PHRASES_H
#define AOEI_ANNOTATE_PHRASES_H

#include "aoe.h"

/* 1: the text declines the task: it begins with an apology or a similar phrase and says that something cannot be done. A
 * text that only apologizes is a sentence. */
int aoei_chat_is_refusal(aoe_text s);
/* 1: the line announces the answer: "Here are five sentences:", "Sure!". */
int aoei_chat_is_announcement(aoe_text line);
/* 1: the line is a closing remark: "I hope this helps!", "Note: ...". */
int aoei_chat_is_remark(aoe_text line);

#endif
