/* SPDX-License-Identifier: MIT
 * tags: network
 * Tests the program that serves HTTP requests for the command-line tests. The server must write its URL to a file, log
 * requests, and exit when it receives SIGTERM.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/http_server.h"
#include "../support/support.h"
#include "net/http.h"

static void greet(void *user, const test_request *q, test_answer *a) {
    const char *name = test_request_query(q, "name");
    test_answer_printf(a, "%s %s, request %zu", (const char *)user, name ? name : "nobody", q->nth);
}

static void add_routes(test_server *s, int argc, char **argv) {
    test_server_route(s, "GET", "/greet/*", greet, argc > 0 ? argv[0] : "hello");
}

static void test_server_program(void **state) {
    (void)state;
    char *url_file = test_path(test_dir, "url"), *log = test_path(test_dir, "log"), url[256] = "", *text = NULL;
    char *argv[] = {(char *)(size_t) "server", url_file, log, (char *)(size_t) "ahoy", NULL};
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(test_server_main(4, argv, add_routes));
    for (int i = 0; i < 1000 && !text; i++) {
        text = test_read(url_file, NULL);
        usleep(10000);
    }
    assert_non_null(text);
    text[strcspn(text, "\n")] = 0;
    aoei_http *h;
    aoei_http_response r = {0};
    assert_int_equal(aoei_http_create(&h, NULL, NULL), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(url, sizeof url, "%s/greet/x?name=A%%20%%c3%%a9+b", text);
        assert_int_equal(aoei_http_send(h, &(aoei_http_request){.url = url}, &r, NULL), 0);
    }
    assert_string_equal(r.body.data, "ahoy A \xc3\xa9 b, request 1");
    snprintf(url, sizeof url, "%s/other", text);
    assert_int_equal(aoei_http_send(h, &(aoei_http_request){.url = url}, &r, NULL), 0);
    assert_int_equal(r.status, 404);
    int status = 0;
    assert_int_equal(kill(pid, SIGTERM), 0); /* the server must exit even though a connection is open */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    char *logged = test_read(log, NULL);
    assert_string_equal(logged,
                        "GET /greet/x?name=A%20%c3%a9+b 200\nGET /greet/x?name=A%20%c3%a9+b 200\nGET /other 404\n");
    aoei_http_response_free(&r);
    aoei_http_destroy(h);
    free(logged);
    free(text);
    free(url_file);
    free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_server_program)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
