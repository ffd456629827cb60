/* SPDX-License-Identifier: MIT
 * Implements the normalizer "Precompiled", which replaces character sequences with the help of a table of SentencePiece. The
 * file stores the table as base64. The table consists of a double-array trie of 32-bit units and the concatenated replacements.
 * All reads are bounds-checked, so invalid tables are safe.
 */
#ifndef AOEI_TOKENIZER_CHARSMAP_H
#define AOEI_TOKENIZER_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

typedef struct aoei_charsmap {
    unsigned char *blob; /* decoded table, owned */
    uint32_t *unit;      /* [n_units] double-array trie, owned */
    size_t n_units;
    const char *text; /* [text_len] replacements inside blob, valid UTF-8, each terminated by NUL */
    size_t text_len;
} aoei_charsmap;

/* Decodes base64[len], the value of "precompiled_charsmap". An empty string gives a map that changes nothing. Errors:
 * AOE_EFORMAT, AOE_ENOMEM. */
int aoei_charsmap_read(aoei_charsmap *m, const char *base64, size_t len, const char *file, aoe_error *err);
/* Appends the normalized form of s, which must be valid UTF-8, to out. */
int aoei_charsmap_apply(const aoei_charsmap *m, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
void aoei_charsmap_free(aoei_charsmap *m);

#endif
