/* SPDX-License-Identifier: MIT
 * The character classes BERT's tokenizer asks for, as Hugging Face tokenizers
 * has them: categories of Unicode 8.0, canonical decomposition of 9.0, lower case
 * and \w of the current standard (utf8proc). Code points are valid scalar values.
 */
#ifndef AOEI_TEXT_UNICODE_H
#define AOEI_TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

int aoei_unicode_is_space(uint32_t cp);       /* property White_Space */
int aoei_unicode_is_control(uint32_t cp);     /* categories Cc, Cf, Co; unassigned code points are not control */
int aoei_unicode_is_punctuation(uint32_t cp); /* ASCII punctuation ($+<=>^`|~ too) and categories P* */
int aoei_unicode_is_nonspacing(uint32_t cp);  /* category Mn */
int aoei_unicode_is_word(uint32_t cp);        /* \w of UTS 18: Alphabetic, M*, Nd, Pc, Join_Control */
int aoei_unicode_is_cjk(uint32_t cp);         /* the eight ranges BERT calls Chinese characters */
unsigned aoei_unicode_combining_class(uint32_t cp);

#define AOEI_LOWER_MAX      2 /* code points of a lower-case mapping */
#define AOEI_DECOMPOSED_MAX 8 /* code points of a canonical decomposition (4 in Unicode 15) */

/* Full lower-case mapping of one code point, without context (a final sigma stays a medial one). Returns 1 or 2. */
size_t aoei_unicode_lower(uint32_t cp, uint32_t out[AOEI_LOWER_MAX]);
/* Canonical decomposition of one code point, Hangul included, not reordered. Returns at least 1. */
size_t aoei_unicode_decompose(uint32_t cp, uint32_t out[AOEI_DECOMPOSED_MAX]);

#endif
