/* SPDX-License-Identifier: MIT
 * A subset of the tokens of a tokenizer, from which a smaller tokenizer is created. The tokens of the subset get new
 * ids in the order of their ids. A subset must contain the tokens that the tokenizer needs to encode texts without the
 * removed tokens:
 * - WordPiece and Unigram: the single characters of which the removed tokens consist
 * - BPE: the tokens from which a token is merged, and the letters of the 256 bytes
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_tokenizer.h"

typedef struct aoei_token_subset {
    const aoe_tokenizer *t; /* borrowed */
    size_t n;               /* number of ids of the tokenizer */
    uint8_t *keep;          /* [n] 1: the token is in the subset; owned */
    size_t n_kept;          /* number of tokens in the subset */
    int32_t *new_id;        /* [n] new id of each token, -1: removed; set by aoei_token_subset_number; owned */
    int32_t *old_id;        /* [n_kept] old id of each new id; set by aoei_token_subset_number; owned */
    /* Workspace for the parts of a token: [n_parts] ids of its characters and of the merged tokens; [capacity] both;
     * owned. */
    int32_t *part, *symbol;
    size_t n_parts, capacity;
} aoei_token_subset;

/* Creates an empty subset of the tokens of t. The caller calls aoei_token_subset_free, even if the function fails.
 * Errors: AOE_ENOMEM; AOE_EUNSUPPORTED (vocabulary of words; BPE with continuing_subword_prefix or end_of_word_suffix).
 * dir: directory of the tokenizer for messages. */
int aoei_token_subset_create(aoei_token_subset *s, const aoe_tokenizer *t, const char *dir, aoe_error *err);
void aoei_token_subset_free(aoei_token_subset *s); /* accepts a zeroed struct */
/* Adds the token `id`, and the tokens from which BPE merges it, if the subset has at most `limit` tokens afterwards.
 * Ids that are not below s->n are ignored. Returns 1 if the token is in the subset, otherwise 0. Errors: AOE_ENOMEM. */
int aoei_token_subset_add(aoei_token_subset *s, int32_t id, size_t limit, aoe_error *err);
/* Adds the tokens that are required to encode texts that consist of the tokens with used[i] != 0: the tokens of single
 * characters that are ASCII or occur in these tokens, the tokens of bytes, and used tokens that cannot be divided into
 * tokens of single characters. used: [s->n]. Errors: AOE_ENOMEM. */
int aoei_token_subset_add_alphabet(aoei_token_subset *s, const uint8_t *used, aoe_error *err);
/* Sets s->new_id and s->old_id. No tokens may be added afterwards. Errors: AOE_ENOMEM. */
int aoei_token_subset_number(aoei_token_subset *s, aoe_error *err);
