/* SPDX-License-Identifier: MIT
 * Prompts: templates with {size}, {text}, {text1}, {text2} that are filled in one pass, so that braces in a text
 * stay what they are. The templates of the AnglE paper's figure 4 and the one for scores are here.
 */
#ifndef AOEI_ANNOTATE_PROMPT_H
#define AOEI_ANNOTATE_PROMPT_H

#include "aoe.h"
#include "base/buffer.h"

extern const char aoei_prompt_positive[], aoei_prompt_negative[], aoei_prompt_score[];

typedef struct aoei_prompt_values {
    size_t size;    /* {size} */
    aoe_text text1; /* {text1} and {text} */
    aoe_text text2; /* {text2} */
} aoei_prompt_values;

/* A template has {text}, or with pair {text1} and {text2}. what: for the message. AOE_EARG. */
int aoei_prompt_check(const char *template, int pair, const char *what, aoe_error *err);
/* Appends the filled template to out. 0, or AOE_ENOMEM. */
int aoei_prompt_fill(aoei_buffer *out, const char *template, const aoei_prompt_values *v);

#endif
