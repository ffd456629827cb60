/* SPDX-License-Identifier: MIT
 * Prompt templates with the placeholders {size}, {text}, {text1} and {text2}. All placeholders are replaced in a single
 * pass. Therefore a "{text}" inside an inserted text is not replaced. The default templates for positives and negatives
 * are from figure 4 of the AnglE paper. The default template for scores is not from a paper.
 */
#pragma once

#include "aoe.h"
#include "base/buffer.h"

extern const char aoei_prompt_positive[], aoei_prompt_negative[], aoei_prompt_score[];

typedef struct aoei_prompt_values {
    size_t size;    /* value of {size} */
    aoe_text text1; /* value of {text1} and {text} */
    aoe_text text2; /* value of {text2} */
} aoei_prompt_values;

/* Checks the placeholders of a template. If pair is 0, the template must contain {text}. If pair is 1, it must contain
 * {text1} and {text2}. what: name of the option that contains the template, for the error message. Errors: AOE_EARG. */
int aoei_prompt_check(const char *template, int pair, const char *what, aoe_error *err);
/* Appends the template to `out` and replaces its placeholders by the values *v. Returns 0 or AOE_ENOMEM. */
int aoei_prompt_fill(aoei_buffer *out, const char *template, const aoei_prompt_values *v);
