/* SPDX-License-Identifier: MIT
 * Computes the Unicode normalization forms.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

/* Writes a normalization form of s to out, which must be empty. `compatible` is 1 for NFKD and NFKC, and 0 for NFD and
 * NFC. `composed` is 1 for NFC and NFKC, and 0 for NFD and NFKD. The origin of each byte is the offset in s of the
 * character that it comes from. Errors: AOE_ENOMEM. */
int aoei_normalize_unicode(int compatible, int composed, const char *s, size_t len, aoei_normalized *out,
                           aoe_error *err);
