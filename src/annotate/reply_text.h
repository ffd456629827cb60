/* SPDX-License-Identifier: MIT
 * What the parsers of chat models' replies have in common: pieces of text, and a reply made
 * plain (line ends, spaces, HTML lists, thoughts left out). Byte strings of valid UTF-8;
 * comparisons ignore the case of ASCII letters only.
 */
#ifndef AOEI_ANNOTATE_REPLY_TEXT_H
#define AOEI_ANNOTATE_REPLY_TEXT_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

aoe_text aoei_chat_trim(aoe_text s);                  /* without ASCII white space at both ends */
aoe_text aoei_chat_skip(aoe_text s, size_t bytes);    /* without its first bytes */
int aoei_chat_starts(aoe_text s, const char *prefix); /* 1: begins so */
int aoei_chat_ends(aoe_text s, const char *suffix);
int aoei_chat_contains(aoe_text s, const char *part);
int aoei_chat_starts_any(aoe_text s, const char *const *list); /* list: ended by NULL */
int aoei_chat_contains_any(aoe_text s, const char *const *list);
int aoei_chat_next_line(aoe_text *rest, aoe_text *line); /* 1: took a line, without its LF; 0: nothing is left */

/* Is there a letter or a digit of any script in it? */
int aoei_chat_has_word(aoe_text s);
/* Does it end like a sentence: a full stop or its like, closing quotes and brackets behind it allowed? */
int aoei_chat_ends_sentence(aoe_text s);

/* Appends the reply to out with LF as line end, plain spaces and straight apostrophes, no zero-width or control characters,
 * list items of HTML as lines with a bullet, other line tags as line ends, and what stands between <think> and </think> left
 * out (all that follows when it never ends), as is what stands behind a turn's end ("</s>", "<|im_end|>"). 0, or AOE_ENOMEM. */
int aoei_chat_plain(aoei_buffer *out, aoe_text reply);
/* What stands inside the first fenced block (``` or ~~~) that holds anything, up to the end when it is never closed; the whole
 * text when there is none. *open (may be NULL): it is never closed. */
aoe_text aoei_chat_unfence(aoe_text plain, int *open);

#endif
