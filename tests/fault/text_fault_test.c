/* SPDX-License-Identifier: MIT
 * Tests that tokenizers and the tokenizer trainer handle a failed allocation or I/O operation. Each test calls its
 * function repeatedly, and in each call a different allocation or I/O operation fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/wordpiece_save.h"
#include "tokenizer/wordpiece_trainer.h"

static const char text[] = "a b\xc3\xa9 [MASK] x\xe4\xb8\xad a\xe3\x80\xae\xf0\x9d\x85\xa5 ab, AB";

static int decode(const aoe_tokenizer *t, const aoe_ids *ids, aoe_error *err) {
    aoe_decoded d = {0};
    const int rc = aoe_tokenizer_decode(t, ids->id, ids->n, 0, &d, err);
    assert_int_equal(d.text != NULL, rc == 0);
    aoe_decoded_free(&d);
    return rc;
}

static int encode_spans(const aoe_tokenizer *t, aoe_ids *ids, aoe_error *err) {
    aoe_token_spans spans = {0};
    const aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = "a {text} b", .max_length = 8};
    const int rc = aoe_tokenizer_encode_spans(t, aoe_text_of(text), &o, ids, &spans, err);
    assert_int_equal(spans.n, ids->n);
    aoe_token_spans_free(&spans);
    return rc;
}

static int encode(const aoe_tokenizer *t, aoe_error *err) {
    aoe_ids ids = {0};
    int rc = aoe_tokenizer_encode(t, aoe_text_of(text), NULL, &ids, err);
    if (!rc)
        rc = aoe_tokenizer_encode(
            t, aoe_text_of(text),
            &(aoe_encode_options){.struct_size = sizeof(aoe_encode_options), .prompt = "a {text} b", .max_length = 8},
            &ids, err);
    if (!rc)
        rc = decode(t, &ids, err);
    if (!rc)
        rc = encode_spans(t, &ids, err);
    aoe_ids_free(&ids);
    return rc;
}

static int open_and_encode(void *dir) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    int rc = aoe_tokenizer_open(&t, dir, &err);
    if (!rc)
        rc = encode(t, &err);
    assert_int_equal(rc, err.code);
    aoe_tokenizer_close(t);
    return rc;
}

static void test_open_json(void **state) {
    (void)state;
    char *dir = test_dir_create();
    char *json = test_tokenizer_json(&(test_tokenizer_spec){.words = "a b ab ##b x , e"});
    free(test_write_text(dir, "tokenizer.json", json));
    free(test_write_text(dir, "tokenizer_config.json",
                         "{\"tokenizer_class\":\"BertTokenizer\",\"do_lower_case\":false,\"truncation_side\":\"left\","
                         "\"added_tokens_decoder\":{\"9\":{\"content\":\"ab,\"}},\"extra_special_tokens\":[\"x\"]}"));
    assert_true(test_alloc_failures(open_and_encode, dir, 500) > 100);
    free(json);
    test_dir_remove(dir);
}

static void test_open_vocab(void **state) {
    (void)state;
    char *dir = test_dir_create();
    free(test_write_text(dir, "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nab\n##b\nx\n"));
    free(test_write_text(
        dir, "tokenizer_config.json",
        "{\"do_lower_case\":true,\"added_tokens_decoder\":{\"10\":{\"content\":\"Zz\"},\"11\":{\"content\":\"y\"}},"
        "\"additional_special_tokens\":[\"[X]\"]}"));
    free(test_write_text(dir, "special_tokens_map.json", "{\"unk_token\":\"[UNK]\"}"));
    assert_true(test_alloc_failures(open_and_encode, dir, 500) > 50);
    test_dir_remove(dir);
}

/* Two contents of tokenizer.json. Together, they contain one example of each component for which the library allocates
 * memory: the normalizers Precompiled, Prepend and Replace, a sequence of pre-tokenizers, an added token, and the
 * models BPE and Unigram. */
#define U "\xe2\x96\x81"
static const char bpe[] =
    "{\"added_tokens\":[{\"content\":\"[MASK]\",\"special\":true}],\"normalizer\":{\"type\":\"NFC\"},"
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\" "
    "?\\\\p{L}+\"},"
    "\"behavior\":\"Isolated\"},{\"type\":\"Digits\"},{\"type\":\"ByteLevel\",\"use_regex\":false}]},"
    "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"RobertaProcessing\",\"sep\":[\"\",0],"
    "\"cls\":[\"\",1]}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"b\"},\"content\":\"c\"},{\"type\":\"WordPiece\"},{\"type\":"
    "\"ByteLevel\"}]},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"a\",\"byte_fallback\":true,\"vocab\":{\"a\":0,\"b\":1,\"\xc4\xa0\":2,"
    "\"\xc4\xa0"
    "a\":3,\"<0xC4>\":4},\"merges\":[\"\xc4\xa0 a\"]}}";
static const char unigram[] =
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\","
    "\"precompiled_charsmap\":\"BAAAAAAAAABhAA==\"},"
    "{\"type\":\"Prepend\",\"prepend\":\" \"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" "
    "{2,}\"},\"content\":\" \"}]},"
    "\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"" U "\",\"prepend_scheme\":\"first\"},"
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"" U "\",-1],[\"a\",-2]]}}";

static void test_open_models(void **state) {
    (void)state;
    static const char *const json[] = {bpe, unigram};
    for (size_t i = 0; i < 2; i++) {
        char *dir = test_dir_create();
        free(test_write_text(dir, "tokenizer.json", json[i]));
        assert_true(test_alloc_failures(open_and_encode, dir, 500) > 60);
        test_dir_remove(dir);
    }
}

static void test_open_merges(void **state) {
    (void)state;
    char *dir = test_dir_create();
    free(test_write_text(dir, "vocab.json", "{\"<s>\":0,\"</s>\":1,\"<mask>\":2,\"a\":3,\"b\":4,\"ab\":5}"));
    free(test_write_text(dir, "merges.txt", "#version: 0.2\na b\n"));
    free(test_write_text(dir, "tokenizer_config.json", "{\"tokenizer_class\":\"RobertaTokenizer\"}"));
    assert_true(test_alloc_failures(open_and_encode, dir, 500) > 60);
    test_dir_remove(dir);
}

static int train_and_save(void *dir) {
    aoei_wordpiece_trainer *tr;
    aoei_wordpiece_options o;
    aoe_error err = {0};
    aoei_wordpiece_options_defaults(&o);
    o.vocab_size = 60;
    o.model_max_length = 32;
    int rc = aoei_wordpiece_trainer_create(&tr, &o, &err);
    for (int i = 0; i < 3 && !rc; i++)
        rc = aoei_wordpiece_trainer_add(tr, text, sizeof text - 1, &err);
    if (!rc)
        rc = aoei_wordpiece_train(tr, &err);
    if (!rc)
        rc = aoei_wordpiece_save(tr, dir, &err);
    assert_int_equal(rc, err.code);
    aoei_wordpiece_trainer_destroy(tr);
    return rc;
}

/* Asserts that each file of the tokenizer in `dir` is complete or missing, and removes the files. If code is 0, asserts
 * that all files exist. */
static void check_files(void *dir, int code) {
    static const char *const names[] = {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                                        "special_tokens_map.json"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = test_path(dir, names[i]);
        size_t size = 0;
        char *data = test_read(path, &size);
        if (data) {
            n++;
            assert_true(size > 20 && data[size - 1] == '\n');
            assert_int_equal(remove(path), 0);
        }
        free(data);
        free(path);
    }
    assert_int_equal(test_count_entries(dir), 0); /* no temporary file remains */
    if (code == 0)
        assert_int_equal(n, 4);
}

static void test_trainer(void **state) {
    (void)state;
    char *dir = test_dir_create();
    assert_true(test_alloc_failures(train_and_save, dir, 500) > 100);
    check_files(dir, 0);
    test_io_failures(train_and_save, check_files, dir, ENOSPC);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_json),   cmocka_unit_test(test_open_vocab), cmocka_unit_test(test_open_models),
        cmocka_unit_test(test_open_merges), cmocka_unit_test(test_trainer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
