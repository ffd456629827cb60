/* SPDX-License-Identifier: MIT
 * Step one of a tokenizer: text in, normalised text out. BertNormalizer, or none.
 */
#ifndef AOEI_TEXT_NORMALIZER_H
#define AOEI_TEXT_NORMALIZER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef enum aoei_normalizer_type { AOEI_NORMALIZER_NONE, AOEI_NORMALIZER_BERT } aoei_normalizer_type;

typedef struct aoei_bert_normalizer {
    int clean_text;           /* drop control characters, white space becomes ' ' */
    int handle_chinese_chars; /* a space on both sides of each CJK ideograph */
    int strip_accents;        /* NFD without category Mn */
    int lowercase;            /* a character at a time */
    unsigned char ascii[128]; /* what an ASCII character becomes; 0x80: dropped */
} aoei_bert_normalizer;

typedef struct aoei_normalizer {
    aoei_normalizer_type type;
    aoei_bert_normalizer bert;
} aoei_normalizer;

#define AOEI_NORMALIZED_SLACK 16 /* zero bytes behind normalised text, for readers that take several at once */

/* Output, reused from piece to piece. */
typedef struct aoei_normalized {
    char *data;      /* [len + AOEI_NORMALIZED_SLACK], owned */
    size_t *origin;  /* [len], owned, when track is set: byte offset in the input of the character a byte comes from */
    size_t len;      /* bytes */
    size_t capacity; /* of data, and of origin when track is set */
    int track;       /* set before the first use */
} aoei_normalized;

/* strip_accents -1: as lowercase. */
void aoei_normalizer_bert(aoei_normalizer *n, int clean_text, int handle_chinese_chars, int strip_accents, int lowercase);
/* The "normalizer" section of tokenizer.json, NULL or null for none. AOE_EUNSUPPORTED names the type. */
int aoei_normalizer_read(aoei_normalizer *n, const json_t *section, const char *file, aoe_error *err);
/* Replaces *out with the normalised form of s, valid UTF-8. AOE_ENOMEM. */
int aoei_normalize(const aoei_normalizer *n, const char *s, size_t len, aoei_normalized *out, aoe_error *err);
void aoei_normalized_free(aoei_normalized *out);

#endif
