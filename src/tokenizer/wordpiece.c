/* SPDX-License-Identifier: MIT
 * Encodes words with the WordPiece model. A word is first searched for in the table of short words, which contains most
 * words of typical texts. A word that is not in the table is split with a byte trie of the vocabulary. Building the
 * trie takes several milliseconds, so it is built when the first word is split. Tokens and words are valid UTF-8, so a
 * byte-wise match always ends between characters.
 */
#include "tokenizer/wordpiece.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "tokenizer/trie.h"

struct aoei_piece_trie {
    atomic_int built;      /* 1: the other fields do not change any more, and several threads may read them */
    aoei_mutex lock;       /* held by the thread that builds the trie */
    aoei_trie trie;        /* all tokens of the vocabulary; owned */
    uint32_t continuation; /* node of the prefix of continuation pieces; the root if the prefix is empty or no token has
                              it */
};

static int too_long(const aoei_wordpiece *w, const char *s, size_t len) {
    if (len <= w->max_chars)
        return 0;
    size_t chars = 0;
    for (size_t i = 0; i < len && chars <= w->max_chars; i++)
        chars += ((unsigned char)s[i] & 0xC0) != 0x80;
    return chars > w->max_chars;
}

/* Builds the trie if no thread has built it. Errors: see aoei_vocab_fill_trie. */
static int build_pieces(const aoei_wordpiece *w, aoe_error *err) {
    aoei_piece_trie *p = w->pieces;
    int rc = 0;
    if (atomic_load_explicit(&p->built, memory_order_acquire))
        return 0;
    aoei_mutex_lock(&p->lock);
    if (!atomic_load_explicit(&p->built, memory_order_relaxed)) {
        rc = aoei_vocab_fill_trie(&w->vocab, &p->trie, err);
        if (rc)
            aoei_trie_free(&p->trie);
        p->continuation = rc ? AOEI_TRIE_ROOT : aoei_trie_node(&p->trie, w->prefix, w->prefix_len);
        atomic_store_explicit(&p->built, !rc, memory_order_release);
    }
    aoei_mutex_unlock(&p->lock);
    return rc;
}

/* Appends the pieces of the word s[start, end) and returns 1. If the word cannot be split completely, appends nothing
 * and returns 0. The caller must build the trie, and reserve capacity for one token per byte. */
static int pieces(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out) {
    const aoei_trie *trie = &w->pieces->trie;
    size_t n_before = out->ids->n;
    uint32_t root = AOEI_TRIE_ROOT;
    for (size_t from = start; from < end;) {
        uint32_t best = 0, node = root;
        size_t best_end = from;
        for (size_t i = from; i < end && (node = aoei_trie_step(trie, node, (unsigned char)s[i])) != 0; i++) {
            if (node & AOEI_TRIE_END) {
                best = node;
                best_end = i + 1;
            }
        }
        if (best == 0 || (best_end < end && w->no_continuation)) {
            out->ids->n = n_before;
            return 0;
        }
        aoei_token_push(out, aoei_trie_value(trie, best), from, best_end);
        from = best_end;
        root = w->pieces->continuation;
    }
    return 1;
}

/* Encodes the word s[start, end), which is not in the table of short words, as pieces or as the unknown token. */
static int encode_rare(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out,
                       aoe_error *err) {
    const size_t len = end - start;
    const int unknown = !w->vocab.n_entries || too_long(w, s + start, len);
    int rc = aoei_token_list_reserve(out, unknown ? 1 : len, err);
    if (rc || (!unknown && (rc = build_pieces(w, err))))
        return rc;
    if (!unknown && pieces(w, s, start, end, out))
        return 0;
    if (w->unk < 0 && out->drop_unknown)
        return 0;
    if (w->unk < 0)
        return aoei_fail(
            err, AOE_EFORMAT,
            "word \"%.*s\" is not in the vocabulary, and the vocabulary does not contain unk_token; add it",
            (int)(len < 80 ? len : 80), s + start);
    aoei_token_push(out, w->unk, start, end);
    return 0;
}

int aoei_wordpiece_encode(const aoei_wordpiece *w, const char *s, const aoei_words *words, size_t stop,
                          aoei_token_list *out, aoe_error *err) {
    aoei_word_place place[AOEI_WORDS];
    int rc = 0;
    /* This loop is separate from the next loop, so that a mispredicted branch there does not delay the table loads. */
    for (size_t i = 0; i < words->n; i++)
        place[i] = aoei_word_table_place(&w->words, s + words->start[i], words->end[i] - words->start[i]);
    for (size_t i = 0; i < words->n && !rc && out->ids->n < stop; i++) {
        const int32_t id = aoei_word_table_at(place[i]);
        if (id < 0)
            rc = encode_rare(w, s, words->start[i], words->end[i], out, err);
        else if (!(rc = aoei_token_list_reserve(out, 1, err)))
            aoei_token_push(out, id, words->start[i], words->end[i]);
    }
    return rc;
}

size_t aoei_wordpiece_prefix(const aoei_wordpiece *w, aoe_text token) {
    return w->prefix_len && token.len >= w->prefix_len && memcmp(token.data, w->prefix, w->prefix_len) == 0
               ? w->prefix_len
               : 0;
}

/* Returns 1 if a token of the vocabulary begins with the prefix of continuation pieces. */
static int has_continuation(const aoei_wordpiece *w) {
    for (size_t i = 0; i < w->vocab.n_entries; i++) {
        const aoei_vocab_entry *e = &w->vocab.entry[i];
        if (aoei_wordpiece_prefix(w, (aoe_text){w->vocab.text.data + e->offset, e->len}))
            return 1;
    }
    return 0;
}

int aoei_wordpiece_is_continuation(const aoei_wordpiece *w, aoe_text token) {
    return aoei_wordpiece_prefix(w, token) > 0;
}

int aoei_wordpiece_finish(aoei_wordpiece *w, const char *unk, size_t unk_len, const char *prefix, size_t prefix_len,
                          size_t max_chars, aoe_error *err) {
    w->unk = aoei_vocab_id(&w->vocab, unk, unk_len);
    if (!(w->pieces = aoei_calloc(1, sizeof *w->pieces)))
        return aoei_fail_nomem(err, sizeof *w->pieces);
    aoei_mutex_init(&w->pieces->lock);
    if (!(w->prefix = aoei_malloc(prefix_len + 1)))
        return aoei_fail_nomem(err, prefix_len + 1);
    memcpy(w->prefix, prefix, prefix_len);
    w->prefix_len = prefix_len;
    w->no_continuation = prefix_len > 0 && !has_continuation(w);
    w->max_chars = max_chars;
    return aoei_word_table_build(&w->words, &w->vocab, max_chars, (aoe_text){prefix, prefix_len}, err);
}

int aoei_wordpiece_read(aoei_wordpiece *w, const json_t *section, const char *file, aoe_error *err) {
    const char *unk = "[UNK]", *prefix = "##";
    size_t unk_len = 5, prefix_len = 2, max_chars = 100;
    int rc;
    if ((rc = aoei_json_string(section, "unk_token", &unk, &unk_len, file, err)) ||
        (rc = aoei_json_string(section, "continuing_subword_prefix", &prefix, &prefix_len, file, err)) ||
        (rc = aoei_json_size(section, "max_input_chars_per_word", &max_chars, file, err)) ||
        (rc = aoei_vocab_read(&w->vocab, json_object_get(section, "vocab"), file, err)))
        return rc;
    return aoei_wordpiece_finish(w, unk, unk_len, prefix, prefix_len, max_chars, err);
}

void aoei_wordpiece_free(aoei_wordpiece *w) {
    aoei_word_table_free(&w->words);
    aoei_vocab_free(&w->vocab);
    aoei_free(w->prefix);
    if (w->pieces) {
        aoei_trie_free(&w->pieces->trie);
        aoei_mutex_destroy(&w->pieces->lock);
        aoei_free(w->pieces);
    }
    memset(w, 0, sizeof *w);
}
