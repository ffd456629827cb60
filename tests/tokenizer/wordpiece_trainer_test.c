/* SPDX-License-Identifier: MIT
 * covers: tokenizer/pair_merger tokenizer/word_counts tokenizer/wordpiece_save
 * Tests the trainer of WordPiece vocabularies. Small vocabularies are worked out by hand. For random texts, the
 * vocabulary is compared with the vocabulary of a slow trainer that counts all pairs again after every merge. Also
 * tests the files that the trainer writes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/random.h"
#include "tokenizer/pair_merger.h"
#include "tokenizer/wordpiece_save.h"
#include "tokenizer/wordpiece_trainer.h"

static const char *const sentences[] = {
    "The river rose slowly after the long rain, and the old bridge held.",
    "Rivers rise; bridges hold or fall. The rain was long.",
    "A slow river, a long bridge, an old rain song: \"hold, hold!\"",
    "She sells 12 old songs for $3.50 (or 4 for $10).",
    "Übermut tut selten gut, says the caf\xc3\xa9 owner in the old town.",
    "\xe4\xb8\xad\xe6\x96\x87 and \xd0\xa0\xd1\x83\xd1\x81\xd1\x81\xd0\xba\xd0\xb8\xd0\xb9 in one line",
};
enum { N_SENTENCES = sizeof sentences / sizeof *sentences };

static aoei_wordpiece_trainer *train(aoei_wordpiece_options o, const char *const *texts, size_t n, int backwards) {
    aoei_wordpiece_trainer *tr;
    aoe_error err = {0};
    assert_int_equal(aoei_wordpiece_trainer_create(&tr, &o, &err), 0);
    for (size_t i = 0; i < n; i++) {
        const char *text = texts[backwards ? n - 1 - i : i];
        assert_int_equal(aoei_wordpiece_trainer_add(tr, text, strlen(text), &err), 0);
    }
    if (aoei_wordpiece_train(tr, &err))
        fail_msg("%s", err.message);
    return tr;
}

static aoei_wordpiece_options options(size_t vocab_size) {
    aoei_wordpiece_options o;
    aoei_wordpiece_options_defaults(&o);
    o.vocab_size = vocab_size;
    return o;
}

static void expect_vocab(const aoei_wordpiece_trainer *tr, const char *want) {
    char got[4096] = "";
    size_t at = 0;
    for (size_t i = 0; i < aoei_wordpiece_trainer_size(tr); i++) {
        aoe_text t = aoei_wordpiece_trainer_token(tr, i);
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%.*s", i ? " " : "", (int)t.len, t.data);
    }
    assert_string_equal(got, want);
}

static void test_by_hand(void **state) {
    (void)state;
    /* The counts of the words are ab 3, abc 2, b 1. The letters are a b c ##b ##c. The counts of the pairs are (a,##b)
     * 5 and (##b,##c) 2. After ab is merged, the pair (ab,##c) has the count 2. */
    static const char *const texts[] = {"ab abc AB", "b abc ab"};
    aoei_wordpiece_trainer *tr = train(options(100), texts, 2, 0);
    expect_vocab(tr, "[PAD] [UNK] [CLS] [SEP] [MASK] a b c ##b ##c ab abc");
    aoei_wordpiece_trainer_destroy(tr);
    tr = train(options(11), texts, 2, 0);
    expect_vocab(tr, "[PAD] [UNK] [CLS] [SEP] [MASK] a b c ##b ##c ab");
    aoei_wordpiece_trainer_destroy(tr);
    aoei_wordpiece_options o = options(100);
    o.min_frequency = 3;
    o.lowercase = 0;
    tr = train(o, texts, 2, 0); /* without lowercasing, the counts of the words are ab 2, abc 2, AB 1, b 1 */
    expect_vocab(tr, "[PAD] [UNK] [CLS] [SEP] [MASK] A B a b c ##B ##b ##c ab");
    aoei_wordpiece_trainer_destroy(tr);
    o = options(9); /* only 4 tokens in addition to the special tokens; the most frequent letters are b (6) and a (5) */
    tr = train(o, texts, 2, 0);
    expect_vocab(tr, "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##b ab");
    aoei_wordpiece_trainer_destroy(tr);
    static const char *const repeated[] = {"aaaa aaaa"}; /* the counts of the pairs are (a,##a) 2 and (##a,##a) 4;
                                                            overlapping pairs are merged from the left */
    tr = train(options(100), repeated, 1, 0);
    expect_vocab(tr, "[PAD] [UNK] [CLS] [SEP] [MASK] a ##a ##aa aaa aaaa");
    aoei_wordpiece_trainer_destroy(tr);
}

enum { MAX_WORDS = 40, MAX_LEN = 12 };

/* The words of the slow trainer. Each word is a sequence of symbols. */
typedef struct slow_words {
    uint32_t symbol[MAX_WORDS][MAX_LEN];
    size_t len[MAX_WORDS];     /* number of symbols of each word */
    uint64_t count[MAX_WORDS]; /* number of occurrences of each word */
    size_t n;                  /* number of words */
} slow_words;

/* Counts all pairs of adjacent symbols and sets *left, *right and *count to the most frequent pair and its count. If
 * several pairs have equal counts, the pair with the smallest symbols is chosen. Returns 0 if there is no pair. */
static int slow_best(const slow_words *w, uint32_t n_symbols, uint32_t *left, uint32_t *right, uint64_t *count) {
    uint64_t *table = calloc((size_t)n_symbols * n_symbols, sizeof *table);
    assert_non_null(table);
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; k + 1 < w->len[i]; k++)
            table[w->symbol[i][k] * n_symbols + w->symbol[i][k + 1]] += w->count[i];
    *count = 0;
    for (uint32_t a = 0; a < n_symbols; a++) {
        for (uint32_t b = 0; b < n_symbols; b++) {
            if (table[a * n_symbols + b] > *count) {
                *count = table[a * n_symbols + b];
                *left = a;
                *right = b;
            }
        }
    }
    free(table);
    return *count > 0;
}

static void slow_merge(slow_words *w, uint32_t left, uint32_t right, uint32_t merged) {
    for (size_t i = 0; i < w->n; i++) {
        size_t to = 0;
        for (size_t k = 0; k < w->len[i]; to++) {
            int hit = k + 1 < w->len[i] && w->symbol[i][k] == left && w->symbol[i][k + 1] == right;
            w->symbol[i][to] = hit ? merged : w->symbol[i][k];
            k += hit ? 2 : 1;
        }
        w->len[i] = to;
    }
}

static void test_against_recount(void **state) {
    (void)state;
    aoei_rng r;
    aoei_rng_init(&r, 3, AOEI_STREAM_TEST, 0);
    for (int round = 0; round < 100; round++) {
        slow_words w = {.n = 1 + aoei_rng_below(&r, MAX_WORDS)};
        aoei_pair_merger m = {0};
        for (size_t i = 0; i < w.n; i++) {
            w.len[i] = 1 + aoei_rng_below(&r, MAX_LEN);
            w.count[i] = 1 + aoei_rng_below(&r, 5);
            for (size_t k = 0; k < w.len[i]; k++)
                w.symbol[i][k] = aoei_rng_below(&r, 3);
            assert_int_equal(aoei_pair_merger_add(&m, w.symbol[i], w.len[i], w.count[i], NULL), 0);
        }
        assert_int_equal(aoei_pair_merger_start(&m, NULL), 0);
        for (uint32_t next = 3;; next++) {
            uint32_t left = 0, right = 0, slow_left = 0, slow_right = 0;
            uint64_t count = 0, slow_count = 0;
            int more = aoei_pair_merger_best(&m, &left, &right, &count);
            assert_int_equal(more, slow_best(&w, next, &slow_left, &slow_right, &slow_count));
            if (!more)
                break;
            assert_int_equal(count, slow_count);
            assert_int_equal(left, slow_left);
            assert_int_equal(right, slow_right);
            assert_int_equal(aoei_pair_merger_merge(&m, left, right, next, NULL), 0);
            slow_merge(&w, left, right, next);
        }
        aoei_pair_merger_free(&m);
    }
}

/* Tests the files that the trainer writes. The tokenizer must give equal results with and without tokenizer.json, and
 * no word of the training texts may be unknown. */
static void test_files(void **state) {
    (void)state;
    for (int lowercase = 0; lowercase < 2; lowercase++) {
        aoei_wordpiece_options o = options(150);
        o.lowercase = lowercase;
        o.model_max_length = 64;
        aoei_wordpiece_trainer *tr = train(o, sentences, N_SENTENCES, 0);
        aoe_error err = {0};
        char *dir = test_dir_create();
        assert_true(aoei_wordpiece_trainer_size(tr) <= 150);
        assert_int_equal(aoei_wordpiece_save(tr, dir, &err), 0);
        assert_int_equal(test_count_entries(dir), 4);
        aoe_tokenizer *json, *vocab;
        assert_int_equal(aoe_tokenizer_open(&json, dir, &err), 0);
        char *path = test_path(dir, "tokenizer.json");
        assert_int_equal(remove(path), 0);
        free(path);
        assert_int_equal(aoe_tokenizer_open(&vocab, dir, &err), 0);
        assert_int_equal(aoe_tokenizer_vocab_size(json), aoei_wordpiece_trainer_size(tr));
        assert_int_equal(aoe_tokenizer_vocab_size(vocab), aoei_wordpiece_trainer_size(tr));
        for (size_t i = 0; i < N_SENTENCES; i++) {
            char first[4096];
            snprintf(first, sizeof first, "%s", test_tokens(json, sentences[i], NULL));
            assert_string_equal(first, test_tokens(vocab, sentences[i], NULL));
            assert_null(strstr(first, "[UNK]"));
            assert_int_equal(strncmp(first, "[CLS] ", 6), 0);
        }
        assert_string_equal(test_tokens(vocab, "[MASK]", NULL), "[CLS] [MASK] [SEP]");
        aoe_tokenizer_close(json);
        aoe_tokenizer_close(vocab);
        aoei_wordpiece_trainer_destroy(tr);
        test_dir_remove(dir);
    }
}

static void test_order_of_texts(void **state) {
    (void)state;
    aoei_wordpiece_trainer *a = train(options(200), sentences, N_SENTENCES, 0);
    aoei_wordpiece_trainer *b = train(options(200), sentences, N_SENTENCES, 1);
    assert_int_equal(aoei_wordpiece_trainer_size(a), aoei_wordpiece_trainer_size(b));
    for (size_t i = 0; i < aoei_wordpiece_trainer_size(a); i++) {
        aoe_text x = aoei_wordpiece_trainer_token(a, i), y = aoei_wordpiece_trainer_token(b, i);
        assert_int_equal(x.len, y.len);
        assert_memory_equal(x.data, y.data, x.len);
    }
    aoei_wordpiece_trainer_destroy(a);
    aoei_wordpiece_trainer_destroy(b);
}

static void test_rejected(void **state) {
    (void)state;
    aoei_wordpiece_options o = options(6);
    aoei_wordpiece_trainer *tr = (aoei_wordpiece_trainer *)&tr;
    aoe_error err = {0};
    assert_int_equal(aoei_wordpiece_trainer_create(&tr, &o, &err), AOE_EARG);
    assert_null(tr);
    assert_int_equal(aoei_wordpiece_trainer_create(&tr, NULL, &err), 0);
    assert_int_equal(aoei_wordpiece_trainer_add(tr, "ab\xff", 3, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "byte 2"));
    assert_int_equal(aoei_wordpiece_save(tr, "/tmp", &err), AOE_EARG);
    assert_int_equal(aoei_wordpiece_trainer_add(tr, " \n", 2, &err), 0);
    assert_int_equal(aoei_wordpiece_train(tr, &err), AOE_EARG);
    char long_word[300];
    memset(long_word, 'x', sizeof long_word);
    assert_int_equal(aoei_wordpiece_trainer_add(tr, long_word, sizeof long_word, &err), 0);
    /* words that are longer than the maximum length are ignored, so there is nothing to train on */
    assert_int_equal(aoei_wordpiece_train(tr, &err), AOE_EARG);
    aoei_wordpiece_trainer_destroy(tr);
    aoei_wordpiece_trainer_destroy(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),        cmocka_unit_test(test_against_recount), cmocka_unit_test(test_files),
        cmocka_unit_test(test_order_of_texts), cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
