/* SPDX-License-Identifier: MIT
 * WordPiece over the vocabulary's byte trie. The pieces of a vocabulary and the
 * words are valid UTF-8, so a match in bytes always ends between characters.
 */
#include "text/wordpiece.h"

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

/* Appends the pieces of a word; 0: it does not come out even and nothing was appended. Room for its bytes is there. */
static int pieces(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out) {
    const aoei_trie *trie = &w->vocab.trie;
    size_t n_before = out->ids->n;
    uint32_t root = AOEI_TRIE_ROOT;
    for (size_t from = start; from < end;) {
        int32_t best = -1;
        size_t best_end = from;
        uint32_t node = root;
        for (size_t i = from; i < end; i++) {
            const aoei_trie_edge *e = aoei_trie_step(trie, node, (unsigned char)s[i]);
            if (!e)
                break;
            node = e->node;
            if (e->value >= 0) {
                best = e->value;
                best_end = i + 1;
            }
        }
        if (best < 0 || (best_end < end && w->no_continuation)) {
            out->ids->n = n_before;
            return 0;
        }
        aoei_token_push(out, best, from, best_end);
        from = best_end;
        root = w->continuation;
    }
    return 1;
}

int aoei_wordpiece_encode(const aoei_wordpiece *w, const char *s, size_t start, size_t end, aoei_token_list *out,
                          aoe_error *err) {
    int unknown = too_long(w, s + start, end - start) || !w->vocab.trie.edge;
    int rc = aoei_token_list_reserve(out, unknown ? 1 : end - start, err);
    if (rc)
        return rc;
    if (!unknown && pieces(w, s, start, end, out))
        return 0;
    if (w->unk < 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "word \"%.*s\" is not in the vocabulary, which has no unknown token either; add [UNK] to it",
                         (int)(end - start < 80 ? end - start : 80), s + start);
    aoei_token_push(out, w->unk, start, end);
    return 0;
}

void aoei_wordpiece_finish(aoei_wordpiece *w, const char *unk, size_t unk_len, const char *prefix, size_t prefix_len,
                           size_t max_chars) {
    w->unk = aoei_vocab_id(&w->vocab, unk, unk_len);
    w->continuation = aoei_trie_node(&w->vocab.trie, prefix, prefix_len);
    w->no_continuation = prefix_len > 0 && w->continuation == AOEI_TRIE_ROOT;
    w->max_chars = max_chars;
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
    aoei_wordpiece_finish(w, unk, unk_len, prefix, prefix_len, max_chars);
    return 0;
}

void aoei_wordpiece_free(aoei_wordpiece *w) {
    aoei_vocab_free(&w->vocab);
    memset(w, 0, sizeof *w);
}
