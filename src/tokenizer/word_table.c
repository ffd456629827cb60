/* SPDX-License-Identifier: MIT
 * Builds the hash table of short words. At most three quarters of its slots are used. Words are inserted in the order
 * of their ids. Frequent tokens usually have small ids, so they are inserted first and nearly always found at the first
 * probe.
 */
#include "tokenizer/word_table.h"

#include "base/alloc.h"
#include "base/error.h"

enum { SMALLEST_LOG2 = 4 };

static void insert(aoei_word_table *t, aoe_text token, size_t id) {
    char word[AOEI_WORD_TABLE_READ] = {0};
    memcpy(word, token.data, token.len);
    const aoei_word_place place = aoei_word_table_place(t, word, token.len);
    for (size_t i = (size_t)(place.slot - t->slot), end = i + AOEI_WORD_TABLE_PROBES; i < end; i++) {
        if (t->slot[i].len_id == 0) {
            t->slot[i] = place.word;
            t->slot[i].len_id |= (uint32_t)id; /* the id is below 2^22, so it does not change the length in the upper 8
                                                  bits */
            return;
        }
    }
}

int aoei_word_table_build(aoei_word_table *t, const aoei_vocab *v, size_t longest, aoe_text prefix, aoe_error *err) {
    size_t n = 0;
    unsigned log2 = SMALLEST_LOG2;
    if (longest > AOEI_WORD_TABLE_LONGEST)
        longest = AOEI_WORD_TABLE_LONGEST;
    for (int fill = 0; fill < 2; fill++) { /* the first pass counts the words, and the second pass inserts them */
        for (size_t id = 0; id < v->n_ids; id++) {
            const aoe_text token = aoei_vocab_token(v, (int32_t)id);
            if (token.len == 0 || token.len > longest ||
                (prefix.len && token.len >= prefix.len && memcmp(token.data, prefix.data, prefix.len) == 0))
                continue;
            if (fill)
                insert(t, token, id);
            else
                n++;
        }
        if (fill)
            return 0;
        while (((size_t)3 << log2) / 4 < n)
            log2++;
        const size_t slots = ((size_t)1 << log2) + AOEI_WORD_TABLE_PROBES;
        t->slot = aoei_calloc(slots, sizeof *t->slot);
        if (!t->slot)
            return aoei_fail_nomem(err, slots * sizeof *t->slot);
        t->shift = 64 - log2;
    }
    return 0;
}

void aoei_word_table_free(aoei_word_table *t) {
    aoei_free(t->slot);
    memset(t, 0, sizeof *t);
}
