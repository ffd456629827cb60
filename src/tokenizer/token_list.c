/* SPDX-License-Identifier: MIT
 * Allocates and frees the memory of token lists.
 */
#include "tokenizer/token_list.h"

#include "base/alloc.h"
#include "base/error.h"

int aoei_token_list_grow(aoei_token_list *l, size_t more, aoe_error *err) {
    aoe_ids *ids = l->ids;
    size_t need;
    if (aoei_add_size(ids->n, more, &need))
        return aoei_fail_nomem(err, more);
    if (need > ids->capacity) {
        size_t wanted = ids->capacity > need / 2 ? ids->capacity * 2 : need < 16 ? 16 : need;
        int32_t *grown = aoei_realloc_array(ids->id, wanted, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, wanted);
        ids->id = grown;
        ids->capacity = wanted;
    }
    if (l->track && need > l->span_capacity) {
        size_t wanted = l->span_capacity > need / 2 ? l->span_capacity * 2 : need < 16 ? 16 : need;
        aoei_span *grown = aoei_realloc_array(l->span, wanted, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, wanted);
        l->span = grown;
        l->span_capacity = wanted;
    }
    return 0;
}

void aoei_token_list_free(aoei_token_list *l) {
    aoei_free(l->span);
    l->span = NULL;
    l->span_capacity = 0;
}
