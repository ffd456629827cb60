/* SPDX-License-Identifier: MIT
 * Equality of texts (aoe_text_equality): two texts are equal if their keys have identical bytes. Depending on the kind of
 * equality, the key is the text itself, the text with normalized white space, the text with case folding and decomposed
 * accents, or only the letters and digits of the folded text.
 */
#ifndef AOEI_DATASET_TEXT_EQUALITY_H
#define AOEI_DATASET_TEXT_EQUALITY_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/buffer.h"

int aoei_is_space(int32_t code_point); /* returns 1 if the code point has the Unicode property White_Space */
/* Returns 1 if the code point is a letter, a mark (such as vowel signs in many scripts) or a number. */
int aoei_is_letter_or_digit(int32_t code_point);

/* Workspace that aoei_text_key reuses between calls. Zero it before the first call. */
typedef struct aoei_text_key_scratch {
    int32_t *point;  /* [capacity] code points; free it with aoei_free; owned */
    size_t capacity; /* number of elements allocated */
} aoei_text_key_scratch;

/* Writes the key of a text (valid UTF-8) to out and discards the previous contents of out. Returns 0 or AOE_ENOMEM. */
int aoei_text_key(aoei_buffer *out, aoe_text text, aoe_text_equality equality, aoei_text_key_scratch *scratch);

#endif
