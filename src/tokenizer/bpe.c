/* SPDX-License-Identifier: MIT
 * Encodes words with byte-pair encoding (BPE). A word is a sequence of symbols, and adjacent symbols are merged. The
 * symbols of a short word are stored in an array. Before every merge, the array is searched for the pair with the
 * lowest rank. This method is the fastest for few symbols. The symbols of a longer word form a linked list, and a heap
 * contains the pairs that can be merged. Both methods merge the pairs in the same order, so they return the same
 * tokens.
 */
#include "tokenizer/bpe.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/byte_letters.h"

enum { SHORT = 40 }; /* maximum number of symbols of a word that is merged in place */
#define NONE UINT32_MAX

/* A run of unknown characters. The unknown token for the run has not been added to the symbols yet. */
typedef struct unknown {
    int pending;       /* 1: there are such characters; 0: start and end are not used */
    size_t start, end; /* byte range of the characters in word.s */
} unknown;

typedef struct word {
    const aoei_bpe *b;
    const char *s;             /* text that contains the word */
    size_t start, end;         /* byte range of the word in s */
    aoei_bpe_scratch *scratch; /* receives the symbols */
    unknown unk;
    int drop_unknown; /* 1: unknown characters are dropped if the vocabulary has no unknown token */
    aoe_error *err;
} word;

static int add(word *w, int32_t id, size_t start, size_t end) {
    aoei_bpe_scratch *x = w->scratch;
    if (x->n >= NONE - 1)
        return aoei_fail(w->err, AOE_EUNSUPPORTED,
                         "a word of the text has more than 4294967293 characters; insert spaces or line ends");
    if (aoei_grow((void **)&x->symbol, &x->capacity, x->n, sizeof *x->symbol))
        return aoei_fail_nomem(w->err, 2 * x->n * sizeof *x->symbol);
    x->symbol[x->n++] = (aoei_bpe_symbol){.id = id, .start = start, .end = end};
    return 0;
}

static int add_pending(word *w) {
    const unknown u = w->unk;
    w->unk.pending = 0;
    return u.pending ? add(w, w->b->unk, u.start, u.end) : 0;
}

/* Returns the trie node that the bytes s[0, len) lead to from `node`; 0 if the trie has no such node. */
static uint32_t descend(const aoei_trie *t, uint32_t node, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if ((node = aoei_trie_step(t, node, (unsigned char)s[i])) == 0)
            return 0;
    return node;
}

/* Returns the id of the token for the character s[0, len). The token includes b->prefix unless the character is the
 * first of its word, and b->suffix if the character is the last. Returns -1 if the vocabulary does not contain the
 * token. */
static int32_t character_id(const aoei_bpe *b, const char *s, size_t len, int first, int last) {
    const aoei_trie *t = &b->trie;
    uint32_t node = AOEI_TRIE_ROOT;
    if (!t->edge)
        return -1;
    if (!first && b->prefix_len && (node = b->prefix_node) == 0)
        return -1;
    node = descend(t, node, s, len);
    if (node && last && b->suffix_len)
        node = descend(t, node, b->suffix, b->suffix_len);
    return node & AOEI_TRIE_END ? aoei_trie_value(t, node) : -1;
}

static int has_fallback(const aoei_bpe *b, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (b->fallback[(unsigned char)s[i]] < 0)
            return 0;
    return 1;
}

/* Adds one byte token for each byte of s. If `own` is 1, s must be w->s + start, and the span of each token is the
 * position of its byte in w->s. If `own` is 0, the span of each token is [start, end). */
static int add_fallback(word *w, const char *s, size_t len, size_t start, size_t end, int own) {
    int rc = 0;
    for (size_t i = 0; i < len && !rc; i++)
        rc = own ? add(w, w->b->fallback[(unsigned char)s[i]], start + i, start + i + 1)
                 : add(w, w->b->fallback[(unsigned char)s[i]], start, end);
    return rc;
}

/* Adds the unknown token for the character w->s[start, end). The token is stored in w->unk until the next character is
 * known, because b->fuse_unk combines consecutive unknown characters into one token. */
static int add_unknown(word *w, size_t start, size_t end) {
    const aoei_bpe *b = w->b;
    int rc = 0;
    if (!b->has_unk || (b->unk < 0 && w->drop_unknown))
        return 0;
    if (b->unk < 0)
        return aoei_fail(
            w->err, AOE_EFORMAT,
            "character \"%.*s\" and the unknown token are not in the vocabulary; add the unknown token to the "
            "vocabulary",
            (int)(end - start < 16 ? end - start : 16), w->s + start);
    if (w->unk.pending && b->fuse_unk) {
        w->unk.end = end;
        return 0;
    }
    rc = add_pending(w);
    w->unk = (unknown){.pending = 1, .start = start, .end = end};
    return rc;
}

/* Adds the symbols of the character w->s[start, end). Byte tokens are added before a pending unknown token, as in
 * Hugging Face tokenizers. */
static int add_character(word *w, size_t start, size_t end) {
    const aoei_bpe *b = w->b;
    const int first = start == w->start, last = end == w->end;
    const char *s = w->s + start;
    const size_t len = end - start, prefix = first ? 0 : b->prefix_len, suffix = last ? b->suffix_len : 0;
    const int32_t id = character_id(b, s, len, first, last);
    int rc;
    if (id >= 0)
        return (rc = add_pending(w)) ? rc : add(w, id, start, end);
    if (!b->byte_fallback || !has_fallback(b, s, len) || (prefix && !has_fallback(b, b->prefix, prefix)) ||
        (suffix && !has_fallback(b, b->suffix, suffix)))
        return add_unknown(w, start, end);
    if ((prefix && (rc = add_fallback(w, b->prefix, prefix, start, end, 0))) ||
        (rc = add_fallback(w, s, len, start, end, 1)))
        return rc;
    return suffix ? add_fallback(w, b->suffix, suffix, start, end, 0) : 0;
}

/* Writes the initial symbols of the word to w->scratch, one symbol per character or byte. */
static int add_symbols(word *w) {
    w->scratch->n = 0;
    w->unk.pending = 0;
    int rc = 0;
    for (size_t i = w->start; i < w->end && !rc;) {
        size_t bytes = 1;
        uint32_t cp;
        if (w->b->raw_bytes) {
            const int32_t id = w->b->letter_id[(unsigned char)w->s[i]];
            rc = id >= 0 ? add_pending(w) : add_unknown(w, i, i + 1);
            if (!rc && id >= 0)
                rc = add(w, id, i, i + 1);
        } else {
            bytes = aoei_utf8_decode(w->s + i, w->end - i, &cp);
            rc = add_character(w, i, i + bytes);
        }
        i += bytes;
    }
    return rc ? rc : add_pending(w);
}

/* Returns the rank of the merge of two symbols and sets *id to the merged token. If the symbols cannot be merged,
 * returns NONE and sets *id to -1. */
static uint32_t pair_at(const aoei_bpe *b, const aoei_bpe_symbol *left, const aoei_bpe_symbol *right, int32_t *id) {
    const aoei_merge *m = aoei_merge_find(&b->merges, left->id, right->id);
    *id = m ? m->id : -1;
    return m ? m->rank : NONE;
}

/* Merges x->symbol[0, n) in place; n is at most SHORT. */
static void merge_short(const aoei_bpe *b, aoei_bpe_scratch *x) {
    uint32_t rank[SHORT];
    int32_t id[SHORT];
    size_t n = x->n;
    aoei_bpe_symbol *s = x->symbol;
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = pair_at(b, &s[i], &s[i + 1], &id[i]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            best = rank[i] < rank[best] ? i : best;
        if (rank[best] == NONE)
            break;
        s[best].id = id[best];
        s[best].end = s[best + 1].end;
        n--;
        memmove(s + best + 1, s + best + 2, (n - best - 1) * sizeof *s);
        memmove(rank + best, rank + best + 1, (n - best - 1) * sizeof *rank);
        memmove(id + best, id + best + 1, (n - best - 1) * sizeof *id);
        if (best > 0)
            rank[best - 1] = pair_at(b, &s[best - 1], &s[best], &id[best - 1]);
        if (best + 1 < n)
            rank[best] = pair_at(b, &s[best], &s[best + 1], &id[best]);
    }
    x->n = n;
}

static int before(aoei_bpe_candidate a, aoei_bpe_candidate b) {
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

/* Adds the pair of symbol `at` and its successor to the heap, if the two symbols can be merged. */
static int push_candidate(const aoei_bpe *b, aoei_bpe_scratch *x, uint32_t at, aoe_error *err) {
    const aoei_bpe_symbol *left = &x->symbol[at];
    aoei_bpe_candidate c = {.at = at};
    if (left->next == NONE || (c.rank = pair_at(b, left, &x->symbol[left->next], &c.id)) == NONE)
        return 0;
    if (aoei_grow((void **)&x->heap, &x->heap_capacity, x->n_heap, sizeof *x->heap))
        return aoei_fail_nomem(err, 2 * x->n_heap * sizeof *x->heap);
    size_t i = x->n_heap++;
    for (; i > 0 && before(c, x->heap[(i - 1) / 2]); i = (i - 1) / 2)
        x->heap[i] = x->heap[(i - 1) / 2];
    x->heap[i] = c;
    return 0;
}

static aoei_bpe_candidate pop_candidate(aoei_bpe_scratch *x) {
    const aoei_bpe_candidate top = x->heap[0], last = x->heap[--x->n_heap];
    size_t i = 0, child;
    while ((child = 2 * i + 1) < x->n_heap) {
        if (child + 1 < x->n_heap && before(x->heap[child + 1], x->heap[child]))
            child++;
        if (!before(x->heap[child], last))
            break;
        x->heap[i] = x->heap[child];
        i = child;
    }
    x->heap[i] = last;
    return top;
}

/* Merges the symbols of a long word. A heap contains the possible merges, so the time is O(n log n) for n symbols. The
 * symbols form a linked list. A merge removes the second symbol of the pair from the list and sets its id to -1. */
static int merge_long(const aoei_bpe *b, aoei_bpe_scratch *x, aoe_error *err) {
    const size_t n = x->n;
    int rc = 0;
    x->n_heap = 0;
    for (size_t i = 0; i < n; i++) {
        x->symbol[i].prev = i ? (uint32_t)(i - 1) : NONE;
        x->symbol[i].next = i + 1 < n ? (uint32_t)(i + 1) : NONE;
    }
    for (size_t i = 0; i < n && !rc; i++)
        rc = push_candidate(b, x, (uint32_t)i, err);
    while (x->n_heap && !rc) {
        const aoei_bpe_candidate c = pop_candidate(x);
        aoei_bpe_symbol *left = &x->symbol[c.at];
        int32_t id;
        if (left->id < 0 || left->next == NONE || pair_at(b, left, &x->symbol[left->next], &id) == NONE || id != c.id)
            continue; /* outdated candidate: one of its two symbols has already been merged */
        aoei_bpe_symbol *right = &x->symbol[left->next];
        left->id = c.id;
        left->end = right->end;
        left->next = right->next;
        right->id = -1;
        if (right->next != NONE)
            x->symbol[right->next].prev = c.at;
        rc = left->prev != NONE ? push_candidate(b, x, left->prev, err) : 0;
        if (!rc)
            rc = push_candidate(b, x, c.at, err);
    }
    if (rc)
        return rc;
    x->n = 0;
    for (size_t i = 0; i < n; i++)
        if (x->symbol[i].id >= 0)
            x->symbol[x->n++] = x->symbol[i];
    return 0;
}

static int encode_uncached(const aoei_bpe *b, const char *s, size_t start, size_t end, aoei_token_list *out,
                           aoei_bpe_scratch *x, aoe_error *err) {
    word w = {.b = b, .s = s, .start = start, .end = end, .scratch = x, .drop_unknown = out->drop_unknown, .err = err};
    int rc = add_symbols(&w);
    if (!rc && x->n > SHORT)
        rc = merge_long(b, x, err);
    else if (!rc)
        merge_short(b, x);
    if (rc || (rc = aoei_token_list_reserve(out, x->n, err)))
        return rc;
    for (size_t i = 0; i < x->n; i++)
        aoei_token_push(out, x->symbol[i].id, x->symbol[i].start, x->symbol[i].end);
    return 0;
}

/* Encodes a part of a word. The result is read from or added to the cache, except in two cases: spans are tracked (the
 * cache does not store spans), or unknown characters are dropped (cached tokens include unknown tokens). */
static int encode_part(const aoei_bpe *b, const char *s, size_t start, size_t end, aoei_token_list *out,
                       aoei_bpe_scratch *x, aoe_error *err) {
    const size_t len = end - start;
    if (len > AOEI_CACHED_BYTES || out->track || (out->drop_unknown && b->has_unk && b->unk < 0))
        return encode_uncached(b, s, start, end, out, x, err);
    const uint64_t hash = aoei_word_cache_hash(s + start, len);
    const aoei_cached_word *known = aoei_word_cache_find(&b->cache, hash, s + start, len);
    const size_t first = out->ids->n;
    int rc;
    if (known) {
        if ((rc = aoei_token_list_reserve(out, AOEI_CACHED_TOKENS, err)))
            return rc;
        for (size_t i = 0; i < known->n_tokens; i++)
            out->ids->id[out->ids->n++] = known->token[i];
        return 0;
    }
    rc = encode_uncached(b, s, start, end, out, x, err);
    const size_t added = out->ids->n - first;
    if (!rc && added > 0 && added <= AOEI_CACHED_TOKENS)
        aoei_word_cache_add(&b->cache, hash, s + start, len, out->ids->id + first, added);
    return rc;
}

/* Returns the id of the token that equals the word s[0, len), or -1 if the word is not a token. If b->raw_bytes is 1,
 * the bytes of the word are mapped to letters for the comparison. */
static int32_t whole_word(const aoei_bpe *b, const char *s, size_t len) {
    const aoei_trie *t = &b->trie;
    uint32_t node = AOEI_TRIE_ROOT;
    if (!b->raw_bytes || !t->edge)
        return aoei_trie_find(t, s, len);
    for (size_t i = 0; i < len; i++) {
        char letter[4];
        const size_t n = aoei_utf8_encode(aoei_byte_letter((unsigned char)s[i]), letter);
        if ((node = descend(t, node, letter, n)) == 0)
            return -1;
    }
    return node & AOEI_TRIE_END ? aoei_trie_value(t, node) : -1;
}

/* Returns the end of the part of a word that begins at `start`. A new part begins at each b->split_letter that follows
 * a different character. */
static size_t part_end(const aoei_bpe *b, const char *s, size_t start, size_t end) {
    const size_t n = b->split_letter_len;
    size_t i = start;
    if (n == 0)
        return end;
    while (end - i >= n && memcmp(s + i, b->split_letter, n) == 0)
        i += n;
    while (i < end) {
        const char *at = memchr(s + i, b->split_letter[0], end - i);
        if (!at || end - (i = (size_t)(at - s)) < n)
            return end;
        if (memcmp(at, b->split_letter, n) == 0)
            return i;
        i++;
    }
    return end;
}

static int encode_word(const aoei_bpe *b, const char *s, size_t start, size_t end, size_t stop, aoei_token_list *out,
                       aoei_bpe_scratch *x, aoe_error *err) {
    int rc = 0;
    const int32_t whole = b->ignore_merges ? whole_word(b, s + start, end - start) : -1;
    if (whole >= 0) {
        if (!(rc = aoei_token_list_reserve(out, 1, err)))
            aoei_token_push(out, whole, start, end);
        return rc;
    }
    while (start < end && !rc && out->ids->n < stop) {
        const size_t next = part_end(b, s, start, end);
        rc = encode_part(b, s, start, next, out, x, err);
        start = next;
    }
    return rc;
}

int aoei_bpe_encode(const aoei_bpe *b, const aoei_words *words, size_t stop, aoei_token_list *out,
                    aoei_bpe_scratch *scratch, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < words->n && !rc && out->ids->n < stop; i++)
        rc = encode_word(b, words->s, words->start[i], words->end[i], stop, out, scratch, err);
    return rc;
}

void aoei_bpe_scratch_free(aoei_bpe_scratch *s) {
    aoei_free(s->symbol);
    aoei_free(s->heap);
    memset(s, 0, sizeof *s);
}
