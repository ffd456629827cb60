/* SPDX-License-Identifier: MIT
 * The Unicode normalization forms.
 */
#ifndef AOEI_TOKENIZER_NORMALIZER_UNICODE_H
#define AOEI_TOKENIZER_NORMALIZER_UNICODE_H

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

/* Appends the NFD, NFKD (compatible), NFC (composed) or NFKC (both) form of s to out, whose len is 0, with origins that are
 * offsets in s. Errors: AOE_ENOMEM. */
int aoei_normalize_unicode(int compatible, int composed, const char *s, size_t len, aoei_normalized *out, aoe_error *err);

#endif
