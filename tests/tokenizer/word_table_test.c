/* SPDX-License-Identifier: MIT
 * Tests the hash table that maps short words of a WordPiece vocabulary to their ids. For a word in the table, the table
 * must return the id of this word. For any other word, it must return no id. If a word has no place in the table, the
 * tokenizer must find it in the trie (prefix tree) of the vocabulary.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/random.h"
#include "tokenizer/word_table.h"
#include "tokenizer/wordpiece.h"

/* Returns the id of s[len], or -1 if it is not in the table. */
static int32_t find(const aoei_word_table *t, const char *s, size_t len) {
    char word[64];
    memset(word, 'x', sizeof word); /* bytes after the word must not affect the result */
    memcpy(word, s, len);
    return aoei_word_table_at(aoei_word_table_place(t, word, len));
}

static void add(aoei_vocab *v, const char *s, size_t len, int64_t id) {
    assert_int_equal(aoei_vocab_add(v, s, len, id, NULL), 0);
}

static void test_lengths(void **state) {
    (void)state;
    static const char letters[] = "aaaaaaaaaaaaaaaaaaaa";
    aoei_vocab v = {0};
    aoei_word_table t = {0};
    for (size_t len = 1; len <= 20; len++)
        add(&v, letters, len, (int64_t)len);
    add(&v, "a\0", 2, 30);
    add(&v, "##a", 3, 31);
    add(&v, "#", 1, 32);
    assert_int_equal(aoei_word_table_build(&t, &v, 100, aoe_text_of("##"), NULL), 0);
    for (size_t len = 1; len <= 20; len++)
        assert_int_equal(find(&t, letters, len), len <= AOEI_WORD_TABLE_LONGEST ? (int32_t)len : -1);
    assert_int_equal(find(&t, "a\0", 2), 30);
    assert_int_equal(find(&t, "a\0\0", 3), -1);
    assert_int_equal(find(&t, "##a", 3), -1); /* continuation pieces are not in the table */
    assert_int_equal(find(&t, "#", 1), 32);
    assert_int_equal(find(&t, "b", 1), -1);
    aoei_word_table_free(&t);
    assert_int_equal(aoei_word_table_build(&t, &v, 3, aoe_text_of(""), NULL), 0);
    assert_int_equal(find(&t, letters, 3), 3);
    assert_int_equal(find(&t, letters, 4), -1); /* the word is longer than the given maximum length, 3 */
    /* here the prefix of continuation pieces is empty, so "##a" is an ordinary word */
    assert_int_equal(find(&t, "##a", 3), 31);
    aoei_word_table_free(&t);
    aoei_vocab_free(&v);
}

/* Tests random words. More than 95% of the words of the vocabulary must be found, each with its own id. Words that are
 * not in the vocabulary must not be found. */
static void test_random(void **state) {
    (void)state;
    enum { N = 30000 };
    aoei_vocab v = {0};
    aoei_word_table t = {0};
    aoei_rng r;
    size_t held = 0;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, 0);
    for (int64_t id = 0; id < N; id++) {
        char word[16];
        const size_t len = 1 + aoei_rng_below(&r, AOEI_WORD_TABLE_LONGEST);
        for (size_t i = 0; i < len; i++)
            word[i] = (char)('a' + aoei_rng_below(&r, 26));
        add(&v, word, len, id);
    }
    assert_int_equal(aoei_word_table_build(&t, &v, 100, aoe_text_of("##"), NULL), 0);
    for (int32_t id = 0; id < N; id++) {
        const aoe_text token = aoei_vocab_token(&v, id);
        if (!token.len)
            continue; /* the word was added again with a higher id */
        const int32_t got = find(&t, token.data, token.len);
        assert_true(got == id || got == -1);
        held += got == id;
        char other[16];
        memcpy(other, token.data, token.len);
        other[token.len / 2] = 'A';
        assert_int_equal(find(&t, other, token.len), -1);
    }
    assert_true(held > v.n_tokens * 95 / 100);
    aoei_word_table_free(&t);
    aoei_vocab_free(&v);
}

/* Tests words that all hash to one slot. The table stores only AOEI_WORD_TABLE_PROBES of these words. The WordPiece
 * model must nevertheless find all words. */
static void test_crowded(void **state) {
    (void)state;
    enum { WANTED = 40 };
    aoei_wordpiece w = {0};
    aoei_word_slot first[1 << 6];
    /* aoei_word_table_build creates a table of 64 slots for WANTED words */
    const aoei_word_table like = {.slot = first, .shift = 64 - 6};
    int32_t n = 0;
    char word[WANTED][16];
    for (unsigned k = 0; n < WANTED; k++) {
        snprintf(word[n], sizeof word[n], "w%07u", k);
        if (aoei_word_table_place(&like, word[n], 8).slot == first) {
            add(&w.vocab, word[n], 8, n);
            n++;
        }
    }
    assert_int_equal(aoei_wordpiece_finish(&w, "[UNK]", 5, "##", 2, 100, NULL), 0);
    assert_int_equal(w.words.shift, like.shift);
    size_t held = 0;
    for (int32_t i = 0; i < WANTED; i++) {
        aoe_ids ids = {0};
        aoei_token_list list = {.ids = &ids};
        const aoei_words one = {.n = 1, .end = {8}};
        const int32_t got = find(&w.words, word[i], 8);
        assert_true(got == i || got == -1);
        held += got == i;
        assert_int_equal(aoei_wordpiece_encode(&w, word[i], &one, SIZE_MAX, &list, NULL), 0);
        assert_int_equal(ids.n, 1);
        assert_int_equal(ids.id[0], i);
        aoe_ids_free(&ids);
    }
    assert_int_equal(held, AOEI_WORD_TABLE_PROBES);
    aoei_wordpiece_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_crowded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
