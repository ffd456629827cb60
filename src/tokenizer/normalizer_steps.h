/* SPDX-License-Identifier: MIT
 * The single normalisers, for normalizer.c. Each appends the normalised form of
 * s to out, whose len is 0, with origins that count in s, and writes nothing behind it.
 */
#ifndef AOEI_TOKENIZER_NORMALIZER_STEPS_H
#define AOEI_TOKENIZER_NORMALIZER_STEPS_H

#include "tokenizer/normalizer.h"

void aoei_bert_normalizer_set(aoei_bert_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents,
                              int lowercase);
int aoei_normalize_bert(const aoei_bert_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
/* NFD, NFKD (compatible), NFC (composed), NFKC (both). */
int aoei_normalize_unicode(int compatible, int composed, const char *s, size_t len, aoei_normalized *out, aoe_error *err);

#endif
