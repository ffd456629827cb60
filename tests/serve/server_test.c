/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: serve/server serve/models serve/text_queue serve/job serve/indexes serve/routes serve/route serve/call
 * covers: serve/status serve/tei_embed serve/openai
 * Tests a server in this process through its socket, with a tiny model. Every vector must equal that of aoe_embed, also
 * if many clients send texts at the same time and while the models are opened anew. Other tests cover the settings of
 * requests, errors, limits, and the routes that describe the server.
 */
#include <aoe_serve.h>

#include <arpa/inet.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/call.h"

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

enum { D = 16, TEXTS = 24, CLIENTS = 6, ROUNDS = 20 };

static char *model_dir, *named;
static char *texts[TEXTS];
static float expected[TEXTS][D];

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    aoe_embedder *e;
    aoe_text list[TEXTS];
    aoe_error err = {0};
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    named = malloc(strlen(model_dir) + 8);
    snprintf(named, strlen(model_dir) + 8, "tiny=%s", model_dir);
    for (uint32_t i = 0; i < TEXTS; i++) {
        texts[i] = strdup(tiny_text(i));
        list[i] = aoe_text_of(texts[i]);
    }
    if (aoe_embedder_open(&e, model_dir, &err) || aoe_embed(e, list, TEXTS, expected[0], NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    return code;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < TEXTS; i++)
        free(texts[i]);
    free(named);
    free(model_dir);
    return test_dir_tear_down(state);
}

static aoe_server *start(const aoe_serve_options *given) {
    const char *const models[] = {named};
    return serve_start(models, 1, given);
}

static json_t *inputs_of(size_t first, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(texts[(first + i) % TEXTS]));
    return list;
}

static void test_embed(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    for (int round = 0; round < 2; round++) { /* the second time, the vectors are in the cache */
        json_t *body = json_pack("{s:o,s:b}", "inputs", inputs_of(0, TEXTS), "normalize", 0);
        char *text = json_dumps(body, 0);
        json_t *answer = serve_call(server, "POST", round ? "/" : "/embed", text, 200);
        assert_int_equal(json_array_size(answer), TEXTS);
        for (size_t i = 0; i < TEXTS; i++)
            serve_check_vector(json_array_get(answer, i), expected[i], D);
        json_decref(answer);
        json_decref(body);
        free(text);
    }
    json_t *answer = serve_call(server, "POST", "/embed", "{\"inputs\":\"the cat\",\"dimensions\":3}", 200);
    double sum = 0;
    for (size_t k = 0; k < 3; k++) {
        const double x = json_number_value(json_array_get(json_array_get(answer, 0), k));
        sum += x * x;
    }
    assert_true(sum > 0.9999 && sum < 1.0001);
    json_decref(answer);
    answer = serve_call(server, "POST", "/similarity",
                        "{\"inputs\":{\"source_sentence\":\"the cat\",\"sentences\":[\"the cat\",\"dog\"]}}", 200);
    assert_true(json_number_value(json_array_get(answer, 0)) > 0.9999);
    json_decref(answer);
    answer = serve_call(server, "POST", "/embed_all", "{\"inputs\":[\"the cat\",\"dog\"]}", 200);
    assert_int_equal(json_array_size(answer), 2);
    assert_int_equal(json_array_size(json_array_get(json_array_get(answer, 0), 0)), D);
    json_decref(answer);
    answer = serve_call(server, "POST", "/map", "{\"inputs\":[\"the cat\",\"dog\",\"old\"]}", 200);
    assert_int_equal(json_array_size(json_object_get(answer, "points")), 3);
    json_decref(answer);
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

static void test_openai(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    json_t *answer =
        serve_call(server, "POST", "/v1/embeddings", "{\"input\":[\"the cat\",\"dog\"],\"model\":\"tiny\"}", 200);
    const json_t *data = json_object_get(answer, "data"), *second = json_array_get(data, 1);
    assert_int_equal(json_array_size(data), 2);
    assert_int_equal(json_integer_value(json_object_get(second, "index")), 1);
    assert_int_equal(json_array_size(json_object_get(second, "embedding")), D);
    assert_true(json_integer_value(json_object_get(json_object_get(answer, "usage"), "prompt_tokens")) > 4);
    json_decref(answer);
    answer = serve_call(server, "POST", "/embeddings", "{\"input\":\"dog\",\"encoding_format\":\"base64\"}", 200);
    const json_t *first = json_array_get(json_object_get(answer, "data"), 0);
    assert_int_equal(json_string_length(json_object_get(first, "embedding")), (D * 4 + 2) / 3 * 4);
    json_decref(answer);
    answer = serve_call(server, "POST", "/v1/embeddings", "{\"input\":[1,2,3]}", 400);
    const char *message = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
    assert_non_null(strstr(message, "check_embedding_ctx_length=False"));
    json_decref(answer);
    answer = serve_call(server, "POST", "/v1/embeddings", "{\"input\":\"a\",\"model\":\"other\"}", 404);
    json_decref(answer);
    answer = serve_call(server, "GET", "/v1/models", "", 200);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(answer, "data"), 0), "id")),
                        "tiny");
    json_decref(answer);
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

#define LONG "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a"

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *method, *path, *body;
        int status;
    } cases[] = {
        {"POST", "/embed", "{\"inputs\":[]}", 400},
        {"POST", "/embed", "{", 400},
        {"POST", "/embed", "{\"inputs\":\"a\",\"dimensions\":0}", 422},
        {"POST", "/embed", "{\"inputs\":\"a\",\"dimensions\":17}", 422},
        {"POST", "/embed", "{\"inputs\":\"a\",\"prompt_name\":\"none\"}", 422},
        {"POST", "/embed", "{\"inputs\":[[1,2],[99999]]}", 422},
        {"POST", "/embed", "{\"inputs\":[\"a\",\"a\",\"a\",\"a\"]}", 422},
        /* the cache contains the vector of the truncated text */
        {"POST", "/embed", "{\"inputs\":\"" LONG "\"}", 200},
        {"POST", "/embed", "{\"inputs\":\"" LONG "\",\"truncate\":false}", 422},
        {"POST", "/embed_sparse", "{\"inputs\":\"a\"}", 424},
        {"POST", "/none", "{}", 404},
        {"GET", "/embed", "", 405},
        {"GET", "/v1/none", "", 404},
    };
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_texts = 3;
    aoe_server *server = start(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        char *answer = serve_request(server, cases[i].method, cases[i].path, cases[i].body, &status);
        if (status != cases[i].status)
            fail_msg("case %zu: status %d: %s", i, status, answer);
        assert_int_equal(strstr(answer, "\"error\"") != NULL, status != 200);
        free(answer);
    }
    static const char *const allowed[][2] = {
        {"/", "Allow: GET, HEAD, POST\r\n"}, {"/embed", "Allow: POST\r\n"}, {"/health", "Allow: GET, HEAD\r\n"}};
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        int status;
        char *answer = serve_request(server, "PUT", allowed[i][0], "", &status);
        assert_int_equal(status, 405);
        assert_non_null(strstr(answer, allowed[i][1]));
        free(answer);
    }
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

static void test_status(void **state) {
    (void)state;
    aoe_server *server = start(NULL);
    static const char *const paths[] = {"/health", "/ping", "/livez", "/readyz", "/openapi.json"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        json_decref(serve_call(server, "GET", paths[i], "", 200));
    json_t *info = serve_call(server, "GET", "/info", "", 200);
    assert_string_equal(json_string_value(json_object_get(info, "model_id")), "tiny");
    assert_int_equal(json_integer_value(json_object_get(info, "max_client_batch_size")), 32);
    json_decref(info);
    json_decref(serve_call(server, "POST", "/embed", "{\"inputs\":\"the cat\"}", 200));
    int status;
    char *metrics = serve_request(server, "GET", "/metrics", "", &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(metrics, "te_embed_success 1"));
    free(metrics);
    char *page = serve_request(server, "GET", "/", "", &status);
    assert_int_equal(status, 200);
    assert_non_null(strstr(page, "Content-Security-Policy"));
    free(page);
    char *docs = serve_request(server, "GET", "/docs", "", &status);
    assert_non_null(strstr(docs, "/v1/embeddings"));
    free(docs);
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

/* One of several clients that send requests at the same time. */
typedef struct client {
    const aoe_server *server;
    size_t number;
    int failures;
} client;

static void *run_client(void *arg) {
    client *c = arg;
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t first = c->number * 5 + round, n = 1 + (c->number + round) % 4;
        json_t *body = json_pack("{s:o,s:b}", "inputs", inputs_of(first, n), "normalize", 0);
        char *text = json_dumps(body, 0);
        json_t *answer = serve_call(c->server, "POST", "/embed", text, 200);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < D; k++) {
                const float x = (float)json_number_value(json_array_get(json_array_get(answer, i), k));
                c->failures += memcmp(&x, &expected[(first + i) % TEXTS][k], sizeof x) != 0;
            }
        json_decref(answer);
        json_decref(body);
        free(text);
    }
    return NULL;
}

static void test_clients(void **state) {
    (void)state;
    aoe_serve_options o;
    aoe_error err = {0};
    aoe_serve_options_defaults(&o);
    o.cache_bytes = 0; /* so that every text is computed */
    o.max_batch_tokens = 40;
    aoe_server *server = start(&o);
    client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (client){server, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(aoe_server_reload(server, &err), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].failures, 0);
    }
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

/* A model that cannot be opened does not stop the server, and its path is not in the answer. */
static void test_broken_model(void **state) {
    (void)state;
    char *broken = malloc(strlen(test_dir) + 32);
    snprintf(broken, strlen(test_dir) + 32, "broken=%s/missing", test_dir);
    const char *const models[] = {named, broken};
    aoe_server *server = serve_start(models, 2, NULL);
    int status;
    for (int i = 0; i < 2; i++) {
        char *answer = serve_request(server, "POST", "/embed", "{\"inputs\":\"a\",\"model\":\"broken\"}", &status);
        assert_int_equal(status, 503);
        assert_non_null(strstr(answer, "'broken' cannot be opened"));
        assert_null(strstr(answer, test_dir));
        free(answer);
        json_decref(serve_call(server, "POST", "/embed", "{\"inputs\":\"a\"}", 200));
    }
    serve_fail(server, "/embed", "{\"inputs\":\"a\",\"model\":\"other\"}", 404, "error", "models: tiny, broken");
    serve_stop(server);
    free(broken);
}

/* Errors have the form of the API of their path, also if they occur before the route is known. */
static void test_forms(void **state) {
    (void)state;
    static const struct {
        const char *path, *begin;
    } cases[] = {
        {"/embed", "{\"error\":\"the API key"},
        {"/rerank", "{\"error\":\"the API key"},
        {"/none", "{\"error\":\"the API key"},
        {"/v1/embeddings", "{\"error\":{\"message\":\"the API key"},
        {"/embeddings", "{\"error\":{\"message\":\"the API key"},
        {"/v1/none", "{\"error\":{\"message\":\"the API key"},
        {"/v1/rerank", "{\"message\":\"the API key"},
        {"/v1/reranking", "{\"message\":\"the API key"},
        {"/v2/embed", "{\"message\":\"the API key"},
        {"/api/embed", "{\"error\":\"the API key"},
    };
    char *key = test_write_text(test_dir, "key", "secret\n");
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.api_key_file = key;
    aoe_server *server = start(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        char *answer = serve_request(server, "POST", cases[i].path, "{}", &status), *body = strstr(answer, "\r\n\r\n");
        assert_int_equal(status, 401);
        if (!body || strncmp(body + 4, cases[i].begin, strlen(cases[i].begin)) != 0)
            fail_msg("%s: %s", cases[i].path, answer);
        assert_int_equal(strstr(body, "\"code\":\"invalid_api_key\"") != NULL, strstr(body, "{\"message") == body + 13);
        assert_int_equal(strstr(body, "error_type") != NULL,
                         strncmp(cases[i].begin, "{\"error\":\"", 10) == 0 && !strstr(cases[i].path, "/api/"));
        free(answer);
    }
    serve_stop(server);
    free(key);
    server = start(NULL);
    static const struct {
        const char *body, *param;
    } params[] = {
        {"{\"input\":[]}", "input"},
        {"{\"input\":\"a\",\"dimensions\":99}", "dimensions"},
        {"{\"input\":\"a\",\"encoding_format\":\"x\"}", "encoding_format"},
        {"{\"input\":\"" LONG "\",\"truncate\":false}", "input"},
        {"{\"input\":\"a\",\"model\":\"none\"}", "model\",\"code\":\"model_not_found"},
        {"{}", "input"},
        {"[]", NULL},
    };
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        int status;
        char *answer = serve_request(server, "POST", "/v1/embeddings", params[i].body, &status), text[64];
        snprintf(text, sizeof text, params[i].param ? "\"param\":\"%s\"" : "\"param\":null", params[i].param);
        if (status < 400 || status > 404 || !strstr(answer, text))
            fail_msg("%s: %s", params[i].body, answer);
        free(answer);
    }
    serve_stop(server);
}

/* Clients of ollama add the tag "latest" to a name, also on the routes of OpenAI. A name of the list has priority. */
static void test_names(void **state) {
    (void)state;
    char *tagged = malloc(strlen(named) + 32);
    sprintf(tagged, "other:latest%s", strchr(named, '='));
    const char *const models[] = {named, tagged};
    aoe_server *server = serve_start(models, 2, NULL);
    static const struct {
        const char *name, *model;
    } cases[] = {
        {"tiny", "tiny"}, {"tiny:latest", "tiny"}, {"other", "other:latest"}, {"other:latest", "other:latest"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        sprintf(text, "{\"input\":\"a\",\"model\":\"%s\"}", cases[i].name);
        json_t *answer = serve_call(server, "POST", "/v1/embeddings", text, 200);
        assert_string_equal(json_string_value(json_object_get(answer, "model")), cases[i].model);
        json_decref(answer);
        sprintf(text, "{\"inputs\":\"a\",\"model\":\"%s\"}", cases[i].name);
        json_decref(serve_call(server, "POST", "/embed", text, 200));
    }
    serve_fail(server, "/embed", "{\"inputs\":\"a\",\"model\":\"tiny:v1\"}", 404, "error",
               "models: tiny, other:latest");
    serve_fail(server, "/embed", "{\"inputs\":\"a\",\"model\":\":latest\"}", 404, "error", "no model has the name");
    serve_stop(server);
    free(tagged);
}

/* Sends a request on a new connection without reading the answer. Returns the socket. */
static int send_only(const aoe_server *server, const char *path, const char *body) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)aoe_server_port(server)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char head[256];
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    const int len = snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                             path, strlen(body));
    assert_int_equal(send(fd, head, (size_t)len, MSG_NOSIGNAL), len);
    assert_int_equal(send(fd, body, strlen(body), MSG_NOSIGNAL), (ssize_t)strlen(body));
    return fd;
}

/* Returns 1 if the server answers on a connection with the status 200. */
static int is_answered(int fd) {
    char text[13] = "";
    return recv(fd, text, 12, MSG_WAITALL) == 12 && !strcmp(text, "HTTP/1.1 200");
}

/* A stop without time gives up the requests that are not finished. */
static void test_stop_at_once(void **state) {
    (void)state;
    enum { REQUESTS = 12 };
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_batch_tokens = 8;
    o.cache_bytes = 0;
    aoe_server *server = start(&o);
    json_t *body = json_pack("{s:o}", "input", inputs_of(0, 2000));
    char *text = json_dumps(body, 0);
    int fds[REQUESTS], status, answered = 0;
    for (size_t i = 0; i < REQUESTS; i++)
        fds[i] = send_only(server, "/v1/embeddings", text);
    char *metrics;
    do { /* until a request is computed */
        metrics = serve_request(server, "GET", "/metrics", "", &status);
        status = strstr(metrics, "te_embed_count 0") != NULL;
        free(metrics);
    } while (status);
    (void)aoe_server_stop(server, 0);
    for (size_t i = 0; i < REQUESTS; i++) {
        answered += is_answered(fds[i]);
        assert_int_equal(close(fds[i]), 0);
    }
    assert_in_range(answered, 0, REQUESTS / 2);
    free(text);
    json_decref(body);
}

/* Reads the status of an answer, and the rest of it up to the end of the connection. */
static int hear_status(int fd) {
    char text[65536];
    int status = 0;
    assert_int_equal(recv(fd, text, 12, MSG_WAITALL), 12);
    text[12] = 0;
    assert_int_equal(sscanf(text, "HTTP/1.1 %d", &status), 1);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while (recv(fd, text, sizeof text, 0) > 0)
        ;
    return status;
}

/* The memory for results and answers has a limit: a request whose answer is larger gets 413 before it is computed, and
 * one for which too little is left gets 429. */
static void test_answer_memory(void **state) {
    (void)state;
    enum { REQUESTS = 8 };
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_batch_tokens = 8;
    o.cache_bytes = 0;
    o.answer_bytes = 1000000;
    aoe_server *server = start(&o);
    json_t *body = json_pack("{s:o}", "input", inputs_of(0, 2000)); /* the answer has about 2000 * D * 12 bytes */
    char *text = json_dumps(body, 0);
    int fds[REQUESTS], answered = 0, rejected = 0, status;
    for (size_t i = 0; i < REQUESTS; i++)
        fds[i] = send_only(server, "/v1/embeddings", text);
    for (size_t i = 0; i < REQUESTS; i++) {
        status = hear_status(fds[i]);
        answered += status == 200;
        rejected += status == 429;
        assert_int_equal(close(fds[i]), 0);
    }
    assert_int_equal(answered + rejected, REQUESTS);
    assert_true(answered >= 2 && rejected >= 1);
    free(serve_request(server, "POST", "/v1/embeddings", text, &status));
    assert_int_equal(status, 200); /* the memory is free again */
    free(text);
    json_decref(body);
    serve_stop(server);
    o.answer_bytes = 100000;
    server = start(&o);
    body = json_array();
    for (size_t i = 0; i < 32; i++)
        json_array_append_new(body, json_string(LONG));
    body = json_pack("{s:o}", "inputs", body);
    text = json_dumps(body, 0);
    serve_fail(server, "/embed_all", text, 413, "error", "all answers in memory may have only 100000 bytes");
    json_decref(serve_call(server, "POST", "/embed_all", "{\"inputs\":\"" LONG "\"}", 200));
    json_decref(serve_call(server, "POST", "/embed", text, 200));
    free(text);
    json_decref(body);
    serve_stop(server);
}

/* A long prompt for many texts is rejected before they are tokenized. */
static void test_long_prompt(void **state) {
    (void)state;
    enum { LEN = 100000 };
    static char prompt[LEN + 1];
    aoe_server *server = start(NULL);
    memset(prompt, 'a', LEN);
    memcpy(prompt, "{text}", 6);
    for (size_t i = 0; i < 3; i++) {
        const char *path = i < 2 ? "/v1/embeddings" : "/embed";
        prompt[i == 1 ? LEN / 8 : LEN] = 0;
        json_t *body =
            json_pack("{s:o,s:s}", i < 2 ? "input" : "inputs", inputs_of(0, i < 2 ? 200 : 32), "prompt", prompt);
        char *text = json_dumps(body, 0);
        json_t *answer = serve_call(server, "POST", path, text, i == 0 ? 413 : 200);
        const char *message = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
        assert_int_equal(i == 0, message && strstr(message, "the texts with their prompt have ") != NULL);
        json_decref(answer);
        prompt[LEN / 8] = 'a';
        free(text);
        json_decref(body);
    }
    serve_stop(server);
}

static atomic_int n_passed;
static void (*handle_passed)(void *user, aoei_exchange *x);

static void count_passed(void *user, aoei_exchange *x) {
    (void)atomic_fetch_add(&n_passed, 1);
    handle_passed(user, x);
}

/* Returns a body with n short texts. prompt: NULL: none */
static char *short_texts(const char *key, size_t n, const char *prompt) {
    json_t *list = json_array(), *body = json_object();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(i % 2 ? "a" : "b"));
    json_object_set_new(body, key, list);
    if (prompt)
        json_object_set_new(body, "prompt", json_string(prompt));
    char *text = json_dumps(body, JSON_COMPACT);
    assert_true(strlen(text) <= AOEI_HTTP_SMALL_BODY);
    json_decref(body);
    return text;
}

/* The thread of the connections passes small bodies that need much work to other threads, and handles the others. */
static void test_long_work(void **state) {
    (void)state;
    static char prompt[2048];
    memset(prompt, 'a', sizeof prompt - 1);
    memcpy(prompt, "{text}", 6);
    const struct {
        const char *path, *key, *prompt;
        size_t n;
        int passes;
    } cases[] = {
        {"/embed", "inputs", NULL, 1, 0},
        {"/embed", "inputs", NULL, 32, 0},
        {"/embed", "inputs", prompt, 1, 0},
        {"/embed", "inputs", prompt, 32, 1},
        {"/v1/embeddings", "input", NULL, 32, 0},
        {"/v1/embeddings", "input", NULL, 2000, 1}, /* also when all embeddings are in the cache */
        {"/v1/embeddings", "input", NULL, 2000, 1},
        {"/map", "inputs", NULL, 3, 1},
        {"/tokenize", "inputs", NULL, 3, 1},
    };
    tiny_model shape = tiny_defaults();
    shape.hidden = 32;
    char *wide = test_path(test_dir, "wide");
    tiny_model_write(wide, &shape);
    aoe_server *server = serve_start((const char *const[]){wide}, 1, NULL);
    aoei_mutex_lock(&server->waiting.lock);
    handle_passed = server->waiting.handle;
    server->waiting.handle = count_passed;
    aoei_mutex_unlock(&server->waiting.lock);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = short_texts(cases[i].key, cases[i].n, cases[i].prompt);
        atomic_store(&n_passed, 0);
        json_decref(serve_call(server, "POST", cases[i].path, text, 200));
        if (atomic_load(&n_passed) != cases[i].passes)
            fail_msg("case %zu: passed %d times", i, atomic_load(&n_passed));
        free(text);
    }
    free(wide);
    serve_stop(server);
}

static void test_options(void **state) {
    (void)state;
    aoe_serve_options o;
    aoe_server *server = NULL;
    aoe_error err = {0};
    char text[8192];
    const char *const twice[] = {named, named}, *const missing[] = {"x=/nonexistent/model"};
    aoe_serve_options_defaults(&o);
    o.models = twice;
    o.n_models = 2;
    assert_int_equal(aoe_server_start(&server, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "two models have the name 'tiny'"));
    o.n_models = 1;
    assert_int_equal(aoe_server_check(&o, text, sizeof text, &err), 0);
    assert_non_null(strstr(text, "\"name\": \"tiny\""));
    assert_int_equal(aoe_server_check(&o, text, 10, &err), AOE_EARG);
    o.port = 70000;
    assert_int_equal(aoe_server_start(&server, &o, &err), AOE_EARG);
    o.port = 0;
    o.indexes = missing;
    o.n_indexes = 1;
    assert_int_equal(aoe_server_start(&server, &o, &err), AOE_ENOENT);
    o.n_indexes = 0;
    o.models = missing;
    assert_int_not_equal(aoe_server_start(&server, &o, &err), 0);
    assert_null(server);
    assert_int_equal(aoe_server_stop(NULL, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_embed),     cmocka_unit_test(test_openai),        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_status),    cmocka_unit_test(test_clients),       cmocka_unit_test(test_names),
        cmocka_unit_test(test_forms),     cmocka_unit_test(test_broken_model),  cmocka_unit_test(test_stop_at_once),
        cmocka_unit_test(test_options),   cmocka_unit_test(test_answer_memory), cmocka_unit_test(test_long_prompt),
        cmocka_unit_test(test_long_work),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
