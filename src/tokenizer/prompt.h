/* SPDX-License-Identifier: MIT
 * Prompt templates: inserts the text into the template, and truncates the text if the result has too many tokens.
 */
#ifndef AOEI_TOKENIZER_PROMPT_H
#define AOEI_TOKENIZER_PROMPT_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/token_list.h"

/* The formatted string and the position of the text in it. */
typedef struct aoei_prompted {
    char *data;        /* [len] formatted string, owned */
    size_t len;        /* length in bytes */
    size_t text_start; /* the text is data[text_start, text_end) */
    size_t text_end;
} aoei_prompted;

/* Replaces {text} in the template by the text. There are no escapes. Errors: AOE_EARG unless the template contains {text}
 * exactly once; AOE_EFORMAT if the template is not UTF-8. */
int aoei_prompt_format(aoei_prompted *p, const char *prompt, aoe_text text, aoe_error *err);
void aoei_prompt_free(aoei_prompted *p);

/* Sets *before and *after to the numbers of tokens of ids[first, n) before the first and after the last token of the text
 * itself. span: [n] byte range of each token in the formatted string; a token of the text does not overlap the template. */
void aoei_prompt_ends(const aoei_prompted *p, const aoe_ids *ids, const aoei_span *span, size_t first, size_t *before,
                      size_t *after);

/* Removes tokens of the text from its end until ids[first, n) has at most `budget` tokens. The spans are relative to the
 * formatted string. A token that overlaps the template is kept. max_length is used only in the message. Errors: AOE_EARG if the
 * template leaves no space for one token of the text. */
int aoei_prompt_truncate(const aoei_prompted *p, aoe_ids *ids, const aoei_span *span, size_t first, size_t budget,
                         size_t max_length, aoe_error *err);

#endif
