/* SPDX-License-Identifier: MIT
 * Functions on texts for the parsers of answers, and conversion of an answer to plain text (line ends, spaces, HTML lists,
 * without thoughts). Texts are valid UTF-8; comparisons ignore the case of ASCII letters only.
 */
#ifndef AOEI_ANNOTATE_REPLY_TEXT_H
#define AOEI_ANNOTATE_REPLY_TEXT_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

aoe_text aoei_chat_trim(aoe_text s);                  /* the text without ASCII white space at both ends */
aoe_text aoei_chat_skip(aoe_text s, size_t bytes);    /* the text without its first `bytes` bytes */
int aoei_chat_starts(aoe_text s, const char *prefix); /* 1: s begins with prefix */
int aoei_chat_ends(aoe_text s, const char *suffix);
int aoei_chat_contains(aoe_text s, const char *part);
int aoei_chat_starts_any(aoe_text s, const char *const *list); /* list: terminated by NULL */
int aoei_chat_contains_any(aoe_text s, const char *const *list);
int aoei_chat_next_line(aoe_text *rest, aoe_text *line); /* 1: *line is the next line without its LF; 0: no more lines */

/* 1: the text has a letter or a digit of any script. */
int aoei_chat_has_word(aoe_text s);
/* 1: the text ends with a full stop or similar punctuation, optionally followed by closing quotes and brackets. */
int aoei_chat_ends_sentence(aoe_text s);

/* Appends the answer to out as plain text: LF line ends, plain spaces and straight apostrophes; no zero-width or control
 * characters; list items of HTML as lines with a bullet, other line tags as line ends; without the text between <think> and
 * </think> (up to the end if it is not closed) and without the text after a token that ends the turn ("</s>", "<|im_end|>").
 * Returns 0 or AOE_ENOMEM. */
int aoei_chat_plain(aoei_buffer *out, aoe_text reply);
/* Returns the content of the first non-empty fenced block (``` or ~~~), up to the end if it is not closed; the whole text if
 * there is none. *open (may be NULL): 1: it is not closed. */
aoe_text aoei_chat_unfence(aoe_text plain, int *open);

#endif
