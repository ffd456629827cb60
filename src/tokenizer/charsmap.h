/* SPDX-License-Identifier: MIT
 * The normaliser Precompiled: SentencePiece's table of character sequences and
 * what they become, as a double array of 32-bit units and a text of replacements,
 * written in base64. Whatever the table holds, no read leaves it.
 */
#ifndef AOEI_TOKENIZER_CHARSMAP_H
#define AOEI_TOKENIZER_CHARSMAP_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/normalized.h"

typedef struct aoei_charsmap {
    unsigned char *blob; /* owned: the decoded table */
    uint32_t *unit;      /* [n_units], owned: the double array */
    size_t n_units;
    const char *text; /* [text_len], in blob: replacements, each ended by NUL; valid UTF-8 */
    size_t text_len;
} aoei_charsmap;

/* From "precompiled_charsmap", base64; an empty one changes nothing. AOE_EFORMAT, AOE_ENOMEM. */
int aoei_charsmap_read(aoei_charsmap *m, const char *base64, size_t len, const char *file, aoe_error *err);
/* Appends the normalised form of s, valid UTF-8. */
int aoei_charsmap_apply(const aoei_charsmap *m, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
void aoei_charsmap_free(aoei_charsmap *m);

#endif
