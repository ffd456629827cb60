/* SPDX-License-Identifier: MIT
 * Prompt templates: the place of {text}, the formatted string, and what is cut
 * when the result is too long.
 */
#ifndef AOEI_TOKENIZER_PROMPT_H
#define AOEI_TOKENIZER_PROMPT_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/token_list.h"

/* The formatted string and where the text lies in it. */
typedef struct aoei_prompted {
    char *data;        /* [len], owned */
    size_t len;        /* bytes */
    size_t text_start; /* the text is data[text_start, text_end) */
    size_t text_end;
} aoei_prompted;

/* AOE_EARG unless the template holds {text} exactly once; nothing is escaped. AOE_EFORMAT: a template that is not UTF-8. */
int aoei_prompt_format(aoei_prompted *p, const char *prompt, aoe_text text, aoe_error *err);
void aoei_prompt_free(aoei_prompted *p);

/* How many of ids[first, n) come before the text's own tokens, and after them. */
void aoei_prompt_ends(const aoei_prompted *p, const aoe_ids *ids, const aoei_span *span, size_t first, size_t *before,
                      size_t *after);

/* Cuts tokens of the text from the right until ids[first, n) holds at most `budget` tokens; their spans count from
 * `first` = 0 in the formatted string. A token that reaches into the template stays.
 * AOE_EARG: the template leaves no room for one token of the text. max_length is for the message. */
int aoei_prompt_cut(const aoei_prompted *p, aoe_ids *ids, const aoei_span *span, size_t first, size_t budget, size_t max_length,
                    aoe_error *err);

#endif
