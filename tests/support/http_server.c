/* SPDX-License-Identifier: MIT
 * Implements the test server of http_server.h. One thread accepts connections. Each connection has a thread, which is
 * joined when the server stops. An invalid request closes only its own connection. If a function that the server needs
 * fails, for example malloc, the program ends.
 */
#include "http_server.h"
#include "support.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST ((size_t)64 << 20) /* bytes */
#define SLICE       0.01               /* seconds between two checks of test_server.stopping */
#define VALUE_MAX   8192

typedef struct connection {
    test_server *server;
    pthread_t thread;
    int fd; /* -1: closed */
    struct connection *next;
} connection;

typedef struct route {
    char *method, *pattern; /* owned */
    test_handler fn;
    void *user;
    struct route *next;
} route;

typedef struct record {
    char *what;    /* method and target, such as "GET /path?query"; owned */
    char *headers; /* owned */
} record;

struct test_server {
    int fd, port;
    char url[64];
    pthread_t acceptor;
    pthread_mutex_t handling; /* held while a handler runs */
    pthread_mutex_t lock;     /* protects all fields below */
    int stopping;
    connection *connections;
    route *routes, **last_route;
    record *records; /* [n_records], owned */
    size_t n_records, record_capacity;
    FILE *log; /* NULL: no log */
};

static void *need(void *p) {
    if (!p) {
        perror("http_server");
        abort();
    }
    return p;
}

static char *need_copy(const char *s, size_t len) {
    char *copy = need(malloc(len + 1));
    memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

/* ------------------------------------------------------------------ answers */

static char *format(const char *fmt, va_list args) {
    char *text = NULL;
    if (vasprintf(&text, fmt, args) < 0)
        abort();
    return need(text);
}

void test_answer_header(test_answer *a, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *line = format(fmt, args);
    va_end(args);
    const size_t len = a->headers ? strlen(a->headers) : 0, more = strlen(line);
    a->headers = need(realloc(a->headers, len + more + 3));
    memcpy(a->headers + len, line, more);
    memcpy(a->headers + len + more, "\r\n", 3);
    free(line);
}

void test_answer_write(test_answer *a, const void *data, size_t len) {
    if (a->body_len + len > a->body_capacity) {
        a->body_capacity = 2 * a->body_capacity + len;
        a->body = need(realloc(a->body, a->body_capacity));
    }
    if (len)
        memcpy(a->body + a->body_len, data, len);
    a->body_len += len;
}

void test_answer_printf(test_answer *a, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    char *text = format(fmt, args);
    va_end(args);
    test_answer_write(a, text, strlen(text));
    free(text);
}

void test_answer_pages(test_answer *a, const char *url, size_t page, size_t n_pages) {
    const char *sign = strchr(url, '?') ? "&" : "?";
    char *link = need_copy("", 0);
    const size_t to[4] = {1, page > 1 ? page - 1 : 0, page < n_pages ? page + 1 : 0, n_pages};
    static const char *const rel[4] = {"first", "prev", "next", "last"};
    for (int i = 0; i < 4; i++) {
        char *longer = NULL;
        if (to[i] == 0)
            continue;
        if (asprintf(&longer, "%s%s<%s%spage=%zu>; rel=\"%s\"", link, *link ? ", " : "", url, sign, to[i], rel[i]) < 0)
            abort();
        free(link);
        link = longer;
    }
    test_answer_header(a, "Link: %s", link);
    free(link);
}

/* ----------------------------------------------------------------- requests */

static _Thread_local char value[VALUE_MAX];

const char *test_request_header(const test_request *q, const char *name) {
    const size_t len = strlen(name);
    for (const char *line = q->headers; line && *line;) {
        const char *end = strstr(line, "\r\n");
        if (strncasecmp(line, name, len) == 0 && line[len] == ':') {
            const char *s = line + len + 1 + strspn(line + len + 1, " \t");
            snprintf(value, sizeof value, "%.*s", (int)(end - s), s);
            return value;
        }
        line = end ? end + 2 : NULL;
    }
    return NULL;
}

static int hex(char c) {
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

const char *test_request_query(const test_request *q, const char *name) {
    const size_t len = strlen(name);
    for (const char *s = q->query; *s;) {
        const size_t part = strcspn(s, "&");
        if (part > len && strncmp(s, name, len) == 0 && s[len] == '=') {
            size_t n = 0;
            for (size_t i = len + 1; i < part && n + 1 < sizeof value; i++) {
                if (s[i] == '%' && i + 2 < part && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0) {
                    value[n++] = (char)(hex(s[i + 1]) * 16 + hex(s[i + 2]));
                    i += 2;
                } else {
                    value[n++] = s[i] == '+' ? ' ' : s[i];
                }
            }
            value[n] = 0;
            return value;
        }
        s += part + (s[part] == '&');
    }
    return NULL;
}

/* ------------------------------------------------------------------ sending */

static int is_stopping(test_server *s) {
    pthread_mutex_lock(&s->lock);
    const int stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static void pause_for(test_server *s, double seconds) {
    while (seconds > 0 && !is_stopping(s)) {
        const double slice = seconds < SLICE ? seconds : SLICE;
        nanosleep(&(struct timespec){0, (long)(slice * 1e9)}, NULL);
        seconds -= slice;
    }
}

static int send_all(int fd, const char *data, size_t len) {
    while (len > 0) {
        const ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* Sends a part of the body. If a->chunked is set, the part becomes one chunk. */
static int send_piece(const connection *c, const test_answer *a, const char *data, size_t len) {
    char size[32];
    snprintf(size, sizeof size, "%zx\r\n", len);
    if (len == 0)
        return 0;
    return (a->chunked && send_all(c->fd, size, strlen(size))) || send_all(c->fd, data, len) ||
                   (a->chunked && send_all(c->fd, "\r\n", 2))
               ? -1
               : 0;
}

/* Sends the body. Returns 0, or -1 if the connection must be closed. */
static int send_body(const connection *c, const test_answer *a) {
    const size_t total = a->body_len * (a->repeat ? a->repeat : 1);
    const size_t end = a->cut && a->cut_at < total ? a->cut_at : total;
    for (size_t at = 0; at < end;) {
        const size_t in_body = at % a->body_len, left = a->body_len - in_body;
        size_t n = left < end - at ? left : end - at;
        if (a->byte_delay > 0) {
            pause_for(c->server, a->byte_delay);
            n = 1;
        }
        if (is_stopping(c->server) || send_piece(c, a, a->body + in_body, n))
            return -1;
        at += n;
    }
    if (a->cut)
        return -1;
    return a->chunked ? send_all(c->fd, "0\r\n\r\n", 5) : 0;
}

static int send_head(const connection *c, const test_answer *a, int bodiless) {
    char *head = NULL, length[64] = "", date[64] = "";
    if (a->chunked)
        snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
    else if (!a->no_length && !bodiless)
        snprintf(length, sizeof length, "Content-Length: %zu\r\n", a->body_len * (a->repeat ? a->repeat : 1));
    if (!a->headers || !strcasestr(a->headers, "date:")) {
        const time_t now = time(NULL);
        struct tm utc;
        strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &utc));
    }
    if (asprintf(&head, "HTTP/1.1 %d Status\r\n%s%s%s%s\r\n", a->status, date, length,
                 a->close || a->no_length ? "Connection: close\r\n" : "", a->headers ? a->headers : "") < 0)
        abort();
    const int rc = send_all(c->fd, head, strlen(head));
    free(head);
    return rc;
}

/* Sends the answer. Returns 0, or -1 if the connection must be closed. */
static int send_answer(const connection *c, const test_request *q, const test_answer *a) {
    const int bodiless = a->status == 304 || a->status == 204;
    int rc = -1;
    pause_for(c->server, a->delay);
    if (a->raw)
        (void)send_all(c->fd, a->raw, a->raw_len);
    else if (a->status != 0 && send_head(c, a, bodiless) == 0)
        rc = bodiless || strcmp(q->method, "HEAD") == 0 ? 0 : send_body(c, a);
    if (a->reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    return rc || a->reset || a->close || a->no_length ? -1 : 0;
}

/* ----------------------------------------------------------------- handling */

/* Records a request. Returns the number of earlier requests with the same method and target. */
static size_t remember(test_server *s, const char *what, const char *headers) {
    size_t nth = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_records; i++)
        nth += strcmp(s->records[i].what, what) == 0;
    if (s->n_records == s->record_capacity) {
        s->record_capacity = s->record_capacity ? 2 * s->record_capacity : 64;
        s->records = need(realloc(s->records, s->record_capacity * sizeof *s->records));
    }
    s->records[s->n_records++] = (record){need_copy(what, strlen(what)), need_copy(headers, strlen(headers))};
    pthread_mutex_unlock(&s->lock);
    return nth;
}

static const route *find_route(test_server *s, const test_request *q) {
    pthread_mutex_lock(&s->lock);
    const route *r = s->routes;
    while (r &&
           ((strcmp(r->method, "*") != 0 && strcmp(r->method, q->method) != 0) || fnmatch(r->pattern, q->path, 0) != 0))
        r = r->next;
    /* r remains valid after unlocking, because routes are only removed when the server stops */
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* Calls the handler and sends its answer. Returns 0, or -1 if the connection must be closed. */
static int handle(const connection *c, test_request *q) {
    test_server *s = c->server;
    test_answer a = {.status = 200};
    char *what = NULL;
    if (asprintf(&what, "%s %s", q->method, q->target) < 0)
        abort();
    pthread_mutex_lock(&s->handling);
    q->server = s;
    q->nth = remember(s, what, q->headers);
    const route *r = find_route(s, q);
    if (r)
        r->fn(r->user, q, &a);
    else
        a.status = 404;
    pthread_mutex_lock(&s->lock);
    if (s->log) {
        fprintf(s->log, "%s %d\n", what, a.status);
        fflush(s->log);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_mutex_unlock(&s->handling);
    const int rc = send_answer(c, q, &a);
    free(what);
    free(a.headers);
    free(a.body);
    return rc;
}

/* The bytes that were received but not yet handled: data[len], followed by a NUL. */
typedef struct inbox {
    char *data;
    size_t len, capacity;
} inbox;

static int receive(const connection *c, inbox *in) {
    if (in->capacity - in->len < 4096) {
        in->capacity = in->capacity ? 2 * in->capacity : 16384;
        in->data = need(realloc(in->data, in->capacity));
    }
    const ssize_t n = recv(c->fd, in->data + in->len, in->capacity - in->len - 1, 0);
    if (n <= 0 || in->len + (size_t)n > MAX_REQUEST)
        return -1;
    in->len += (size_t)n;
    in->data[in->len] = 0;
    return 0;
}

/* Handles the first request in the inbox. Its request line and headers have `head` bytes. Returns 0, or -1 if the
 * request is invalid or the connection must be closed. */
static int take_request(const connection *c, inbox *in, size_t head) {
    char *text = need_copy(in->data, head); /* copied because receive() may reallocate the inbox */
    char *line_end = strstr(text, "\r\n"), *target = strchr(text, ' '),
         *version = target ? strchr(target + 1, ' ') : NULL;
    if (!line_end || !version || version > line_end) {
        free(text);
        return -1;
    }
    *target++ = *version = *line_end = 0;
    text[head - 2] = 0; /* removes the empty line after the headers */
    test_request q = {.method = text, .target = target, .headers = line_end + 2};
    char *path = need_copy(target, strcspn(target, "?"));
    q.path = path;
    q.query = target + strlen(path) + (target[strlen(path)] == '?');
    const char *length = test_request_header(&q, "content-length");
    q.body_len = length ? (size_t)strtoull(length, NULL, 10) : 0;
    int rc = q.body_len > MAX_REQUEST ? -1 : 0;
    while (rc == 0 && in->len < head + q.body_len)
        rc = receive(c, in);
    if (rc == 0) {
        char *body = need_copy(in->data + head, q.body_len);
        q.body = body;
        rc = handle(c, &q);
        free(body);
        in->len -= head + q.body_len;
        memmove(in->data, in->data + head + q.body_len, in->len + 1);
    }
    free(path);
    free(text);
    return rc;
}

static void *serve(void *arg) {
    connection *c = arg;
    inbox in = {0};
    for (int rc = 0; rc == 0 && !is_stopping(c->server);) {
        const char *end = in.len ? strstr(in.data, "\r\n\r\n") : NULL;
        rc = end ? take_request(c, &in, (size_t)(end - in.data) + 4) : receive(c, &in);
    }
    free(in.data);
    pthread_mutex_lock(&c->server->lock);
    close(c->fd);
    c->fd = -1;
    pthread_mutex_unlock(&c->server->lock);
    return NULL;
}

static void *accept_all(void *arg) {
    test_server *s = arg;
    for (;;) {
        const int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && is_stopping(s))
            return NULL;
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        connection *c = need(calloc(1, sizeof *c));
        c->server = s;
        c->fd = fd;
        pthread_mutex_lock(&s->lock);
        c->next = s->connections;
        s->connections = c;
        if (s->stopping)
            shutdown(fd, SHUT_RDWR);
        if (pthread_create(&c->thread, NULL, serve, c))
            abort();
        pthread_mutex_unlock(&s->lock);
    }
}

/* ------------------------------------------------------------------- server */

test_server *test_server_start_at(int port) {
    test_server *s = need(calloc(1, sizeof *s));
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    test_count_curl();
    pthread_mutex_init(&s->handling, NULL);
    pthread_mutex_init(&s->lock, NULL);
    s->last_route = &s->routes;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
        bind(s->fd, (struct sockaddr *)&at, size) || listen(s->fd, 64) ||
        getsockname(s->fd, (struct sockaddr *)&at, &size))
        need(NULL);
    s->port = ntohs(at.sin_port);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", s->port);
    if (pthread_create(&s->acceptor, NULL, accept_all, s))
        need(NULL);
    return s;
}

test_server *test_server_start(void) {
    return test_server_start_at(0);
}

static void forget_all(test_server *s) {
    for (size_t i = 0; i < s->n_records; i++) {
        free(s->records[i].what);
        free(s->records[i].headers);
    }
    s->n_records = 0;
}

void test_server_stop(test_server *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = 1;
    shutdown(s->fd, SHUT_RDWR); /* makes accept4 fail in the accepting thread */
    for (connection *c = s->connections; c; c = c->next)
        if (c->fd >= 0)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->acceptor, NULL);
    close(s->fd);
    for (connection *c = s->connections, *next; c; c = next) {
        next = c->next;
        pthread_join(c->thread, NULL);
        free(c);
    }
    for (route *r = s->routes, *next; r; r = next) {
        next = r->next;
        free(r->method);
        free(r->pattern);
        free(r);
    }
    forget_all(s);
    free(s->records);
    if (s->log)
        fclose(s->log);
    pthread_mutex_destroy(&s->handling);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void test_server_route(test_server *s, const char *method, const char *pattern, test_handler fn, void *user) {
    route *r = need(calloc(1, sizeof *r));
    *r = (route){need_copy(method, strlen(method)), need_copy(pattern, strlen(pattern)), fn, user, NULL};
    pthread_mutex_lock(&s->lock);
    *s->last_route = r;
    s->last_route = &r->next;
    pthread_mutex_unlock(&s->lock);
}

const char *test_server_url(const test_server *s) {
    return s->url;
}

int test_server_port(const test_server *s) {
    return s->port;
}

size_t test_server_count(test_server *s, const char *what) {
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_records; i++)
        n += !what || strcmp(s->records[i].what, what) == 0;
    pthread_mutex_unlock(&s->lock);
    return n;
}

size_t test_server_count_header(test_server *s, const char *text) {
    size_t n = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_records; i++)
        n += strstr(s->records[i].headers, text) != NULL;
    pthread_mutex_unlock(&s->lock);
    return n;
}

void test_server_forget(test_server *s) {
    pthread_mutex_lock(&s->lock);
    forget_all(s);
    pthread_mutex_unlock(&s->lock);
}

void test_server_log(test_server *s, const char *path) {
    FILE *file = need(fopen(path, "ae"));
    pthread_mutex_lock(&s->lock);
    if (s->log)
        fclose(s->log);
    s->log = file;
    pthread_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------------ program */

static void publish_url(const test_server *s, const char *path) {
    char *temp = NULL;
    if (asprintf(&temp, "%s.tmp", path) < 0)
        abort();
    FILE *f = need(fopen(temp, "w"));
    if (fprintf(f, "%s\n", test_server_url(s)) < 0 || fclose(f) || rename(temp, path))
        need(NULL);
    free(temp);
}

int test_server_main(int argc, char **argv, void (*set_up)(test_server *s, int argc, char **argv)) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s URL_FILE [LOG_FILE [ARGUMENT...]]\n", argv[0]);
        return 2;
    }
    const pid_t parent = getppid();
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    /* threads inherit the blocked signals, so only sigtimedwait in the main thread receives them */
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    test_server *s = test_server_start();
    if (argc > 2)
        test_server_log(s, argv[2]);
    set_up(s, argc > 3 ? argc - 3 : 0, argv + (argc > 3 ? 3 : argc));
    publish_url(s, argv[1]);
    while (sigtimedwait(&ends, NULL, &(struct timespec){0, 200000000}) < 0 && getppid() == parent)
        continue;
    test_server_stop(s);
    return 0;
}
