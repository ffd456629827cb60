/* SPDX-License-Identifier: MIT
 * Character classes and mappings as Hugging Face tokenizers define them. The categories that BERT uses are those of Unicode
 * 8.0, and the decompositions are those of Unicode 9.0. Lower case, \w, numbers and grapheme clusters are those of the Unicode
 * version of utf8proc. Code points must be valid scalar values.
 */
#ifndef AOEI_TOKENIZER_UNICODE_H
#define AOEI_TOKENIZER_UNICODE_H

#include <stddef.h>
#include <stdint.h>

int aoei_unicode_is_space(uint32_t cp);       /* property White_Space */
int aoei_unicode_is_control(uint32_t cp);     /* categories Cc, Cf, Co; unassigned code points are not control */
int aoei_unicode_is_punctuation(uint32_t cp); /* categories P* and ASCII punctuation, including $+<=>^`|~ */
int aoei_unicode_is_nonspacing(uint32_t cp);  /* category Mn */
int aoei_unicode_is_word(uint32_t cp);        /* \w of UTS 18: Alphabetic, M*, Nd, Pc, Join_Control */
int aoei_unicode_is_cjk(uint32_t cp);         /* the eight ranges that BERT calls Chinese characters */
int aoei_unicode_is_mark(uint32_t cp);        /* categories M* of Unicode 9.0 */
int aoei_unicode_is_numeric(uint32_t cp);     /* categories Nd, Nl, No */
unsigned aoei_unicode_combining_class(uint32_t cp);

#define AOEI_LOWER_MAX      2  /* maximum number of code points of a lower-case mapping */
#define AOEI_DECOMPOSED_MAX 8  /* maximum number of code points of a canonical decomposition (4 in Unicode 15) */
#define AOEI_COMPATIBLE_MAX 20 /* maximum number of code points of a compatibility decomposition (18 in Unicode 15) */

/* Full lower-case mapping of one code point, without context: a capital sigma at the end of a word becomes U+03C3, not the
 * final form U+03C2. Returns 1 or 2, the number of code points. */
size_t aoei_unicode_lower(uint32_t cp, uint32_t out[AOEI_LOWER_MAX]);
/* Canonical decomposition of one code point, Hangul included, without reordering. Returns the number of code points, at
 * least 1. */
size_t aoei_unicode_decompose(uint32_t cp, uint32_t out[AOEI_DECOMPOSED_MAX]);
/* Compatibility decomposition of one code point, Hangul included, without reordering. Returns the number of code points, at
 * least 1. */
size_t aoei_unicode_decompose_compatible(uint32_t cp, uint32_t out[AOEI_COMPATIBLE_MAX]);
/* Returns the primary composite of two code points; 0 if there is none. */
uint32_t aoei_unicode_compose(uint32_t a, uint32_t b);
/* Returns 1 if the code point is a starter that can compose with a preceding one (vowel signs of Indic scripts, jamo). */
int aoei_unicode_composes_back(uint32_t cp);
/* Returns 1 if there is a grapheme cluster boundary between two adjacent code points. *state must be 0 at the start of a
 * text. */
int aoei_unicode_cluster_break(uint32_t a, uint32_t b, int32_t *state);

#endif
