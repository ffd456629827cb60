/* SPDX-License-Identifier: MIT
 * Implements the BertNormalizer of Hugging Face tokenizers.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

typedef struct aoei_bert_normalizer {
    int clean_text;           /* 1: drop control characters and replace white space by ' ' */
    int handle_chinese_chars; /* 1: put a space on both sides of each CJK ideograph */
    int strip_accents;        /* 1: decompose characters (NFD) and drop nonspacing marks (category Mn) */
    int lowercase;            /* 1: convert to lower case, one character at a time */
    unsigned char ascii[128]; /* replacement of each ASCII character; 0x80: dropped */
} aoei_bert_normalizer;

/* Sets all fields of *n. If strip_accents is negative, n->strip_accents is set to `lowercase`. */
void aoei_bert_normalizer_set(aoei_bert_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents,
                              int lowercase);
/* Writes the normalized form of s to out, which must be empty. The origin of each byte is the offset in s of the
 * character that it comes from. Errors: AOE_ENOMEM. */
int aoei_normalize_bert(const aoei_bert_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
