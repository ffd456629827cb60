/* SPDX-License-Identifier: MIT
 * Encodes words with the WordPiece model. A word is first searched for in the table of short words, which contains most words
 * of typical texts. A word that is not in the table is split with the byte trie of the vocabulary. Tokens and words are valid
 * UTF-8, so a byte-wise match always ends between characters.
 */
#include "tokenizer/wordpiece.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"

static int too_long(const aoei_wordpiece *w, const char *s, size_t len) {
    if (len <= w->max_chars)
        return 0;
    size_t chars = 0;
    for (size_t i = 0; i < len && chars <= w->max_chars; i++)
        chars += ((unsigned char)s[i] & 0xC0) != 0x80;
    return chars > w->max_chars;
}

/* Appends the pieces of the word s[start, end) and returns 1. If the word cannot be split completely, appends nothing and
 * returns 0. The caller must reserve capacity for one token per byte. */
static int pieces(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out) {
    const aoei_trie *trie = &w->vocab.trie;
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
        root = w->continuation;
    }
    return 1;
}

/* Encodes the word s[start, end), which is not in the table of short words, as pieces or as the unknown token. */
static int encode_rare(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out, aoe_error *err) {
    const size_t len = end - start;
    const int unknown = !w->vocab.trie.edge || too_long(w, s + start, len);
    int rc = aoei_token_list_reserve(out, unknown ? 1 : len, err);
    if (rc)
        return rc;
    if (!unknown && pieces(w, s, start, end, out))
        return 0;
    if (w->unk < 0 && out->drop_unknown)
        return 0;
    if (w->unk < 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "word \"%.*s\" is not in the vocabulary, and the vocabulary has no unknown token; add [UNK] to it",
                         (int)(len < 80 ? len : 80), s + start);
    aoei_token_push(out, w->unk, start, end);
    return 0;
}

int aoei_wordpiece_encode(const aoei_wordpiece *w, const char *s, const aoei_words *words, size_t stop, aoei_token_list *out,
                          aoe_error *err) {
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
    uint32_t node = AOEI_TRIE_ROOT;
    if (w->no_continuation || w->continuation == AOEI_TRIE_ROOT)
        return 0;
    for (size_t i = 0; i < token.len; i++) {
        node = aoei_trie_step(&w->vocab.trie, node, (unsigned char)token.data[i]) & ~AOEI_TRIE_END;
        if (node == AOEI_TRIE_ROOT || node == w->continuation)
            return node == AOEI_TRIE_ROOT ? 0 : i + 1;
    }
    return 0;
}

int aoei_wordpiece_is_continuation(const aoei_wordpiece *w, aoe_text token) {
    return aoei_wordpiece_prefix(w, token) > 0;
}

int aoei_wordpiece_finish(aoei_wordpiece *w, const char *unk, size_t unk_len, const char *prefix, size_t prefix_len,
                          size_t max_chars, aoe_error *err) {
    w->unk = aoei_vocab_id(&w->vocab, unk, unk_len);
    w->continuation = aoei_trie_node(&w->vocab.trie, prefix, prefix_len);
    w->no_continuation = prefix_len > 0 && w->continuation == AOEI_TRIE_ROOT;
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
    memset(w, 0, sizeof *w);
}
