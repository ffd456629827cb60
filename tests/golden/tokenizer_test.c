/* SPDX-License-Identifier: MIT
 * Every id list of the shared golden file for bert-base-uncased, from
 * tokenizer.json and from vocab.txt with tokenizer_config.json. The lists and the
 * vocabulary are other people's: they stay outside, and without them this skips.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"

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
            fail_msg("line %zu: %zu ids instead of %zu", number, ids.n, json_array_size(want));
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] != json_integer_value(json_array_get(want, i)))
                fail_msg("line %zu: id %zu is %d", number, i, ids.id[i]);
        json_decref(row);
    }
    assert_true(number > 200);
    aoe_ids_free(&ids);
    free(line);
    fclose(f);
}

static void check(const char *dir, const char *list) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (aoe_tokenizer_open(&t, dir, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_tokenizer_vocab_size(t), 30522);
    compare(t, list);
    aoe_tokenizer_close(t);
}

static void copy(const char *from, const char *to, const char *name) {
    char *path = test_path(from, name);
    size_t size = 0;
    char *data = test_read(path, &size);
    assert_non_null(data);
    free(test_write(to, name, data, size));
    free(data);
    free(path);
}

static void test_bert_base_uncased(void **state) {
    (void)state;
    char *dir = test_shared_path("tokenizers/bert-base-uncased");
    char *list = dir ? test_shared_path("golden/tokenizers/bert-base-uncased.jsonl") : NULL;
    if (!list) {
        free(dir);
        skip();
    }
    check(dir, list);
    char *older = test_dir_create();
    copy(dir, older, "vocab.txt");
    copy(dir, older, "tokenizer_config.json");
    check(older, list);
    test_dir_remove(older);
    free(list);
    free(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bert_base_uncased)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
