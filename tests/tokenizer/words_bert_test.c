/* SPDX-License-Identifier: MIT
 * Tests BertPreTokenizer, which returns the words of a text in batches. For random texts, the words are compared with
 * the words that a simple reference finds character by character. Other tests use texts with about as many words as fit
 * in a batch.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"
#include "tokenizer/words_bert.h"

/* Asserts that the words of s[from, len) equal the words that the reference in this function finds. Returns the number
 * of words. */
static size_t check(const char *s, size_t from, size_t len) {
    aoei_words words = {.n = 0};
    size_t pos = from, i = from, total = 0, at = 0;
    while (i < len) {
        uint32_t cp = 0;
        size_t start = i, bytes = aoei_utf8_decode(s + i, len - i, &cp);
        i += bytes;
        if (aoei_unicode_is_space(cp))
            continue;
        while (!aoei_unicode_is_punctuation(cp) && i < len) {
            bytes = aoei_utf8_decode(s + i, len - i, &cp);
            if (aoei_unicode_is_space(cp) || aoei_unicode_is_punctuation(cp))
                break;
            i += bytes;
        }
        if (at == words.n) {
            assert_true(words.n == 0 || words.n == AOEI_WORDS); /* every batch except the last must be full */
            assert_true(aoei_words_bert(s, len, &pos, &words) > 0);
            assert_true(words.n <= AOEI_WORDS && pos <= len);
            at = 0;
        }
        assert_int_equal(words.start[at], start);
        assert_int_equal(words.end[at], i);
        at++;
        total++;
    }
    assert_int_equal(at, words.n);
    assert_int_equal(aoei_words_bert(s, len, &pos, &words), 0);
    assert_int_equal(pos, len);
    return total;
}

static void test_random(void **state) {
    (void)state;
    static const char *const parts[] = {"a",
                                        "b",
                                        "Z",
                                        "0",
                                        " ",
                                        " ",
                                        "\t",
                                        ",",
                                        "'",
                                        "[",
                                        "\xc3\xa9",
                                        "\xc2\xa0",
                                        "\xe2\x80\x99",
                                        "\xe3\x80\x80",
                                        "\xe4\xb8\xad",
                                        "\xf0\x9f\x98\x80",
                                        "\x01",
                                        "$"};
    aoei_rng r;
    size_t total = 0;
    aoei_rng_init(&r, 3, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 3000; round++) {
        char text[2048];
        size_t len = 0;
        const size_t n = aoei_rng_below(&r, 400), kinds = 1 + aoei_rng_below(&r, sizeof parts / sizeof *parts);
        for (size_t i = 0; i < n; i++) {
            const char *part = parts[aoei_rng_below(&r, (uint32_t)kinds)];
            memcpy(text + len, part, strlen(part));
            len += strlen(part);
        }
        total += check(text, 0, len);
    }
    assert_true(total > 100000);
}

/* Tests texts with about as many words as fit in a batch. Some texts end with additional characters (`suffix`). */
static void test_batches(void **state) {
    (void)state;
    static const char *const word[] = {"a ", "!", "ab, ", "\xc3\xa9 "};
    static const size_t words_in[] = {1, 1, 2, 1};
    static const char *const suffix[] = {"", "  ", "z", " z", "\xe2\x80\x99"};
    for (size_t k = 0; k < 4; k++) {
        for (size_t n = 60; n < 70; n++) {
            for (size_t b = 0; b < sizeof suffix / sizeof *suffix; b++) {
                char text[512] = "skip";
                for (size_t i = 0; i < n; i++)
                    strcat(text, word[k]);
                strcat(text, suffix[b]);
                assert_int_equal(check(text, 4, strlen(text)), n * words_in[k] +
                                                                   (strchr("z\xe2", *suffix[b]) && *suffix[b]) +
                                                                   (suffix[b][0] == ' ' && suffix[b][1] == 'z'));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
