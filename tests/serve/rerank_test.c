/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: serve/scores
 * Tests the routes that rank texts, in both forms of their bodies, with a tiny cross-encoder. The scores must be those
 * of aoe_score_sequences, bit by bit, in descending order. Other tests cover the number of results, the truncation of
 * documents, the limits, and errors in the form of each API.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "../support/tiny_reranker.h"

enum { TEXTS = 7 };

static char *names[3]; /* NAME=DIR of the models: a reranker, a classifier with two outputs, an embedding model */
static char *reranker;

static const char *const query[TEXTS] = {"w1 w7", "w1 w7", "w1 w7", "w1 w7", "w1 w7", "w1 w7", "w1 w7"};
/* two texts are equal */
static const char *const texts[TEXTS] = {"w3", "w9 w10 w11", "w1 w7", "w30 w2", "w3", "", "w4 w8 w12 w16 w20 w24"};
#define TEXT_LIST "[\"w3\",\"w9 w10 w11\",\"w1 w7\",\"w30 w2\",\"w3\",\"\",\"w4 w8 w12 w16 w20 w24\"]"

static char *name_model(const char *name, const char *dir) {
    char *text = malloc(strlen(name) + strlen(dir) + 2);
    sprintf(text, "%s=%s", name, dir);
    return text;
}

static int set_up(void **state) {
    const int code = test_dir_set_up(state);
    const tiny_model shape = tiny_defaults();
    char *classifier = test_path(test_dir, "classifier"), *embedding = test_path(test_dir, "embedding");
    reranker = test_path(test_dir, "reranker");
    tiny_reranker_write(reranker);
    tiny_classifier_write(classifier, NULL);
    tiny_model_write(embedding, &shape);
    names[0] = name_model("ranker", reranker);
    names[1] = name_model("classifier", classifier);
    names[2] = name_model("embedding", embedding);
    free(classifier);
    free(embedding);
    return code;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < 3; i++)
        free(names[i]);
    free(reranker);
    return test_dir_tear_down(state);
}

static aoe_server *start(const aoe_serve_options *o) {
    return serve_start((const char *const *)names, 3, o);
}

/* Checks the results of an answer: the `top` best texts, in descending order of expected[TEXTS], lower index first. */
static void check_results(const json_t *results, const char *key, const float *expected, size_t top) {
    int seen[TEXTS] = {0};
    size_t last = 0;
    assert_int_equal(json_array_size(results), top);
    for (size_t i = 0; i < top; i++) {
        const json_t *result = json_array_get(results, i);
        const size_t index = (size_t)json_integer_value(json_object_get(result, "index"));
        const float score = (float)json_number_value(json_object_get(result, key));
        assert_in_range(index, 0, TEXTS - 1);
        assert_memory_equal(&score, &expected[index], sizeof score);
        assert_false(seen[index]);
        seen[index] = 1;
        if (i && expected[last] <= score)
            assert_true(expected[last] == score && last < index);
        last = index;
    }
    for (size_t k = 0; k < TEXTS && top; k++) /* those that are missing are not better */
        assert_true(seen[k] || expected[k] <= expected[last]);
}

static void test_texts(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    float expected[2][TEXTS];
    tiny_reranker_scores(reranker, query, texts, TEXTS, AOE_SCORE_SIGMOID, expected[0]);
    tiny_reranker_scores(reranker, query, texts, TEXTS, AOE_SCORE_LOGIT, expected[1]);
    assert_true(expected[0][0] != expected[0][1]);
    json_t *answer = serve_call(server, "POST", "/rerank", "{\"query\":\"w1 w7\",\"texts\":" TEXT_LIST "}", 200);
    check_results(answer, "score", expected[0], TEXTS);
    assert_null(json_object_get(json_array_get(answer, 0), "text"));
    json_decref(answer);
    static const char *const paths[] = {"/rerank", "/", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        answer = serve_call(
            server, "POST", paths[p],
            "{\"query\":\"w1 w7\",\"raw_scores\":true,\"return_text\":true,\"model\":\"ranker\",\"texts\":" TEXT_LIST
            "}",
            200);
        check_results(answer, "score", expected[1], TEXTS);
        for (size_t i = 0; i < TEXTS; i++) {
            const json_t *result = json_array_get(answer, i);
            assert_string_equal(json_string_value(json_object_get(result, "text")),
                                texts[json_integer_value(json_object_get(result, "index"))]);
        }
        json_decref(answer);
    }
    serve_stop(server);
}

static void test_documents(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    float expected[TEXTS];
    tiny_reranker_scores(reranker, query, texts, TEXTS, AOE_SCORE_SIGMOID, expected);
    static const char *const paths[] = {"/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking"};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) { /* the request of Open WebUI */
        json_t *answer =
            serve_call(server, "POST", paths[p],
                       "{\"model\":\"ranker\",\"query\":\"w1 w7\",\"documents\":" TEXT_LIST ",\"top_n\":7}", 200);
        const json_t *results = json_object_get(answer, "results");
        check_results(results, "relevance_score", expected, TEXTS);
        assert_null(json_object_get(json_array_get(results, 0), "document"));
        assert_string_equal(json_string_value(json_object_get(answer, "model")), "ranker");
        /* the query and three special tokens per pair, and 15 words in the documents */
        const json_t *usage = json_object_get(answer, "usage");
        assert_int_equal(json_integer_value(json_object_get(usage, "total_tokens")), TEXTS * 5 + 15);
        json_decref(answer);
    }
    json_t *answer = serve_call(server, "POST", "/v2/rerank",
                                "{\"query\":\"w1 w7\",\"documents\":[\"w3\",{\"text\":\"w9 w10 w11\",\"id\":3},\"w1 "
                                "w7\",{\"text\":\"w30 w2\"},\"w3\",\"\",\"w4 w8 w12 w16 w20 w24\"],"
                                "\"top_n\":3,\"return_documents\":true,\"max_tokens_per_doc\":6}",
                                200);
    const json_t *results = json_object_get(answer, "results");
    check_results(results, "relevance_score", expected, 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *result = json_array_get(results, i), *document = json_object_get(result, "document");
        assert_string_equal(json_string_value(json_object_get(document, "text")),
                            texts[json_integer_value(json_object_get(result, "index"))]);
    }
    json_decref(answer);
    answer = serve_call(server, "POST", "/v1/rerank",
                        "{\"query\":\"w1 w7\",\"top_n\":1000,\"documents\":" TEXT_LIST "}", 200);
    check_results(json_object_get(answer, "results"), "relevance_score", expected, TEXTS);
    json_decref(answer);
    serve_stop(server);
}

/* A long query for many documents is rejected before the pairs are tokenized. */
static void test_long_query(void **state) {
    (void)state;
    enum { LEN = 50000, DOCUMENTS = 200 };
    static char long_query[LEN + 1];
    aoe_server *server = start(NULL);
    json_t *documents = json_array();
    memset(long_query, 'w', LEN);
    for (size_t i = 0; i < DOCUMENTS; i++)
        json_array_append_new(documents, json_string("w1"));
    json_t *body = json_pack("{s:s,s:o}", "query", long_query, "documents", documents);
    char *text = json_dumps(body, 0);
    serve_fail(server, "/v1/rerank", text, 413, "message",
               "the texts with their query have 10000400 bytes, but at most 8000000 are allowed; shorten the query");
    free(text);
    long_query[LEN / 2] = 0;
    json_object_set_new(body, "query", json_string(long_query));
    text = json_dumps(body, 0);
    json_decref(serve_call(server, "POST", "/v1/rerank", text, 200));
    free(text);
    json_decref(body);
    serve_stop(server);
}

/* Sends a request whose answer must have the status 200 and, if it is not NULL, the line `header`. */
static json_t *call_with_header(const aoe_server *server, const char *path, const char *body, const char *header) {
    int status;
    char *answer = serve_request(server, "POST", path, body, &status);
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    assert_int_equal(status, 200);
    const char *found = strstr(answer, "x-aoe-truncated");
    if (header ? !found || strncmp(found, header, strlen(header)) != 0 : found != NULL)
        fail_msg("%s: the headers do not match '%s': %s", body, header ? header : "", answer);
    json_t *root = json_loads(end + 4, JSON_DECODE_ANY, NULL);
    assert_non_null(root);
    free(answer);
    return root;
}

/* max_tokens_per_doc shortens documents, but not the query. */
static void test_max_tokens(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    static const char *const first[3] = {"w1 w7 w9 w5", "w1 w7 w9 w5", "w1 w7 w9 w5"};
    static const char *const cut[3] = {"w3 w4", "w3", "  w9 w10"};
    float expected[3];
    tiny_reranker_scores(reranker, first, cut, 3, AOE_SCORE_SIGMOID, expected);
    json_t *answer = call_with_header(server, "/v1/rerank",
                                      "{\"query\":\"w1 w7 w9 w5\",\"documents\":[\"w3 w4 w11 w12\",\"w3\",\"  w9 w10  "
                                      "w11\"],\"max_tokens_per_doc\":2,\"return_documents\":true}",
                                      "x-aoe-truncated: 2\r\n");
    const json_t *results = json_object_get(answer, "results");
    assert_int_equal(json_array_size(results), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *result = json_array_get(results, i);
        const size_t index = (size_t)json_integer_value(json_object_get(result, "index"));
        const float score = (float)json_number_value(json_object_get(result, "relevance_score"));
        assert_memory_equal(&score, &expected[index], sizeof score);
        if (!index) /* the whole document is returned */
            assert_string_equal(json_string_value(json_object_get(json_object_get(result, "document"), "text")),
                                "w3 w4 w11 w12");
    }
    json_decref(answer);
    serve_stop(server);
}

/* Writes n times "w2 " to text. */
static char *repeat_word(size_t n) {
    char *text = calloc(n + 1, 3);
    for (size_t i = 0; i < n; i++)
        memcpy(text + 3 * i, "w2 ", 3);
    return text;
}

static void test_truncation(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    char *longest = repeat_word(100), body[1024];
    const char *const first = "w1", *const second = longest;
    float expected;
    tiny_reranker_scores(reranker, &first, &second, 1, AOE_SCORE_SIGMOID, &expected);
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"texts\":[\"%s\"]}", longest);
    json_t *answer = call_with_header(server, "/rerank", body, "x-aoe-truncated: 1\r\n");
    const float score = (float)json_number_value(json_object_get(json_array_get(answer, 0), "score"));
    assert_memory_equal(&score, &expected, sizeof score);
    json_decref(answer);
    json_decref(call_with_header(server, "/rerank", "{\"query\":\"w1\",\"texts\":[\"w2\"],\"truncate\":false}", NULL));
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"texts\":[\"%s\"],\"truncate\":false}", longest);
    serve_fail(server, "/rerank", body, 422, "error", "must have less than 64 tokens. Given: 104");
    /* of the second text, the last 60 of 103 words remain */
    char *kept = repeat_word(60);
    memcpy(kept + (size_t)57 * 3, "w9 w3 w4", 9);
    const char *const end = kept;
    tiny_reranker_scores(reranker, &first, &end, 1, AOE_SCORE_SIGMOID, &expected);
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"texts\":[\"%sw9 w3 w4\"],\"truncation_direction\":\"Left\"}",
             longest);
    answer = call_with_header(server, "/rerank", body, "x-aoe-truncated: 1\r\n");
    const float left = (float)json_number_value(json_object_get(json_array_get(answer, 0), "score"));
    assert_memory_equal(&left, &expected, sizeof left);
    json_decref(answer);
    free(kept);
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"texts\":[\"%s\"],\"truncate\":false}", longest);
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"documents\":[\"%s\"],\"truncate\":false}", longest);
    serve_fail(server, "/rerank", body, 400, "message",
               "too many tokens: document 0 has 104 tokens with the query, the maximum is 64; set `truncate` to true");
    serve_stop(server);
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.truncate = 0;
    server = start(&o);
    snprintf(body, sizeof body, "{\"query\":\"w1\",\"texts\":[\"%s\"]}", longest);
    serve_fail(server, "/rerank", body, 422, "error", "Given: 104");
    serve_stop(server);
    free(longest);
}

static void test_limits(void **state) {
    (void)state;
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_texts = 3;
    o.max_list = 5;
    o.max_request_tokens = 40;
    aoe_server *server = start(&o);
    json_decref(serve_call(server, "POST", "/rerank", "{\"query\":\"w1\",\"texts\":[\"a\",\"a\",\"a\"]}", 200));
    serve_fail(server, "/rerank", "{\"query\":\"w1\",\"texts\":[\"a\",\"a\",\"a\",\"a\"]}", 422, "error",
               "batch size 4 > maximum allowed batch size 3");
    json_decref(
        serve_call(server, "POST", "/rerank", "{\"query\":\"w1\",\"documents\":[\"a\",\"a\",\"a\",\"a\",\"a\"]}", 200));
    serve_fail(server, "/v1/rerank", "{\"query\":\"w1\",\"documents\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}", 400,
               "message", "batch size 6 > maximum allowed batch size 5");
    serve_fail(server, "/v1/rerank",
               "{\"query\":\"w1 w2 w3 w4\",\"documents\":[\"w1 w2\",\"w1\",\"w1\",\"w1\",\"w1\"]}", 400, "message",
               "41 tokens, but at most 40");
    serve_stop(server);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *path, *body;
        int status;
        const char *key, *message;
    } cases[] = {
        {"/rerank", "{\"query\":\"a\",\"texts\":[]}", 400, "error", "`texts` cannot be empty"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[]}", 400, "message", "`documents` cannot be empty"},
        {"/rerank", "{\"query\":\"a\"}", 422, "error", "`texts` is missing"},
        {"/v1/rerank", "{\"query\":\"a\"}", 400, "message", "`documents` is missing"},
        {"/rerank", "{\"texts\":[\"a\"]}", 422, "error", "`query` is missing"},
        {"/v1/rerank", "{\"texts\":[\"a\"]}", 422, "error", "`query` is missing"},
        {"/rerank", "{\"documents\":[\"a\"]}", 400, "message", "`query` is missing"},
        {"/rerank", "{\"query\":[\"a\"],\"texts\":[\"a\"]}", 422, "error", "`query` must be"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"a\",1]}", 422, "error", "`texts`[1] must be"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[{\"text\":\"a\"}]}", 422, "error", "`texts`"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[{\"body\":\"a\"}]}", 400, "message", "`documents`[0] must be"},
        {"/rerank", "{\"query\":\"a\",\"documents\":\"a\"}", 400, "message", "`documents` must be"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"top_n\":0}", 400, "message", "`top_n`"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"top_n\":-1}", 400, "message", "`top_n`"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"max_tokens_per_doc\":0}", 400, "message",
         "`max_tokens_per_doc`"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"a\"],\"raw_scores\":1}", 422, "error", "`raw_scores` must be"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"a\"],\"model\":\"other\"}", 404, "error", "no model has the name"},
        {"/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"model\":\"other\"}", 404, "message", "no model has"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"a\"],\"model\":\"embedding\"}", 424, "error",
         "is an embedding model"},
        {"/v2/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"model\":\"embedding\"}", 400, "message",
         "is an embedding model"},
        {"/rerank", "{\"query\":\"a\",\"texts\":[\"a\"],\"model\":\"classifier\"}", 424, "error",
         "is a classifier with 2 outputs"},
        {"/v1/rerank", "{\"query\":\"a\",\"documents\":[\"a\"],\"model\":\"classifier\"}", 400, "message",
         "is a classifier with 2 outputs"},
        {"/v1/rerank", "{\"query\":", 400, "message", "not valid JSON"},
        {"/rerank", "[]", 422, "error", "not an object"},
        {"/v1/rerank", "", 400, "message", "empty"},
        {"/", "{\"query\":\"a\"}", 422, "error", "`texts` is missing"},
        {"/embed", "{\"inputs\":\"a\"}", 424, "error", "is a cross-encoder"},
    };
    aoe_server *server = start(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, cases[i].path, cases[i].body, cases[i].status, cases[i].key, cases[i].message);
    json_t *answer = serve_call(server, "POST", "/rerank", "{\"query\":\"a\",\"texts\":[]}", 400);
    assert_string_equal(json_string_value(json_object_get(answer, "error_type")), "Empty");
    json_decref(answer);
    serve_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),      cmocka_unit_test(test_documents),  cmocka_unit_test(test_long_query),
        cmocka_unit_test(test_max_tokens), cmocka_unit_test(test_truncation), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
