/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: tokenizer/token_list tokenizer/trie tokenizer/vocab
 * Tests the WordPiece model, its vocabulary and its trie (prefix tree). Each rule is tested, and for random
 * vocabularies the result is compared with a simple greedy search. Many threads must be able to use a model, whose trie
 * is built by the first thread that splits a word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/pool.h"
#include "base/random.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/wordpiece.h"

static void test_rules(void **state) {
    (void)state;
    aoe_tokenizer *t =
        test_tokenizer(&(test_tokenizer_spec){.words = "un ##aff ##able ##a ##ff affable u ##n , ! é ##é"});
    assert_string_equal(test_tokens(t, "unaffable", NULL), "[CLS] un ##aff ##able [SEP]");
    assert_string_equal(test_tokens(t, "UNAFF", NULL), "[CLS] un ##aff [SEP]");
    assert_string_equal(test_tokens(t, "un,affable!!", NULL), "[CLS] un , affable ! ! [SEP]");
    assert_string_equal(test_tokens(t, "unx un", NULL),
                        /* "un" is known, but no piece matches "x", so the whole word is unknown */
                        "[CLS] [UNK] un [SEP]");
    assert_string_equal(test_tokens(t, "x", NULL), "[CLS] [UNK] [SEP]");
    /* the longest first piece is always chosen, even if no piece then matches the end of the word */
    assert_string_equal(test_tokens(t, "unaf", NULL), "[CLS] [UNK] [SEP]");
    assert_string_equal(test_tokens(t, "", NULL), "[CLS] [SEP]");
    assert_string_equal(test_tokens(t, " \t\n ", NULL), "[CLS] [SEP]");
    assert_string_equal(test_tokens_n(t, "un\0un", 5, NULL), "[CLS] [UNK] [SEP]"); /* NUL is removed, which gives
                                                                                      "unun" */
    assert_string_equal(
        test_tokens(t, "un", &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .no_special_tokens = 1}),
        "un");
    assert_string_equal(aoe_tokenizer_kind(t), "WordPiece");
    assert_int_equal(aoe_tokenizer_vocab_size(t), 17);
    assert_int_equal(aoei_tokenizer_id(t, "##able", 6), 7);
    assert_int_equal(aoei_tokenizer_id(t, "##ab", 4), -1);
    assert_null(aoe_tokenizer_token(t, 17).data);
    assert_null(aoe_tokenizer_token(t, -1).data);
    aoe_tokenizer_close(t);
}

/* Tests that a word of more than 100 characters is unknown. The limit is a number of characters, not of bytes. */
static void test_long_words(void **state) {
    (void)state;
    aoe_tokenizer *t = test_tokenizer(&(test_tokenizer_spec){
        .words = "a ##a é ##é",
        .normalizer = "{\"type\":\"BertNormalizer\",\"strip_accents\":false,\"lowercase\":false}"});
    char text[512];
    for (int accent = 0; accent < 2; accent++) {
        for (size_t n = 99; n < 103; n++) {
            const char *c = accent ? "é" : "a";
            aoe_ids ids = {0};
            text[0] = 0;
            for (size_t i = 0; i < n; i++)
                strcat(text, c);
            assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), NULL, &ids, NULL), 0);
            assert_int_equal(ids.n, n <= 100 ? n + 2 : 3);
            if (n > 100)
                assert_int_equal(ids.id[1], 1);
            aoe_ids_free(&ids);
        }
    }
    aoe_tokenizer_close(t);
}

typedef struct word_list {
    char token[64][24];
    size_t n;
} word_list;

static int find(const word_list *l, const char *s, size_t len) {
    for (size_t i = 0; i < l->n; i++)
        if (strlen(l->token[i]) == len && memcmp(l->token[i], s, len) == 0)
            return (int)i;
    return -1;
}

/* Encodes a word by the definition of WordPiece: each piece is the longest token of the vocabulary that matches at the
 * current position. Writes the ids to out and returns their number. */
static size_t encode_by_definition(const word_list *l, const char *word, int32_t *out) {
    size_t len = strlen(word), n = 0;
    char buffer[64];
    for (size_t start = 0; start < len;) {
        int id = -1;
        size_t end = len;
        for (; end > start && id < 0; end -= id < 0) {
            size_t prefix = start ? 2 : 0;
            memcpy(buffer, "##", 2);
            memcpy(buffer + prefix, word + start, end - start);
            id = find(l, buffer, prefix + end - start);
        }
        if (id < 0) {
            out[0] = 0;
            return 1;
        }
        out[n++] = id;
        start = end;
    }
    return n;
}

/* Encodes a batch of random words with every possible limit on the number of tokens. Asserts that the ids are equal to
 * the ids by definition. */
static void check_batch(const word_list *l, const aoei_wordpiece *w, aoei_rng *r) {
    enum { MAX_WORDS = 6, MAX_LEN = 24 };
    char text[MAX_WORDS * MAX_LEN + AOEI_WORD_TABLE_READ] = "";
    int32_t want[MAX_WORDS * MAX_LEN];
    size_t n_want = 0, tokens_up_to[MAX_WORDS] = {0}, at = 0;
    aoei_words words = {.n = 1 + aoei_rng_below(r, MAX_WORDS)};
    for (size_t i = 0; i < words.n; i++) {
        char word[MAX_LEN + 1] = "";
        size_t n = 1 + aoei_rng_below(r, MAX_LEN), letters = 1 + aoei_rng_below(r, 3);
        for (size_t c = 0; c < n; c++)
            word[c] = (char)('a' + aoei_rng_below(r, (uint32_t)letters));
        memcpy(text + at, word, n);
        words.start[i] = at;
        words.end[i] = at += n;
        tokens_up_to[i] = n_want += encode_by_definition(l, word, want + n_want);
    }
    for (size_t stop = 0; stop <= n_want; stop++) {
        aoe_ids ids = {0};
        aoei_token_list list = {.ids = &ids};
        size_t i = 0;
        assert_int_equal(aoei_wordpiece_encode(w, text, &words, stop, &list, NULL), 0);
        while (stop > tokens_up_to[i])
            i++;
        /* encoding stops after the first word at which the total number of tokens is at least `stop`; this word is
         * encoded completely */
        assert_int_equal(ids.n, stop ? tokens_up_to[i] : 0);
        if (ids.n)
            assert_memory_equal(ids.id, want, ids.n * sizeof *want);
        aoe_ids_free(&ids);
    }
}

static void test_against_definition(void **state) {
    (void)state;
    aoei_rng r;
    aoei_rng_init(&r, 7, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 200; round++) {
        word_list l = {.token = {"[UNK]"}, .n = 1};
        aoei_wordpiece w = {0};
        for (size_t i = 1; i < 40; i++) {
            char token[24] = "";
            size_t n = 1 + aoei_rng_below(&r, i % 4 ? 4 : 20), at = aoei_rng_below(&r, 2) * 2;
            memcpy(token, "##", at);
            for (size_t c = 0; c < n; c++)
                token[at + c] = (char)('a' + aoei_rng_below(&r, i % 4 ? 3 : 1));
            if (find(&l, token, strlen(token)) < 0)
                strcpy(l.token[l.n++], token);
        }
        for (size_t i = 0; i < l.n; i++)
            assert_int_equal(aoei_vocab_add(&w.vocab, l.token[i], strlen(l.token[i]), (int64_t)i, NULL), 0);
        assert_int_equal(aoei_wordpiece_finish(&w, "[UNK]", 5, "##", 2, 100, NULL), 0);
        for (int k = 0; k < 50; k++)
            check_batch(&l, &w, &r);
        aoei_wordpiece_free(&w);
    }
}

static void test_vocabulary(void **state) {
    (void)state;
    aoei_vocab v = {0};
    aoe_error err = {0};
    assert_int_equal(aoei_vocab_add(&v, "one", 3, 4, &err), 0);
    assert_int_equal(aoei_vocab_add(&v, "two", 3, 9, &err), 0);
    /* the last id of "one" is used, and its first id, 4, then has no token */
    assert_int_equal(aoei_vocab_add(&v, "one", 3, 7, &err), 0);
    assert_int_equal(aoei_vocab_id(&v, "one", 3), 7);
    assert_null(aoei_vocab_token(&v, 4).data);
    assert_int_equal(aoei_vocab_token(&v, 7).len, 3);
    assert_int_equal(v.n_ids, 10);
    assert_int_equal(v.n_tokens, 2);
    assert_int_equal(aoei_vocab_add(&v, "x", 1, -1, &err), AOE_EFORMAT);
    assert_int_equal(aoei_vocab_add(&v, "x", 1, (int64_t)AOEI_VOCAB_MAX_ID + 1, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "\"x\""));
    assert_int_equal(aoei_vocab_add(&v, "\xff", 1, 1, &err), AOE_EFORMAT);
    aoei_vocab_free(&v);
    assert_int_equal(aoei_vocab_id(&v, "one", 3), -1);
}

/* Tests that a vocabulary finds 10,000 random tokens, also as two parts, and no other tokens, and that its trie
 * contains the same tokens. */
static void test_many_tokens(void **state) {
    (void)state;
    enum { N = 10000 };
    static char token[N][12];
    aoei_vocab v = {0};
    aoei_trie trie = {0};
    aoei_rng r;
    aoei_rng_init(&r, 13, AOEI_STREAM_TEST, 0);
    for (int i = 0; i < N; i++) {
        const size_t n = 1 + aoei_rng_below(&r, 6);
        for (size_t c = 0; c < n; c++)
            token[i][c] = (char)('a' + aoei_rng_below(&r, 6));
        assert_int_equal(aoei_vocab_add(&v, token[i], n, i, NULL), 0);
    }
    assert_int_equal(aoei_vocab_fill_trie(&v, &trie, NULL), 0);
    size_t n_last = 0;
    for (int i = 0; i < N; i++) {
        const size_t n = strlen(token[i]), at = aoei_rng_below(&r, (uint32_t)n + 1);
        const int32_t id = aoei_vocab_id(&v, token[i], n);
        char longer[16];
        assert_in_range(id, i, N - 1); /* the last id of a token is used */
        assert_string_equal(token[id], token[i]);
        assert_int_equal(aoei_trie_find(&trie, token[i], n), id);
        assert_int_equal(aoei_vocab_joined_id(&v, (aoe_text){token[i], at}, (aoe_text){token[i] + at, n - at}), id);
        n_last += id == i;
        if (id == i)
            assert_memory_equal(aoei_vocab_token(&v, id).data, token[i], n);
        else
            assert_null(aoei_vocab_token(&v, i).data);
        snprintf(longer, sizeof longer, "%sx", token[i]);
        assert_int_equal(aoei_vocab_id(&v, longer, n + 1), -1);
        assert_int_equal(aoei_vocab_joined_id(&v, (aoe_text){token[i], n}, (aoe_text){"x", 1}), -1);
    }
    assert_int_equal(v.n_tokens, n_last);
    aoei_trie_free(&trie);
    aoei_vocab_free(&v);
}

/* Arguments of the tasks of test_threads, each of which splits one word. */
typedef struct split_job {
    const aoei_wordpiece *w;
    int wrong[64]; /* 1: a task failed or its tokens are wrong */
} split_job;

static void split(void *arg, size_t task, size_t worker) {
    split_job *j = arg;
    const char text[8 + AOEI_WORD_TABLE_READ] = "unaffabl";
    const aoei_words words = {.n = 1, .end = {8}};
    aoe_ids ids = {0};
    aoei_token_list list = {.ids = &ids};
    (void)worker;
    j->wrong[task] = aoei_wordpiece_encode(j->w, text, &words, SIZE_MAX, &list, NULL) || ids.n != 3 || ids.id[0] != 1 ||
                     ids.id[1] != 2 || ids.id[2] != 3;
    aoe_ids_free(&ids);
}

static void test_threads(void **state) {
    (void)state;
    static const char *const token[] = {"[UNK]", "un", "##aff", "##abl"};
    aoei_pool *pool = NULL;
    assert_int_equal(aoei_pool_create(&pool, 4, NULL), 0);
    for (int round = 0; round < 20; round++) {
        aoei_wordpiece w = {0};
        split_job j = {.w = &w};
        for (int i = 0; i < 4; i++)
            assert_int_equal(aoei_vocab_add(&w.vocab, token[i], strlen(token[i]), i, NULL), 0);
        assert_int_equal(aoei_wordpiece_finish(&w, "[UNK]", 5, "##", 2, 100, NULL), 0);
        aoei_parallel_for(pool, 64, split, &j);
        for (int i = 0; i < 64; i++)
            assert_int_equal(j.wrong[i], 0);
        aoei_wordpiece_free(&w);
    }
    aoei_pool_destroy(pool);
}

/* Tests that the trie finds 10,000 random keys and no other keys. Some keys are prefixes of other keys. */
static void test_trie(void **state) {
    (void)state;
    enum { N = 10000 };
    static char key[N][12];
    aoei_trie t = {0};
    aoei_rng r;
    aoei_rng_init(&r, 11, AOEI_STREAM_TEST, 0);
    for (int i = 0; i < N; i++) {
        size_t n = 1 + aoei_rng_below(&r, 10);
        for (size_t c = 0; c < n; c++)
            key[i][c] = (char)(1 + aoei_rng_below(&r, 255));
        assert_int_equal(aoei_trie_add(&t, key[i], n, i, 1, NULL), 0);
    }
    for (int i = 0; i < N; i++) {
        int32_t found = aoei_trie_find(&t, key[i], strlen(key[i]));
        assert_true(found >= 0 && found <= i);
        assert_string_equal(key[found], key[i]); /* if a key was added twice, its first value was kept */
    }
    for (int i = 0; i < N; i++) {
        char other[13];
        size_t n = strlen(key[i]);
        memcpy(other, key[i], n);
        other[n] = '\0'; /* no key contains the byte 0 */
        assert_int_equal(aoei_trie_find(&t, other, n + 1), -1);
    }
    aoei_trie_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_against_definition),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_many_tokens),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_trie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
