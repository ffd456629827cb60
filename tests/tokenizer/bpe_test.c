/* SPDX-License-Identifier: MIT
 * covers: tokenizer/bpe_read
 * Tests byte-pair encoding. For random merges and words, the result is compared with the definition of BPE. Other tests
 * cover each option, both formats of merges ("a b" and ["a","b"]), byte-level and metaspace pre-tokenization, a long
 * line, and files that must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/buffer.h"
#include "base/random.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

/* Returns the CPU time of the process in seconds. Unlike wall-clock time, CPU time does not depend on other
 * processes. */
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

#define BPE(options, vocab, merges)                                                                                    \
    "{\"model\":{\"type\":\"BPE\"" options ",\"vocab\":{" vocab "},\"merges\":[" merges "]}}"

static void expect(const char *json, const char *text, const char *want) {
    aoe_tokenizer *t = test_tokenizer_of(json);
    for (int twice = 0; twice < 2; twice++) { /* the second pass takes the tokens from the word cache */
        const char *got = test_tokens(t, text, NULL);
        if (strcmp(got, want) != 0)
            fail_msg("%s: \"%s\" gave the tokens \"%s\", expected \"%s\"", json, text, got, want);
    }
    aoe_tokenizer_close(t);
}

#define ABC "\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"bc\":4,\"abc\":5,\"aa\":6"

static void test_merges(void **state) {
    (void)state;
    expect(BPE("", ABC, "\"a b\",\"b c\""), "abc", "ab c");
    expect(BPE("", ABC, "\"b c\",\"a b\""), "abc", "a bc");
    expect(BPE("", ABC, "\"b c\",\"a bc\""), "abc", "abc");
    expect(BPE("", ABC, "[\"b\",\"c\"],[\"a\",\"bc\"]"), "abcab", "abc a b");
    expect(BPE("", ABC, "\"a a\""), "aaaaa", "aa aa a");            /* the leftmost pair is merged first */
    expect(BPE("", ABC, "\"a b\",\"b c\",\"a b\""), "abc", "a bc"); /* the rank of a repeated merge is its last
                                                                       position */
    expect(BPE("", ABC, "\"#version: 0.2\",\"a b\""), "abab", "ab ab");
    expect(BPE("", ABC, ""), "cab", "c a b");
    expect(BPE(",\"dropout\":0.0", ABC, "\"a b\""), "ab", "ab");
    expect(BPE(",\"ignore_merges\":true", ABC, ""), "abc", "abc");
    expect(BPE(",\"ignore_merges\":true", ABC, ""), "abcc", "a b c c");
}

static void test_unknown(void **state) {
    (void)state;
#define UNK ABC ",\"<u>\":7,\"<0xC3>\":8,\"<0xA9>\":9,\"<0x7A>\":10"
    expect(BPE("", ABC, "\"a b\""), "axbxyab", "ab ab"); /* without an unknown token, x and y are dropped before
                                                            merging */
    expect(BPE("", ABC, "\"a b\""), "axb", "ab");
    expect(BPE(",\"unk_token\":\"<u>\"", UNK, "\"a b\""), "axyb", "a <u> <u> b");
    expect(BPE(",\"unk_token\":\"<u>\",\"fuse_unk\":true", UNK, ""), "axyb\xc3\xa9", "a <u> b <u>");
    expect(BPE(",\"unk_token\":\"<u>\",\"byte_fallback\":true", UNK, ""), "a\xc3\xa9x", "a <0xC3> <0xA9> <u>");
    /* the two x are fused into one unknown token, which is emitted after the byte token of z */
    expect(BPE(",\"unk_token\":\"<u>\",\"byte_fallback\":true,\"fuse_unk\":true", UNK, ""), "axzxa", "a <0x7A> <u> a");
    expect(BPE(",\"byte_fallback\":true", UNK, ""), "a\xc3\xaa", "a"); /* byte fallback is possible only if all bytes of
                                                                          the character have tokens */
    /* an unknown token can be merged with its neighbors */
    expect(
        "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,\"ua\":2},\"merges\":[\"u a\"]}}",
        "xa", "ua");
    aoe_tokenizer *t = test_tokenizer_of(BPE(",\"unk_token\":\"<none>\"", ABC, "\"a b\""));
    aoe_ids ids = {0};
    aoe_error err = {0};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("abx"), NULL, &ids, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "\"x\""));
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("abc"), NULL, &ids, &err), 0);
    assert_int_equal(
        aoe_tokenizer_encode(t, aoe_text_of("abx"),
                             &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .drop_unknown = 1}, &ids,
                             &err),
        0);
    assert_int_equal(ids.n, 1);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("abx"), NULL, &ids, &err), AOE_EFORMAT);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    t = test_tokenizer_of(BPE(",\"unk_token\":\"<u>\"", UNK, "\"a b\""));
    assert_string_equal(
        test_tokens(t, "abxab", &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .drop_unknown = 1}),
        "ab ab");
    aoe_tokenizer_close(t);
}

static void test_affixes(void **state) {
    (void)state;
    expect("{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{\"type\":\"BPE\","
           "\"continuing_subword_prefix\":\"##\","
           "\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"##b\":1,\"ab\":2,\"##c\":3,\"?\":4,\"##bc\":5,\"abc\":6},"
           "\"merges\":[\"a ##b\",\"##b ##c\"]}}",
           "abc bc ab a", "ab ##c ? ##c ab a");
    expect(
        "{\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\","
        "\"vocab\":{\"a\":0,\"b\":1,\"b</w>\":2,\"ab</w>\":3,\"a</w>\":4,\"ab\":5},\"merges\":[\"a b</w>\",\"a b\"]}}",
        "ab aba a", "ab</w> ab a</w> a</w>");
    expect("{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"!\",\"continuing_subword_prefix\":\"-\","
           "\"byte_fallback\":true,"
           "\"vocab\":{\"a\":0,\"<0x2D>\":1,\"<0x62>\":2,\"<0x21>\":3},\"merges\":[]}}",
           "ab", "a <0x2D> <0x62> <0x21>");
}

static void test_byte_level(void **state) {
    (void)state;
    static const char json[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"added_tokens\":[{\"content\":\"<s>\","
        "\"special\":true,"
        "\"lstrip\":true}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"a\":1,\"b\":2,\"\\u0120\":3,\"\xc4\xa0"
        "a\":4,\"\xc3\x83\":5,"
        "\"\xc2\xa9\":6,\"\xc3\x83\xc2\xa9\":7,\"\\u0100\":8,\"ab\":9},"
        "\"merges\":[\"\xc4\xa0 a\",\"\xc3\x83 \xc2\xa9\",\"a b\"]}}";
    aoe_tokenizer *t = test_tokenizer_of(json);
    assert_string_equal(aoe_tokenizer_kind(t), "BPE");
    assert_string_equal(test_tokens(t, "ab ab\xc3\xa9 ", NULL), "ab \xc4\xa0"
                                                                "a b \xc3\x83\xc2\xa9 \xc4\xa0");
    assert_string_equal(test_tokens_n(t, "a\0z a", 5, NULL), "a \xc4\x80 \xc4\xa0"
                                                             "a"); /* z is not in the vocabulary, and there is no
                                                                      unknown token */
    assert_string_equal(test_tokens(t, "a  <s> a", NULL), "a <s> \xc4\xa0"
                                                          "a");
    /* truncation must remove tokens of the text, but no tokens of the prompt */
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = "b{text}b", .max_length = 4};
    assert_string_equal(test_tokens(t, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", &o),
                        "b \xc3\x83\xc2\xa9 \xc3\x83\xc2\xa9 b");
    uint8_t kind[10];
    aoei_tokenizer_kinds(t, kind, 10);
    assert_int_equal(kind[0], AOEI_TOKEN_SPECIAL);
    assert_int_equal(kind[1], AOEI_TOKEN_CONTINUATION);
    assert_int_equal(kind[3], AOEI_TOKEN_WORD);
    assert_int_equal(kind[4], AOEI_TOKEN_WORD);
    assert_int_equal(kind[7], AOEI_TOKEN_CONTINUATION);
    aoe_tokenizer_close(t);
    /* Byte-level pre-tokenization maps each byte to a letter. If this letter is not in the vocabulary, byte fallback
     * gives the tokens of the UTF-8 bytes of the letter. */
    expect("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":false,\"add_prefix_space\":false},"
           "\"model\":{\"type\":\"BPE\","
           "\"byte_fallback\":true,\"vocab\":{\"a\":0,\"<0xC4>\":1,\"<0xA0>\":2},\"merges\":[]}}",
           "a ", "a <0xC4> <0xA0>");
    expect("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":false},\"model\":{\"type\":\"BPE\","
           "\"ignore_merges\":true,"
           "\"vocab\":{\"a\":0,\"\xc4\xa0\":1,\"\xc4\xa0"
           "a\xc3\x83\":2,\"\xc3\x83\":3,\"\xc2\xa9\":4},\"merges\":[]}}",
           "a\xc3\xa9", "\xc4\xa0 a \xc3\x83 \xc2\xa9");
    expect("{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":false},\"model\":{\"type\":\"BPE\","
           "\"ignore_merges\":true,"
           "\"vocab\":{\"a\":0,\"\xc4\xa0\":1,\"\xc4\xa0"
           "a\xc3\x83\xc2\xa9\":2,\"\xc3\x83\":3,\"\xc2\xa9\":4},\"merges\":[]}}",
           "a\xc3\xa9",
           "\xc4\xa0"
           "a\xc3\x83\xc2\xa9");
}

#define U "\xe2\x96\x81"
/* A tokenizer like the tokenizer of LLaMA 2. The normalizer prepends U+2581 to the text and replaces each space with
 * U+2581. There is no pre-tokenizer. */
#define LLAMA(merges)                                                                                                  \
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" U                   \
    "\"},{\"type\":\"Replace\","                                                                                       \
    "\"pattern\":{\"String\":\" \"},\"content\":\"" U "\"}]},"                                                         \
    "\"added_tokens\":[{\"content\":\"<s>\",\"special\":true,\"normalized\":true},{\"content\":\"</s>\","              \
    "\"special\":true}],"                                                                                              \
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"             \
    "{\"Sequence\":{\"id\":"                                                                                           \
    "\"A\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[1]}}},"                                                            \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":true,"                    \
    "\"vocab\":{\"<unk>\":0,\"<s>\":1,"                                                                                \
    "\"</s>\":2,\"<0x0A>\":3,\"" U "\":4,\"a\":5,\"b\":6,\"" U "a\":7,\"" U U "\":8,\"ab\":9,\"" U "ab\":10,\"b" U     \
    "\":11},"                                                                                                          \
    "\"merges\":[" merges "]}}"

static void test_metaspace(void **state) {
    (void)state;
    static const char *const plain = LLAMA("\"" U " a\",\"" U " " U "\",\"" U "a b\"");
    expect(plain, "ab ab", "<s> " U "ab " U "ab");
    expect(plain, "a  b\nxyb", "<s> " U "a " U U " b <0x0A> <unk> b");
    expect(plain, "ba</s>a", "<s> " U " b a </s> " U "a");
    /* the normalized form of the added token <s> begins with U+2581, so it does not match after "a" */
    expect(plain, "a<s>b", "<s> " U "a <unk> b");
    expect(plain, "<s>a", "<s> <s> a");
    expect(plain, "a <s>", "<s> " U "a <s>");
    expect(plain, "", "<s>");
    /* a merge may join U+2581 with the letter before it, so the text must not be split into words at U+2581 */
    expect(LLAMA("\"b " U "\",\"" U " a\""), "ab ab", "<s> " U "a b" U " a b");
    aoe_tokenizer *t = test_tokenizer_of(plain);
    uint8_t kind[12];
    aoei_tokenizer_kinds(t, kind, 12);
    assert_int_equal(kind[0], AOEI_TOKEN_SPECIAL);
    assert_int_equal(kind[7], AOEI_TOKEN_WORD);
    assert_int_equal(kind[9], AOEI_TOKEN_CONTINUATION);
    aoe_ids ids = {0}; /* the text is a single word, so truncation must stop inside it */
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .max_length = 3};
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("ab ab ab ab ab"), &o, &ids, NULL), 0);
    assert_int_equal(ids.n, 3);
    assert_true(ids.truncated);
    aoe_ids_free(&ids);
    o.prompt = "b {text} a";
    o.max_length = 6;
    assert_string_equal(test_tokens(t, "ab ab ab ab ab", &o), "<s> " U " b " U "ab " U "ab " U "a");
    aoe_tokenizer_close(t);
}

/* A BPE model over a few letters with random merges. */
typedef struct model {
    char token[200][24]; /* tokens by id */
    int n;               /* number of tokens */
    /* indexed by the rank of a merge: ids of its left part, its right part and the merged token */
    int left[160], right[160], merged[160];
    int n_merges;
} model;

static int find(const model *m, const char *s) {
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->token[i], s) == 0)
            return i;
    return -1;
}

static void make_model(model *m, aoei_rng *r) {
    m->n = m->n_merges = 0;
    const int letters = 2 + (int)aoei_rng_below(r, 3);
    for (int i = 0; i < letters; i++)
        snprintf(m->token[m->n++], sizeof *m->token, "%c", 'a' + i);
    for (int i = 0; i < 120; i++) {
        const int left = (int)aoei_rng_below(r, (uint32_t)m->n), right = (int)aoei_rng_below(r, (uint32_t)m->n);
        char both[48];
        snprintf(both, sizeof both, "%s%s", m->token[left], m->token[right]);
        if (strlen(both) > 16)
            continue;
        int merged = find(m, both);
        if (merged < 0)
            strcpy(m->token[merged = m->n++], both);
        m->left[m->n_merges] = left;
        m->right[m->n_merges] = right;
        m->merged[m->n_merges++] = merged;
    }
}

static char *model_json(const model *m) {
    char *json = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&json, &size);
    assert_non_null(f);
    fprintf(f, "{\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (int i = 0; i < m->n; i++)
        fprintf(f, "%s\"%s\":%d", i ? "," : "", m->token[i], i);
    fprintf(f, "},\"merges\":[");
    for (int i = 0; i < m->n_merges; i++)
        fprintf(f, "%s\"%s %s\"", i ? "," : "", m->token[m->left[i]], m->token[m->right[i]]);
    fprintf(f, "]}}");
    fclose(f);
    return json;
}

/* Encodes s by the definition of BPE: merges the leftmost of the pairs with the lowest rank, until no adjacent pair has
 * a rank. Writes the token ids to id and returns their number. */
static size_t encode_by_definition(const model *m, const char *s, int *id) {
    size_t n = strlen(s);
    for (size_t i = 0; i < n; i++)
        id[i] = s[i] - 'a';
    for (;;) {
        int best = -1;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            int rank = -1;
            for (int k = 0; k < m->n_merges; k++) /* the rank of a repeated merge is its last position */
                rank = m->left[k] == id[i] && m->right[k] == id[i + 1] ? k : rank;
            if (rank >= 0 && (best < 0 || rank < best)) {
                best = rank;
                at = i;
            }
        }
        if (best < 0)
            return n;
        id[at] = m->merged[best];
        memmove(id + at + 1, id + at + 2, (--n - at - 1) * sizeof *id);
    }
}

static void test_against_definition(void **state) {
    (void)state;
    static model m;
    aoei_rng r;
    aoei_rng_init(&r, 21, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 30; round++) {
        make_model(&m, &r);
        char *json = model_json(&m);
        aoe_tokenizer *t = test_tokenizer_of(json);
        aoe_ids ids = {0};
        for (int k = 0; k < 60; k++) {
            char text[160];
            int want[160];
            /* the library merges short words in place and uses a heap for long words; both must be tested */
            size_t n = 1 + aoei_rng_below(&r, k % 2 ? 30 : 150);
            const uint32_t letters = 2 + aoei_rng_below(&r, 2);
            for (size_t i = 0; i < n; i++)
                text[i] = (char)('a' + aoei_rng_below(&r, letters));
            text[n] = 0;
            if (find(&m, "c") < 0)
                for (size_t i = 0; i < n; i++)
                    text[i] = text[i] == 'c' ? 'a' : text[i];
            n = encode_by_definition(&m, text, want);
            for (int twice = 0; twice < 2; twice++) {
                assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), NULL, &ids, NULL), 0);
                assert_int_equal(ids.n, n);
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(ids.id[i], want[i]);
            }
        }
        aoe_ids_free(&ids);
        aoe_tokenizer_close(t);
        free(json);
    }
}

/* Tests that a text of 1 MiB without a space is encoded within a time limit. */
static void test_long_line(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    aoe_tokenizer *t =
        test_tokenizer_of(BPE("", ABC ",\"aaaa\":7,\"aaaaaaaa\":8", "\"a a\",\"aa aa\",\"aaaa aaaa\",\"b c\""));
    char *text = malloc(SIZE);
    aoe_ids ids = {0};
    assert_non_null(text);
    memset(text, 'a', SIZE);
    double start = cpu_seconds();
    assert_int_equal(aoe_tokenizer_encode(t, (aoe_text){text, SIZE}, NULL, &ids, NULL), 0);
    assert_int_equal(ids.n, SIZE / 8);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 2 ? 'c' : 'b';
    assert_int_equal(aoe_tokenizer_encode(t, (aoe_text){text, SIZE}, NULL, &ids, NULL), 0);
    assert_int_equal(ids.n, SIZE / 2);
    assert_true(cpu_seconds() - start < 20.0);
    aoe_ids_free(&ids);
    free(text);
    aoe_tokenizer_close(t);
}

static void expect_rejected(const char *json, int code, const char *part) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    assert_int_equal(aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "f", &err), code);
    assert_null(t);
    if (strncmp(err.message, "f: ", 3) != 0 || !strstr(err.message, part))
        fail_msg("error message \"%s\": expected the file name at its start, and \"%s\"", err.message, part);
}

static void test_rejected(void **state) {
    (void)state;
    expect_rejected("{\"model\":{\"type\":\"BPE\",\"vocab\":{}}}", AOE_EFORMAT, "\"merges\"");
    expect_rejected("{\"model\":{\"type\":\"BPE\",\"merges\":[]}}", AOE_EFORMAT, "\"vocab\"");
    expect_rejected(BPE("", ABC, "\"a x\""), AOE_EFORMAT, "merge 1: token \"x\"");
    expect_rejected(BPE("", ABC, "\"a b\",\"x a\""), AOE_EFORMAT, "merge 2: token \"x\"");
    expect_rejected(BPE("", ABC, "\"a c\""), AOE_EFORMAT, "merge 1: \"ac\"");
    expect_rejected(BPE("", ABC, "\"ab\""), AOE_EFORMAT, "entry 0");
    expect_rejected(BPE("", ABC, "\"a b c\""), AOE_EFORMAT, "entry 0");
    expect_rejected(BPE("", ABC, "[\"a\"]"), AOE_EFORMAT, "entry 0");
    expect_rejected(BPE("", ABC, "[\"a\",\"b\",\"c\"]"), AOE_EFORMAT, "entry 0");
    expect_rejected(BPE("", ABC, "7"), AOE_EFORMAT, "entry 0");
    expect_rejected(BPE(",\"dropout\":0.1", ABC, ""), AOE_EUNSUPPORTED, "\"dropout\"");
    expect_rejected(BPE(",\"dropout\":\"x\"", ABC, ""), AOE_EFORMAT, "\"dropout\"");
    expect_rejected(BPE(",\"fuse_unk\":1", ABC, ""), AOE_EFORMAT, "\"fuse_unk\"");
    expect_rejected(BPE(",\"continuing_subword_prefix\":1", ABC, ""), AOE_EFORMAT, "\"continuing_subword_prefix\"");
    expect_rejected(BPE(",\"continuing_subword_prefix\":\"##\"", ABC, "\"a b\""), AOE_EFORMAT, "merge 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_merges),     cmocka_unit_test(test_unknown),   cmocka_unit_test(test_affixes),
        cmocka_unit_test(test_byte_level), cmocka_unit_test(test_metaspace), cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_long_line),  cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
