/* SPDX-License-Identifier: MIT
 * Tests the Unigram model. Scores are compared with an exhaustive search over all segmentations of a text into tokens.
 * Other tests cover unknown characters and byte fallback, the complete tokenizer of XLM-RoBERTa, a long line, and files
 * that must be rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/random.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_files.h"

/* Returns the CPU time of the process in seconds. Unlike wall-clock time, CPU time does not depend on other
 * processes. */
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

#define U                       "\xe2\x96\x81"
#define UNIGRAM(options, vocab) "{\"model\":{\"type\":\"Unigram\",\"vocab\":[" vocab "]" options "}}"

static void expect(const char *json, const char *text, const char *want) {
    aoe_tokenizer *t = test_tokenizer_of(json);
    for (int twice = 0; twice < 2; twice++) { /* the second pass takes the tokens from the word cache */
        const char *got = test_tokens(t, text, NULL);
        if (strcmp(got, want) != 0)
            fail_msg("%s: \"%s\" gave the tokens \"%s\", expected \"%s\"", json, text, got, want);
    }
    aoe_tokenizer_close(t);
}

#define VOCAB "[\"<unk>\",0],[\"a\",-1],[\"b\",-2],[\"ab\",-2.5],[\"c\",-3],[\"bc\",-1]"

static void test_scores(void **state) {
    (void)state;
    expect(UNIGRAM(",\"unk_id\":0", VOCAB), "abc", "a bc");
    expect(UNIGRAM(",\"unk_id\":0", VOCAB), "abab", "ab ab");
    expect(UNIGRAM(",\"unk_id\":0", "[\"<unk>\",0],[\"a\",-1],[\"aa\",-2]"), "aa",
           "aa"); /* both segmentations, "aa" and "a a", have the score -2; the first one that is found is used */
    expect(UNIGRAM(",\"unk_id\":0", "[\"<unk>\",0],[\"a\",-1],[\"aa\",-2],[\"aaa\",-9]"), "aaa", "a aa");
    /* the key "type" of the model is optional */
    expect("{\"model\":{\"vocab\":[[\"<unk>\",0],[\"a\",-1]],\"unk_id\":0}}", "aa", "a a");
}

static void test_unknown(void **state) {
    (void)state;
    expect(UNIGRAM(",\"unk_id\":0", VOCAB), "axya", "a <unk> a"); /* adjacent unknown characters give a single <unk> */
    expect(UNIGRAM(",\"unk_id\":0", VOCAB),
           "\xc3\xa9"
           "a\xc3\xa9",
           "<unk> a <unk>");
    expect(UNIGRAM(",\"unk_id\":0,\"byte_fallback\":true", VOCAB ",[\"<0xC3>\",-9],[\"<0xA9>\",-9]"), "a\xc3\xa9x",
           "a <unk>"); /* byte fallback is possible only if all bytes of the adjacent unknown characters have tokens */
    expect(UNIGRAM(",\"unk_id\":0,\"byte_fallback\":true", VOCAB ",[\"<0xC3>\",-9],[\"<0xA9>\",-9]"),
           "a\xc3\xa9\xc3\xa9"
           "b",
           "a <0xC3> <0xA9> <0xC3> <0xA9> b");
    /* "xy" is a token, although the character x alone is unknown */
    expect(UNIGRAM(",\"unk_id\":0", VOCAB ",[\"xy\",-3]"), "xyx", "xy <unk>");
    aoe_tokenizer *t = test_tokenizer_of(UNIGRAM("", VOCAB));
    aoe_ids ids = {0};
    aoe_error err = {0};
    assert_string_equal(test_tokens(t, "abc", NULL), "a bc");
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("ax"), NULL, &ids, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "\"x\""));
    assert_string_equal(
        test_tokens(t, "axxc", &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .drop_unknown = 1}),
        "a c");
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("ax"), NULL, &ids, &err), AOE_EFORMAT);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    t = test_tokenizer_of(UNIGRAM(",\"unk_id\":0", VOCAB));
    assert_string_equal(
        test_tokens(t, "axxc", &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .drop_unknown = 1}),
        "a c");
    assert_string_equal(aoe_tokenizer_kind(t), "Unigram");
    aoe_tokenizer_close(t);
}

static void test_xlm_roberta(void **state) {
    (void)state;
    static const char json[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"special\":true},{\"id\":2,\"content\":\"</s>\","
        "\"special\":true},"
        "{\"id\":9,\"content\":\"<mask>\",\"special\":true,\"lstrip\":true}],"
        "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\","
        "\"precompiled_charsmap\":\"\"},"
        "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}]},"
        "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},"
        "{\"type\":\"Metaspace\","
        "\"replacement\":\"" U "\",\"add_prefix_space\":true}]},"
        "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},"
        "{\"Sequence\":{\"id\":\"A\"}},"
        "{\"SpecialToken\":{\"id\":\"</s>\"}}],\"special_tokens\":{\"<s>\":{\"ids\":[0]},\"</s>\":{\"ids\":[2]}}},"
        "\"model\":{\"type\":\"Unigram\",\"unk_id\":3,\"vocab\":[[\"<s>\",0.0],[\"<pad>\",0.0],[\"</s>\",0.0],"
        "[\"<unk>\",0.0],"
        "[\"" U "\",-3],[\"" U "the\",-4],[\"s\",-5],[\"e\",-5.5],[\"" U "th\",-4.5]]}}";
    aoe_tokenizer *t = test_tokenizer_of(json);
    assert_string_equal(test_tokens(t, "the   thes <mask>e \n z", NULL),
                        "<s> " U "the " U "the s <mask> " U " e " U " <unk> </s>");
    assert_int_equal(aoe_tokenizer_vocab_size(t), 10);
    assert_int_equal(aoei_tokenizer_id(t, "<mask>", 6), 9);
    uint8_t kind[10];
    aoei_tokenizer_kinds(t, kind, 10);
    static const uint8_t want[] = {
        AOEI_TOKEN_SPECIAL, AOEI_TOKEN_CONTINUATION, AOEI_TOKEN_SPECIAL,      AOEI_TOKEN_SPECIAL, AOEI_TOKEN_WORD,
        AOEI_TOKEN_WORD,    AOEI_TOKEN_CONTINUATION, AOEI_TOKEN_CONTINUATION, AOEI_TOKEN_WORD,    AOEI_TOKEN_SPECIAL};
    assert_memory_equal(kind, want, sizeof want);
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = "the {text} s", .max_length = 7};
    assert_string_equal(test_tokens(t, "the the the the", &o), "<s> " U "the " U "the " U "the " U " s </s>");
    aoe_tokenizer_close(t);
}

/* Returns the highest score of all segmentations of s into the given n tokens and unknown characters, by exhaustive
 * search. unknown: score of an unknown character. */
static double best_score(const char *const *token, const double *score, size_t n, double unknown, const char *s) {
    double found = -1e9;
    int known = 0;
    if (!*s)
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(s, token[i], strlen(token[i])) != 0)
            continue;
        known |= strlen(token[i]) == 1;
        const double sum = score[i] + best_score(token, score, n, unknown, s + strlen(token[i]));
        found = sum > found ? sum : found;
    }
    if (!known) {
        const double sum = unknown + best_score(token, score, n, unknown, s + 1);
        found = sum > found ? sum : found;
    }
    return found;
}

static void test_against_definition(void **state) {
    (void)state;
    static const char *const token[] = {"<unk>", "a", "b", "ab", "ba", "aab", "abab", "bcb", "cc"};
    static const double score[] = {0, -2.25, -2.5, -3.5, -3.75, -5.25, -6.5, -5, -9};
    enum { N = sizeof token / sizeof *token };
    char json[1024];
    int at = sprintf(json, "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[");
    for (size_t i = 0; i < N; i++)
        at += sprintf(json + at, "%s[\"%s\",%g]", i ? "," : "", token[i], score[i]);
    strcpy(json + at, "]}}");
    aoe_tokenizer *t = test_tokenizer_of(json);
    aoe_ids ids = {0};
    aoei_rng r;
    aoei_rng_init(&r, 31, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 2000; round++) {
        char text[16];
        const size_t n = 1 + aoei_rng_below(&r, 12);
        double sum = 0;
        size_t covered = 0, unknown = 0;
        for (size_t i = 0; i < n; i++)
            text[i] = (char)('a' + aoei_rng_below(&r, 3));
        text[n] = 0;
        assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), NULL, &ids, NULL), 0);
        for (size_t i = 0; i < ids.n; i++) {
            sum += ids.id[i] ? score[ids.id[i]] : 0;
            covered += ids.id[i] ? strlen(token[ids.id[i]]) : 0;
        }
        unknown = n - covered;
        sum += -19.0 * (double)unknown; /* the score of an unknown character is 10 less than the lowest score of a
                                           token */
        assert_true(sum == best_score(token + 1, score + 1, N - 1, -19.0, text));
    }
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

static void test_long_line(void **state) {
    (void)state;
    enum { SIZE = 1 << 20 };
    aoe_tokenizer *t = test_tokenizer_of(UNIGRAM(",\"unk_id\":0", VOCAB ",[\"aaaaaaaaaaaaaaaa\",-1]"));
    char *text = malloc(SIZE);
    aoe_ids ids = {0};
    assert_non_null(text);
    static const char fill[] = {'a', 'x', ' '};
    static const size_t want[] = {SIZE / 16, 1, 1};
    const double start = cpu_seconds();
    for (size_t i = 0; i < sizeof fill; i++) {
        memset(text, fill[i], SIZE);
        assert_int_equal(aoe_tokenizer_encode(t, (aoe_text){text, SIZE}, NULL, &ids, NULL), 0);
        assert_int_equal(ids.n, want[i]);
    }
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
    expect_rejected("{\"model\":{\"type\":\"Unigram\"}}", AOE_EFORMAT, "\"vocab\"");
    expect_rejected(UNIGRAM("", ""), AOE_EFORMAT, "\"vocab\"");
    expect_rejected(UNIGRAM("", "[\"a\"]"), AOE_EFORMAT, "entry 0");
    expect_rejected(UNIGRAM("", "[\"a\",0],[7,0]"), AOE_EFORMAT, "entry 1");
    expect_rejected(UNIGRAM("", "[\"a\",\"0\"]"), AOE_EFORMAT, "entry 0");
    expect_rejected(UNIGRAM(",\"unk_id\":1", "[\"a\",0]"), AOE_EFORMAT, "\"unk_id\" 1");
    expect_rejected(UNIGRAM(",\"unk_id\":-1", "[\"a\",0]"), AOE_EFORMAT, "\"unk_id\"");
    expect_rejected(UNIGRAM(",\"byte_fallback\":0", "[\"a\",0]"), AOE_EFORMAT, "\"byte_fallback\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),      cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_xlm_roberta), cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_long_line),   cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
