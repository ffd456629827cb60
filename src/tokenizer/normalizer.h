/* SPDX-License-Identifier: MIT
 * Step one of a tokenizer: text in, normalised text out, through a list of
 * steps. Each is one of the normalisers of Hugging Face tokenizers; a Sequence is
 * its parts one after the other, whatever the depth.
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
    aoei_bert_normalizer bert;          /* BERT */
    unsigned char compatible, composed; /* UNICODE: the K, and C instead of D */
    unsigned char left, right;          /* STRIP: which ends */
    aoei_pattern pattern;               /* REPLACE; owned */
    char *content;                      /* [content_len] REPLACE, PREPEND: what is written; owned */
    size_t content_len;                 /* bytes */
    aoei_charsmap charsmap;             /* CHARSMAP; owned */
} aoei_normalizer_step;

typedef struct aoei_normalizer {
    aoei_normalizer_step *step; /* [n], owned */
    size_t n, capacity;
} aoei_normalizer;

/* Appends BertNormalizer. strip_accents -1: as lowercase. AOE_ENOMEM. */
int aoei_normalizer_add_bert(aoei_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents, int lowercase,
                             aoe_error *err);
/* Appends NFC. AOE_ENOMEM. */
int aoei_normalizer_add_nfc(aoei_normalizer *n, aoe_error *err);
/* The "normalizer" section of tokenizer.json, NULL or null for none, into a zeroed one. AOE_EUNSUPPORTED names the type. */
int aoei_normalizer_read(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err);
/* Replaces *out with the normalised form of s, valid UTF-8. AOE_ENOMEM; AOE_EFORMAT: a pattern of the file gives up. */
int aoei_normalize(const aoei_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
/* What spaces become, as in "_" of Replace " " by "_": the last such step, or {NULL, 0}. */
aoe_text aoei_normalizer_space(const aoei_normalizer *n);
void aoei_normalizer_free(aoei_normalizer *n); /* accepts a zeroed one */

#endif
