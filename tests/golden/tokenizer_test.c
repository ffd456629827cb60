/* SPDX-License-Identifier: MIT
 * Tests the tokenizers of BERT, RoBERTa, LLaMA 2 and Qwen 2.5 against the token ids in the golden files of the shared
 * data. Each tokenizer is opened from tokenizer.json. If the older vocabulary files exist, it is also opened from
 * these. The golden files and vocabularies were made by other authors and are not in the repository. The tests are
 * skipped if they are not available.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_tokenizer.h"

/* Encodes each text of a golden file and compares the ids with the expected ids. A line of the file is a JSON object
 * with the members text and ids. */
static void compare(const aoe_tokenizer *t, const char *path) {
    FILE *f = fopen(path, "rb");
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t len;
    aoe_ids ids = {0};
    assert_non_null(f);
    while ((len = getline(&line, &capacity, f)) > 0) {
        json_t *row = json_loadb(line, (size_t)len, JSON_ALLOW_NUL, NULL);
        const json_t *text = json_object_get(row, "text"), *want = json_object_get(row, "ids");
        aoe_error err = {0};
        assert_true(json_is_string(text) && json_is_array(want));
        number++;
        if (aoe_tokenizer_encode(t, (aoe_text){json_string_value(text), json_string_length(text)}, NULL, &ids, &err))
            fail_msg("line %zu: %s", number, err.message);
        if (ids.n != json_array_size(want))
            fail_msg("line %zu: got %zu ids, expected %zu", number, ids.n, json_array_size(want));
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] != json_integer_value(json_array_get(want, i)))
                fail_msg("line %zu: id %zu is %d, expected %d", number, i, ids.id[i],
                         (int)json_integer_value(json_array_get(want, i)));
        json_decref(row);
    }
    assert_true(number > 200);
    aoe_ids_free(&ids);
    free(line);
    fclose(f);
}

static void check(const char *dir, const char *list, size_t size) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (aoe_tokenizer_open(&t, dir, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_tokenizer_vocab_size(t), size);
    compare(t, list);
    compare(t, list); /* in the second comparison, the word cache contains the words of the texts */
    aoe_tokenizer_close(t);
}

static void copy(const char *from, const char *to, const char *name) {
    char *path = test_path(from, name);
    size_t size = 0;
    char *data = test_read(path, &size);
    if (data) /* not every tokenizer has a file `name` */
        free(test_write(to, name, data, size));
    free(data);
    free(path);
}

/* Tests a tokenizer that is opened from tokenizer.json. If older_files is not empty, also tests the tokenizer opened
 * from these older vocabulary files. `size` is the expected size of the vocabulary. */
static void check_all(const char *name, size_t size, const char *const *older_files) {
    char path[128];
    snprintf(path, sizeof path, "tokenizers/%s", name);
    char *dir = test_shared_path(path);
    snprintf(path, sizeof path, "golden/tokenizers/%s.jsonl", name);
    char *list = dir ? test_shared_path(path) : NULL;
    if (!list) {
        free(dir);
        skip();
    }
    check(dir, list, size);
    if (older_files[0]) {
        char *older = test_dir_create();
        for (size_t i = 0; older_files[i]; i++)
            copy(dir, older, older_files[i]);
        check(older, list, size);
        test_dir_remove(older);
    }
    free(list);
    free(dir);
}

static void test_bert_base_uncased(void **state) {
    (void)state;
    static const char *const older[] = {"vocab.txt", "tokenizer_config.json", NULL};
    check_all("bert-base-uncased", 30522, older);
}

static void test_roberta_base(void **state) {
    (void)state;
    static const char *const older[] = {"vocab.json", "merges.txt", "tokenizer_config.json", "special_tokens_map.json",
                                        NULL};
    check_all("roberta-base", 50265, older);
}

static void test_llama2(void **state) {
    (void)state;
    static const char *const none[] = {NULL};
    check_all("llama2", 32001, none);
}

static void test_qwen2(void **state) {
    (void)state;
    static const char *const none[] = {NULL};
    check_all("qwen2.5", 151665, none);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bert_base_uncased), cmocka_unit_test(test_roberta_base),
                                       cmocka_unit_test(test_llama2), cmocka_unit_test(test_qwen2)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
