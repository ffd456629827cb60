/* SPDX-License-Identifier: MIT
 * A connection is idle, or it sends a request, or it reads the answer. An answer is complete when as many bytes of its
 * body as its Content-Length says have arrived, or, without this header, when the server closes the connection. The
 * run ends early if more than MAX_BROKEN connections break, because the server then does not work.
 */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"

enum {
    MAX_BROKEN = 1000,
    EVENTS = 256,
    MAX_ANSWER = 256 << 20,  /* bytes */
    SECONDS_AFTER_END = 120, /* for the last answers of a run */
    OTHER_FILES = 32
};

typedef struct client {
    int fd;                   /* -1: not connected */
    int is_writing;           /* 1: epoll also waits until the socket can be written */
    const load_request *sent; /* request without an answer, or NULL */
    size_t at;                /* bytes of it that were sent */
    double start;             /* time from which it is measured */
    char *in;                 /* [cap] bytes of the answer, owned */
    size_t len, cap;
    size_t body, end; /* offsets of the body and of its end; 0: the headers are not complete */
    int status, closes;
    int ends_at_close; /* the answer has no Content-Length */
} client;

typedef struct run {
    const load_options *o;
    load_result *r;
    client *client; /* [connections] */
    size_t *free;   /* [n_free] indices of the clients that are idle */
    size_t n_free;
    int epoll;
    size_t started, done; /* requests */
    double begin, due;    /* due: time at which the next request is sent; open loop */
    aoei_rng rng;
} run;

static double cpu_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int fail(load_result *r, const char *what) {
    snprintf(r->message, sizeof r->message, "%s: %s", what, strerror(errno));
    return -1;
}

/* ------------------------------------------------------------- connections */

/* Returns a connected socket, or -1. */
static int open_socket(const load_options *o) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&o->address, sizeof o->address) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) || fcntl(fd, F_SETFL, O_NONBLOCK)) {
        const int errnum = errno;
        close(fd);
        errno = errnum;
        return -1;
    }
    return fd;
}

static void watch(run *u, client *c, int op, int is_writing) {
    struct epoll_event e = {.events = EPOLLIN | (is_writing ? EPOLLOUT : 0), .data.u64 = (uint64_t)(c - u->client)};
    epoll_ctl(u->epoll, op, c->fd, &e);
    c->is_writing = is_writing;
}

static int connect_client(run *u, client *c) {
    c->fd = open_socket(u->o);
    if (c->fd < 0)
        return -1;
    watch(u, c, EPOLL_CTL_ADD, 0);
    return 0;
}

/* Makes a client idle after its request was answered or lost. */
static void finish(run *u, client *c, int is_closed) {
    if (is_closed) {
        close(c->fd);
        c->fd = -1;
    }
    c->sent = NULL;
    c->len = c->body = c->end = 0;
    u->free[u->n_free++] = (size_t)(c - u->client);
    u->done++;
}

static void lose(run *u, client *c, const char *why) {
    if (!u->r->message[0])
        snprintf(u->r->message, sizeof u->r->message, "connection broken: %s", why);
    u->r->broken++;
    finish(u, c, 1);
}

/* ----------------------------------------------------------------- answers */

/* Returns the value of a header, which ends at \r, or NULL. head: NUL-terminated, from the first header on. */
static const char *header(const char *head, const char *name) {
    const size_t len = strlen(name);
    for (const char *p = strstr(head, "\r\n"); p && p[2] != '\r'; p = strstr(p + 2, "\r\n"))
        if (!strncasecmp(p + 2, name, len) && p[2 + len] == ':') {
            p += 3 + len;
            return p + strspn(p, " ");
        }
    return NULL;
}

/* Reads the headers if they are complete. Returns -1 if they are not those of an HTTP answer. */
static int read_head(client *c) {
    c->in[c->len] = 0;
    const char *blank = strstr(c->in, "\r\n\r\n");
    if (!blank)
        return 0;
    c->in[blank - c->in + 2] = 0; /* ends the headers; the body starts two bytes later */
    const char *length = header(c->in, "Content-Length"), *connection = header(c->in, "Connection");
    c->status = strncmp(c->in, "HTTP/1.", 7) ? 0 : (int)strtol(c->in + 9, NULL, 10);
    c->body = (size_t)(blank - c->in) + 4;
    c->closes = (connection && !strncasecmp(connection, "close", 5)) || (c->in[7] == '0' && !connection);
    c->ends_at_close = !length;
    c->end = c->body + (length ? strtoull(length, NULL, 10) : (size_t)MAX_ANSWER);
    return c->status < 200 || c->end - c->body > MAX_ANSWER || header(c->in, "Transfer-Encoding") ? -1 : 0;
}

static void take_answer(run *u, client *c) {
    const load_options *o = u->o;
    load_result *r = u->r;
    const char *body = c->in + c->body;
    const size_t len = (c->ends_at_close ? c->len : c->end) - c->body;
    const double now = aoei_now();
    c->in[c->body + len] = 0;
    if (c->status != 200) {
        r->rejected++;
        if (!r->message[0])
            snprintf(r->message, sizeof r->message, "status %d: %.400s", c->status, body);
    } else {
        r->latency[r->answers++] = now - c->start;
        r->texts += c->sent->texts;
        r->bytes += len;
        if (o->is_wrong && o->is_wrong(o->user, c->sent, body))
            r->wrong++;
    }
    r->seconds = now - u->begin;
    finish(u, c, c->closes || c->ends_at_close);
    if (o->sample && u->done % (o->total / 100 + 1) == 0)
        o->sample(o->user, u->done);
}

/* Reads what has arrived. */
static void receive(run *u, client *c) {
    if (c->len + 2 > c->cap) {
        const size_t needed = c->end && !c->ends_at_close ? c->end + 2 : 0, twice = 2 * c->cap + 16384;
        c->cap = needed > twice ? needed : twice;
        char *grown = c->cap > MAX_ANSWER ? NULL : realloc(c->in, c->cap);
        if (!grown) {
            lose(u, c, "the answer is too long");
            return;
        }
        c->in = grown;
    }
    const ssize_t n = recv(c->fd, c->in + c->len, c->cap - c->len - 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (!c->sent) { /* the server has closed an idle connection */
        close(c->fd);
        c->fd = -1;
        return;
    }
    if (n < 0 || (n == 0 && !(c->ends_at_close && c->body))) {
        lose(u, c, n < 0 ? strerror(errno) : "closed before the answer");
        return;
    }
    c->len += (size_t)n;
    if (!c->body && read_head(c))
        lose(u, c, "the answer is not HTTP with a Content-Length");
    else if (n == 0 || (c->body && c->len >= c->end))
        take_answer(u, c);
}

/* ---------------------------------------------------------------- requests */

static void send_rest(run *u, client *c) {
    const ssize_t n = send(c->fd, c->sent->bytes + c->at, c->sent->len - c->at, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        lose(u, c, strerror(errno));
        return;
    }
    c->at += n > 0 ? (size_t)n : 0;
    const int is_writing = c->at < c->sent->len;
    if (is_writing != c->is_writing)
        watch(u, c, EPOLL_CTL_MOD, is_writing);
}

/* Sends requests on idle connections: all that are due, or one on each connection. */
static void start_requests(run *u, double now) {
    const load_options *o = u->o;
    while (u->n_free && u->started < o->total && now - u->begin < o->seconds && u->r->broken < MAX_BROKEN) {
        if (o->rate > 0 && u->due > now)
            break;
        client *c = &u->client[u->free[--u->n_free]];
        c->sent = &o->request[u->started++ % o->n];
        c->at = 0;
        c->start = o->rate > 0 ? u->due : aoei_now();
        if (o->rate > 0)
            u->due -= log(1 - aoei_rng_uniform(&u->rng)) / o->rate;
        if (c->fd < 0 && connect_client(u, c))
            lose(u, c, strerror(errno));
        else
            send_rest(u, c);
    }
}

/* Waits for events; in an open loop, at most until the next request is due. */
static int wait_events(const run *u, struct epoll_event *events, double now) {
    const int is_open = u->o->rate > 0 && u->n_free && u->started < u->o->total;
    double wait = is_open ? u->due - now : 1;
    wait = wait < 0 ? 0 : wait > 1 ? 1 : wait;
    const struct timespec t = {.tv_sec = (time_t)wait, .tv_nsec = (long)((wait - floor(wait)) * 1e9)};
    return epoll_pwait2(u->epoll, events, EVENTS, &t, NULL);
}

static void loop(run *u) {
    const load_options *o = u->o;
    struct epoll_event events[EVENTS];
    const double cpu = cpu_time();
    u->begin = u->due = aoei_now();
    for (double now = u->begin;; now = aoei_now()) {
        start_requests(u, now);
        const int ends = u->started == o->total || now - u->begin >= o->seconds || u->r->broken >= MAX_BROKEN;
        if (ends && u->done == u->started)
            break;
        if (now - u->begin > o->seconds + SECONDS_AFTER_END) {
            u->r->broken += u->started - u->done;
            snprintf(u->r->message, sizeof u->r->message, "%zu requests had no answer %d seconds after the end",
                     u->started - u->done, SECONDS_AFTER_END);
            break;
        }
        const int n = wait_events(u, events, now);
        for (int i = 0; i < n; i++) {
            client *c = &u->client[events[i].data.u64];
            if (c->fd >= 0 && c->sent && events[i].events & EPOLLOUT)
                send_rest(u, c);
            if (c->fd >= 0 && events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
                receive(u, c);
        }
    }
    u->r->cpu = cpu_time() - cpu;
}

/* -------------------------------------------------------- idle connections */

/* Sends a short request and waits for its answer. Returns 0 if it has arrived. */
static int probe(int fd) {
    static const char text[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[2048];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL) != (ssize_t)(sizeof text - 1) || poll(&p, 1, 10000) <= 0)
        return -1;
    const ssize_t n = recv(fd, answer, sizeof answer - 1, 0);
    if (n <= 0)
        return -1;
    answer[n] = 0;
    return strncmp(answer, "HTTP/1.1 200", 12) ? -1 : 0;
}

/* Opens the idle connections. Returns the number of those that work. */
static size_t open_idle(const load_options *o, int *fd) {
    size_t n = 0;
    for (; n < o->idle; n++) {
        fd[n] = open_socket(o);
        if (fd[n] < 0)
            break;
        if (probe(fd[n])) {
            close(fd[n]);
            break;
        }
    }
    return n;
}

static void close_idle(load_result *r, const int *fd, size_t n) {
    for (size_t i = 0; i < n; i++) {
        r->idle_open += probe(fd[i]) == 0;
        close(fd[i]);
    }
}

static int raise_files(size_t needed) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return -1;
    if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur < needed ? -1 : 0;
}

/* --------------------------------------------------------------------- run */

static int start(run *u, int *idle) {
    const load_options *o = u->o;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    aoei_rng_init(&u->rng, 42, AOEI_STREAM_TEST, 0);
    u->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!u->client || !u->free || !u->r->latency || (o->idle && !idle) || u->epoll < 0)
        return fail(u->r, "cannot start");
    for (size_t i = 0; i < o->connections; i++)
        u->client[i].fd = -1;
    for (size_t i = 0; i < o->connections; i++) {
        u->free[u->n_free++] = o->connections - 1 - i;
        if (connect_client(u, &u->client[i]))
            return fail(u->r, "cannot connect");
    }
    return 0;
}

int load_run(const load_options *o, load_result *r) {
    *r = (load_result){0};
    if (ntohl(o->address.sin_addr.s_addr) >> 24 != 127) {
        snprintf(r->message, sizeof r->message, "the address is not one of the loopback interface");
        return -1;
    }
    if (raise_files(o->connections + o->idle + OTHER_FILES)) {
        snprintf(r->message, sizeof r->message, "the process may open too few files; raise its limit (ulimit -n)");
        return -1;
    }
    run u = {.o = o, .r = r};
    u.client = calloc(o->connections, sizeof *u.client);
    u.free = calloc(o->connections, sizeof *u.free);
    r->latency = calloc(o->total + 1, sizeof *r->latency);
    int *idle = calloc(o->idle + 1, sizeof *idle);
    const size_t n_idle = idle ? open_idle(o, idle) : 0;
    int code = n_idle < o->idle ? fail(r, "cannot open the idle connections") : start(&u, idle);
    if (!code)
        loop(&u);
    if (idle)
        close_idle(r, idle, n_idle);
    for (size_t i = 0; u.client && i < o->connections; i++) {
        if (u.client[i].fd > 0)
            close(u.client[i].fd);
        free(u.client[i].in);
    }
    if (u.epoll > 0)
        close(u.epoll);
    free(u.client);
    free(u.free);
    free(idle);
    return code;
}

void load_result_free(load_result *r) {
    free(r->latency);
    r->latency = NULL;
}

double load_quantile(const double *sorted, size_t n, double q) {
    const double at = ceil(q * (double)n);
    return n ? sorted[at < 1 ? 0 : at > (double)n ? n - 1 : (size_t)at - 1] : 0;
}
