/* SPDX-License-Identifier: MIT
 * Merges pairs of symbols and updates the counts of pairs incrementally. A merge visits only the words that contain the
 * pair, and changes only the counts of pairs next to each replacement. The heap is not updated when a count decreases.
 * If the entry on top of the heap has an outdated count, the entry is reinserted with the current count. Invariant: the
 * count of a pair is the sum, over all words, of the word's count times the number of occurrences of the pair in the
 * word.
 */
#include "tokenizer/pair_merger.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"

enum { FIRST_SLOTS = 1 << 12 };

static size_t slot_of(const aoei_pair_merger *m, uint32_t left, uint32_t right) {
    uint64_t h = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    return (size_t)(h >> 32) & m->mask;
}

static int grow_slots(aoei_pair_merger *m, aoe_error *err) {
    size_t slots = m->slot ? (m->mask + 1) * 2 : FIRST_SLOTS;
    uint32_t *slot = aoei_calloc(slots, sizeof *slot);
    if (!slot)
        return aoei_fail_nomem(err, slots * sizeof *slot);
    aoei_free(m->slot);
    m->slot = slot;
    m->mask = slots - 1;
    for (size_t i = 0; i < m->n_pairs; i++) {
        size_t at = slot_of(m, m->pair[i].left, m->pair[i].right);
        while (slot[at])
            at = (at + 1) & m->mask;
        slot[at] = (uint32_t)(i + 1);
    }
    return 0;
}

/* Returns the pair of `left` and `right`. Creates the pair if it does not exist. Returns NULL if out of memory. */
static aoei_pair *pair_of(aoei_pair_merger *m, uint32_t left, uint32_t right, aoe_error *err) {
    if ((!m->slot || m->n_pairs * 2 >= m->mask) && grow_slots(m, err))
        return NULL;
    size_t at = slot_of(m, left, right);
    for (; m->slot[at]; at = (at + 1) & m->mask) {
        aoei_pair *p = &m->pair[m->slot[at] - 1];
        if (p->left == left && p->right == right)
            return p;
    }
    if (aoei_grow((void **)&m->pair, &m->pair_capacity, m->n_pairs, sizeof *m->pair)) {
        aoei_fail_nomem(err, m->n_pairs * 2 * sizeof *m->pair);
        return NULL;
    }
    m->pair[m->n_pairs] = (aoei_pair){.left = left, .right = right};
    m->slot[at] = (uint32_t)++m->n_pairs;
    return &m->pair[m->n_pairs - 1];
}

/* Adds to the count of the pair one occurrence of the pair in m->word[word]. The occurrence is weighted by the count of
 * the word. */
static int add_occurrence(aoei_pair_merger *m, uint32_t left, uint32_t right, size_t word, aoe_error *err) {
    aoei_pair *p = pair_of(m, left, right, err);
    if (!p)
        return AOE_ENOMEM;
    if (p->n_words == 0 || p->word[p->n_words - 1] != word) {
        if (aoei_grow((void **)&p->word, &p->capacity, p->n_words, sizeof *p->word))
            return aoei_fail_nomem(err, p->n_words * 2 * sizeof *p->word);
        p->word[p->n_words++] = (uint32_t)word;
    }
    p->count += m->word[word].count;
    if (p->stamp != m->stamp) {
        if (aoei_grow((void **)&m->raised, &m->raised_capacity, m->n_raised, sizeof *m->raised))
            return aoei_fail_nomem(err, m->n_raised * 2 * sizeof *m->raised);
        m->raised[m->n_raised++] = (uint32_t)(p - m->pair);
        p->stamp = m->stamp;
    }
    return 0;
}

/* Subtracts from the count of the pair one occurrence of the pair in m->word[word], weighted as in add_occurrence. */
static int remove_occurrence(aoei_pair_merger *m, uint32_t left, uint32_t right, size_t word, aoe_error *err) {
    aoei_pair *p = pair_of(m, left, right, err); /* the pair exists, because the occurrence was counted before */
    if (!p)
        return AOE_ENOMEM;
    p->count -= m->word[word].count;
    return 0;
}

int aoei_pair_merger_add(aoei_pair_merger *m, const uint32_t *symbol, size_t n, uint64_t count, aoe_error *err) {
    if (n >= UINT32_MAX || m->n_words >= UINT32_MAX)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "the texts contain more than 2^32 words or symbols; train on fewer texts");
    if (aoei_grow((void **)&m->word, &m->word_capacity, m->n_words, sizeof *m->word))
        return aoei_fail_nomem(err, m->n_words * 2 * sizeof *m->word);
    size_t word = m->n_words, offset = m->n_symbols;
    for (size_t i = 0; i < n; i++) {
        if (aoei_grow((void **)&m->symbol, &m->symbol_capacity, m->n_symbols, sizeof *m->symbol))
            return aoei_fail_nomem(err, m->n_symbols * 2 * sizeof *m->symbol);
        m->symbol[m->n_symbols++] = symbol[i];
    }
    m->word[m->n_words++] = (aoei_pair_word){.offset = offset, .n = (uint32_t)n, .count = count};
    for (size_t i = 0; i + 1 < n; i++) {
        int rc = add_occurrence(m, symbol[i], symbol[i + 1], word, err);
        if (rc)
            return rc;
    }
    return 0;
}

static int before(const aoei_pair_entry *a, const aoei_pair_entry *b) {
    if (a->count != b->count)
        return a->count > b->count;
    return a->left != b->left ? a->left < b->left : a->right < b->right;
}

static void sift_down(aoei_pair_merger *m, aoei_pair_entry e) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < m->n_heap; at = child) {
        if (child + 1 < m->n_heap && before(&m->heap[child + 1], &m->heap[child]))
            child++;
        if (!before(&m->heap[child], &e))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = e;
}

static int push(aoei_pair_merger *m, uint32_t pair, aoe_error *err) {
    const aoei_pair *p = &m->pair[pair];
    aoei_pair_entry e = {.count = p->count, .left = p->left, .right = p->right, .pair = pair};
    if (aoei_grow((void **)&m->heap, &m->heap_capacity, m->n_heap, sizeof *m->heap))
        return aoei_fail_nomem(err, m->n_heap * 2 * sizeof *m->heap);
    size_t at = m->n_heap++;
    for (; at > 0 && before(&e, &m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = e;
    return 0;
}

/* Adds to the heap the pairs whose count the current merge raised. */
static int push_raised(aoei_pair_merger *m, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < m->n_raised && !rc; i++)
        if (m->pair[m->raised[i]].count > 0)
            rc = push(m, m->raised[i], err);
    m->n_raised = 0;
    m->stamp++;
    return rc;
}

int aoei_pair_merger_start(aoei_pair_merger *m, aoe_error *err) {
    m->n_raised = 0;
    for (size_t i = 0; i < m->n_pairs; i++) {
        int rc = push(m, (uint32_t)i, err);
        if (rc)
            return rc;
    }
    m->stamp = 1;
    return 0;
}

int aoei_pair_merger_best(aoei_pair_merger *m, uint32_t *left, uint32_t *right, uint64_t *count) {
    while (m->n_heap > 0) {
        aoei_pair_entry top = m->heap[0];
        uint64_t now = m->pair[top.pair].count;
        if (now != top.count && now > 0) { /* the entry is outdated: correct its count and move it down in the heap */
            top.count = now;
            sift_down(m, top);
            continue;
        }
        m->n_heap--;
        if (m->n_heap > 0)
            sift_down(m, m->heap[m->n_heap]);
        if (now == 0)
            continue;
        *left = top.left;
        *right = top.right;
        *count = now;
        return 1;
    }
    return 0;
}

/* Replaces all occurrences of the pair in a word with `merged` and updates the counts of the neighboring pairs. */
static int merge_in_word(aoei_pair_merger *m, size_t word, uint32_t left, uint32_t right, uint32_t merged,
                         aoe_error *err) {
    uint32_t *s = m->symbol + m->word[word].offset, n = m->word[word].n, to = 0;
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; to++) {
        if (i + 1 >= n || s[i] != left || s[i + 1] != right) {
            s[to] = s[i++];
            continue;
        }
        rc = remove_occurrence(m, left, right, word, err);
        if (!rc && to > 0 && !(rc = remove_occurrence(m, s[to - 1], left, word, err)))
            rc = add_occurrence(m, s[to - 1], merged, word, err);
        if (!rc && i + 2 < n && !(rc = remove_occurrence(m, right, s[i + 2], word, err)))
            rc = add_occurrence(m, merged, s[i + 2], word, err);
        s[to] = merged;
        i += 2;
    }
    m->word[word].n = to;
    return rc;
}

int aoei_pair_merger_merge(aoei_pair_merger *m, uint32_t left, uint32_t right, uint32_t merged, aoe_error *err) {
    aoei_pair *p = pair_of(m, left, right, err);
    if (!p)
        return AOE_ENOMEM;
    /* take the list of words out of *p, because merge_in_word may reallocate m->pair */
    uint32_t *words = p->word;
    size_t n = p->n_words;
    p->word = NULL;
    p->n_words = p->capacity = 0;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = merge_in_word(m, words[i], left, right, merged, err);
    aoei_free(words);
    return rc ? rc : push_raised(m, err);
}

void aoei_pair_merger_free(aoei_pair_merger *m) {
    for (size_t i = 0; i < m->n_pairs; i++)
        aoei_free(m->pair[i].word);
    aoei_free(m->pair);
    aoei_free(m->symbol);
    aoei_free(m->word);
    aoei_free(m->slot);
    aoei_free(m->heap);
    aoei_free(m->raised);
    memset(m, 0, sizeof *m);
}
