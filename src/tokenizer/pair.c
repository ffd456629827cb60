/* SPDX-License-Identifier: MIT
 * Truncates two texts and applies the template of a pair. The lengths after truncation are those of the strategy
 * longest_first of the Hugging Face tokenizers library.
 */
#include "tokenizer/pair.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* The template of a tokenizer without a template of pairs. */
static const aoei_pair_piece plain[] = {{AOEI_PAIR_FIRST, 0, 0}, {AOEI_PAIR_SECOND, 0, 1}};

/* Limits the lengths *a and *b of the two texts to a total of `limit` tokens. */
static void limit_lengths(size_t *a, size_t *b, size_t limit) {
    if (*a + *b <= limit)
        return;
    const int swapped = *a > *b;
    size_t shorter = swapped ? *b : *a, longer;
    if (shorter > limit)
        longer = shorter;
    else
        longer = limit - shorter > shorter ? limit - shorter : shorter;
    if (shorter + longer > limit) {
        shorter = limit / 2;
        longer = shorter + limit % 2;
    }
    *a = swapped ? longer : shorter;
    *b = swapped ? shorter : longer;
}

int aoei_pair_join(aoe_ids *first, const aoe_ids *second, const aoei_postprocessor *post, int no_specials,
                   size_t max_length, int left, aoe_error *err) {
    const aoei_pair_piece *pieces = post->n_pair ? post->pair : plain;
    const size_t n_pieces = post->n_pair ? post->n_pair : 2;
    size_t n[2] = {first->n, second->n}, specials = 0, at = 0;
    if (post->two_pairs)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "the post_processor of tokenizer.json has two templates of pairs; pairs cannot be encoded");
    for (size_t i = 0; i < n_pieces && !no_specials; i++)
        specials += pieces[i].part == AOEI_PAIR_SPECIAL;
    if (max_length && max_length < specials)
        return aoei_fail(err, AOE_EARG,
                         "options.max_length is %zu, but must be at least %zu, the number of special tokens of a pair",
                         max_length, specials);
    if (max_length)
        limit_lengths(&n[0], &n[1], max_length - specials);
    const size_t total = n[0] + n[1] + specials;
    int32_t *ids = aoei_malloc_array(total + 1, sizeof *ids);
    uint8_t *types = aoei_malloc(total + 1);
    if (!ids || !types) {
        aoei_free(ids);
        aoei_free(types);
        return aoei_fail_nomem(err, total * sizeof *ids);
    }
    for (size_t i = 0; i < n_pieces; i++) {
        const aoei_pair_piece *piece = &pieces[i];
        const size_t begin = at;
        if (piece->part == AOEI_PAIR_SPECIAL) {
            if (!no_specials)
                ids[at++] = piece->id;
        } else {
            const int which = piece->part == AOEI_PAIR_SECOND;
            const aoe_ids *from = which ? second : first;
            if (n[which])
                memcpy(ids + at, from->id + (left ? from->n - n[which] : 0), n[which] * sizeof *ids);
            at += n[which];
        }
        memset(types + begin, piece->type, at - begin);
    }
    first->truncated = n[0] < first->n || n[1] < second->n;
    aoei_free(first->id);
    aoei_free(first->type);
    first->id = ids;
    first->type = types;
    first->n = total;
    first->capacity = total + 1;
    return 0;
}
