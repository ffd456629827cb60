/* SPDX-License-Identifier: MIT
 * Fuzzes the texts that tokenizers encode, with one tokenizer of each kind. Invalid UTF-8 must be rejected. For valid
 * UTF-8, the prompt "{text}" must not change the ids. Truncated ids, with or without this prompt, must be a prefix of
 * all ids. These comparisons test two code paths against each other: the fast path, and the path that tracks the
 * position of each token in the text.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_files.h"

static const char *const json[] = {
    "{\"added_tokens\":[{\"content\":\"[MASK]\",\"normalized\":false,\"special\":true},"
    "{\"content\":\"<x>\",\"single_word\":true,\"lstrip\":true,\"rstrip\":true,\"normalized\":false},"
    "{\"content\":\"\\u00c9a\",\"normalized\":true,\"lstrip\":true}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"b\":3,\"[MASK]\":4,\",\":5,\"##a\":6,"
    "\"i\":7,"
    "\"\\u4e2d\":8,\"##\\u3016\":9,\"e\":10,\"##\\u302e\":11,\"##\\ud834\\udd65\":12,\"ab\":13,\"##e\":14,"
    "\"\\u1100\":15,"
    "\"##\\u1161\":16}}}",
    /* byte-level BPE; a space is part of the next word */
    "{\"added_tokens\":[{\"content\":\"<x>\",\"lstrip\":true}],\"normalizer\":{\"type\":\"NFC\"},"
    "\"pre_tokenizer\":{\"type\":\"Sequence\","
    "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\" ?\\\\p{L}+| "
    "?[^\\\\s\\\\p{L}]+|\\\\s+(?!\\\\S)|\\\\s+\"},"
    "\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"use_regex\":false}]},\"model\":{\"type\":\"BPE\","
    "\"unk_token\":\"?\",\"vocab\":{"
    "\"?\":0,\"a\":1,\"b\":2,\"\\u0120\":3,\"\\u0120a\":4,\"ab\":5,\"\\u00c3\":6,\"\\u00a9\":7,\"\\u00c3\\u00a9\":8,"
    "\"aa\":9,\"aaaa\":10},"
    "\"merges\":[\"\\u0120 a\",\"\\u00c3 \\u00a9\",\"a b\",\"a a\",\"aa aa\"]}}",
    /* BPE without a pre-tokenizer; a space is a letter, and unknown characters become byte tokens */
    "{\"added_tokens\":[{\"content\":\"<x>\",\"normalized\":true}],\"normalizer\":{\"type\":\"Sequence\","
    "\"normalizers\":[{\"type\":"
    "\"Prepend\",\"prepend\":\"_\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" "
    "\"},\"content\":\"_\"}]},\"model\":{\"type\":\"BPE\","
    "\"unk_token\":\"?\",\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{\"?\":0,\"_\":1,\"a\":2,\"b\":3,\"_a\":4,"
    "\"__\":5,\"<0x2C>\":6,"
    "\"<0xC3>\":7,\"<0x81>\":8},\"merges\":[\"_ a\",\"_ _\"]}}",
    /* Unigram after several pre-tokenizers */
    "{\"normalizer\":{\"type\":\"NFKD\"},\"pre_tokenizer\":{\"type\":\"Sequence\","
    "\"pretokenizers\":[{\"type\":\"Punctuation\","
    "\"behavior\":\"MergedWithPrevious\"},{\"type\":\"Metaspace\",\"replacement\":\"_\","
    "\"prepend_scheme\":\"first\"}]},\"model\":{\"type\":"
    "\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"_\",-2],[\"a\",-3],[\"_a\",-4],[\"b\",-1],[\"ab\",-3.5],"
    "[\"aaa\",-6]]}}"};

static void compare(const aoe_tokenizer *t, aoe_text text, const aoe_ids *expected, const char *prompt,
                    size_t max_length) {
    aoe_ids ids = {0};
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = prompt, .max_length = max_length};
    if (aoe_tokenizer_encode(t, text, &o, &ids, NULL))
        abort();
    size_t n = max_length && max_length < expected->n ? max_length : expected->n;
    if (ids.n != n || ids.truncated != (n < expected->n) ||
        (n && memcmp(ids.id, expected->id, n * sizeof *ids.id) != 0))
        abort();
    aoe_ids_free(&ids);
}

/* The ids must be the same with spans, which must be inside the text. */
static void compare_spans(const aoe_tokenizer *t, aoe_text text, const aoe_ids *expected, const char *prompt) {
    aoe_ids ids = {0};
    aoe_token_spans spans = {0};
    const aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = prompt};
    if (aoe_tokenizer_encode_spans(t, text, &o, &ids, &spans, NULL) || spans.n != ids.n)
        abort();
    if (!prompt && (ids.n != expected->n || (ids.n && memcmp(ids.id, expected->id, ids.n * sizeof *ids.id) != 0)))
        abort();
    for (size_t i = 0; i < spans.n; i++) {
        const aoe_token_span *s = &spans.span[i];
        if (s->start > s->stop || s->start_byte > s->stop_byte || s->stop_byte > text.len ||
            aoei_utf8_chars(text.data, s->start_byte) != s->start ||
            aoei_utf8_chars(text.data, s->stop_byte) != s->stop)
            abort();
    }
    aoe_ids_free(&ids);
    aoe_token_spans_free(&spans);
}

static void encode(const aoe_tokenizer *t, const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    aoe_text text = {(const char *)data, size};
    aoe_error err = {0};
    aoe_ids ids = {0};
    int rc = aoe_tokenizer_encode(t, text, NULL, &ids, &err);
    if (rc != (aoei_utf8_valid(text.data, text.len) < size ? AOE_EFORMAT : 0))
        abort();
    if (!rc) {
        compare_spans(t, text, &ids, NULL);
        compare_spans(t, text, &ids, "a {text}\xc3\xa9 b");
        compare(t, text, &ids, "{text}", 0);
        compare(t, text, &ids, "{text}", 1);
        compare(t, text, &ids, "{text}", ids.n / 2 + 1);
        compare(t, text, &ids, NULL, ids.n / 2 + 1);
    }
    aoe_ids_free(&ids);
    if (aoei_alloc_live() != live)
        abort();
}

/* Opens a tokenizer and encodes a word that WordPiece splits: the trie that is then built is kept, so the calls of
 * encode allocate no memory that is still used after they return. */
static int open_tokenizer(aoe_tokenizer **t, const char *text) {
    aoe_ids ids = {0};
    const int rc = aoei_tokenizer_parse_json(t, text, strlen(text), (aoe_text){NULL, 0}, "json", NULL) ||
                   aoe_tokenizer_encode(*t, (aoe_text){"abab", 4}, NULL, &ids, NULL);
    aoe_ids_free(&ids);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static aoe_tokenizer
        /* the tokenizers stay open, so that their caches contain data of earlier texts */
        *t[sizeof json / sizeof *json];
    for (size_t i = 0; i < sizeof json / sizeof *json; i++) {
        if (!t[i] && open_tokenizer(&t[i], json[i]))
            abort();
        encode(t[i], data, size);
    }
    return 0;
}
