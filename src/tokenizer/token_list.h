/* SPDX-License-Identifier: MIT
 * The tokens a model appends to: the caller's ids and, when spans are tracked,
 * the bytes of the normalised piece each token covers.
 */
#ifndef AOEI_TOKENIZER_TOKEN_LIST_H
#define AOEI_TOKENIZER_TOKEN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_span {
    size_t start, end; /* bytes, end excluded */
} aoei_span;

typedef struct aoei_token_list {
    aoe_ids *ids;         /* borrowed; tokens are appended */
    int track;            /* 1: spans are kept */
    aoei_span *span;      /* [ids->n] when track, owned */
    size_t span_capacity; /* of span */
    int drop_unknown;     /* 1: an unknown word is no error where the vocabulary has no token for it */
} aoei_token_list;

int aoei_token_list_grow(aoei_token_list *l, size_t more, aoe_error *err);
void aoei_token_list_free(aoei_token_list *l); /* the spans, not the ids */

/* Room for `more` tokens; after it aoei_token_push cannot fail. AOE_ENOMEM. */
static inline int aoei_token_list_reserve(aoei_token_list *l, size_t more, aoe_error *err) {
    return l->ids->capacity - l->ids->n >= more && !l->track ? 0 : aoei_token_list_grow(l, more, err);
}

static inline void aoei_token_push(aoei_token_list *l, int32_t id, size_t start, size_t end) {
    if (l->track)
        l->span[l->ids->n] = (aoei_span){start, end};
    l->ids->id[l->ids->n++] = id;
}

#endif
