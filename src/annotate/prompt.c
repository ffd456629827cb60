/* SPDX-License-Identifier: MIT
 * Contains the default prompt templates, and replaces the placeholders of a template.
 */
#include "annotate/prompt.h"

#include <string.h>

#include "base/error.h"

/* Source: figure 4 of "AnglE-optimized Text Embeddings" (arXiv 2309.12871). The figure has one prompt for synonymous
 * and opposite sentences; here it is divided into two prompts. */
const char aoei_prompt_positive[] =
    "You are a highly smart same-meaning sentence-generating system. Your job is to generate {size} synonymous "
    "sentences of a given input sentence. Input sentence: {text}. Output:";
const char aoei_prompt_negative[] =
    "You are a highly smart opposite-meaning sentence-generating system. Your job is to generate {size} antonym "
    "sentences of a given input sentence. Input sentence: {text}. Output:";

const char aoei_prompt_score[] =
    "How similar in meaning are these two sentences? Rate them from 0 (they have nothing to do with each other) to 5 "
    "(they mean "
    "the same); decimals are welcome. Answer with the number alone.\nSentence 1: {text1}\nSentence 2: {text2}\nScore:";

int aoei_prompt_check(const char *template, int pair, const char *what, aoe_error *err) {
    if (!pair && !strstr(template, "{text}"))
        return aoei_fail(err, AOE_EARG, "%s: the template has no {text}; insert it where the input belongs", what);
    if (pair && (!strstr(template, "{text1}") || !strstr(template, "{text2}")))
        return aoei_fail(err, AOE_EARG,
                         "%s: the template needs {text1} and {text2}; insert them where the texts belong", what);
    return 0;
}

int aoei_prompt_fill(aoei_buffer *out, const char *s, const aoei_prompt_values *v) {
    while (*s) {
        if (!strncmp(s, "{size}", 6)) {
            (void)aoei_buffer_printf(out, "%zu", v->size);
            s += 6;
        } else if (!strncmp(s, "{text}", 6) || !strncmp(s, "{text1}", 7)) {
            (void)aoei_buffer_append(out, v->text1.data, v->text1.len);
            s += s[5] == '}' ? 6 : 7;
        } else if (!strncmp(s, "{text2}", 7)) {
            (void)aoei_buffer_append(out, v->text2.data, v->text2.len);
            s += 7;
        } else {
            (void)aoei_buffer_putc(out, *s++);
        }
    }
    return out->failed ? AOE_ENOMEM : 0;
}
