/* SPDX-License-Identifier: MIT
 * Tests the routes of ollama with two tiny models: embeddings, which must equal those of aoe_embed, names with and
 * without a tag, limits of the length, empty requests, errors, and the descriptions of models.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

enum { D = 16 };

#define LONG                                                                                                           \
    "a the cat a the dog a cat the cat a the dog a cat the cat a the dog a cat the cat a the dog a cat the cat a dog"

static char *model_dir, *first, *second;

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    first = malloc(strlen(model_dir) + 20);
    second = malloc(strlen(model_dir) + 20);
    sprintf(first, "tiny=%s", model_dir);
    sprintf(second, "other:latest=%s", model_dir);
    return code;
}

static int tear_down(void **state) {
    free(first);
    free(second);
    free(model_dir);
    return test_dir_tear_down(state);
}

static aoe_server *start(const aoe_serve_options *o) {
    const char *const models[] = {first, second};
    return serve_start(models, 2, o);
}

static int64_t integer(const json_t *object, const char *key) {
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v))
        fail_msg("`%s` is missing or not an integer", key);
    return json_integer_value(v);
}

static const char *string(const json_t *object, const char *key) {
    const char *s = json_string_value(json_object_get(object, key));
    if (!s)
        fail_msg("`%s` is missing or not a string", key);
    return s;
}

/* Checks the embedding of each text in an answer to /api/embed. */
static void check(const json_t *answer, const aoe_model_options *o, const char *const *texts, size_t n, size_t dims) {
    const json_t *list = json_object_get(answer, "embeddings");
    float v[4 * D];
    serve_expect(model_dir, o, texts, n, v);
    assert_int_equal(json_array_size(list), n);
    for (size_t i = 0; i < n; i++)
        serve_check_vector(json_array_get(list, i), v + i * dims, dims);
}

static void test_embed(void **state) {
    static const char *const texts[] = {"the cat", "", "a \"dog\""};
    (void)state;
    aoe_server *server = start(NULL);
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.normalize = 1;
    json_t *answer = serve_call(server, "POST", "/api/embed",
                                "{\"model\":\"tiny\",\"input\":[\"the cat\",\"\",\"a \\\"dog\\\"\"]}", 200);
    check(answer, &o, texts, 3, D);
    assert_string_equal(string(answer, "model"), "tiny");
    assert_true(integer(answer, "prompt_eval_count") > 8);
    assert_true(integer(answer, "total_duration") > integer(answer, "load_duration"));
    assert_true(integer(answer, "load_duration") >= 0);
    json_decref(answer);
    answer = serve_call(server, "POST", "/api/embed",
                        "{\"model\":\"tiny\",\"input\":\"the cat\",\"dimensions\":0,\"keep_alive\":\"5m\"}", 200);
    check(answer, &o, texts, 1, D);
    json_decref(answer);
    o.dims = 5;
    answer = serve_call(server, "POST", "/api/embed",
                        "{\"model\":\"tiny\",\"input\":\"the cat\",\"dimensions\":5,\"keep_alive\":-1}", 200);
    check(answer, &o, texts, 1, 5);
    json_decref(answer);
    serve_stop(server);
}

static void test_embeddings(void **state) {
    static const char *const texts[] = {"the cat", LONG};
    (void)state;
    aoe_server *server = start(NULL);
    aoe_model_options o;
    float v[2 * D];
    double sum = 0;
    aoe_model_options_defaults(&o);
    o.normalize = 0;
    serve_expect(model_dir, &o, texts, 2, v);
    for (size_t k = 0; k < D; k++)
        sum += (double)v[k] * (double)v[k];
    assert_true(sum < 0.99 || sum > 1.01); /* so that the test can see whether the embedding is scaled */
    for (size_t i = 0; i < 2; i++) {
        char body[300];
        snprintf(body, sizeof body, "{\"model\":\"tiny\",\"prompt\":\"%s\"}", texts[i]);
        json_t *answer = serve_call(server, "POST", "/api/embeddings", body, 200);
        serve_check_vector(json_object_get(answer, "embedding"), v + i * D, D);
        json_decref(answer);
    }
    static const char *const empty[] = {"{\"model\":\"tiny\",\"prompt\":\"\"}", "{\"model\":\"tiny\"}"};
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = serve_call(server, "POST", "/api/embeddings", empty[i], 200);
        assert_true(json_is_array(json_object_get(answer, "embedding")));
        assert_int_equal(json_array_size(json_object_get(answer, "embedding")), 0);
        json_decref(answer);
    }
    serve_stop(server);
}

/* A request without texts loads the model. */
static void test_empty(void **state) {
    static const char *const bodies[] = {"{\"model\":\"other\"}", "{\"model\":\"other\",\"input\":[]}",
                                         "{\"model\":\"other\",\"input\":\"\"}",
                                         "{\"model\":\"other\",\"input\":null}"};
    (void)state;
    aoe_server *server = start(NULL);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        json_t *answer = serve_call(server, "POST", "/api/embed", bodies[i], 200);
        const json_t *list = json_object_get(answer, "embeddings");
        assert_true(json_is_array(list) && !json_array_size(list));
        assert_string_equal(string(answer, "model"), "other");
        assert_int_equal(integer(answer, "prompt_eval_count"), 0);
        assert_true(i || integer(answer, "load_duration") > 100000); /* opening a model takes longer than 0.1 ms */
        json_decref(answer);
    }
    serve_stop(server);
}

/* A name with the tag "latest" is the same model as the name without a tag. */
static void test_names(void **state) {
    static const struct {
        const char *name, *model;
    } cases[] = {{"tiny", "tiny"},
                 {"tiny:latest", "tiny:latest"},
                 {"other", "other"},
                 {"other:latest", "other:latest"},
                 {"", ""}};
    (void)state;
    aoe_server *server = start(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[100];
        snprintf(body, sizeof body, "{\"model\":\"%s\",\"input\":\"a\"}", cases[i].name);
        json_t *answer = serve_call(server, "POST", "/api/embed", body, 200);
        assert_string_equal(string(answer, "model"), cases[i].model);
        json_decref(answer);
    }
    json_t *answer = serve_call(server, "POST", "/api/embed", "{\"input\":\"a\"}", 200);
    assert_string_equal(string(answer, "model"), "tiny");
    json_decref(answer);
    static const char *const unknown[] = {"tiny2", "tin", ":latest", "tiny:v1", "other:latest:latest"};
    static const char *const paths[] = {"/api/embed", "/api/embeddings", "/api/show"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (size_t k = 0; k < 3; k++) {
            char body[100], message[100];
            snprintf(body, sizeof body, "{\"model\":\"%s\",\"input\":\"a\",\"prompt\":\"a\"}", unknown[i]);
            snprintf(message, sizeof message, "model '%s' not found; the server has: tiny, other:latest", unknown[i]);
            serve_fail(server, paths[k], body, 404, "error", message);
        }
    serve_stop(server);
}

/* Embeds LONG with further keys and checks that the embedding is that of aoe_embed with a maximum length. */
static void check_length(const aoe_server *server, const char *keys, size_t max_length) {
    static const char *const texts[] = {LONG};
    char body[400];
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.normalize = 1;
    o.max_length = max_length;
    snprintf(body, sizeof body, "{\"input\":[\"%s\"]%s}", LONG, keys);
    json_t *answer = serve_call(server, "POST", "/api/embed", body, 200);
    check(answer, &o, texts, 1, D);
    if (max_length != (size_t)AOE_AUTO)
        assert_int_equal(integer(answer, "prompt_eval_count"), max_length);
    json_decref(answer);
}

static void test_length(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    int status;
    check_length(server, "", AOE_AUTO);
    check_length(server, ",\"truncate\":true,\"options\":{\"num_ctx\":7}", 7);
    check_length(server, ",\"options\":{\"num_ctx\":0}", AOE_AUTO);
    check_length(server, ",\"options\":{\"num_ctx\":8192,\"temperature\":0.5}", AOE_AUTO);
    serve_fail(server, "/api/embed", "{\"input\":\"" LONG "\",\"truncate\":false}", 400, "error",
               "the input length exceeds the context length: text 0 has 35 tokens, the maximum is 32");
    serve_fail(server, "/api/embed", "{\"input\":[\"a\",\"a a a\"],\"truncate\":false,\"options\":{\"num_ctx\":4}}",
               400, "error", "the input length exceeds the context length: text 1 has 5 tokens, the maximum is 4");
    char *answer =
        serve_request(server, "POST", "/api/embeddings",
                      "{\"prompt\":\"" LONG "\",\"options\":{\"num_ctx\":4,\"seed\":1,\"num_gpu\":0}}", &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(answer, "x-aoe-ignored: options.seed, options.num_gpu\r\n"));
    assert_non_null(strstr(answer, "x-aoe-truncated: 1\r\n"));
    free(answer);
    serve_stop(server);
    aoe_serve_options options;
    aoe_serve_options_defaults(&options);
    options.truncate = 0;
    server = start(&options);
    serve_fail(server, "/api/embed", "{\"input\":\"" LONG "\"}", 400, "error", "exceeds the context length");
    serve_fail(server, "/api/embeddings", "{\"prompt\":\"" LONG "\"}", 400, "error", "exceeds the context length");
    check_length(server, ",\"truncate\":true", AOE_AUTO);
    serve_stop(server);
}

static void test_errors(void **state) {
    static const struct {
        const char *path, *body, *message;
    } cases[] = {
        {"/api/embed", "", "the body is empty"},
        {"/api/embed", "[", "not valid JSON"},
        {"/api/embed", "{\"input\":3}", "`input` must be a text or a list of texts"},
        {"/api/embed", "{\"input\":[[1,2]]}", "`input`"},
        {"/api/embed", "{\"input\":[\"a\",1]}", "`input`[1]"},
        {"/api/embed", "{\"input\":[\"a\",\"a\",\"a\"]}", "batch size 3 > maximum allowed batch size 2"},
        {"/api/embed", "{\"input\":\"a\",\"dimensions\":17}", "`dimensions` is 17, but the embeddings have 16"},
        {"/api/embed", "{\"input\":\"a\",\"dimensions\":-1}", "`dimensions` must be an integer"},
        {"/api/embed", "{\"input\":\"a\",\"options\":[]}", "`options` must be an object"},
        {"/api/embed", "{\"input\":\"a\",\"options\":{\"num_ctx\":-1}}", "`options.num_ctx` must be an integer"},
        {"/api/embed", "{\"input\":\"a\",\"options\":{\"num_ctx\":1}}",
         "`options.num_ctx` is 1, but must be larger than the number of special tokens, 2"},
        {"/api/embed", "{\"input\":\"a\",\"truncate\":\"no\"}", "`truncate` must be true or false"},
        {"/api/embeddings", "{\"prompt\":[\"a\"]}", "`prompt` must be a string"},
        {"/api/show", "{\"model\":1}", "`model` must be a string"},
    };
    (void)state;
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_list = 2;
    aoe_server *server = start(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, cases[i].path, cases[i].body, 400, "error", cases[i].message);
    serve_stop(server);
}

static void test_tags(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    char digest[65];
    json_t *running = serve_call(server, "GET", "/api/ps", "", 200);
    assert_int_equal(json_array_size(json_object_get(running, "models")), 1);
    json_decref(running);
    for (int round = 0; round < 2; round++) {
        json_t *answer = serve_call(server, "GET", "/api/tags", "", 200);
        const json_t *list = json_object_get(answer, "models"), *model = json_array_get(list, 0);
        const json_t *details = json_object_get(model, "details"), *other = json_array_get(list, 1);
        assert_int_equal(json_array_size(list), 2);
        assert_string_equal(string(model, "name"), "tiny:latest");
        assert_string_equal(string(model, "model"), "tiny:latest");
        assert_string_equal(string(other, "name"), "other:latest");
        assert_true(integer(model, "size") > 10000);
        assert_int_equal(strlen(string(model, "modified_at")), strlen("2026-01-01T00:00:00Z"));
        assert_int_equal(strspn(string(model, "digest"), "0123456789abcdef"), 64);
        assert_string_equal(string(model, "digest"), string(other, "digest"));
        assert_string_equal(string(details, "family"), "bert");
        assert_string_equal(string(details, "format"), "safetensors");
        assert_string_equal(string(details, "quantization_level"), "F32");
        /* listing does not open a model */
        assert_string_equal(string(json_object_get(other, "details"), "family"), round ? "bert" : "");
        if (!round) {
            snprintf(digest, sizeof digest, "%s", string(model, "digest"));
            free(test_write_text(model_dir, "notes.txt", "text"));
            json_decref(serve_call(server, "POST", "/api/embed", "{\"model\":\"other\"}", 200));
        } else {
            assert_string_not_equal(string(model, "digest"), digest); /* the directory has one more file */
        }
        json_decref(answer);
        answer = serve_call(server, "GET", "/api/ps", "", 200);
        list = json_object_get(answer, "models");
        assert_int_equal(json_array_size(list), 2); /* the second model was opened by the request above */
        model = json_array_get(list, 0);
        assert_string_equal(string(model, "name"), "tiny:latest");
        assert_int_equal(integer(model, "context_length"), 32);
        assert_int_equal(integer(model, "size_vram"), 0);
        json_decref(answer);
    }
    serve_stop(server);
}

static void test_show(void **state) {
    static const char *const bodies[] = {"{\"model\":\"other\",\"verbose\":true}", "{\"name\":\"other:latest\"}"};
    (void)state;
    aoe_server *server = start(NULL);
    for (size_t i = 0; i < 2; i++) {
        json_t *answer = serve_call(server, "POST", "/api/show", bodies[i], 200);
        const json_t *info = json_object_get(answer, "model_info"), *can = json_object_get(answer, "capabilities");
        assert_string_equal(string(info, "general.architecture"), "bert");
        assert_int_equal(integer(info, "bert.embedding_length"), D);
        assert_int_equal(integer(info, "bert.context_length"), 32);
        assert_true(integer(info, "general.parameter_count") > 1000);
        assert_string_equal(json_string_value(json_array_get(can, 0)), "embedding");
        assert_string_equal(string(json_object_get(answer, "details"), "family"), "bert");
        assert_int_equal(strlen(string(answer, "modified_at")), strlen("2026-01-01T00:00:00Z"));
        json_decref(answer);
    }
    json_t *version = serve_call(server, "GET", "/api/version", "", 200);
    int number[3];
    assert_int_equal(sscanf(string(version, "version"), "%d.%d.%d", number, number + 1, number + 2), 3);
    assert_string_equal(string(version, "aoe"), aoe_version());
    json_decref(version);
    serve_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed), cmocka_unit_test(test_embeddings), cmocka_unit_test(test_empty),
        cmocka_unit_test(test_names), cmocka_unit_test(test_length),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_tags),  cmocka_unit_test(test_show),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
