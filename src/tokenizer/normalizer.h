/* SPDX-License-Identifier: MIT
 * Normalizes texts, which is the first step of a tokenizer. A normalizer is a list of steps. Each step is one of the
 * normalizers of Hugging Face tokenizers. Nested normalizers of the type Sequence are flattened into one list.
 */
#pragma once

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
    AOEI_NORMALIZER_UNICODE, /* NFC, NFD, NFKC or NFKD */
    AOEI_NORMALIZER_LOWERCASE,
    AOEI_NORMALIZER_STRIP,
    AOEI_NORMALIZER_STRIP_ACCENTS,
    AOEI_NORMALIZER_NMT,
    AOEI_NORMALIZER_REPLACE,
    AOEI_NORMALIZER_PREPEND,
    AOEI_NORMALIZER_CHARSMAP, /* the normalizer "Precompiled" */
    AOEI_NORMALIZER_BYTE_LEVEL
} aoei_normalizer_type;

/* A step of a normalizer. The comment of a field begins with the types that use the field. For example, REPLACE stands
 * for AOEI_NORMALIZER_REPLACE. */
typedef struct aoei_normalizer_step {
    aoei_normalizer_type type;
    aoei_bert_normalizer bert;          /* BERT: options of BertNormalizer */
    unsigned char compatible, composed; /* UNICODE: compatible is 1 for NFKC and NFKD, composed is 1 for NFC and NFKC */
    unsigned char left, right; /* STRIP: 1 if white space is removed at the start (left) or at the end (right) */
    aoei_pattern pattern;      /* REPLACE: pattern whose matches are replaced; owned */
    char *content;             /* REPLACE, PREPEND: [content_len] text that is inserted; owned */
    size_t content_len;        /* length of content in bytes */
    aoei_charsmap charsmap;    /* CHARSMAP: table of replacements; owned */
} aoei_normalizer_step;

typedef struct aoei_normalizer {
    aoei_normalizer_step *step; /* [n] steps in the order in which they run; owned */
    size_t n, capacity;
} aoei_normalizer;

/* Appends BertNormalizer. If strip_accents is -1, accents are stripped if `lowercase` is 1. Errors: AOE_ENOMEM. */
int aoei_normalizer_add_bert(aoei_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents,
                             int lowercase, aoe_error *err);
/* Appends the normalizer NFC. Errors: AOE_ENOMEM. */
int aoei_normalizer_add_nfc(aoei_normalizer *n, aoe_error *err);
/* Reads the "normalizer" section of tokenizer.json into a zeroed normalizer. If `section` is NULL or JSON null, the
 * normalizer has no steps. Errors: AOE_ENOMEM; AOE_EFORMAT; AOE_EUNSUPPORTED for unknown types, which the message
 * names. */
int aoei_normalizer_read(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err);
/* Replaces *out with the normalized form of s, which must be valid UTF-8. Errors: AOE_ENOMEM; AOE_EFORMAT if the
 * regular expression of a Replace step exceeds PCRE2's match limit. */
int aoei_normalize(const aoei_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
/* Returns the text that the last Replace or ByteLevel step writes instead of a space, such as "_". Returns {NULL, 0} if
 * no step replaces spaces. */
aoe_text aoei_normalizer_space(const aoei_normalizer *n);
/* Sets *out to the steps of n after a step Lowercase, unless n contains such a step. The steps are borrowed from n;
 * only the array out->step is owned, and the caller frees it with aoei_free. Errors: AOE_ENOMEM. */
int aoei_normalizer_lowercased(aoei_normalizer *out, const aoei_normalizer *n, aoe_error *err);
void aoei_normalizer_free(aoei_normalizer *n); /* accepts a zeroed struct */
