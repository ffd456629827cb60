/* SPDX-License-Identifier: MIT
 * Inserts a text into a prompt template. If the result has too many tokens, the text is truncated and the template is
 * kept.
 */
#pragma once

#include <stddef.h>

#include "aoe_tokenizer.h"
#include "tokenizer/token_list.h"

/* The formatted string, and the position of the text in this string. */
typedef struct aoei_prompted {
    char *data;        /* [len] formatted string, owned */
    size_t len;        /* length in bytes */
    size_t text_start; /* the text is data[text_start, text_end) */
    size_t text_end;
} aoei_prompted;

/* Checks that the template `prompt` contains {text} exactly once. what: start of the message, for example
 * "options.prompt". Error: AOE_EARG. */
int aoei_template_check(const char *what, const char *prompt, aoe_error *err);

/* Replaces {text} in the template `prompt` by the text. There are no escape sequences. Errors: AOE_EARG if the template
 * does not contain {text} exactly once; AOE_EFORMAT if the template is not valid UTF-8; AOE_ENOMEM. */
int aoei_prompt_format(aoei_prompted *p, const char *prompt, aoe_text text, aoe_error *err);
void aoei_prompt_free(aoei_prompted *p);

/* Counts the tokens of the template at both ends of ids->id[first, ids->n). *before is the number of tokens before the
 * first token of the text, and *after the number of tokens after the last token of the text. span: [ids->n] byte range
 * of each token in the formatted string. A token belongs to the text if its span does not overlap the template. */
void aoei_prompt_ends(const aoei_prompted *p, const aoe_ids *ids, const aoei_span *span, size_t first, size_t *before,
                      size_t *after);

/* Removes the last tokens of the text (left = 0) or its first tokens (left = 1) until ids->id[first, ids->n) has at
 * most `budget` tokens, and their spans. span: [ids->n] byte range of each token in the formatted string. A token whose
 * span overlaps the template is kept. max_length is used only in the message. Errors: AOE_EARG if the template leaves
 * no space for at least one token of the text. */
int aoei_prompt_truncate(const aoei_prompted *p, aoe_ids *ids, aoei_span *span, size_t first, size_t budget, int left,
                         size_t max_length, aoe_error *err);
