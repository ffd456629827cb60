/* SPDX-License-Identifier: MIT
 * Text normalization, the first step of a tokenizer. A normalizer is a list of steps, each one a normalizer of Hugging Face
 * tokenizers. Sequences are flattened, at any depth.
 */
#ifndef AOEI_TOKENIZER_NORMALIZER_H
#define AOEI_TOKENIZER_NORMALIZER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/normalized.h"
#include "tokenizer/normalizer_bert.h"
#include "tokenizer/pattern.h"

typedef enum aoei_normalizer_type {
    AOEI_NORMALIZER_BERT,
    AOEI_NORMALIZER_UNICODE, /* NFC, NFD, NFKC, NFKD */
    AOEI_NORMALIZER_LOWERCASE,
    AOEI_NORMALIZER_STRIP,
    AOEI_NORMALIZER_STRIP_ACCENTS,
    AOEI_NORMALIZER_NMT,
    AOEI_NORMALIZER_REPLACE,
    AOEI_NORMALIZER_PREPEND,
    AOEI_NORMALIZER_CHARSMAP, /* Precompiled */
    AOEI_NORMALIZER_BYTE_LEVEL
} aoei_normalizer_type;

typedef struct aoei_normalizer_step {
    aoei_normalizer_type type;
    aoei_bert_normalizer bert;          /* parameters of BERT */
    unsigned char compatible, composed; /* UNICODE: 1 for the forms with K, and 1 for the forms with C instead of D */
    unsigned char left, right;          /* STRIP: 1 for each end that is stripped */
    aoei_pattern pattern;               /* REPLACE: what is replaced; owned */
    char *content;                      /* [content_len] text written by REPLACE and PREPEND; owned */
    size_t content_len;                 /* length in bytes */
    aoei_charsmap charsmap;             /* table of CHARSMAP; owned */
} aoei_normalizer_step;

typedef struct aoei_normalizer {
    aoei_normalizer_step *step; /* [n], owned */
    size_t n, capacity;
} aoei_normalizer;

/* Appends BertNormalizer. strip_accents -1 means the value of lowercase. Errors: AOE_ENOMEM. */
int aoei_normalizer_add_bert(aoei_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents, int lowercase,
                             aoe_error *err);
/* Appends NFC. Errors: AOE_ENOMEM. */
int aoei_normalizer_add_nfc(aoei_normalizer *n, aoe_error *err);
/* Reads the "normalizer" section of tokenizer.json into a zeroed normalizer. NULL or null: no steps. AOE_EUNSUPPORTED names
 * the type. */
int aoei_normalizer_read(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err);
/* Replaces *out with the normalized form of s, which must be valid UTF-8. Errors: AOE_ENOMEM; AOE_EFORMAT if a pattern of
 * the file exceeds its match limit. */
int aoei_normalize(const aoei_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
/* The text that replaces spaces, such as "_" in Replace " " by "_". Returns the last such replacement, or {NULL, 0}. */
aoe_text aoei_normalizer_space(const aoei_normalizer *n);
void aoei_normalizer_free(aoei_normalizer *n); /* accepts a zeroed one */

#endif
