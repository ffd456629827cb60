/* SPDX-License-Identifier: MIT
 * Sends embedding requests to an HTTP server on this machine and prints requests and texts per second, latencies,
 * errors, and the CPU time of this program and of the server.
 *
 *     serve_load [OPTION...] PORT
 *
 *   --form tei|openai|base64   body and path of the requests: /embed of text-embeddings-inference (default), or
 *                              /v1/embeddings of OpenAI with vectors as numbers or in base64
 *   --path PATH, --model NAME  another path; the field `model` of OpenAI's form (default: all-MiniLM-L6-v2)
 *   --texts FILE               one text per line (default: generated texts of short English words)
 *   --count N, --tokens N      number of generated texts (default 2,048), and tokens of each one with a tokenizer for
 *                              English, two of which are special tokens (default 16)
 *   --write FILE               writes the texts to FILE and exits
 *   -c N, --per-request N      connections (default 1), and texts of a request (default 1)
 *   --requests N, --seconds N  end of the run: number of requests (default 1,000) and time (default 60, at most 600)
 *   --rate N                   open loop: N requests per second at random times (default: closed loop)
 *   --expect FILE.npy          compares each answer with the row of its text, such as those of `aoe embed`
 *   --check                    the same with the answers to requests of one text, which are sent first
 *   --tolerance X              largest difference of a component (default 0)
 *   --idle N                   keeps N further connections open, each of which sends a request before and after
 *   --pid PID                  reports the CPU time and the memory of the server
 *   --json                     prints the results as one line of JSON
 *
 * Requests are built before the run, with texts in order, so request i has the texts from i * N on. A server that
 * caches vectors should have no cache, unless there are more texts than the cache holds. The exit status is 1 if an
 * answer was wrong, rejected or missing.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/random.h"
#include "base/sort.h"
#include "support/expected.h"
#include "support/load.h"
#include "vectors/npy.h"

enum { MAX_REQUESTS = 10000000, MAX_SECONDS = 600, MAX_CONNECTIONS = 20000, MAX_TEXTS = 1000000 };

typedef enum form { TEI, OPENAI, BASE64 } form;

typedef struct settings {
    form form;
    const char *path, *model, *file, *write, *expect; /* NULL: not given */
    size_t count, tokens, per_request, pid;
    int port, check, json;
    double tolerance;
    load_options load;
} settings;

/* Memory and CPU time of the server. */
typedef struct server_state {
    long pid;
    double cpu;                             /* seconds since its start */
    size_t rss, first_rss, last_rss, total; /* bytes; first_rss: after a tenth of the requests */
} server_state;

typedef struct texts {
    char **line; /* [n] without line ends, owned */
    size_t n;
} texts;

static void die(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "serve_load: ");
    vfprintf(stderr, fmt, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(2);
}

/* ------------------------------------------------------------------- texts */

/* Words that most tokenizers for English have as one token. */
static const char *const words[] = {
    "time",   "year",  "people", "way",     "day",   "man",  "thing",  "woman", "life",  "child", "world",
    "school", "state", "week",   "company", "house", "part", "place",  "case",  "work",  "group", "fact",
    "money",  "night", "point",  "home",    "water", "room", "mother", "area",  "story", "month", "right",
    "study",  "book",  "eye",    "job",     "word",  "side", "head",   "hour",  "game",  "line",  "end",
    "city",   "name",  "team",   "idea",    "body",  "back", "face",   "level", "car",   "door",  "art",
    "war",    "party", "change", "morning", "road",  "air",  "force",  "light", "land",
};

static void make_texts(texts *t, size_t n, size_t tokens) {
    aoei_rng r;
    aoei_rng_init(&r, 1, AOEI_STREAM_TEST, 0);
    t->line = calloc(n, sizeof *t->line);
    for (t->n = 0; t->line && t->n < n; t->n++) {
        aoei_buffer b = {0};
        for (size_t i = 2; i < tokens; i++)
            aoei_buffer_printf(&b, "%s%s", i > 2 ? " " : "", words[aoei_rng_below(&r, sizeof words / sizeof *words)]);
        if (aoei_buffer_putc(&b, 0))
            die("out of memory");
        t->line[t->n] = b.data;
    }
}

static void read_texts(texts *t, const char *path) {
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    t->line = calloc(MAX_TEXTS, sizeof *t->line);
    while (f && t->line && t->n < MAX_TEXTS && (len = getline(&line, &size, f)) > 0) {
        line[len - (line[len - 1] == '\n')] = 0;
        t->line[t->n++] = line;
        line = NULL;
    }
    free(line);
    if (f)
        fclose(f);
    if (!t->n)
        die("cannot read a text from %s", path);
}

static void write_texts(const texts *t, const char *path) {
    FILE *f = fopen(path, "w");
    for (size_t i = 0; f && i < t->n; i++)
        fprintf(f, "%s\n", t->line[i]);
    if (!f || fclose(f))
        die("cannot write %s", path);
}

/* ---------------------------------------------------------------- requests */

static void put_string(aoei_buffer *b, const char *s) {
    aoei_buffer_putc(b, '"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            aoei_buffer_printf(b, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            aoei_buffer_printf(b, "\\u%04x", (unsigned)*s);
        else
            aoei_buffer_putc(b, *s);
    aoei_buffer_putc(b, '"');
}

/* Builds the request with the texts from `first` on, starting again after the last one. */
static load_request build(const settings *s, const texts *t, size_t first, size_t n) {
    aoei_buffer body = {0}, all = {0};
    aoei_buffer_printf(&body, s->form == TEI ? "{\"inputs\":" : "{\"input\":");
    if (n > 1)
        aoei_buffer_putc(&body, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            aoei_buffer_putc(&body, ',');
        put_string(&body, t->line[(first + i) % t->n]);
    }
    if (n > 1)
        aoei_buffer_putc(&body, ']');
    if (s->form != TEI) {
        aoei_buffer_printf(&body, ",\"model\":");
        put_string(&body, s->model);
    }
    if (s->form == BASE64)
        aoei_buffer_printf(&body, ",\"encoding_format\":\"base64\"");
    aoei_buffer_putc(&body, '}');
    aoei_buffer_printf(&all,
                       "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n",
                       s->path, s->port, body.len);
    if (aoei_buffer_append(&all, body.data, body.len) || body.failed)
        die("out of memory");
    aoei_buffer_free(&body);
    return (load_request){.bytes = all.data, .len = all.len, .first = first, .texts = n};
}

static load_request *build_all(const settings *s, const texts *t, size_t per_request, size_t *n) {
    *n = (t->n + per_request - 1) / per_request;
    load_request *r = calloc(*n + 1, sizeof *r);
    for (size_t i = 0; r && i < *n; i++)
        r[i] = build(s, t, i * per_request, per_request);
    if (!r)
        die("out of memory");
    return r;
}

static void free_requests(load_request *r, size_t n) {
    for (size_t i = 0; i < n; i++)
        aoei_free(r[i].bytes);
    free(r);
}

/* ------------------------------------------------------------------ server */

/* Returns the resident memory of the server, and reads its CPU time; 0 if the process does not exist. */
static size_t read_server(server_state *s) {
    char path[64], line[1024] = "";
    unsigned long user = 0, system = 0, pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", s->pid);
    FILE *f = s->pid ? fopen(path, "r") : NULL;
    const size_t len = f ? fread(line, 1, sizeof line - 1, f) : 0;
    line[len] = 0;
    if (f)
        fclose(f);
    const char *p = strrchr(line, ')'); /* after the name, which may contain spaces */
    if (!p || sscanf(p, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %lu",
                     &user, &system, &pages) != 3)
        return 0;
    s->cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

typedef struct user {
    expected *expected; /* NULL: answers are not compared */
    server_state *server;
} user;

static int is_wrong(void *arg, const load_request *r, const char *body) {
    const user *u = arg;
    return expected_compare(u->expected, r->first, r->texts, body);
}

static int store(void *arg, const load_request *r, const char *body) {
    const user *u = arg;
    return expected_store(u->expected, r->first, body);
}

static void sample(void *arg, size_t answers) {
    server_state *s = ((user *)arg)->server;
    s->last_rss = read_server(s);
    if (!s->first_rss && answers >= s->total / 10)
        s->first_rss = s->last_rss;
}

/* ------------------------------------------------------------------ report */

static void report(const settings *s, const load_result *r, const server_state *before, const server_state *server) {
    double *sorted = r->latency;
    const size_t n = r->answers;
    qsort(sorted, n, sizeof *sorted, aoei_compare_doubles);
    const double p[] = {load_quantile(sorted, n, 0.5) * 1e3, load_quantile(sorted, n, 0.9) * 1e3,
                        load_quantile(sorted, n, 0.99) * 1e3, load_quantile(sorted, n, 1) * 1e3};
    const double seconds = r->seconds > 0 ? r->seconds : 1, cpu = server->cpu - before->cpu;
    const char *f = s->json
                        ? "{\"requests\":%zu,\"texts\":%zu,\"seconds\":%.6f,\"requests_per_second\":%.2f,"
                          "\"texts_per_second\":%.2f,\"p50_ms\":%.4f,\"p90_ms\":%.4f,\"p99_ms\":%.4f,"
                          "\"max_ms\":%.4f,\"rejected\":%zu,\"broken\":%zu,\"wrong\":%zu,\"bytes\":%zu,"
                          "\"client_cpu_seconds\":%.3f"
                        : "%zu requests with %zu texts in %.3f s: %.1f requests/s, %.1f texts/s\n"
                          "latency in ms: p50 %.3f, p90 %.3f, p99 %.3f, maximum %.3f\n"
                          "rejected %zu, broken %zu, wrong %zu; %zu bytes received; CPU time of this program %.3f s";
    printf(f, n, r->texts, r->seconds, (double)n / seconds, (double)r->texts / seconds, p[0], p[1], p[2], p[3],
           r->rejected, r->broken, r->wrong, r->bytes, r->cpu);
    if (server->pid) {
        f = s->json
                ? ",\"server_cpu_seconds\":%.2f,\"rss_before\":%zu,\"rss_first\":%zu,\"rss_after\":%zu"
                : "\nserver: CPU time %.2f s; resident bytes before %zu, after a tenth of the run %zu, at its end %zu";
        printf(f, cpu, before->rss, server->first_rss, server->rss);
    }
    if (s->load.idle)
        printf(s->json ? ",\"idle_open\":%zu" : "\nidle connections that still work: %zu", r->idle_open);
    printf(s->json ? "}\n" : "\n");
    fflush(stdout);
    if (r->message[0])
        fprintf(stderr, "serve_load: %s\n", r->message);
}

/* --------------------------------------------------------------------- run */

/* Sends each text alone on one connection and stores its vector. */
static void ask_first(const settings *s, const texts *t, user *u) {
    size_t n;
    load_request *requests = build_all(s, t, 1, &n);
    load_options o = s->load;
    o.request = requests;
    o.n = o.total = n;
    o.connections = 1;
    o.idle = 0;
    o.rate = 0;
    o.seconds = MAX_SECONDS;
    o.is_wrong = store;
    o.sample = NULL;
    o.user = u;
    load_result r;
    if (load_run(&o, &r) || r.answers < n || r.wrong)
        die("the texts could not be embedded one by one: %s", r.message);
    load_result_free(&r);
    free_requests(requests, n);
}

static int run(settings *s, const texts *t) {
    aoe_error err;
    server_state server = {.pid = (long)s->pid, .total = s->load.total};
    expected e = {.n = t->n, .tolerance = s->tolerance};
    user u = {.server = &server};
    if (s->expect && expected_read(&e, s->expect, t->n, &err))
        die("%s", err.message);
    u.expected = s->check || s->expect ? &e : NULL;
    if (s->check && !s->expect)
        ask_first(s, t, &u);
    size_t n;
    load_request *requests = build_all(s, t, s->per_request, &n);
    s->load.request = requests;
    s->load.n = n;
    s->load.is_wrong = u.expected ? is_wrong : NULL;
    s->load.sample = s->pid ? sample : NULL;
    s->load.user = &u;
    server.rss = read_server(&server);
    if (s->pid && !server.rss)
        die("the process %zu does not exist", s->pid);
    const server_state before = server;
    load_result r;
    if (load_run(&s->load, &r))
        die("%s", r.message);
    server.rss = read_server(&server);
    report(s, &r, &before, &server);
    if (u.expected && !s->json)
        printf("largest difference of a component: %g\n", e.largest);
    const int failed = r.rejected || r.broken || r.wrong || !r.answers || r.idle_open < s->load.idle;
    load_result_free(&r);
    free_requests(requests, n);
    expected_free(&e);
    return failed;
}

/* ----------------------------------------------------------------- options */

static double number(const char *name, const char *text, double least, double most) {
    char *end;
    const double v = strtod(text, &end);
    if (*end || end == text || !(v >= least) || !(v <= most))
        die("%s must be a number from %g to %g, not '%s'", name, least, most, text);
    return v;
}

static form form_of(const char *name) {
    const char *const names[] = {"tei", "openai", "base64"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(name, names[i]))
            return (form)i;
    die("the form '%s' is not known; forms: tei, openai, base64", name);
    return TEI;
}

static const struct option table[] = {
    {"form", 1, NULL, 'f'},     {"path", 1, NULL, 'p'},      {"model", 1, NULL, 'm'}, {"texts", 1, NULL, 't'},
    {"count", 1, NULL, 'C'},    {"tokens", 1, NULL, 'k'},    {"write", 1, NULL, 'w'}, {"connections", 1, NULL, 'c'},
    {"requests", 1, NULL, 'r'}, {"seconds", 1, NULL, 's'},   {"rate", 1, NULL, 'R'},  {"per-request", 1, NULL, 'n'},
    {"expect", 1, NULL, 'e'},   {"tolerance", 1, NULL, 'T'}, {"idle", 1, NULL, 'i'},  {"pid", 1, NULL, 'P'},
    {"check", 0, NULL, 'x'},    {"json", 0, NULL, 'j'},      {NULL, 0, NULL, 0},
};

/* Reads one option with a number. Returns 0 if there is no such option. */
static int set_number(settings *s, int letter, const char *v) {
    switch (letter) {
    case 'C':
        s->count = (size_t)number("--count", v, 1, MAX_TEXTS);
        break;
    case 'k':
        s->tokens = (size_t)number("--tokens", v, 3, 10000);
        break;
    case 'c':
        s->load.connections = (size_t)number("-c", v, 1, MAX_CONNECTIONS);
        break;
    case 'r':
        s->load.total = (size_t)number("--requests", v, 1, MAX_REQUESTS);
        break;
    case 's':
        s->load.seconds = number("--seconds", v, 0.001, MAX_SECONDS);
        break;
    case 'R':
        s->load.rate = number("--rate", v, 0.001, 1e6);
        break;
    case 'n':
        s->per_request = (size_t)number("--per-request", v, 1, 100000);
        break;
    case 'T':
        s->tolerance = number("--tolerance", v, 0, 2);
        break;
    case 'i':
        s->load.idle = (size_t)number("--idle", v, 0, MAX_CONNECTIONS);
        break;
    case 'P':
        s->pid = (size_t)number("--pid", v, 1, INT32_MAX);
        break;
    default:
        return 0;
    }
    return 1;
}

static void set(settings *s, int letter, const char *v) {
    switch (letter) {
    case 'f':
        s->form = form_of(v);
        break;
    case 'p':
        s->path = v;
        break;
    case 'm':
        s->model = v;
        break;
    case 't':
        s->file = v;
        break;
    case 'w':
        s->write = v;
        break;
    case 'e':
        s->expect = v;
        break;
    case 'x':
        s->check = 1;
        break;
    case 'j':
        s->json = 1;
        break;
    default:
        if (!set_number(s, letter, v))
            die("the options are described at the top of bench/serve_load.c");
    }
}

int main(int argc, char **argv) {
    settings s = {.model = "all-MiniLM-L6-v2", .count = 2048, .tokens = 16, .per_request = 1};
    texts t = {0};
    s.load = (load_options){.connections = 1, .total = 1000, .seconds = 60};
    for (int letter; (letter = getopt_long(argc, argv, "c:", table, NULL)) != -1;)
        set(&s, letter, optarg);
    if (s.file)
        read_texts(&t, s.file);
    else
        make_texts(&t, s.count, s.tokens);
    if (s.write) {
        write_texts(&t, s.write);
        return 0;
    }
    if (optind != argc - 1)
        die("the port of the server is missing; usage: serve_load [OPTION...] PORT");
    s.port = (int)number("the port", argv[optind], 1, 65535);
    s.path = s.path ? s.path : s.form == TEI ? "/embed" : "/v1/embeddings";
    s.load.address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)s.port)};
    s.load.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int code = run(&s, &t);
    for (size_t i = 0; i < t.n; i++)
        free(t.line[i]);
    free(t.line);
    return code;
}
