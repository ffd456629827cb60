/* SPDX-License-Identifier: MIT
 * tags: network
 * Tests TLS against `openssl s_server` with a self-signed certificate. The certificate must be rejected unless the
 * environment variable CURL_CA_BUNDLE contains its path. It must also be rejected if the URL contains another host name
 * than the certificate. A redirect from https:// to http:// must not be followed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/http_server.h"
#include "../support/checks.h"
#include "../support/support.h"
#include "net/http.h"

#define TOKEN "sEcReT-token-0123456789"

static pid_t tls;         /* process id of the server; 0 if openssl is not installed */
static int port;          /* port of the server */
static FILE *output;      /* standard output of the server */
static char *certificate; /* path of the server's certificate */

/* Runs a shell command in the test directory. Returns its status as system() does. */
static int run(const char *command) {
    char *line = NULL;
    assert_true(asprintf(&line, "cd '%s' && %s", test_dir, command) > 0);
    const int status = system(line);
    free(line);
    return status;
}

/* Starts the server and reads its port from its standard output. */
static void start_tls(void) {
    int ends[2];
    char line[256];
    assert_int_equal(pipe(ends), 0);
    tls = fork();
    assert_true(tls >= 0);
    if (tls == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        if (chdir(test_dir) || !freopen("/dev/null", "w", stderr))
            _exit(1);
        execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem",
               "-HTTP", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    output = fdopen(ends[0], "r");
    assert_non_null(output);
    while (port == 0 && fgets(line, sizeof line, output))
        if (strncmp(line, "ACCEPT", 6) == 0 && strrchr(line, ':'))
            port = atoi(strrchr(line, ':') + 1);
    assert_true(port > 0);
    /* The pipe remains open. If it were closed, SIGPIPE would end the server when it writes to its standard output. */
}

static int set_up(void **state) {
    test_dir_set_up(state);
    unsetenv("CURL_CA_BUNDLE");
    unsetenv("SSL_CERT_FILE");
    if (run("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost"
            " -addext subjectAltName=DNS:localhost >/dev/null 2>&1")) {
        printf("SKIP: openssl is not installed or cannot create a certificate\n");
        return 0;
    }
    free(test_write_text(test_dir, "good", "HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\n[\"tls\"]"));
    certificate = test_path(test_dir, "cert.pem");
    start_tls();
    return 0;
}

static int tear_down(void **state) {
    if (tls) {
        kill(tls, SIGKILL);
        waitpid(tls, NULL, 0);
        fclose(output);
    }
    free(certificate);
    return test_dir_tear_down(state);
}

/* Sends a request for a file to the server. The request contains the access token TOKEN. ca: value of the environment
 * variable CURL_CA_BUNDLE; NULL: the variable is not set. */
static int get(const char *host, const char *path, const char *ca, aoei_http_response *r) {
    aoei_http *h;
    char url[256];
    if (ca)
        setenv("CURL_CA_BUNDLE", ca, 1);
    assert_int_equal(aoei_http_create(&h, NULL, &err), 0);
    unsetenv("CURL_CA_BUNDLE");
    snprintf(url, sizeof url, "https://%s:%d/%s", host, port, path);
    const aoei_http_request q = {.url = url, .token = TOKEN};
    const int rc = aoei_http_send(h, &q, r, &err);
    aoei_http_destroy(h);
    if (rc)
        assert_null(strstr(err.message, TOKEN));
    return rc;
}

static void test_unknown_certificate(void **state) {
    (void)state;
    aoei_http_response r = {0};
    if (!tls)
        skip();
    assert_int_equal(get("localhost", "good", NULL, &r), AOE_EIO);
    assert_message("certificate");
    assert_message("set CURL_CA_BUNDLE to a file with your own certificates");
    assert_int_equal(r.transient, 0); /* not transient, because a retry would fail too */
    assert_int_equal(r.body.len, 0);
    aoei_http_response_free(&r);
}

static void test_named_certificate(void **state) {
    (void)state;
    aoei_http_response r = {0};
    if (!tls)
        skip();
    if (get("localhost", "good", certificate, &r))
        fail_msg("%s", err.message);
    assert_string_equal(r.body.data, "[\"tls\"]");
    assert_int_equal(get("127.0.0.1", "good", certificate, &r), AOE_EIO); /* the certificate is valid for localhost
                                                                             only */
    assert_message("your own certificates");
    assert_int_equal(get("localhost", "good", "/no/such/file.pem", &r), AOE_EIO);
    assert_message("install ca-certificates");
    aoei_http_response_free(&r);
}

static void test_no_redirect_to_http(void **state) {
    (void)state;
    aoei_http_response r = {0};
    char text[256];
    if (!tls)
        skip();
    test_server *plain = test_server_start();
    snprintf(text, sizeof text, "HTTP/1.0 302 Found\r\nLocation: %s/x\r\nContent-Length: 0\r\n\r\n",
             test_server_url(plain));
    free(test_write_text(test_dir, "down", text));
    assert_int_equal(get("localhost", "down", certificate, &r), AOE_EIO);
    assert_message("/down: redirected from https:// to http://, which is not followed");
    assert_int_equal(test_server_count(plain, NULL), 0);
    aoei_http_response_free(&r);
    test_server_stop(plain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_certificate),
        cmocka_unit_test(test_named_certificate),
        cmocka_unit_test(test_no_redirect_to_http),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
