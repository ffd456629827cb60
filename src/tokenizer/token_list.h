/* SPDX-License-Identifier: MIT
 * A list of tokens, to which subword models append. The list contains the id of each token. If tracking is enabled, the
 * list also contains the span of each token, which is the byte range of the token in the normalized text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_tokenizer.h"

typedef struct aoei_span {
    size_t start, end; /* byte range, end excluded */
} aoei_span;

typedef struct aoei_token_list {
    aoe_ids *ids;         /* token ids, borrowed; tokens are appended */
    int track;            /* 1: spans are recorded */
    aoei_span *span;      /* [ids->n] spans if track is 1, owned */
    size_t span_capacity; /* number of allocated elements of `span` */
    /* Used only if the vocabulary has no unknown token. 1: unknown words are dropped; 0: encoding an unknown word
     * fails. */
    int drop_unknown;
} aoei_token_list;

/* Grows the capacity, so that `more` tokens can be appended. Callers use aoei_token_list_reserve, which first checks
 * whether the capacity is already sufficient. */
int aoei_token_list_grow(aoei_token_list *l, size_t more, aoe_error *err);
void aoei_token_list_free(aoei_token_list *l); /* frees the spans, not the ids */

/* Reserves memory for `more` tokens, so that aoei_token_push cannot fail. Errors: AOE_ENOMEM. */
static inline int aoei_token_list_reserve(aoei_token_list *l, size_t more, aoe_error *err) {
    return l->ids->capacity - l->ids->n >= more && !l->track ? 0 : aoei_token_list_grow(l, more, err);
}

static inline void aoei_token_push(aoei_token_list *l, int32_t id, size_t start, size_t end) {
    if (l->track)
        l->span[l->ids->n] = (aoei_span){start, end};
    l->ids->id[l->ids->n++] = id;
}
