/* SPDX-License-Identifier: MIT
 * Selects tokens of a tokenizer. A set of code points contains the characters that texts may contain.
 */
#include "tokenizer/token_subset.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_parts.h"

enum { CODE_POINTS = 0x110000, ASCII = 0x80, BYTES = 256, KEPT = 1, NEW = 2 };

static const aoei_vocab *vocab_of(const aoei_token_subset *s) {
    return aoei_subword_vocab(&s->t->model);
}

int aoei_token_subset_create(aoei_token_subset *s, const aoe_tokenizer *t, const char *dir, aoe_error *err) {
    *s = (aoei_token_subset){.t = t, .n = aoe_tokenizer_vocab_size(t)};
    if (t->model.type == AOEI_SUBWORD_WORDS)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the vocabulary of a WhitespaceTokenizer cannot be reduced (supported: WordPiece, BPE, Unigram)", dir);
    if (t->model.type == AOEI_SUBWORD_BPE && (t->model.bpe.prefix_len || t->model.bpe.suffix_len))
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the vocabulary of a BPE model with %s cannot be reduced (supported: BPE without prefix and "
            "suffix, WordPiece, Unigram)",
            dir, t->model.bpe.prefix_len ? "continuing_subword_prefix" : "end_of_word_suffix");
    s->keep = aoei_calloc(s->n + 1, sizeof *s->keep);
    return s->keep ? 0 : aoei_fail_nomem(err, s->n);
}

void aoei_token_subset_free(aoei_token_subset *s) {
    aoei_free(s->keep);
    aoei_free(s->new_id);
    aoei_free(s->old_id);
    aoei_free(s->part);
    aoei_free(s->symbol);
    memset(s, 0, sizeof *s);
}

/* ------------------------------------------------------------------ merges */

/* Reserves memory for the parts of a token of `len` bytes. */
static int reserve_parts(aoei_token_subset *s, size_t len, aoe_error *err) {
    if (2 * len <= s->capacity)
        return 0;
    aoei_free(s->part);
    aoei_free(s->symbol);
    s->part = aoei_malloc_array(2 * len, sizeof *s->part);
    s->symbol = aoei_malloc_array(2 * len, sizeof *s->symbol);
    s->capacity = s->part && s->symbol ? 2 * len : 0;
    return s->capacity ? 0 : aoei_fail_nomem(err, 4 * len * sizeof *s->part);
}

/* Sets s->symbol to the ids of the characters of the token and returns their number, or 0 if a character is not a
 * token. */
static size_t divide(aoei_token_subset *s, aoe_text token) {
    size_t n = 0;
    for (size_t i = 0, len; i < token.len; i += len) {
        uint32_t cp;
        len = aoei_utf8_decode(token.data + i, token.len - i, &cp);
        s->symbol[n] = len ? aoei_vocab_id(vocab_of(s), token.data + i, len) : -1;
        if (s->symbol[n++] < 0)
            return 0;
    }
    return n;
}

/* Sets s->part to the tokens that occur while BPE merges the characters of the token `id`. If the result is not this
 * token, there are no parts. Time is quadratic in the length of the token. */
static int find_parts(aoei_token_subset *s, int32_t id, aoe_error *err) {
    const aoe_text token = aoei_vocab_token(vocab_of(s), id);
    s->n_parts = 0;
    if (s->t->model.type != AOEI_SUBWORD_BPE || !token.len)
        return 0;
    const int rc = reserve_parts(s, token.len, err);
    size_t n = rc ? 0 : divide(s, token);
    for (size_t i = 0; i < n; i++)
        s->part[s->n_parts++] = s->symbol[i];
    while (n > 1) {
        const aoei_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const aoei_merge *m = aoei_merge_find(&s->t->model.bpe.merges, s->symbol[i], s->symbol[i + 1]);
            if (m && (!best || m->rank < best->rank)) {
                best = m;
                at = i;
            }
        }
        if (!best)
            break;
        s->part[s->n_parts++] = s->symbol[at] = best->id;
        n--;
        memmove(s->symbol + at + 1, s->symbol + at + 2, (n - at - 1) * sizeof *s->symbol);
    }
    if (n != 1 || s->symbol[0] != id)
        s->n_parts = 0;
    return rc;
}

/* ---------------------------------------------------------------- selection */

int aoei_token_subset_add(aoei_token_subset *s, int32_t id, size_t limit, aoe_error *err) {
    if (id < 0 || (size_t)id >= s->n)
        return 0;
    if (s->keep[id])
        return 1;
    const int rc = find_parts(s, id, err);
    size_t added = 1;
    if (rc)
        return rc;
    s->keep[id] = NEW;
    for (size_t i = 0; i < s->n_parts; i++)
        if (!s->keep[s->part[i]]) {
            s->keep[s->part[i]] = NEW;
            added++;
        }
    const uint8_t state = s->n_kept + added <= limit ? KEPT : 0;
    s->keep[id] = state;
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->keep[s->part[i]] == NEW)
            s->keep[s->part[i]] = state;
    s->n_kept += state ? added : 0;
    return state != 0;
}

/* Returns the number of bytes with which the token begins if it continues a word (WordPiece), such as 2 for "##ing". */
static size_t prefix_of(const aoei_token_subset *s, aoe_text token) {
    return s->t->model.type == AOEI_SUBWORD_WORDPIECE ? aoei_wordpiece_prefix(&s->t->model.wordpiece, token) : 0;
}

/* Adds the characters of the text to the set. */
static void add_characters(uint8_t *set, aoe_text text) {
    uint32_t cp;
    for (size_t i = 0, len; i < text.len && (len = aoei_utf8_decode(text.data + i, text.len - i, &cp)); i += len)
        set[cp / 8] |= (uint8_t)(1u << cp % 8);
}

/* Returns 1 if the token is a single character of the set, with or without the prefix of tokens that continue a
 * word. */
static int is_character_of(const aoei_token_subset *s, const uint8_t *set, aoe_text token) {
    const size_t prefix = prefix_of(s, token), len = token.len - prefix;
    uint32_t cp;
    return len && len <= 4 && aoei_utf8_decode(token.data + prefix, len, &cp) == len && set[cp / 8] >> cp % 8 & 1;
}

/* Returns 1 if there is a token of the single character c[len] at this position: the first of a word, or a later
 * one. */
static int has_character(const aoei_token_subset *s, const char *c, size_t len, int first) {
    const aoei_wordpiece *w = &s->t->model.wordpiece;
    if (s->t->model.type != AOEI_SUBWORD_WORDPIECE || first)
        return aoei_vocab_id(vocab_of(s), c, len) >= 0;
    return aoei_vocab_joined_id(&w->vocab, (aoe_text){w->prefix, w->prefix_len}, (aoe_text){c, len}) >= 0;
}

/* Returns 1 if the token can be divided into tokens of single characters, or if texts can be encoded without it
 * anyway. */
static int is_divisible(const aoei_token_subset *s, aoe_text token) {
    const aoei_subword *m = &s->t->model;
    const size_t prefix = prefix_of(s, token);
    uint32_t cp;
    if (m->type == AOEI_SUBWORD_BPE || (m->type == AOEI_SUBWORD_UNIGRAM && m->unigram.byte_fallback) ||
        (m->type == AOEI_SUBWORD_WORDPIECE && m->wordpiece.no_continuation))
        return 1;
    for (size_t i = prefix, len; i < token.len; i += len) {
        len = aoei_utf8_decode(token.data + i, token.len - i, &cp);
        if (!len || !has_character(s, token.data + i, len, !i))
            return 0;
    }
    return 1;
}

/* Adds the tokens that represent single bytes: byte tokens such as <0x41>, and the letters of byte-level BPE. */
static int add_bytes(aoei_token_subset *s, aoe_error *err) {
    const aoei_subword *m = &s->t->model;
    int rc = 0;
    for (size_t i = 0; i < BYTES && rc >= 0; i++) {
        if (m->type == AOEI_SUBWORD_UNIGRAM && m->unigram.byte_fallback)
            rc = aoei_token_subset_add(s, m->unigram.fallback[i], SIZE_MAX, err);
        if (m->type == AOEI_SUBWORD_BPE && m->bpe.byte_fallback)
            rc = aoei_token_subset_add(s, m->bpe.fallback[i], SIZE_MAX, err);
        if (rc >= 0 && m->type == AOEI_SUBWORD_BPE)
            rc = aoei_token_subset_add(s, m->bpe.letter_id[i], SIZE_MAX, err);
    }
    return rc < 0 ? rc : 0;
}

int aoei_token_subset_add_alphabet(aoei_token_subset *s, const uint8_t *used, aoe_error *err) {
    const aoei_vocab *v = vocab_of(s);
    uint8_t *set = aoei_calloc(CODE_POINTS / 8, sizeof *set);
    int rc = set ? add_bytes(s, err) : aoei_fail_nomem(err, CODE_POINTS / 8);
    if (!rc) {
        memset(set, 0xFF, ASCII / 8);
        add_characters(set, aoe_text_of(s->t->model.space));
    }
    for (size_t i = 0; i < s->n && !rc; i++)
        if (used[i])
            add_characters(set, aoei_vocab_token(v, (int32_t)i));
    for (size_t i = 0; i < v->n_ids && rc >= 0; i++) {
        const aoe_text token = aoei_vocab_token(v, (int32_t)i);
        if (token.len && (is_character_of(s, set, token) || (used[i] && !is_divisible(s, token))))
            rc = aoei_token_subset_add(s, (int32_t)i, SIZE_MAX, err);
    }
    aoei_free(set);
    return rc < 0 ? rc : 0;
}

int aoei_token_subset_number(aoei_token_subset *s, aoe_error *err) {
    int32_t next = 0;
    s->new_id = aoei_malloc_array(s->n + 1, sizeof *s->new_id);
    s->old_id = aoei_malloc_array(s->n_kept + 1, sizeof *s->old_id);
    if (!s->new_id || !s->old_id)
        return aoei_fail_nomem(err, s->n * sizeof *s->new_id);
    for (size_t i = 0; i < s->n; i++) {
        s->new_id[i] = s->keep[i] ? next : -1;
        if (s->keep[i])
            s->old_id[next++] = (int32_t)i;
    }
    return 0;
}
