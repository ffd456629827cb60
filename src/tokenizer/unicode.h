/* SPDX-License-Identifier: MIT
 * Character classes and mappings, as Hugging Face tokenizers define them. The categories that BERT uses are defined by
 * Unicode 8.0, and the decompositions by Unicode 9.0. Lower case, \w, numbers and grapheme clusters are defined by the
 * Unicode version of utf8proc. Code points must be valid Unicode scalar values.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int aoei_unicode_is_space(uint32_t cp);       /* property White_Space */
int aoei_unicode_is_control(uint32_t cp);     /* categories Cc, Cf and Co, but not unassigned code points */
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

/* Writes the full lower-case mapping of the code point cp to out and returns its length, 1 or 2. The context of the
 * character is ignored: a capital sigma at the end of a word becomes U+03C3, and not the final form U+03C2. */
size_t aoei_unicode_lower(uint32_t cp, uint32_t out[AOEI_LOWER_MAX]);
int aoei_unicode_is_cased(uint32_t cp);          /* property Cased */
int aoei_unicode_is_case_ignorable(uint32_t cp); /* property Case_Ignorable */
/* Writes the canonical decomposition of the code point cp to out and returns its length, which is at least 1. Hangul
 * syllables are decomposed. Marks are not reordered. */
size_t aoei_unicode_decompose(uint32_t cp, uint32_t out[AOEI_DECOMPOSED_MAX]);
/* Writes the compatibility decomposition of the code point cp to out and returns its length, which is at least 1.
 * Hangul syllables are decomposed. Marks are not reordered. */
size_t aoei_unicode_decompose_compatible(uint32_t cp, uint32_t out[AOEI_COMPATIBLE_MAX]);
/* Returns the primary composite of the code points a and b, or 0 if they do not compose. */
uint32_t aoei_unicode_compose(uint32_t a, uint32_t b);
/* Returns 1 if the code point has combining class 0 and can compose with a preceding code point. Examples are vowel
 * signs of Indic scripts and Hangul jamo. */
int aoei_unicode_composes_back(uint32_t cp);
/* Returns 1 if there is a boundary of grapheme clusters between the adjacent code points a and b. *state must be 0 at
 * the start of a text; the function updates it. */
int aoei_unicode_cluster_break(uint32_t a, uint32_t b, int32_t *state);
