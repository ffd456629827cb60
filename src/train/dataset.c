/* SPDX-License-Identifier: MIT
 * Tokenizing a training file and telling equal texts. Equality is of token ids,
 * after prompt and truncation: what the encoder sees.
 */
#include "train/dataset.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static int same_tokens(const aoei_token_lists *l, size_t a, size_t b) {
    const size_t n = aoei_token_count(l, a);
    return n == aoei_token_count(l, b) && memcmp(l->ids + l->offsets[a], l->ids + l->offsets[b], n * sizeof *l->ids) == 0;
}

/* Open addressing over the token lists; a text's class is the index of its first occurrence. */
static int find_groups(aoei_dataset *d, aoe_error *err) {
    size_t slots = 16;
    while (slots < 4 * d->n)
        slots *= 2;
    uint32_t *table = aoei_calloc(slots, sizeof *table); /* text + 1; 0 is free */
    if (!table)
        return aoei_fail_nomem(err, slots * sizeof *table);
    for (size_t i = 0; i < 2 * d->n; i++) {
        const size_t bytes = aoei_token_count(&d->tokens, i) * sizeof *d->tokens.ids;
        size_t at = (size_t)aoei_hash(AOEI_HASH_START, d->tokens.ids + d->tokens.offsets[i], bytes) & (slots - 1);
        while (table[at] && !same_tokens(&d->tokens, table[at] - 1, i))
            at = (at + 1) & (slots - 1);
        if (!table[at])
            table[at] = (uint32_t)i + 1;
        d->groups[i] = table[at] - 1;
    }
    aoei_free(table);
    return AOE_OK;
}

static void measure(aoei_dataset *d) {
    d->lowest = d->highest = d->labels[0];
    for (size_t i = 0; i < d->n; i++) {
        if (d->labels[i] < d->lowest)
            d->lowest = d->labels[i];
        if (d->labels[i] > d->highest)
            d->highest = d->labels[i];
    }
    for (size_t i = 0; i < 2 * d->n; i++) {
        if (aoei_token_count(&d->tokens, i) > d->longest)
            d->longest = aoei_token_count(&d->tokens, i);
        d->truncated += d->tokens.truncated[i];
    }
    d->fingerprint = aoei_hash(AOEI_HASH_START, d->tokens.ids, d->tokens.offsets[2 * d->n] * sizeof *d->tokens.ids);
    d->fingerprint = aoei_hash(d->fingerprint, d->tokens.offsets, (2 * d->n + 1) * sizeof *d->tokens.offsets);
    d->fingerprint = aoei_hash(d->fingerprint, d->labels, d->n * sizeof *d->labels);
}

int aoei_dataset_create(aoei_dataset *d, const aoe_model *m, const aoe_pairs *pairs, const char *path, aoe_error *err) {
    memset(d, 0, sizeof *d);
    d->n = aoe_pairs_count(pairs);
    if (d->n == 0 || d->n > UINT32_MAX / 2 - 1)
        return aoei_fail(err, AOE_EFORMAT, "%s: %zu pairs; give a file with 1 to 2^31 - 2 of them", path, d->n);
    int code = AOE_OK;
    aoe_text *texts = aoei_malloc_array(2 * d->n, sizeof *texts);
    d->labels = aoei_malloc_array(d->n, sizeof *d->labels);
    d->groups = aoei_malloc_array(2 * d->n, sizeof *d->groups);
    if (!texts || !d->labels || !d->groups) {
        code = aoei_fail_nomem(err, 2 * d->n * sizeof *texts);
        goto done;
    }
    for (size_t i = 0; i < d->n; i++) {
        texts[2 * i] = aoe_pairs_text1(pairs, i);
        texts[2 * i + 1] = aoe_pairs_text2(pairs, i);
        d->labels[i] = aoe_pairs_label(pairs, i);
    }
    size_t failed;
    aoe_error inner;
    code = aoei_encode_texts(m, texts, 2 * d->n, &d->tokens, &failed, &inner);
    if (code) {
        if (failed != (size_t)-1)
            aoei_fail(err, code, "%s:%zu: %s", path, aoe_pairs_line(pairs, failed / 2), inner.message);
        else
            aoei_fail(err, code, "%s", inner.message);
        goto done;
    }
    code = find_groups(d, err);
    if (!code)
        measure(d);
done:
    aoei_free(texts);
    if (code)
        aoei_dataset_destroy(d);
    return code;
}

void aoei_dataset_destroy(aoei_dataset *d) {
    aoei_token_lists_free(&d->tokens);
    aoei_free(d->labels);
    aoei_free(d->groups);
    memset(d, 0, sizeof *d);
}

static int descending(const void *pa, const void *pb) {
    const size_t a = *(const size_t *)pa, b = *(const size_t *)pb;
    return a < b ? 1 : a > b ? -1 : 0;
}

int aoei_dataset_batch_tokens(const aoei_dataset *d, size_t n_pairs, size_t *tokens, aoe_error *err) {
    size_t *length = aoei_malloc_array(d->n, sizeof *length);
    if (!length)
        return aoei_fail_nomem(err, d->n * sizeof *length);
    for (size_t i = 0; i < d->n; i++)
        length[i] = d->tokens.offsets[2 * i + 2] - d->tokens.offsets[2 * i];
    qsort(length, d->n, sizeof *length, descending);
    *tokens = 0;
    for (size_t i = 0; i < d->n && i < n_pairs; i++)
        *tokens += length[i];
    aoei_free(length);
    return AOE_OK;
}
