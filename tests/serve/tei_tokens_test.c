/* SPDX-License-Identifier: MIT
 * Tests /tokenize and /decode with a tiny BERT model: tokens, special tokens, ranges in bytes, prompts, several texts,
 * and errors. The ids must be those of aoe_tokenizer_encode, and each text the bytes of its range.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <aoe_tokenizer.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

static char *dir;

static int set_up(void **state) {
    const int code = test_dir_set_up(state);
    const tiny_model shape = tiny_defaults();
    dir = test_path(test_dir, "tiny");
    tiny_model_write(dir, &shape);
    free(
        test_write_text(dir, "config_sentence_transformers.json",
                        "{\"prompts\": {\"query\": \"the old: \", \"other\": \"a \"}, \"default_prompt_name\": null}"));
    return code;
}

static int tear_down(void **state) {
    free(dir);
    return test_dir_tear_down(state);
}

static aoe_server *start(const aoe_serve_options *o) {
    const char *const models[] = {dir};
    return serve_start(models, 1, o);
}

/* Checks the tokens of a text: their ids, and their texts, which are the bytes of their ranges of the text with its
 * prompt. */
static void check_tokens(const json_t *list, const char *text, int specials) {
    aoe_tokenizer *t;
    aoe_ids ids = {0};
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.no_special_tokens = !specials;
    assert_int_equal(aoe_tokenizer_open(&t, dir, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of(text), &o, &ids, NULL), 0);
    assert_int_equal(json_array_size(list), ids.n);
    for (size_t i = 0; i < ids.n; i++) {
        const json_t *token = json_array_get(list, i), *start = json_object_get(token, "start"),
                     *stop = json_object_get(token, "stop");
        const char *shown = json_string_value(json_object_get(token, "text"));
        const int is_special = specials && (!i || i == ids.n - 1);
        assert_int_equal(json_integer_value(json_object_get(token, "id")), ids.id[i]);
        assert_int_equal(json_is_true(json_object_get(token, "special")), is_special);
        if (is_special) {
            assert_true(json_is_null(start) && json_is_null(stop));
            assert_string_equal(shown, i ? "[SEP]" : "[CLS]");
        } else {
            const size_t begin = (size_t)json_integer_value(start), end = (size_t)json_integer_value(stop);
            assert_true(begin < end && end <= strlen(text));
            assert_int_equal(strlen(shown), end - begin);
            assert_memory_equal(shown, text + begin, end - begin);
        }
    }
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
}

static void test_tokenize(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    json_t *answer = serve_call(server, "POST", "/tokenize", "{\"inputs\":\"The caf\\u00e9 cats\"}", 200);
    char *text = json_dumps(answer, JSON_COMPACT);
    assert_non_null(strstr(text, "{\"id\":2,\"text\":\"[CLS]\",\"special\":true,\"start\":null,\"stop\":null}"));
    free(text);
    assert_int_equal(json_array_size(answer), 1);
    check_tokens(json_array_get(answer, 0), "The caf\xC3\xA9 cats", 1);
    /* "cats" is "cat" and "##s"; the two bytes of the letter before count */
    const json_t *list = json_array_get(answer, 0), *cat = json_array_get(list, json_array_size(list) - 3);
    assert_string_equal(json_string_value(json_object_get(cat, "text")), "cat");
    assert_int_equal(json_integer_value(json_object_get(cat, "start")), 10);
    assert_int_equal(json_integer_value(json_object_get(cat, "stop")), 13);
    json_decref(answer);
    answer = serve_call(server, "POST", "/tokenize",
                        "{\"inputs\":[\"the dog\",\"\",\"\\ud83d\\ude00 old\"],\"add_special_tokens\":false}", 200);
    assert_int_equal(json_array_size(answer), 3);
    check_tokens(json_array_get(answer, 0), "the dog", 0);
    check_tokens(json_array_get(answer, 1), "", 0);
    check_tokens(json_array_get(answer, 2), "\xF0\x9F\x98\x80 old", 0);
    json_decref(answer);
    serve_stop(server);
}

static void test_prompts(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    json_t *answer =
        serve_call(server, "POST", "/tokenize", "{\"inputs\":[\"cat\",\"dogs\"],\"prompt_name\":\"query\"}", 200);
    check_tokens(json_array_get(answer, 0), "the old: cat", 1);
    check_tokens(json_array_get(answer, 1), "the old: dogs", 1);
    json_decref(answer);
    answer = serve_call(server, "POST", "/tokenize", "{\"inputs\":\"cat\",\"prompt_name\":\"document\"}", 200);
    check_tokens(json_array_get(answer, 0), "cat", 1);
    json_decref(answer);
    serve_fail(server, "/tokenize", "{\"inputs\":\"cat\",\"prompt_name\":\"none\"}", 422, "error",
               "the model has no prompt 'none'; its prompts: query, other");
    serve_stop(server);
}

/* A model that reads texts in a chat template: the text alone is tokenized. */
static void test_chat_template(void **state) {
    (void)state;
    char *chat = test_path(test_dir, "chat");
    assert_int_equal(mkdir(chat, 0700), 0);
    test_copy_dir("tests/golden/cross_encoders/logit_score", chat);
    free(test_write_text(chat, "sentence_bert_config.json",
                         "{\"transformer_task\": \"text-generation\", \"modality_config\": {"
                         "\"text\": {\"method\": \"forward\", \"method_output_name\": \"logits\"},"
                         "\"message\": {\"method\": \"forward\", \"method_output_name\": \"logits\"}}}"));
    free(test_write_text(chat, "chat_template.jinja",
                         "{% for m in messages %}{{ m.role }}: {{ m.content }}. {% endfor %}"));
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    assert_int_equal(aoe_encode_options_of(&o, chat, NULL), 0);
    assert_int_equal(o.chat_template, 1);
    const char *const models[] = {chat};
    aoe_server *server = serve_start(models, 1, NULL);
    json_t *answer = serve_call(server, "POST", "/tokenize", "{\"inputs\":[\"a cat\",\"dogs\"]}", 200);
    aoe_tokenizer *t;
    aoe_ids ids = {0};
    assert_int_equal(aoe_tokenizer_open(&t, chat, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("a cat"), NULL, &ids, NULL), 0);
    const json_t *list = json_array_get(answer, 0);
    assert_int_equal(json_array_size(answer), 2);
    assert_int_equal(json_array_size(list), ids.n);
    assert_true(ids.n > 0);
    for (size_t i = 0; i < ids.n; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "id")), ids.id[i]);
    json_decref(answer);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    serve_stop(server);
    free(chat);
}

static void test_decode(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    aoe_tokenizer *t;
    aoe_ids ids = {0};
    char body[256];
    int status;
    assert_int_equal(aoe_tokenizer_open(&t, dir, NULL), 0);
    assert_int_equal(aoe_tokenizer_encode(t, aoe_text_of("the cats"), NULL, &ids, NULL), 0);
    assert_int_equal(ids.n, 5);
    snprintf(body, sizeof body, "{\"ids\":[%d,%d,%d,%d,%d]}", (int)ids.id[0], (int)ids.id[1], (int)ids.id[2],
             (int)ids.id[3], (int)ids.id[4]);
    json_t *answer = serve_call(server, "POST", "/decode", body, 200);
    assert_int_equal(json_array_size(answer), 1);
    assert_string_equal(json_string_value(json_array_get(answer, 0)), "the cats");
    json_decref(answer);
    snprintf(body, sizeof body, "{\"ids\":[[%d,%d],[],[%d]],\"skip_special_tokens\":false}", (int)ids.id[0],
             (int)ids.id[1], (int)ids.id[2]);
    answer = serve_call(server, "POST", "/decode", body, 200);
    assert_int_equal(json_array_size(answer), 3);
    assert_string_equal(json_string_value(json_array_get(answer, 0)), "[CLS] the");
    assert_string_equal(json_string_value(json_array_get(answer, 1)), "");
    assert_string_equal(json_string_value(json_array_get(answer, 2)), "cat");
    json_decref(answer);
    char *whole = serve_request(server, "POST", "/decode", "{\"ids\":[7,99999,2147483647]}", &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(whole, "x-aoe-unknown-ids: 2\r\n"));
    assert_non_null(strstr(whole, "[\"b\"]"));
    free(whole);
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    serve_stop(server);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *path, *body;
        int status;
        const char *message;
    } cases[] = {
        {"/tokenize", "{\"inputs\":[]}", 400, "`inputs` cannot be empty"},
        {"/tokenize", "{\"inputs\":[1,2]}", 422, "`inputs`"},
        {"/tokenize", "{\"inputs\":\"a\",\"add_special_tokens\":1}", 422, "`add_special_tokens` must be"},
        {"/tokenize", "{\"inputs\":\"a\",\"model\":\"none\"}", 404, "no model has the name"},
        {"/tokenize", "{\"inputs\":[\"a\",\"a\",\"a\"]}", 422, "batch size 3 > maximum allowed batch size 2"},
        {"/tokenize", "{\"inputs\":\"a b c d e f g h i j\"}", 422, "has 12 tokens or more, but at most 10"},
        {"/decode", "{\"ids\":[]}", 400, "`ids` cannot be empty"},
        {"/decode", "{\"ids\":\"a\"}", 422, "`ids`"},
        {"/decode", "{\"ids\":[1,-1]}", 422, "`ids`[1]"},
        {"/decode", "{\"ids\":[[1],[2],[3]]}", 422, "batch size 3 > maximum allowed batch size 2"},
        {"/decode", "{\"ids\":[1,2,3,4,5,6,7,8,9,10,11]}", 422, "has 11 token ids or more, but at most 10"},
        {"/decode", "{\"ids\":[1],\"model\":\"none\"}", 404, "no model has the name"},
    };
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_texts = 2;
    o.max_request_tokens = 10;
    aoe_server *server = start(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, cases[i].path, cases[i].body, cases[i].status, "error", cases[i].message);
    serve_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokenize), cmocka_unit_test(test_chat_template), cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_decode),   cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
