/* SPDX-License-Identifier: MIT
 * Selects the tokens of a smaller vocabulary for aoe_convert: the tokens of a file, or the most frequent tokens of
 * texts.
 */
#pragma once

#include <jansson.h>

#include "aoe_convert.h"
#include "model/model.h"
#include "tokenizer/token_subset.h"

typedef struct aoei_reduced_vocabulary {
    aoei_token_subset subset; /* tokens to keep, with their new ids */
    size_t rows;              /* number of these tokens that have an embedding: the first ones of subset.old_id */
    aoe_tokenizer *tokenizer; /* tokenizer of these tokens, owned */
    /* numbers of texts and of their tokens as in aoe_convert_result */
    size_t texts, tokens, tokens_kept, tokens_after;
    size_t found; /* aoe_convert_result.vocab_found */
} aoei_reduced_vocabulary;

/* Checks the options for the vocabulary without reading a file. *reduces is set to 1 if they select tokens, otherwise
 * to 0. Errors: AOE_EARG. */
int aoei_vocabulary_check(int *reduces, const aoe_convert_options *o, aoe_error *err);
/* Selects the tokens of m and creates the smaller tokenizer. The caller calls aoei_reduced_vocabulary_free, even if the
 * function fails. Errors: AOE_EARG (vocab_size is out of range), AOE_EUNSUPPORTED (tokens of the model cannot be
 * removed), AOE_EFORMAT with file and line, other errors of files. */
int aoei_vocabulary_reduce(aoei_reduced_vocabulary *v, const aoe_model *m, const aoe_convert_options *o,
                           aoe_error *err);
void aoei_reduced_vocabulary_free(aoei_reduced_vocabulary *v); /* accepts a zeroed struct */
/* Returns a copy of `config`, the contents of config.json, with the new ids of special tokens, or NULL if out of
 * memory. */
json_t *aoei_reduced_config(const aoei_reduced_vocabulary *v, const json_t *config);
