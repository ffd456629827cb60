/* SPDX-License-Identifier: MIT
 * The Unicode normalization forms.
 */
#ifndef AOEI_TOKENIZER_NORMALIZER_UNICODE_H
#define AOEI_TOKENIZER_NORMALIZER_UNICODE_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

/* Writes the NFD, NFKD (compatible = 1), NFC (composed = 1) or NFKC (both 1) form of s to out, which must be empty. The origin
 * of each byte is the offset in s of the character that it comes from. Errors: AOE_ENOMEM. */
int aoei_normalize_unicode(int compatible, int composed, const char *s, size_t len, aoei_normalized *out, aoe_error *err);

#endif
