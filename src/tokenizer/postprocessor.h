/* SPDX-License-Identifier: MIT
 * The last step of a tokenizer adds special tokens before and after the tokens of a text. For the two texts of a pair,
 * it has a template, which also determines the token type of each token.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

/* A piece of the template of a pair. */
typedef enum aoei_pair_part { AOEI_PAIR_SPECIAL, AOEI_PAIR_FIRST, AOEI_PAIR_SECOND } aoei_pair_part;
typedef struct aoei_pair_piece {
    aoei_pair_part part; /* a special token, or the tokens of the first or second text */
    int32_t id;          /* special token; only for AOEI_PAIR_SPECIAL */
    uint8_t type;        /* token type of the tokens of the piece */
} aoei_pair_piece;

/* A step that shortens the ranges of tokens in the text by their white space. */
typedef struct aoei_span_trim {
    int add_prefix_space; /* 1: the only leading space of a token at the start of the text was added by the
                             pre-tokenizer, so it is not part of the range */
    size_t n_before;      /* number of special tokens before the text when the step runs */
} aoei_span_trim;

typedef struct aoei_postprocessor {
    int32_t *id;     /* [n_before + n_after] tokens before the text, followed by the tokens after the text; owned */
    size_t n_before; /* number of tokens before the text */
    size_t n_after;  /* number of tokens after the text */
    size_t capacity; /* number of allocated elements of `id` */
    /* [n_pair] template of a pair, which contains each text once, in any order; owned. If n_pair is 0, the tokens of
     * the second text follow those of the first, with token type 1 */
    aoei_pair_piece *pair;
    size_t n_pair, pair_capacity;
    aoei_span_trim *trim; /* [n_trims] steps that trim ranges, in the order in which they run; owned */
    size_t n_trims, trim_capacity;
    int two_pairs; /* 1: two parts of a Sequence have a template of pairs, so pairs cannot be encoded */
} aoei_postprocessor;

/* Adds a special token. `after` is 0 for a token before the text and 1 for a token after the text. All tokens before
 * the text must be added first. */
int aoei_postprocessor_add(aoei_postprocessor *p, int after, int32_t id, aoe_error *err);
/* Adds a piece to the template of a pair. */
int aoei_postprocessor_add_pair(aoei_postprocessor *p, aoei_pair_part part, int32_t id, uint8_t type, aoe_error *err);
/* Adds the template of BERT (roberta is 0): CLS A SEP B SEP, with token type 1 from B; or of RoBERTa (roberta is 1):
 * CLS A SEP SEP B SEP, with token type 0. */
int aoei_postprocessor_add_usual_pair(aoei_postprocessor *p, int32_t cls, int32_t sep, int roberta, aoe_error *err);
/* Adds a step that trims the ranges of tokens. */
int aoei_postprocessor_add_trim(aoei_postprocessor *p, int add_prefix_space, aoe_error *err);
/* Reads the "post_processor" section of tokenizer.json into a zeroed postprocessor. If `section` is NULL or JSON null,
 * the postprocessor adds no tokens. In a Sequence, the tokens of a later part surround the tokens of earlier parts.
 * Errors: AOE_ENOMEM; AOE_EFORMAT; AOE_EUNSUPPORTED for unknown types, which the message names. */
int aoei_postprocessor_read(aoei_postprocessor *p, const json_t *section, const char *file, aoe_error *err);
void aoei_postprocessor_free(aoei_postprocessor *p);
