/* SPDX-License-Identifier: MIT
 * Finds the best segmentation of a word with the Viterbi algorithm. For each position in the word, the best
 * segmentation of the part of the word before this position is computed. If two segmentations have equal scores, the
 * segmentation that was found first is kept. The time is proportional to the length of the word times the length of the
 * longest token.
 */
#include "tokenizer/unigram.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

/* Lowest score of a token minus the score of an unknown character, as in SentencePiece. */
static const double unknown_penalty = 10.0;

#define NO_TOKEN INT32_MAX /* id of an unknown character if the model has no unknown token */

static int reserve(aoei_unigram_scratch *x, size_t n, aoe_error *err) {
    if (n <= x->capacity)
        return 0;
    aoei_unigram_node *grown = aoei_realloc_array(x->node, n, sizeof *grown);
    if (!grown)
        return aoei_fail_nomem(err, n * sizeof *grown);
    x->node = grown;
    x->capacity = n;
    return 0;
}

static void update_node(aoei_unigram_node *node, double score, size_t start, int32_t id) {
    if (node->id < 0 || score > node->score)
        *node = (aoei_unigram_node){.score = score, .start = start, .id = id};
}

/* Computes x->node[0] to x->node[len]. x->node[i] describes the best segmentation of s[0, i), the first i bytes of the
 * word. */
static int find_best(const aoei_unigram *u, const char *s, size_t len, int drop_unknown, aoei_unigram_scratch *x,
                     aoe_error *err) {
    const aoei_trie *t = &u->trie;
    int rc = reserve(x, len + 1, err);
    if (rc)
        return rc;
    for (size_t i = 0; i <= len; i++)
        x->node[i] = (aoei_unigram_node){.id = -1};
    for (size_t start = 0, bytes; start < len; start += bytes) {
        const double before = x->node[start].score;
        uint32_t cp, node = AOEI_TRIE_ROOT;
        int known = 0; /* 1: the character at position `start` is a token */
        bytes = aoei_utf8_decode(s + start, len - start, &cp);
        for (size_t i = start; i < len && t->edge && (node = aoei_trie_step(t, node, (unsigned char)s[i])) != 0; i++) {
            if (!(node & AOEI_TRIE_END))
                continue;
            const int32_t id = aoei_trie_value(t, node);
            update_node(&x->node[i + 1], u->score[id] + before, start, id);
            known |= i + 1 == start + bytes;
        }
        if (known)
            continue;
        if (u->unk < 0 && !drop_unknown)
            return aoei_fail(
                err, AOE_EFORMAT,
                "character \"%.*s\" is not in the vocabulary, which has no unknown token; set \"unk_id\" in "
                "tokenizer.json",
                (int)bytes, s + start);
        update_node(&x->node[start + bytes], u->unk_score + before, start, u->unk < 0 ? NO_TOKEN : u->unk);
    }
    return 0;
}

static int push_part(aoei_unigram_scratch *x, size_t start, size_t end, aoe_error *err) {
    if (aoei_grow((void **)&x->part, &x->part_capacity, x->n_parts, sizeof *x->part))
        return aoei_fail_nomem(err, 2 * x->n_parts * sizeof *x->part);
    x->part[x->n_parts++] = (aoei_span){start, end};
    return 0;
}

/* Writes the byte ranges of the tokens of the best segmentation to x->part, beginning with the last token. Consecutive
 * unknown characters become one part.
 */
static int backtrace(const aoei_unigram *u, size_t len, aoei_unigram_scratch *x, aoe_error *err) {
    int was_unknown = 0, rc = 0;
    x->n_parts = 0;
    for (size_t end = len; end > 0 && !rc; end = x->node[end].start) {
        const int unknown = x->node[end].id == (u->unk < 0 ? NO_TOKEN : u->unk);
        if (unknown && was_unknown)
            x->part[x->n_parts - 1].start = x->node[end].start;
        else
            rc = push_part(x, x->node[end].start, end, err);
        was_unknown = unknown;
    }
    return rc;
}

static int has_fallback(const aoei_unigram *u, const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (u->fallback[(unsigned char)s[i]] < 0)
            return 0;
    return 1;
}

static int push_tokens(const aoei_unigram *u, const char *s, size_t base, aoei_unigram_scratch *x, aoei_token_list *out,
                       aoe_error *err) {
    for (size_t i = x->n_parts; i-- > 0;) {
        const aoei_span part = x->part[i];
        const size_t len = part.end - part.start;
        const int32_t id = aoei_vocab_id(&u->vocab, s + part.start, len);
        int rc = aoei_token_list_reserve(out, len, err);
        if (rc)
            return rc;
        if (id < 0 && u->byte_fallback && has_fallback(u, s + part.start, len)) {
            for (size_t b = part.start; b < part.end; b++)
                aoei_token_push(out, u->fallback[(unsigned char)s[b]], base + b, base + b + 1);
            continue;
        }
        if (id >= 0 || u->unk >= 0)
            aoei_token_push(out, id >= 0 ? id : u->unk, base + part.start, base + part.end);
    }
    return 0;
}

static int encode_word(const aoei_unigram *u, const char *s, size_t start, size_t end, aoei_token_list *out,
                       aoei_unigram_scratch *x, aoe_error *err) {
    int rc = find_best(u, s + start, end - start, out->drop_unknown, x, err);
    if (!rc)
        rc = backtrace(u, end - start, x, err);
    return rc ? rc : push_tokens(u, s + start, start, x, out, err);
}

int aoei_unigram_encode(const aoei_unigram *u, const aoei_words *words, size_t stop, aoei_token_list *out,
                        aoei_unigram_scratch *scratch, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < words->n && !rc && out->ids->n < stop; i++) {
        const char *s = words->s + words->start[i];
        const size_t len = words->end[i] - words->start[i], first = out->ids->n;
        const int cached = len <= AOEI_CACHED_BYTES && !out->track && u->unk >= 0;
        const uint64_t hash = cached ? aoei_word_cache_hash(s, len) : 0;
        const aoei_cached_word *known = cached ? aoei_word_cache_find(&u->cache, hash, s, len) : NULL;
        if (known) {
            rc = aoei_token_list_reserve(out, AOEI_CACHED_TOKENS, err);
            for (size_t k = 0; k < known->n_tokens && !rc; k++)
                out->ids->id[out->ids->n++] = known->token[k];
            continue;
        }
        rc = encode_word(u, words->s, words->start[i], words->end[i], out, scratch, err);
        if (!rc && cached && out->ids->n - first <= AOEI_CACHED_TOKENS)
            aoei_word_cache_add(&u->cache, hash, s, len, out->ids->id + first, out->ids->n - first);
    }
    return rc;
}

void aoei_unigram_scratch_free(aoei_unigram_scratch *s) {
    aoei_free(s->node);
    aoei_free(s->part);
    memset(s, 0, sizeof *s);
}

/* Reads the section "vocab", which is a list of pairs [token, score]. */
static int read_vocab(aoei_unigram *u, const json_t *list, const char *file, aoe_error *err) {
    const size_t n = json_array_size(list);
    double lowest = HUGE_VAL;
    if (!json_is_array(list) || n == 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"vocab\" of the model is not an array of tokens and scores; download the file again",
                         file);
    if (!(u->score = aoei_calloc(n, sizeof *u->score)))
        return aoei_fail_nomem(err, n * sizeof *u->score);
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(list, i), *token = json_array_get(entry, 0),
                     *score = json_array_get(entry, 1);
        if (!json_is_string(token) || !json_is_number(score))
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: entry %zu of \"vocab\" does not consist of a token and a score; download the file again", file, i);
        u->score[i] = json_number_value(score);
        lowest = u->score[i] < lowest ? u->score[i] : lowest;
        int rc = aoei_vocab_add(&u->vocab, json_string_value(token), json_string_length(token), (int64_t)i, err);
        if (rc) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    u->vocab.n_tokens = n; /* the ids of added tokens begin at n_tokens, so duplicate tokens must be counted */
    u->unk_score = lowest - unknown_penalty;
    return 0;
}

int aoei_unigram_read(aoei_unigram *u, const json_t *section, const char *file, aoe_error *err) {
    size_t unk = SIZE_MAX;
    int rc;
    if ((rc = read_vocab(u, json_object_get(section, "vocab"), file, err)) ||
        (rc = aoei_json_size(section, "unk_id", &unk, file, err)) ||
        (rc = aoei_json_bool(section, "byte_fallback", &u->byte_fallback, file, err)))
        return rc;
    if (unk != SIZE_MAX && unk >= u->vocab.n_ids)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"unk_id\" %zu is not an id of the vocabulary of %zu tokens; correct the value", file,
                         unk, u->vocab.n_ids);
    u->unk = unk == SIZE_MAX ? -1 : (int32_t)unk;
    for (unsigned i = 0; i < 256; i++) {
        char name[8];
        const int n = snprintf(name, sizeof name, "<0x%02X>", i);
        u->fallback[i] = aoei_vocab_id(&u->vocab, name, (size_t)n);
    }
    if ((rc = aoei_vocab_fill_trie(&u->vocab, &u->trie, err)))
        return rc;
    return aoei_word_cache_create(&u->cache, err);
}

void aoei_unigram_free(aoei_unigram *u) {
    aoei_vocab_free(&u->vocab);
    aoei_trie_free(&u->trie);
    aoei_free(u->score);
    aoei_word_cache_free(&u->cache);
    memset(u, 0, sizeof *u);
}
