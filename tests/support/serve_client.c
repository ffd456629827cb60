/* SPDX-License-Identifier: MIT
 * Each request has its own connection, which the server closes after the answer, so that an answer ends with the end of
 * the connection.
 */
#include "serve_client.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

enum { MAX_ANSWER = 1 << 20 };

aoe_server *serve_start(const char *const *models, size_t n, const aoe_serve_options *given) {
    aoe_serve_options o;
    aoe_server *server;
    aoe_error err = {0};
    aoe_serve_options_defaults(&o);
    if (given)
        o = *given;
    o.models = models;
    o.n_models = n;
    o.port = 0;
    o.threads = 2;
    if (aoe_server_start(&server, &o, &err))
        fail_msg("%s", err.message);
    return server;
}

void serve_stop(aoe_server *server) {
    assert_int_equal(aoe_server_stop(server, 5), 0);
}

char *serve_request(const aoe_server *server, const char *method, const char *path, const char *body, int *status) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)aoe_server_port(server)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char head[512], *answer = calloc(1, MAX_ANSWER);
    size_t n = 0;
    assert_true(fd >= 0);
    assert_non_null(answer);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    const int len = snprintf(head, sizeof head,
                             "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                             method, path, strlen(body));
    assert_int_equal(send(fd, head, (size_t)len, MSG_NOSIGNAL), len);
    if (*body)
        assert_int_equal(send(fd, body, strlen(body), MSG_NOSIGNAL), (ssize_t)strlen(body));
    for (ssize_t got; n + 1 < MAX_ANSWER && (got = recv(fd, answer + n, MAX_ANSWER - 1 - n, 0)) > 0;)
        n += (size_t)got;
    close(fd);
    assert_int_equal(sscanf(answer, "HTTP/1.1 %d", status), 1);
    return answer;
}

json_t *serve_call(const aoe_server *server, const char *method, const char *path, const char *body, int status) {
    int got;
    char *answer = serve_request(server, method, path, body, &got);
    const char *end = strstr(answer, "\r\n\r\n");
    assert_non_null(end);
    if (got != status)
        fail_msg("%s %s: status %d instead of %d: %s", method, path, got, status, end + 4);
    json_t *root = json_loads(end + 4, JSON_DECODE_ANY, NULL);
    if (!root)
        fail_msg("%s %s: the answer is not JSON: %s", method, path, end + 4);
    free(answer);
    return root;
}

void serve_fail(const aoe_server *server, const char *path, const char *body, int status, const char *key,
                const char *message) {
    json_t *answer = serve_call(server, "POST", path, body, status);
    const char *got = json_string_value(json_object_get(answer, key));
    if (!got || !strstr(got, message))
        fail_msg("%s %s: \"%s\" does not contain \"%s\"", path, body, got ? got : "", message);
    json_decref(answer);
}

void serve_check_vector(const json_t *list, const float *v, size_t n) {
    assert_int_equal(json_array_size(list), n);
    for (size_t k = 0; k < n; k++) {
        const float x = (float)json_number_value(json_array_get(list, k));
        assert_memory_equal(&x, &v[k], sizeof x);
    }
}

void serve_expect(const char *dir, const aoe_model_options *o, const char *const *texts, size_t n, float *vectors) {
    aoe_context *ctx = NULL;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_text *list = malloc(n * sizeof *list);
    aoe_error err = {0};
    assert_non_null(list);
    for (size_t i = 0; i < n; i++)
        list[i] = aoe_text_of(texts[i]);
    if (aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&m, ctx, dir, o, &err) ||
        aoe_embedder_create(&e, m, NULL, &err) || aoe_embed(e, list, n, vectors, NULL, &err))
        fail_msg("%s", err.message);
    free(list);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}
