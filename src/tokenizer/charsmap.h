/* SPDX-License-Identifier: MIT
 * The normalizer "Precompiled" replaces character sequences according to a table that SentencePiece has compiled.
 * tokenizer.json contains the table as a base64 string, the value of "precompiled_charsmap". The decoded table consists
 * of a double-array trie of 32-bit units and the concatenated replacements. All reads are bounds-checked, so invalid
 * tables are safe.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

typedef struct aoei_charsmap {
    unsigned char *blob; /* decoded table, owned */
    uint32_t *unit;      /* [n_units] double-array trie, owned */
    size_t n_units;
    const char *text; /* [text_len] concatenated replacements in valid UTF-8, separated by NUL bytes; a part of
                         `blob` */
    size_t text_len;
} aoei_charsmap;

/* Decodes the base64 string base64[len], the value of "precompiled_charsmap", into *m, which must be zeroed. If the
 * string is empty, *m remains zeroed and does not change texts. `file` names the file in messages. The caller frees *m
 * with aoei_charsmap_free, even if the function fails. Errors: AOE_EFORMAT, AOE_ENOMEM. */
int aoei_charsmap_read(aoei_charsmap *m, const char *base64, size_t len, const char *file, aoe_error *err);
/* Appends the normalized form of s[len], which must be valid UTF-8, to out. Errors: AOE_ENOMEM. */
int aoei_charsmap_apply(const aoei_charsmap *m, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
void aoei_charsmap_free(aoei_charsmap *m);
