/* SPDX-License-Identifier: MIT
 * tags: threads network
 * Tests the lines of the head of a request over raw sockets: a header that continues on the next line, lines that end
 * without CR, and NULs are rejected, and the connection is closed, so that a request that follows is never answered.
 * Heads that are only unusual are accepted, also if they arrive in pieces.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

#define HOST "Host: 127.0.0.1\r\n"

enum { SECONDS = 20 };

static char *dir;
static aoe_server *server;

static int set_up(void **state) {
    const int code = test_dir_set_up(state);
    const tiny_model shape = tiny_defaults();
    dir = test_path(test_dir, "tiny");
    tiny_model_write(dir, &shape);
    server = serve_start((const char *const *)&dir, 1, NULL);
    return code;
}

static int tear_down(void **state) {
    serve_stop(server);
    free(dir);
    return test_dir_tear_down(state);
}

/* Sends text[len] in pieces of `piece` bytes, and reads until the server closes the connection or has sent n answers.
 * Returns the answers, which the caller frees. *closed: 1 if the server has closed the connection */
static char *exchange(const char *text, size_t len, size_t piece, size_t n, int *closed) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)aoe_server_port(server)),
                                        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    enum { SIZE = 16384 };
    char *answer = calloc(1, SIZE);
    size_t used = 0, answers = 0;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_non_null(answer);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    for (size_t i = 0; i < len; i += piece)
        if (send(fd, text + i, len - i < piece ? len - i : piece, MSG_NOSIGNAL) < 0)
            break; /* the server has closed the connection */
    *closed = 0;
    while (answers < n && !*closed && used + 1 < SIZE) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, SECONDS * 1000) <= 0)
            fail_msg("no answer after %d seconds: %s", SECONDS, answer);
        const ssize_t got = recv(fd, answer + used, SIZE - 1 - used, 0);
        *closed = got <= 0;
        used += got > 0 ? (size_t)got : 0;
        answers = 0;
        for (const char *s = answer; (s = strstr(s, "{\"status\":\"ok\"}")); s++)
            answers++;
    }
    close(fd);
    return answer;
}

/* Sends a head, which must be rejected, and another request. name: number of the case */
static void check_rejected(const char *head, size_t len, size_t name) {
    static const char second[] = "GET /livez HTTP/1.1\r\n" HOST "\r\n";
    char text[512];
    int closed;
    assert_true(len + sizeof second < sizeof text);
    memcpy(text, head, len);
    memcpy(text + len, second, sizeof second);
    char *answer = exchange(text, len + sizeof second - 1, sizeof text, 1, &closed);
    if (!closed || (*answer && !strstr(answer, " 400 ")) || strstr(answer, " 200 "))
        fail_msg("case %zu: %s", name, answer);
    free(answer);
}

static void test_rejected(void **state) {
    (void)state;
    static const char *const heads[] = {
        /* libmicrohttpd 0.9.75 appends the second line to the name of the header */
        "POST /livez HTTP/1.1\r\n" HOST "Content-Length:\r\n 40\r\n\r\n",
        "POST /livez HTTP/1.1\r\n" HOST "Content-Length: 0\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n",
        "POST /livez HTTP/1.1\r\n" HOST "Content-Lengt: 40\r\n h\r\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "X-A: b\r\n \r\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "X-A: b\r\n c\r\n d\r\nX-B: c\r\n\r\n",
        /* it also ends lines at a LF */
        "GET /livez HTTP/1.1\n" HOST "\r\n",
        "GET /livez HTTP/1.1\r\nX-A: b\n" HOST "\r\n",
        "POST /livez HTTP/1.1\r\n" HOST "X-A: b\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /livez HTTP/1.1\r\nX-A: b\r\n" HOST "\n",
        "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\n\n",
        "GE(T /livez HTTP/1.1\r\n" HOST "\r\n",
        "{\"a\":GET /livez HTTP/1.1\r\n" HOST "\r\n",
    };
    static const char *const nul[] = {
        /* '?' stands for NUL, at which it ends texts */
        "GET /livez HTTP/1.1\r\n" HOST "X-A: b?Transfer-Encoding: chunked\r\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "X-A: b?\r\nX-B: c\r\n\r\n",
        "GET /livez HTTP/1.1\r\n" HOST "X-A: ?b\r\n\r\n",
        "GET /livez?x HTTP/1.1\r\n" HOST "\r\n",
        "GET? /livez HTTP/1.1\r\n" HOST "\r\n",
        "GET /livez HTTP/1.1?\r\n" HOST "\r\n",
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        check_rejected(heads[i], strlen(heads[i]), i);
    for (size_t i = 0; i < sizeof nul / sizeof *nul; i++) {
        char text[128];
        const size_t len = strlen(nul[i]);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)(nul[i][k] == '?' ? 0 : nul[i][k]);
        check_rejected(text, len, 100 + i);
    }
}

static void test_accepted(void **state) {
    (void)state;
    static const char *const heads[] = {
        "GET /livez HTTP/1.1\r\nhost:127.0.0.1\r\nX-A:\r\nX-B: \t \r\nX-C: \t b \t \r\nCookie: a=b; c=\"d\"\r\n"
        "X-E:e\r\n\r\n",
        "GET /livez?x=%41&y=+#z HTTP/1.1\r\nX-A: b\r\n" HOST "X-B:\r\n\r\n",
        "GET /live%7A HTTP/1.1\r\n" HOST "\r\n",
        "GET http://127.0.0.1/livez HTTP/1.1\r\n" HOST "\r\n",
        "\r\nGET /livez HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
        "GET /livez HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX-T: u\r\n\r\n",
    };
    enum { N = sizeof heads / sizeof *heads };
    static const size_t pieces[] = {1, 7, 100, 4096};
    char all[2048] = "";
    int closed;
    for (size_t i = 0; i < N; i++)
        strcat(all, heads[i]);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        char *answer = exchange(all, strlen(all), pieces[i], N, &closed);
        if (closed)
            fail_msg("pieces of %zu: %s", pieces[i], answer);
        free(answer);
    }
    char *old = exchange("GET /livez HTTP/1.0\r\n\r\n", 23, 23, 1, &closed);
    assert_non_null(strstr(old, " 200 "));
    free(old);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_accepted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
