/* SPDX-License-Identifier: MIT
 * What models say around an answer or instead of one: refusals, announcements, closing remarks, in the
 * languages that models answer in most.
 */
#ifndef AOEI_ANNOTATE_PHRASES_H
#define AOEI_ANNOTATE_PHRASES_H

#include "aoe.h"

/* Does the text decline the task? It begins with an apology or the like, and says that something cannot be done; text that
 * only apologises is a sentence like others. */
int aoei_chat_is_refusal(aoe_text s);
/* "Here are five sentences:", "Sure!": a line in front of the answer. */
int aoei_chat_is_announcement(aoe_text line);
/* "I hope this helps!", "Note: ...": a line behind it. */
int aoei_chat_is_remark(aoe_text line);

#endif
