/* SPDX-License-Identifier: MIT
 * Reads models for byte-pair encoding (BPE) from tokenizer.json, or from vocab.json and merges.txt. The two tokens of
 * each merge and the merged token must be in the vocabulary.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/bpe_read.h"
#include "tokenizer/byte_letters.h"

enum { MAX_MERGES = 1 << 24 };

static int make_table(aoei_merge_table *t, size_t n, aoe_error *err) {
    unsigned log2 = 4;
    while ((size_t)1 << log2 < 2 * n)
        log2++;
    const size_t slots = (size_t)1 << log2;
    if (!(t->slot = aoei_malloc_array(slots, sizeof *t->slot)))
        return aoei_fail_nomem(err, slots * sizeof *t->slot);
    memset(t->slot, 0xFF, slots * sizeof *t->slot); /* sets all ids to -1 */
    t->shift = 64 - log2;
    return 0;
}

/* Inserts a merge. If the file lists two merges of a pair, the later one is used. */
static void insert(aoei_merge_table *t, aoei_merge m) {
    const uint64_t mask = UINT64_MAX >> t->shift;
    uint64_t i = (m.pair * UINT64_C(0x9E3779B97F4A7C15)) >> t->shift;
    while (t->slot[i].id >= 0 && t->slot[i].pair != m.pair)
        i = (i + 1) & mask;
    t->slot[i] = m;
}

/* Returns AOE_EFORMAT. The message names the token that is missing in the vocabulary: `left`, `right` or their
 * concatenation. */
static int fail_missing(const aoei_bpe *b, size_t rank, aoe_text left, aoe_text right, int32_t left_id,
                        int32_t right_id, const char *file, aoe_error *err) {
    const size_t skip = right.len < b->prefix_len ? right.len : b->prefix_len;
    if (left_id < 0 || right_id < 0) {
        const aoe_text t = left_id < 0 ? left : right;
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: merge %zu: token \"%.*s\" is not in the vocabulary; download the file again", file,
                         rank + 1, (int)(t.len < 80 ? t.len : 80), t.data);
    }
    return aoei_fail(err, AOE_EFORMAT, "%s: merge %zu: \"%.*s%.*s\" is not in the vocabulary; download the file again",
                     file, rank + 1, (int)(left.len < 80 ? left.len : 80), left.data,
                     (int)(right.len - skip < 80 ? right.len - skip : 80), right.data + skip);
}

/* Returns the id of the concatenation of left and right, or -1 if it is not a token. Vocabularies are written in the
 * order of their merges, so `guess`, the id after the previous merged token, is nearly always correct and avoids a
 * search. */
static int32_t merged_id(const aoei_bpe *b, int32_t guess, aoe_text left, aoe_text right) {
    const aoe_text likely = aoei_vocab_token(&b->vocab, guess);
    const char *rest = right.data + b->prefix_len;
    const size_t n = right.len - b->prefix_len;
    if (likely.data && likely.len == left.len + n && memcmp(likely.data, left.data, left.len) == 0 &&
        memcmp(likely.data + left.len, rest, n) == 0)
        return guess;
    return aoei_vocab_joined_id(&b->vocab, left, (aoe_text){rest, n});
}

/* Adds the merge of `left` and `right`. On entry, *last is the id of the token that the previous merge forms; on
 * return, it is the id of the token that this merge forms. */
static int add_merge(aoei_bpe *b, size_t rank, aoe_text left, aoe_text right, int32_t *last, const char *file,
                     aoe_error *err) {
    const int32_t left_id = aoei_vocab_id(&b->vocab, left.data, left.len);
    const int32_t right_id = aoei_vocab_id(&b->vocab, right.data, right.len);
    const int32_t id =
        left_id < 0 || right_id < 0 || right.len < b->prefix_len ? -1 : merged_id(b, *last + 1, left, right);
    if (id < 0)
        return fail_missing(b, rank, left, right, left_id, right_id, file, err);
    *last = id;
    insert(&b->merges, (aoei_merge){.pair = aoei_merge_key(left_id, right_id), .rank = (uint32_t)rank, .id = id});
    return 0;
}

/* Splits the line "left right", which must contain exactly one space, into its two tokens. */
static int split_merge(aoe_text line, aoe_text *left, aoe_text *right) {
    const char *space = line.len ? memchr(line.data, ' ', line.len) : NULL;
    if (!space)
        return -1;
    const size_t n = (size_t)(space - line.data);
    *left = (aoe_text){line.data, n};
    *right = (aoe_text){space + 1, line.len - n - 1};
    return memchr(right->data, ' ', right->len) ? -1 : 0;
}

static int is_version(aoe_text line) {
    static const char version[] = "#version";
    return line.len >= sizeof version - 1 && memcmp(line.data, version, sizeof version - 1) == 0;
}

static aoe_text string_of(const json_t *v) {
    return (aoe_text){json_string_value(v), json_string_length(v)};
}

/* Reads the array "merges", whose entries are strings "a b" or pairs ["a", "b"]. */
static int read_merges(aoei_bpe *b, const json_t *merges, const char *file, aoe_error *err) {
    const size_t n = json_array_size(merges);
    size_t rank = 0;
    int32_t last = -1;
    int rc;
    if (!json_is_array(merges))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"merges\" of the model is not an array; download the file again",
                         file);
    if (n > MAX_MERGES)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: more than %d merges are not supported", file, MAX_MERGES);
    if ((rc = make_table(&b->merges, n, err)))
        return rc;
    for (size_t i = 0; i < n; i++) {
        const json_t *m = json_array_get(merges, i), *l = json_array_get(m, 0), *r = json_array_get(m, 1);
        aoe_text left = string_of(l), right = string_of(r);
        if (json_is_string(m) && is_version(string_of(m)))
            continue;
        if (json_is_string(m) ? split_merge(string_of(m), &left, &right)
                              : !left.data || !right.data || json_array_size(m) != 2)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: entry %zu of \"merges\" does not consist of two tokens; download the file again",
                             file, i);
        if ((rc = add_merge(b, rank++, left, right, &last, file, err)))
            return rc;
    }
    return 0;
}

/* Sets b->fallback to the ids of the byte tokens, such as <0x41>, and b->letter_id to the ids of the letters that
 * represent bytes. */
static void find_bytes(aoei_bpe *b) {
    for (unsigned i = 0; i < 256; i++) {
        char name[8], letter[4];
        const int n = snprintf(name, sizeof name, "<0x%02X>", i);
        b->fallback[i] = aoei_vocab_id(&b->vocab, name, (size_t)n);
        b->letter_id[i] =
            aoei_vocab_id(&b->vocab, letter, aoei_utf8_encode(aoei_byte_letter((unsigned char)i), letter));
    }
}

static int finish(aoei_bpe *b, aoe_error *err) {
    const int rc = aoei_vocab_fill_trie(&b->vocab, &b->trie, err);
    if (rc)
        return rc;
    find_bytes(b);
    if (b->prefix_len)
        b->prefix_node = aoei_trie_node(&b->trie, b->prefix, b->prefix_len);
    return aoei_word_cache_create(&b->cache, err);
}

/* Reads the optional string under `key`, a prefix or suffix, from the model's section. JSON null and "" mean that there
 * is none. */
static int read_affix(char **affix, size_t *len, const json_t *section, const char *key, const char *file,
                      aoe_error *err) {
    const char *s = NULL;
    int rc = aoei_json_string(section, key, &s, len, file, err);
    if (rc || !s || *len == 0) {
        *len = 0;
        return rc;
    }
    *affix = aoei_strndup(s, *len);
    return *affix ? 0 : aoei_fail_nomem(err, *len);
}

int aoei_bpe_read(aoei_bpe *b, aoei_vocab *scanned, const json_t *section, const char *file, aoe_error *err) {
    const char *unk = NULL;
    size_t unk_len = 0;
    double dropout = 0;
    int rc;
    b->vocab = *scanned;
    *scanned = (aoei_vocab){0};
    if ((rc = aoei_json_double(section, "dropout", &dropout, file, err)) ||
        (rc = aoei_json_string(section, "unk_token", &unk, &unk_len, file, err)) ||
        (rc = aoei_json_bool(section, "byte_fallback", &b->byte_fallback, file, err)) ||
        (rc = aoei_json_bool(section, "fuse_unk", &b->fuse_unk, file, err)) ||
        (rc = aoei_json_bool(section, "ignore_merges", &b->ignore_merges, file, err)) ||
        (rc = read_affix(&b->prefix, &b->prefix_len, section, "continuing_subword_prefix", file, err)) ||
        (rc = read_affix(&b->suffix, &b->suffix_len, section, "end_of_word_suffix", file, err)))
        return rc;
    if (dropout < 0 || dropout > 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: \"dropout\" %g of the model is not supported; set it to null",
                         file, dropout);
    if ((rc = aoei_vocab_read(&b->vocab, json_object_get(section, "vocab"), file, err)) ||
        (rc = read_merges(b, json_object_get(section, "merges"), file, err)))
        return rc;
    b->has_unk = unk != NULL;
    b->unk = unk ? aoei_vocab_id(&b->vocab, unk, unk_len) : -1;
    return finish(b, err);
}

static size_t count_lines(aoe_text text) {
    size_t n = 1;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

int aoei_bpe_read_files(aoei_bpe *b, const json_t *vocab, const char *vocab_file, aoe_text merges,
                        const char *merges_file, aoe_error *err) {
    int rc = aoei_vocab_read(&b->vocab, vocab, vocab_file, err);
    const size_t most = count_lines(merges), bad = merges.len ? aoei_utf8_valid(merges.data, merges.len) : 0;
    size_t rank = 0, number = 0;
    int32_t last = -1;
    b->unk = -1;
    if (rc)
        return rc;
    if (bad < merges.len)
        return aoei_fail(err, AOE_EFORMAT, "%s: invalid UTF-8 at byte %zu; write the file as UTF-8", merges_file, bad);
    if (most > MAX_MERGES)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: more than %d merges are not supported", merges_file, MAX_MERGES);
    if ((rc = make_table(&b->merges, most, err)))
        return rc;
    for (size_t start = 0; start < merges.len;) {
        const char *newline = memchr(merges.data + start, '\n', merges.len - start);
        size_t end = newline ? (size_t)(newline - merges.data) : merges.len;
        const size_t next = end + 1;
        aoe_text left, right;
        number++;
        if (newline && end > start && merges.data[end - 1] == '\r')
            end--;
        const aoe_text line = {merges.data + start, end - start};
        start = next;
        if (line.len == 0 || is_version(line))
            continue;
        if (split_merge(line, &left, &right))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s:%zu: the line does not consist of two tokens separated by a space; correct the line",
                             merges_file, number);
        if ((rc = add_merge(b, rank++, left, right, &last, merges_file, err)))
            return rc;
    }
    return finish(b, err);
}

int aoei_bpe_enable_raw_bytes(aoei_bpe *b) {
    int all = !b->prefix_len && !b->suffix_len;
    /* With byte fallback, a letter without a token is encoded as the bytes of its UTF-8 form. Raw bytes do not contain
     * this form, so every letter must have a token. */
    for (int i = 0; i < 256 && all && b->byte_fallback; i++)
        all = b->letter_id[i] >= 0;
    return b->raw_bytes = all;
}

static int begins(aoe_text t, const char *letter, size_t n) {
    return t.len >= n && memcmp(t.data, letter, n) == 0;
}

static int ends(aoe_text t, const char *letter, size_t n) {
    return t.len >= n && memcmp(t.data + t.len - n, letter, n) == 0;
}

void aoei_bpe_set_space(aoei_bpe *b, const char *letter) {
    const size_t n = strlen(letter), slots = b->merges.slot ? (size_t)(UINT64_MAX >> b->merges.shift) + 1 : 0;
    /* Words are not split if the model has a prefix or suffix, because these depend on the position in the word. They
     * are not split either if `letter` is not a token, because an unknown letter can be fused with preceding unknown
     * characters. */
    if (n == 0 || b->raw_bytes || b->prefix_len || b->suffix_len || aoei_vocab_id(&b->vocab, letter, n) < 0)
        return;
    for (size_t i = 0; i < slots; i++) {
        const aoei_merge *m = &b->merges.slot[i];
        if (m->id >= 0 && begins(aoei_vocab_token(&b->vocab, (int32_t)(uint32_t)m->pair), letter, n) &&
            !ends(aoei_vocab_token(&b->vocab, (int32_t)(m->pair >> 32)), letter, n))
            return;
    }
    memcpy(b->split_letter, letter, n + 1);
    b->split_letter_len = n;
}

void aoei_bpe_free(aoei_bpe *b) {
    aoei_vocab_free(&b->vocab);
    aoei_trie_free(&b->trie);
    aoei_free(b->merges.slot);
    aoei_free(b->prefix);
    aoei_free(b->suffix);
    aoei_word_cache_free(&b->cache);
    memset(b, 0, sizeof *b);
}
