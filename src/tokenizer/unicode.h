/* SPDX-License-Identifier: MIT
 * The character classes and forms that tokenizers ask for, as Hugging Face's has
 * them: categories of Unicode 8.0 (BERT's), decompositions of 9.0, lower case, \w,
 * numbers and clusters of the current standard (utf8proc). Code points are valid scalar values.
 */
#ifndef AOEI_TOKENIZER_UNICODE_H
#define AOEI_TOKENIZER_UNICODE_H

#include <stddef.h>
#include <stdint.h>

int aoei_unicode_is_space(uint32_t cp);       /* property White_Space */
int aoei_unicode_is_control(uint32_t cp);     /* categories Cc, Cf, Co; unassigned code points are not control */
int aoei_unicode_is_punctuation(uint32_t cp); /* ASCII punctuation ($+<=>^`|~ too) and categories P* */
int aoei_unicode_is_nonspacing(uint32_t cp);  /* category Mn */
int aoei_unicode_is_word(uint32_t cp);        /* \w of UTS 18: Alphabetic, M*, Nd, Pc, Join_Control */
int aoei_unicode_is_cjk(uint32_t cp);         /* the eight ranges BERT calls Chinese characters */
int aoei_unicode_is_mark(uint32_t cp);        /* categories M*, of Unicode 9.0 */
int aoei_unicode_is_numeric(uint32_t cp);     /* categories Nd, Nl, No */
unsigned aoei_unicode_combining_class(uint32_t cp);

#define AOEI_LOWER_MAX      2  /* code points of a lower-case mapping */
#define AOEI_DECOMPOSED_MAX 8  /* code points of a canonical decomposition (4 in Unicode 15) */
#define AOEI_COMPATIBLE_MAX 20 /* of a compatibility decomposition (18 in Unicode 15) */

/* Full lower-case mapping of one code point, without context (a final sigma stays a medial one). Returns 1 or 2. */
size_t aoei_unicode_lower(uint32_t cp, uint32_t out[AOEI_LOWER_MAX]);
/* Canonical decomposition of one code point, Hangul included, not reordered. Returns at least 1. */
size_t aoei_unicode_decompose(uint32_t cp, uint32_t out[AOEI_DECOMPOSED_MAX]);
/* Compatibility decomposition, likewise. */
size_t aoei_unicode_decompose_compatible(uint32_t cp, uint32_t out[AOEI_COMPATIBLE_MAX]);
/* The primary composite of two code points, 0: there is none. */
uint32_t aoei_unicode_compose(uint32_t a, uint32_t b);
/* The code point is a starter that can compose with one before it (vowel signs of Indic scripts, jamo). */
int aoei_unicode_composes_back(uint32_t cp);
/* 1: a grapheme cluster ends between two code points that follow each other. *state: 0 at the start of a text. */
int aoei_unicode_cluster_break(uint32_t a, uint32_t b, int32_t *state);

#endif
