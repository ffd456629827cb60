/* SPDX-License-Identifier: MIT
 * Defines when two texts are equal: each text has a key, and two texts are equal if their keys have identical bytes.
 * aoe_text_equality selects the kind of key:
 * - AOE_TEXT_EQUAL_EXACT: the text itself
 * - AOE_TEXT_EQUAL_SPACE: the text with normalized white space
 * - AOE_TEXT_EQUAL_CASE: the text with normalized white space, folded case and decomposed accents
 * - AOE_TEXT_EQUAL_LETTERS: only the letters, marks and digits of the AOE_TEXT_EQUAL_CASE key, or the whole key if it
 *   contains none
 */
#pragma once

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
    int32_t *point;  /* [capacity] code points; owned, freed by the caller with aoei_free */
    size_t capacity; /* allocated elements of `point` */
} aoei_text_key_scratch;

/* Writes the key of a text to out, which is cleared first. The text must be valid UTF-8. Returns 0 or AOE_ENOMEM. */
int aoei_text_key(aoei_buffer *out, aoe_text text, aoe_text_equality equality, aoei_text_key_scratch *scratch);
