/* SPDX-License-Identifier: MIT
 * Text functions for parsing the responses of chat models. Texts are valid UTF-8. Comparisons ignore the case of ASCII
 * letters; the case of other letters is significant.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

aoe_text aoei_text_trim(aoe_text s);                       /* returns s without ASCII white space at both ends */
aoe_text aoei_text_skip(aoe_text s, size_t bytes);         /* returns s without its first `bytes` bytes */
int aoei_text_starts_with(aoe_text s, const char *prefix); /* returns 1 if s begins with prefix */
int aoei_text_ends_with(aoe_text s, const char *suffix);
int aoei_text_contains(aoe_text s, const char *part);
int aoei_text_starts_with_any(aoe_text s, const char *const *list); /* list: NULL-terminated */
int aoei_text_contains_any(aoe_text s, const char *const *list);
int aoei_text_next_line(aoe_text *rest,
                        /* returns 1 and sets *line to the next line without its LF; returns 0 if there are no more
                         * lines */
                        aoe_text *line);

/* Returns 1 if the text contains a letter or a digit of any script. */
int aoei_text_has_word(aoe_text s);
/* Returns 1 if the text ends with a full stop or similar punctuation. Closing quotes and brackets may follow the
 * punctuation.
 */
int aoei_text_ends_sentence(aoe_text s);

/* Converts a response to plain text and appends the plain text to `out`:
 * - Line ends become LF. TABs and special spaces become plain spaces.
 * - Zero-width and control characters are removed.
 * - HTML list items become lines with a bullet. Other HTML tags that end a line become line ends.
 * - The text between <think> and </think> is removed. If <think> is missing, the text before </think> is removed. If
 *   </think> is missing, the text after <think> is removed.
 * - If a token that ends the turn, such as "</s>" or "<|im_end|>", follows visible text, the rest of the response is
 * removed. Returns 0 or AOE_ENOMEM. */
int aoei_reply_plain(aoei_buffer *out, aoe_text reply);
/* Returns the content of the first fenced code block (``` or ~~~) that contains a word. If the block has no closing
 * fence, its content ends at the end of the text. If there is no such block, returns the whole text. Sets *open to 1 if
 * the block has no closing fence, otherwise to 0; open may be NULL. */
aoe_text aoei_reply_unfence(aoe_text plain, int *open);
