/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: modeldir/model_tokenizer
 * Tests the tokenization of many texts. For any number of threads, each token list must equal the token list of the
 * text alone. If several texts fail, the error must report the lowest index. Also tests lowercasing before the
 * tokenizer, and the buffer that stores a batch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "model/text_batch.h"
#include "tokenizer/tokenizer.h"

enum { TEXTS = 700 };

static char *dir;
static char *model_dir;

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

/* Returns TEXTS texts, some of them empty. Free them with free_texts(). */
static aoe_text *make_texts(void) {
    aoe_text *texts = malloc(TEXTS * sizeof *texts);
    assert_non_null(texts);
    for (uint32_t i = 0; i < TEXTS; i++) {
        char *copy = strdup(i % 50 == 49 ? "" : tiny_text(i));
        assert_non_null(copy);
        texts[i] = aoe_text_of(copy);
    }
    return texts;
}

static void free_texts(aoe_text *texts) {
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)texts[i].data);
    free(texts);
}

static void test_lists(void **state) {
    (void)state;
    aoe_text *texts = make_texts();
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = tiny_context(threads);
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.max_length = 9;
        o.prompt = "the {text} cat";
        aoe_model *m = test_model_open(ctx, model_dir, &o);
        const aoe_encode_options e = {
            .struct_size = sizeof(aoe_encode_options), .max_length = 9, .prompt = "the {text} cat"};
        aoei_token_lists lists;
        size_t failed = 3, truncated_texts = 0;
        assert_int_equal(aoei_encode_texts(m, texts, TEXTS, &lists, &failed, NULL), 0);
        assert_int_equal(failed, (size_t)-1);
        assert_int_equal(lists.n, TEXTS);
        aoe_ids ids = {0};
        for (size_t i = 0; i < TEXTS; i++) {
            assert_int_equal(aoe_tokenizer_encode(aoe_model_tokenizer(m), texts[i], &e, &ids, NULL), 0);
            assert_int_equal(aoei_token_count(&lists, i), ids.n);
            assert_memory_equal(lists.ids + lists.offsets[i], ids.id, ids.n * sizeof *ids.id);
            assert_int_equal(lists.truncated[i], ids.truncated);
            truncated_texts += lists.truncated[i];
        }
        assert_true(truncated_texts > 0 && truncated_texts < TEXTS);
        aoe_ids_free(&ids);
        aoei_token_lists_free(&lists);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
    }
    free_texts(texts);
}

static void test_no_texts(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoe_model *m = test_model_open(ctx, model_dir, NULL);
    aoei_token_lists lists;
    assert_int_equal(aoei_encode_texts(m, NULL, 0, &lists, NULL, NULL), 0);
    assert_int_equal(lists.n, 0);
    assert_int_equal(lists.offsets[0], 0);
    aoei_token_lists_free(&lists);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

static void test_lowest_failure(void **state) {
    (void)state;
    static const size_t failing[] = {699, 413, 130, 129, 0};
    aoe_text *texts = make_texts();
    char bad[] = "the \xff";
    aoe_context *ctx = tiny_context(3);
    aoe_model *m = test_model_open(ctx, model_dir, NULL);
    for (size_t k = 0; k < sizeof failing / sizeof *failing; k++) {
        aoei_token_lists lists;
        aoe_error err = {0};
        size_t failed;
        free((void *)(uintptr_t)texts[failing[k]].data);
        texts[failing[k]] = aoe_text_of(strdup(bad));
        assert_int_equal(aoei_encode_texts(m, texts, TEXTS, &lists, &failed, &err), AOE_EFORMAT);
        assert_int_equal(failed, failing[k]);
        assert_memory_equal(err.message, "invalid UTF-8", 13); /* the index of the text is not part of the message */
        assert_non_null(strstr(err.message, "byte 4"));
        assert_null(lists.ids);
        assert_null(lists.offsets);
        assert_int_equal(aoei_encode_texts(m, texts, TEXTS, &lists, NULL, NULL), AOE_EFORMAT);
    }
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free_texts(texts);
}

/* Tests do_lower_case in sentence_bert_config.json: texts are lowercased before a case-sensitive tokenizer receives
 * them. */
static void test_lowercase(void **state) {
    (void)state;
    char *path = test_path(dir, "cased");
    tiny_model shape = tiny_defaults();
    tiny_model_write(path, &shape);
    free(test_write_text(path, "tokenizer_config.json",
                         "{\"tokenizer_class\": \"BertTokenizer\", \"do_lower_case\": false}"));
    aoe_context *ctx = tiny_context(1);
    static const char *const files[] = {"{\"max_seq_length\": 30, \"do_lower_case\": false}",
                                        "{\"max_seq_length\": 30, \"do_lower_case\": true}"};
    const aoe_text texts[2] = {aoe_text_of("THE [SEP] Cat"), aoe_text_of("the [SEP] cat")},
                   bad = aoe_text_of("THE C\xc3");
    for (int lower = 0; lower < 2; lower++) {
        free(test_write_text(path, "sentence_bert_config.json", files[lower]));
        aoe_model *m;
        aoei_token_lists l;
        aoe_error err = {0};
        aoe_model_options o;
        aoe_model_options_defaults(&o);
        o.prompt = "OLD {text}";
        assert_int_equal(aoe_model_open(&m, ctx, path, &o, NULL), 0);
        assert_int_equal(m->settings.lowercase, lower);
        assert_int_equal(aoei_encode_texts(m, texts, 2, &l, NULL, NULL), 0);
        const int32_t old = aoei_tokenizer_id(m->tokenizer, "old", 3),
                      unknown = aoei_tokenizer_id(m->tokenizer, "[UNK]", 5);
        assert_int_equal(l.ids[1], lower ? old : unknown);
        const int equal = aoei_token_count(&l, 0) == aoei_token_count(&l, 1) &&
                          memcmp(l.ids, l.ids + l.offsets[1], aoei_token_count(&l, 0) * sizeof *l.ids) == 0;
        assert_int_equal(equal, lower);
        aoe_encode_options encode = {.struct_size = sizeof encode};
        aoe_ids ids = {0};
        assert_int_equal(aoe_encode_options_of(&encode, path, NULL), 0);
        encode.prompt = o.prompt;
        assert_int_equal(aoe_tokenizer_encode(m->tokenizer, texts[0], &encode, &ids, NULL), 0);
        assert_int_equal(ids.n, aoei_token_count(&l, 0));
        assert_memory_equal(ids.id, l.ids, ids.n * sizeof *ids.id);
        assert_int_equal(ids.id[3], aoei_tokenizer_id(m->tokenizer, "[SEP]", 5)); /* special tokens are not
                                                                                     lowercased */
        aoe_ids_free(&ids);
        aoei_token_lists_free(&l);
        assert_int_equal(aoei_encode_texts(m, &bad, 1, &l, NULL, &err), AOE_EFORMAT);
        assert_non_null(strstr(err.message, "UTF-8"));
        aoe_model_close(m);
    }
    aoe_context_destroy(ctx);
    free(path);
}

static void test_buffer(void **state) {
    (void)state;
    static const int32_t ids[] = {7, 8, 9, 10, 11};
    aoei_batch_buffer b;
    assert_int_equal(aoei_batch_buffer_create(&b, 6, 3, NULL), 0);
    for (int round = 0; round < 2; round++) {
        aoei_batch_clear(&b);
        assert_int_equal(b.batch.n_tokens + b.batch.n_texts + b.batch.longest, 0);
        aoei_batch_add(&b, ids, 1, 40);
        aoei_batch_add(&b, ids + 1, 3, 30);
        aoei_batch_add(&b, ids + 3, 2, 20);
        static const int32_t want_ids[] = {7, 8, 9, 10, 10, 11};
        static const uint32_t want_positions[] = {0, 0, 1, 2, 0, 1}, want_offsets[] = {0, 1, 4, 6},
                              want_index[] = {40, 30, 20};
        assert_int_equal(b.batch.n_tokens, 6);
        assert_int_equal(b.batch.n_texts, 3);
        assert_int_equal(b.batch.longest, 3);
        assert_memory_equal(b.batch.ids, want_ids, sizeof want_ids);
        assert_memory_equal(b.batch.positions, want_positions, sizeof want_positions);
        assert_memory_equal(b.batch.offsets, want_offsets, sizeof want_offsets);
        assert_memory_equal(b.batch.text_index, want_index, sizeof want_index);
    }
    aoei_batch_buffer_destroy(&b);
    aoei_batch_buffer_destroy(&b);
    aoe_error err = {0};
    assert_int_equal(aoei_batch_buffer_create(&b, UINT32_MAX, 1, &err), AOE_EARG);
    assert_int_equal(aoei_batch_buffer_create(&b, 1, SIZE_MAX, &err), AOE_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists), cmocka_unit_test(test_no_texts),
                                       cmocka_unit_test(test_lowest_failure), cmocka_unit_test(test_lowercase),
                                       cmocka_unit_test(test_buffer)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
