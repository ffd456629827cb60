/* SPDX-License-Identifier: MIT
 * Tests /v2/embed with a tiny model that has prompts: all encodings against a computation of this test, the prompts of
 * the input types, truncation, and errors. The embeddings must equal those of aoe_embed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

enum { D = 16, TEXTS = 3 };

#define LONG                                                                                                           \
    "a the cat a the dog a cat the cat a the dog a cat the cat a the dog a cat the cat a the dog a cat the cat a dog"

static const char *const texts[TEXTS] = {"the cat", "a dog \"quoted\"", ""};
static char *model_dir, *named;

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    free(test_write_text(model_dir, "config_sentence_transformers.json",
                         "{\"prompts\": {\"query\": \"the dog: \", \"passage\": \"a cat: \", \"clustering\": \"a a \", "
                         "\"other\": \"the \"}, \"default_prompt_name\": \"other\"}"));
    named = malloc(strlen(model_dir) + 8);
    snprintf(named, strlen(model_dir) + 8, "tiny=%s", model_dir);
    return code;
}

static int tear_down(void **state) {
    free(named);
    free(model_dir);
    return test_dir_tear_down(state);
}

static aoe_server *start(const aoe_serve_options *o) {
    const char *const models[] = {named};
    return serve_start(models, 1, o);
}

/* Sends the texts with further keys, such as "\"truncate\":\"END\"". Returns the answer. */
static json_t *embed(const aoe_server *server, const char *keys) {
    json_t *body = json_loads(keys, 0, NULL), *list = json_array();
    assert_non_null(body);
    for (size_t i = 0; i < TEXTS; i++)
        json_array_append_new(list, json_string(texts[i]));
    json_object_set_new(body, "texts", list);
    char *text = json_dumps(body, 0);
    json_t *answer = serve_call(server, "POST", "/v2/embed", text, 200);
    free(text);
    json_decref(body);
    return answer;
}

/* Checks the embeddings of an answer, in one encoding, against those of aoe_embed with options. */
static void check_float(const json_t *answer, const aoe_model_options *o, size_t dims) {
    float v[TEXTS][D];
    const json_t *list = json_object_get(json_object_get(answer, "embeddings"), "float");
    serve_expect(model_dir, o, texts, TEXTS, v[0]);
    assert_int_equal(json_array_size(list), TEXTS);
    for (size_t i = 0; i < TEXTS; i++)
        serve_check_vector(json_array_get(list, i), v[0] + i * dims, dims);
}

static aoe_model_options unit(const char *prompt_name) {
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.normalize = 1;
    o.prompt_name = prompt_name;
    return o;
}

static void test_answer(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    json_t *answer = embed(server, "{\"model\":\"tiny\",\"input_type\":\"search_query\"}");
    const aoe_model_options o = unit("query");
    const json_t *meta = json_object_get(answer, "meta"), *list = json_object_get(answer, "texts");
    check_float(answer, &o, D);
    assert_int_equal(json_object_size(json_object_get(answer, "embeddings")), 1);
    for (size_t i = 0; i < TEXTS; i++)
        assert_string_equal(json_string_value(json_array_get(list, i)), texts[i]);
    assert_string_equal(json_string_value(json_object_get(answer, "response_type")), "embeddings_by_type");
    assert_string_equal(json_string_value(json_object_get(json_object_get(meta, "api_version"), "version")), "2");
    assert_true(json_integer_value(json_object_get(json_object_get(meta, "billed_units"), "input_tokens")) > 10);
    char *id = strdup(json_string_value(json_object_get(answer, "id")));
    assert_int_equal(strlen(id), 36);
    json_decref(answer);
    answer = embed(server, "{\"input_type\":\"search_query\"}"); /* from the cache */
    check_float(answer, &o, D);
    assert_string_not_equal(json_string_value(json_object_get(answer, "id")), id);
    json_decref(answer);
    free(id);
    serve_stop(server);
}

static void test_prompts(void **state) {
    static const struct {
        const char *keys, *prompt_name; /* NULL: the default prompt of the model; "": none */
    } cases[] = {{"{}", NULL},
                 {"{\"input_type\":\"search_document\"}", "document"},
                 {"{\"input_type\":\"search_query\"}", "query"},
                 {"{\"input_type\":\"clustering\"}", "clustering"},
                 {"{\"input_type\":\"classification\"}", ""}};
    (void)state;
    aoe_server *server = start(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *answer = embed(server, cases[i].keys);
        aoe_model_options o = unit(cases[i].prompt_name);
        if (o.prompt_name && !*o.prompt_name) {
            o.prompt_name = NULL;
            o.prompt = "";
        }
        check_float(answer, &o, D);
        json_decref(answer);
    }
    serve_stop(server);
}

/* Decodes the base64 text of a vector of dims float32 values. */
static void check_base64(const char *text, const float *v, size_t dims) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[D * sizeof *v + 3];
    const size_t n = dims * sizeof *v;
    assert_int_equal(strlen(text), (n + 2) / 3 * 4);
    for (size_t i = 0; i < n; i++) {
        const char *group = text + i / 3 * 4;
        uint32_t word = 0;
        for (int k = 0; k < 4; k++) {
            const char *digit = strchr(digits, group[k]);
            word = word << 6 | (group[k] == '=' ? 0 : (uint32_t)(digit - digits));
        }
        bytes[i] = (unsigned char)(word >> (16 - 8 * (i % 3)));
    }
    assert_memory_equal(bytes, v, n);
}

/* Checks the integers of one vector: those of int8 and uint8, and the bits of binary and ubinary. */
static void check_integers(const json_t *embeddings, size_t i, const float *v, size_t dims) {
    const json_t *int8 = json_array_get(json_object_get(embeddings, "int8"), i);
    const json_t *uint8 = json_array_get(json_object_get(embeddings, "uint8"), i);
    const json_t *binary = json_array_get(json_object_get(embeddings, "binary"), i);
    const json_t *ubinary = json_array_get(json_object_get(embeddings, "ubinary"), i);
    double largest = 0;
    for (size_t k = 0; k < dims; k++)
        largest = fmax(largest, fabs((double)v[k]));
    assert_int_equal(json_array_size(int8), dims);
    assert_int_equal(json_array_size(ubinary), (dims + 7) / 8);
    assert_int_equal(json_array_size(binary), (dims + 7) / 8);
    for (size_t k = 0; k < dims; k++) {
        const int64_t code = json_integer_value(json_array_get(int8, k));
        assert_int_equal(code, lrint((double)v[k] / largest * 127));
        assert_int_equal(json_integer_value(json_array_get(uint8, k)), code + 128);
        const int64_t bits = json_integer_value(json_array_get(ubinary, k / 8));
        assert_int_equal(bits >> (7 - k % 8) & 1, v[k] > 0);
        assert_int_equal(json_integer_value(json_array_get(binary, k / 8)), bits - 128);
    }
}

static void test_encodings(void **state) {
    (void)state;
    static const size_t dims[] = {D, 11};
    aoe_server *server = start(NULL);
    for (int k = 0; k < 2; k++) {
        char keys[200];
        float v[TEXTS * D];
        aoe_model_options o = unit("document");
        o.dims = k ? dims[k] : 0;
        serve_expect(model_dir, &o, texts, TEXTS, v);
        snprintf(keys, sizeof keys,
                 "{\"input_type\":\"search_document\",\"embedding_types\":[\"float\",\"int8\",\"uint8\",\"binary\","
                 "\"ubinary\",\"base64\"]%s}",
                 k ? ",\"output_dimension\":11" : "");
        json_t *answer = embed(server, keys);
        const json_t *embeddings = json_object_get(answer, "embeddings");
        assert_int_equal(json_object_size(embeddings), 6);
        check_float(answer, &o, dims[k]);
        for (size_t i = 0; i < TEXTS; i++) {
            check_integers(embeddings, i, v + i * dims[k], dims[k]);
            check_base64(json_string_value(json_array_get(json_object_get(embeddings, "base64"), i)), v + i * dims[k],
                         dims[k]);
        }
        json_decref(answer);
        answer = embed(server, "{\"embedding_types\":[\"ubinary\"]}");
        assert_int_equal(json_object_size(json_object_get(answer, "embeddings")), 1);
        json_decref(answer);
    }
    serve_stop(server);
}

/* The embedding of a truncated text is that of the text that is left. */
static void test_truncation(void **state) {
    static const struct {
        const char *keys, *text;
    } cases[] = {{"\"max_tokens\":5", "a the cat"},
                 {"\"max_tokens\":5,\"truncate\":\"END\"", "a the cat"},
                 {"\"max_tokens\":5,\"truncate\":\"start\"", "cat a dog"},
                 {"\"max_tokens\":99999", LONG},
                 {"\"truncate\":null", LONG}};
    (void)state;
    aoe_server *server = start(NULL);
    aoe_model_options o = unit(NULL);
    o.prompt = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[500];
        float v[D];
        int status;
        serve_expect(model_dir, &o, &cases[i].text, 1, v);
        snprintf(body, sizeof body, "{\"texts\":[\"%s\"],\"input_type\":\"classification\",%s}", LONG, cases[i].keys);
        json_t *answer = serve_call(server, "POST", "/v2/embed", body, 200);
        serve_check_vector(json_array_get(json_object_get(json_object_get(answer, "embeddings"), "float"), 0), v, D);
        json_decref(answer);
        char *whole = serve_request(server, "POST", "/v2/embed", body, &status);
        assert_non_null(strstr(whole, "x-aoe-truncated: 1"));
        free(whole);
    }
    serve_fail(server, "/v2/embed", "{\"texts\":[\"a\",\"" LONG "\"],\"truncate\":\"NONE\"}", 400, "message",
               "text 1 has");
    serve_stop(server);
    aoe_serve_options options;
    aoe_serve_options_defaults(&options);
    options.truncate = 0;
    server = start(&options);
    serve_fail(server, "/v2/embed", "{\"texts\":[\"" LONG "\"]}", 400, "message", "too many tokens: text 0 has");
    json_decref(serve_call(server, "POST", "/v2/embed", "{\"texts\":[\"" LONG "\"],\"truncate\":\"END\"}", 200));
    serve_stop(server);
}

static void test_errors(void **state) {
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{", 400, "not valid JSON"},
        {"{}", 400, "`texts` is missing"},
        {"{\"texts\":[]}", 400, "`texts` cannot be empty"},
        {"{\"texts\":[1]}", 400, "`texts`"},
        {"{\"texts\":[\"a\",\"a\",\"a\"]}", 400, "batch size 3 > maximum allowed batch size 2"},
        {"{\"texts\":[\"a\"],\"model\":\"other\"}", 404, "no model has the name 'other'; models: tiny"},
        {"{\"texts\":[\"a\"],\"input_type\":\"image\"}", 400, "`input_type` must be"},
        {"{\"texts\":[\"a\"],\"embedding_types\":[\"int4\"]}", 400, "`embedding_types`[0]"},
        {"{\"texts\":[\"a\"],\"embedding_types\":\"int8\"}", 400, "`embedding_types` must be a list of strings"},
        {"{\"texts\":[\"a\"],\"truncate\":true}", 400, "`truncate`"},
        {"{\"texts\":[\"a\"],\"output_dimension\":0}", 400, "`output_dimension` must be at least 1"},
        {"{\"texts\":[\"a\"],\"output_dimension\":17}", 400, "`output_dimension` is 17, but the embeddings have 16"},
        {"{\"texts\":[\"a\"],\"max_tokens\":0}", 400, "`max_tokens` must be at least 1"},
        {"{\"texts\":[\"a\"],\"max_tokens\":2}", 400,
         "`max_tokens` is 2, but must be larger than the number of special tokens, 2"},
        {"{\"inputs\":[{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]}", 400, "`inputs` is not supported"},
        {"{\"texts\":null,\"images\":[]}", 400, "`texts` is missing"},
        {"{\"images\":[\"data:image/png;base64,AA==\"]}", 400, "`images` is not supported"},
        {"{\"texts\":[\"a\"],\"inputs\":[{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]}", 400,
         "`inputs` is not supported"},
    };
    (void)state;
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_list = 2;
    aoe_server *server = start(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, "/v2/embed", cases[i].body, cases[i].status, "message", cases[i].message);
    int status;
    char *answer =
        serve_request(server, "POST", "/v2/embed", "{\"texts\":[\"a\"],\"images\":[],\"priority\":1}", &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(answer, "x-aoe-ignored: priority\r\n"));
    free(answer);
    serve_stop(server);
}

/* The document says that the texts are required. */
static void test_document(void **state) {
    (void)state;
    static const char *const path[] = {"paths",   "/v2/embed",        "post",   "requestBody",
                                       "content", "application/json", "schema", "required"};
    aoe_server *server = start(NULL);
    json_t *document = serve_call(server, "GET", "/openapi.json", "", 200);
    const json_t *at = document;
    for (size_t i = 0; i < sizeof path / sizeof *path; i++)
        at = json_object_get(at, path[i]);
    assert_int_equal(json_array_size(at), 1);
    assert_string_equal(json_string_value(json_array_get(at, 0)), "texts");
    json_decref(document);
    serve_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answer),    cmocka_unit_test(test_prompts),
                                       cmocka_unit_test(test_encodings), cmocka_unit_test(test_truncation),
                                       cmocka_unit_test(test_errors),    cmocka_unit_test(test_document)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
