/* SPDX-License-Identifier: MIT
 * Text functions for the parsers of responses, and conversion of a response to plain text. Texts are valid UTF-8.
 * Comparisons ignore the case of ASCII letters only.
 */
#ifndef AOEI_ANNOTATE_REPLY_TEXT_H
#define AOEI_ANNOTATE_REPLY_TEXT_H

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

aoe_text aoei_text_trim(aoe_text s);                       /* the text without ASCII white space at both ends */
aoe_text aoei_text_skip(aoe_text s, size_t bytes);         /* the text without its first `bytes` bytes */
int aoei_text_starts_with(aoe_text s, const char *prefix); /* returns 1 if s begins with prefix */
int aoei_text_ends_with(aoe_text s, const char *suffix);
int aoei_text_contains(aoe_text s, const char *part);
int aoei_text_starts_with_any(aoe_text s, const char *const *list); /* list: NULL-terminated */
int aoei_text_contains_any(aoe_text s, const char *const *list);
int aoei_text_next_line(aoe_text *rest,
                        aoe_text *line); /* returns 1 and sets *line to the next line without its LF; 0: no more lines */

/* Returns 1 if the text has a letter or a digit of any script. */
int aoei_text_has_word(aoe_text s);
/* Returns 1 if the text ends with a full stop or similar punctuation, which closing quotes and brackets may follow. */
int aoei_text_ends_sentence(aoe_text s);

/* Appends the response to `out` as plain text. Line ends become LF, and TABs and special spaces become plain spaces.
 * Zero-width and control characters are removed. HTML list items become lines with a bullet, and other HTML line tags become
 * line ends. The text between <think> and </think> is removed; if one of the two tags is missing, this text extends to the
 * end or begins at the start of the response. After visible text, everything after a token that ends the turn ("</s>",
 * "<|im_end|>") is removed. Returns 0 or AOE_ENOMEM. */
int aoei_reply_plain(aoei_buffer *out, aoe_text reply);
/* Returns the content of the first fenced code block (``` or ~~~) that contains a word. If the block is not closed, its
 * content ends at the end of the text. If there is no such block, returns the whole text. Sets *open (may be NULL) to 1 if
 * the block is not closed. */
aoe_text aoei_reply_unfence(aoe_text plain, int *open);

#endif
