/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the word cache, which stores the tokens of words that a tokenizer has encoded. A lookup must return the tokens
 * that were added for the word. A word that was added may be missing only if the cache had no free slot for it. Many
 * threads must be able to fill and read the cache of one tokenizer at the same time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/pool.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_cache.h"

static void test_words(void **state) {
    (void)state;
    enum { N = 100000 };
    aoei_word_cache c = {0};
    size_t found = 0;
    assert_int_equal(aoei_word_cache_create(&c, NULL), 0);
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < N; i++) {
            char word[AOEI_CACHED_BYTES + 1];
            const int32_t token[AOEI_CACHED_TOKENS] = {i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7};
            const size_t n = (size_t)i % (AOEI_CACHED_TOKENS + 1), len = (size_t)sprintf(word, "%d word %d", i, i % 7);
            const uint64_t hash = aoei_word_cache_hash(word, len);
            const aoei_cached_word *known = aoei_word_cache_find(&c, hash, word, len);
            if (known) {
                assert_int_equal(known->n_tokens, n);
                assert_memory_equal(known->token, token, n * sizeof *token);
                assert_null(aoei_word_cache_find(&c, hash, word, len - 1));
                found++;
            } else if (pass == 0) {
                aoei_word_cache_add(&c, hash, word, len, token, n);
            }
        }
        assert_true(pass == 1 || found == 0);
    }
    assert_true(found > 20000 && found < N); /* the cache is full, so some words are missing */
    aoei_word_cache_free(&c);
}

typedef struct job {
    const aoe_tokenizer *t;
    int wrong[64]; /* wrong[i]: 1 if task i found an error */
} job;

/* A task that encodes texts with a tokenizer for which every letter is a token, so that the expected ids are known. */
static void encode(void *arg, size_t index, size_t worker) {
    job *j = arg;
    aoe_ids ids = {0};
    (void)worker;
    for (size_t k = 0; k < 400; k++) {
        char text[64];
        size_t len = 0;
        for (size_t i = 0; i < 12; i++)
            text[len++] = i % 4 == 3 ? ' ' : (char)('a' + (k * 7 + i * (1 + k % 5)) % 3);
        j->wrong[index] |= aoe_tokenizer_encode(j->t, (aoe_text){text, len}, NULL, &ids, NULL) != 0 || ids.n != len;
        for (size_t i = 0; i < ids.n && !j->wrong[index]; i++)
            j->wrong[index] |= ids.id[i] != (text[i] == ' ' ? 3 : text[i] - 'a');
    }
    aoe_ids_free(&ids);
}

static void test_threads(void **state) {
    (void)state;
    static const char json[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{\"type\":\"BPE\","
        "\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"\xc4\xa0\":3},\"merges\":[]}}";
    aoei_pool *pool = NULL;
    aoe_tokenizer *t = test_tokenizer_of(json);
    job j = {.t = t};
    assert_int_equal(aoei_pool_create(&pool, 4, NULL), 0);
    aoei_parallel_for(pool, 64, encode, &j);
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(j.wrong[i], 0);
    aoei_pool_destroy(pool);
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
