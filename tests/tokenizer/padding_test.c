/* SPDX-License-Identifier: MIT
 * Tests the choice of the padding token: "pad_token" of tokenizer_config.json, unless the tokenizer adds this token to
 * texts, and otherwise the first special token that it does not add.
 */
#include <stdlib.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "tokenizer/padding.h"

/* The template of BERT: [CLS] A [SEP], and [CLS] A [SEP] B [SEP] for a pair. */
static const char bert_template[] = "{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}";

/* Returns the padding token of a tokenizer with the words "pad" (id 5) and "text" (id 6). config: contents of
 * tokenizer_config.json. added_tokens: NULL selects [PAD] [UNK] [CLS] [SEP] [MASK], with the ids 0 to 4. */
static int32_t padding(const char *config, const char *added_tokens) {
    aoe_tokenizer *t;
    aoe_error err;
    char *json = test_tokenizer_json(
        &(test_tokenizer_spec){.words = "pad text", .added_tokens = added_tokens, .post_processor = bert_template});
    free(test_write_text(test_dir, "tokenizer.json", json));
    free(test_write_text(test_dir, "tokenizer_config.json", config));
    free(json);
    if (aoe_tokenizer_open(&t, test_dir, &err))
        fail_msg("%s", err.message);
    const int32_t id = aoei_tokenizer_padding(t);
    aoe_tokenizer_close(t);
    return id;
}

static void named_token(void **state) {
    (void)state;
    assert_int_equal(padding("{\"pad_token\":\"[MASK]\"}", NULL), 4);
    assert_int_equal(padding("{\"pad_token\":{\"content\":\"[MASK]\"}}", NULL), 4);
    assert_int_equal(padding("{\"pad_token\":\"pad\"}", NULL), 5);
}

static void first_special_token(void **state) {
    (void)state;
    assert_int_equal(padding("{}", NULL), 0);
    assert_int_equal(padding("{\"pad_token\":null}", NULL), 0);
    assert_int_equal(padding("{\"pad_token\":\"[SEP]\"}", NULL), 0); /* it is added to texts */
    assert_int_equal(padding("{\"pad_token\":\"[NEW]\"}", NULL), 7); /* the file adds a token to the vocabulary */
}

/* The unknown token is a special token, too. */
static void few_added_tokens(void **state) {
    (void)state;
    static const char added[] = "[{\"id\":2,\"content\":\"[CLS]\",\"special\":true},"
                                "{\"id\":3,\"content\":\"[SEP]\",\"special\":true}]";
    assert_int_equal(padding("{}", added), 1);
    assert_int_equal(padding("{\"pad_token\":\"[CLS]\"}", added), 1);
    assert_int_equal(padding("{\"pad_token\":\"text\"}", added), 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(named_token), cmocka_unit_test(first_special_token),
                                       cmocka_unit_test(few_added_tokens)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
