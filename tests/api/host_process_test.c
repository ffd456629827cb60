/* SPDX-License-Identifier: MIT
 * Tests that the library changes nothing in the process that uses it: the allocation functions of jansson, SQLite and
 * libcurl, signal handlers, the signal mask, the locale, the environment, the working directory, the file mode mask,
 * the floating-point mode, and what is written to stdout and stderr. The program uses only the public headers and is
 * linked without tests/support.
 */
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <jansson.h>
#include <sqlite3.h>

#include "aoe_collect.h"
#include "aoe_comm.h"
#include "aoe_data.h"
#include "aoe_hub.h"
#include "aoe_index.h"
#include "aoe_postgres.h"
#include "aoe_train.h"

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if (call)                                                                                                      \
            fail_msg("%s: %s", #call, err.message);                                                                    \
    } while (0)

static char dir[] = "/tmp/aoe_host_XXXXXX";

/* ---- allocation functions of the program: each block begins with a mark and its size */

#define HEAD_BYTES 16
#define MARK       UINT32_C(0x5ca1ab1e)

typedef struct head {
    uint32_t mark;
    uint32_t bytes;
} head;

static long allocated; /* number of calls that allocated a block */

static void *host_malloc(size_t bytes) {
    char *block = malloc(bytes + HEAD_BYTES);
    if (!block)
        return NULL;
    memcpy(block, &(head){MARK, (uint32_t)bytes}, sizeof(head));
    __atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
    return block + HEAD_BYTES;
}

static head *head_of(void *p) {
    head *h = (head *)(void *)((char *)p - HEAD_BYTES);
    if (h->mark != MARK) {
        fputs("a block of another allocator was freed\n", stderr);
        abort();
    }
    return h;
}

static void host_free(void *p) {
    if (!p)
        return;
    head *h = head_of(p);
    h->mark = 0;
    free(h);
}

static void *host_realloc(void *p, size_t bytes) {
    void *moved = host_malloc(bytes);
    if (moved && p) {
        const size_t before = head_of(p)->bytes;
        memcpy(moved, p, before < bytes ? before : bytes);
        host_free(p);
    }
    return moved;
}

static char *host_strdup(const char *s) {
    const size_t bytes = strlen(s) + 1;
    char *copy = host_malloc(bytes);
    return copy ? memcpy(copy, s, bytes) : NULL;
}

static void *host_calloc(size_t n, size_t size) {
    void *p = host_malloc(n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

static void *sqlite_malloc(int bytes) {
    return host_malloc((size_t)bytes);
}

static void *sqlite_realloc(void *p, int bytes) {
    return host_realloc(p, (size_t)bytes);
}

static int sqlite_size(void *p) {
    return (int)head_of(p)->bytes;
}

static int sqlite_round_up(int bytes) {
    return (bytes + 7) & ~7;
}

static int sqlite_start(void *unused) {
    (void)unused;
    return SQLITE_OK;
}

static void sqlite_stop(void *unused) {
    (void)unused;
}

/* ---- state of the process */

typedef struct state {
    struct sigaction action[65];
    sigset_t mask;
    char *locale, *directory;
    locale_t thread_locale;
    char **environment; /* NULL-terminated */
    mode_t file_mask;
    int rounding, subnormal; /* rounding mode; 1: subnormal numbers are not replaced with zero */
    json_malloc_t json_malloc;
    json_free_t json_free;
} state;

static state current_state(void) {
    state s = {.directory = getcwd(NULL, 0), .locale = strdup(setlocale(LC_ALL, NULL)), .thread_locale = uselocale(0)};
    volatile float tiny = 1e-40f;
    size_t n = 0;
    for (int i = 1; i < 65; i++)
        (void)sigaction(i, NULL, &s.action[i]); /* the C library rejects its own signals, whose entries stay zero */
    sigprocmask(SIG_SETMASK, NULL, &s.mask);
    while (environ[n])
        n++;
    s.environment = calloc(n + 1, sizeof *s.environment);
    for (size_t i = 0; i < n; i++)
        s.environment[i] = strdup(environ[i]);
    s.file_mask = umask(0);
    umask(s.file_mask);
    s.rounding = fegetround();
    s.subnormal = tiny * 0.5f > 0;
    json_get_alloc_funcs(&s.json_malloc, &s.json_free);
    return s;
}

static void check_equal(const state *a, const state *b) {
    for (int i = 1; i < 65; i++) {
        if (a->action[i].sa_handler != b->action[i].sa_handler || a->action[i].sa_flags != b->action[i].sa_flags)
            fail_msg("the action of signal %d has changed", i);
        assert_int_equal(sigismember(&a->mask, i), sigismember(&b->mask, i));
    }
    assert_string_equal(a->locale, b->locale);
    assert_true(a->thread_locale == b->thread_locale);
    assert_string_equal(a->directory, b->directory);
    size_t i = 0;
    for (; a->environment[i]; i++)
        assert_string_equal(a->environment[i], b->environment[i]);
    assert_null(b->environment[i]);
    assert_int_equal(a->file_mask, b->file_mask);
    assert_int_equal(a->rounding, b->rounding);
    assert_int_equal(a->subnormal, b->subnormal);
    assert_true(a->json_malloc == b->json_malloc && a->json_free == b->json_free);
}

static void free_state(state *s) {
    for (size_t i = 0; s->environment[i]; i++)
        free(s->environment[i]);
    free(s->environment);
    free(s->locale);
    free(s->directory);
}

/* ---- use of the library */

static int stop(void *unused) {
    (void)unused;
    return 1;
}

static int list_entry(void *count, const aoe_hub_entry *entry) {
    (void)entry;
    ++*(int *)count;
    return 0;
}

static void embed(const char *model_dir) {
    aoe_embedder *embedder;
    aoe_error err = {0};
    const aoe_text text[2] = {{"A plane is taking off.", 22}, {"An air plane is taking off.", 27}};
    double cosine;
    aoe_neighbor best;
    OK(aoe_embedder_open(&embedder, model_dir, &err));
    float *vectors = calloc(2 * aoe_embedder_dims(embedder), sizeof *vectors);
    OK(aoe_embed_documents(embedder, text, 2, vectors, NULL, &err));
    OK(aoe_search(embedder, text + 1, 1, vectors, 2, 1, &best, &err));
    assert_int_equal(best.index, 1);
    OK(aoe_similarity(embedder, text[0], text[1], &cosine, &err));
    assert_true(cosine > 0.7);
    free(vectors);
    aoe_embedder_destroy(embedder);
}

static void train(char *model_dir, const char *output) {
    aoe_context *ctx;
    aoe_error err = {0};
    aoe_train_data data;
    aoe_train_options o;
    aoe_train_data_defaults(&data, "examples/train.tsv");
    aoe_train_options_defaults(&o);
    o.data = &data;
    o.n_data = 1;
    o.args.model = model_dir;
    o.args.output = output;
    o.batch_size = 4;
    o.args.max_steps = 2;
    OK(aoe_context_create(&ctx, NULL, &err));
    OK(aoe_train(ctx, &o, &err));
    aoe_context_destroy(ctx);
}

/* Reads data, collects issues from an empty cache, which is an SQLite file, and lists the cached models. */
static void read_data(const char *cache) {
    static const char *const files[] = {"examples/train.tsv", "examples/test.tsv"}, *const repositories[] = {
                                                                                        "owner/name"};
    aoe_error err = {0};
    aoe_data_check_result found = {.struct_size = sizeof found};
    aoe_github_options o;
    aoe_github_result result = {.struct_size = sizeof result};
    int models = 0;
    OK(aoe_data_check(files, 2, NULL, &found, &err));
    assert_true(found.rows > 700);
    aoe_github_options_defaults(&o);
    o.repositories = repositories;
    o.n_repositories = 1;
    o.cache = cache;
    o.offline = 1;
    (void)aoe_github_issues(&o, &result, &err); /* the cache contains no responses */
    assert_int_equal(access(cache, F_OK), 0);
    OK(aoe_hub_list(list_entry, &models, &err));
}

/* Starts a download, which loads libcurl, and stops it. */
static void use_network(void) {
    aoe_hub_options o;
    aoe_hub_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_hub_options_defaults(&o);
    o.endpoint = "http://127.0.0.1:1";
    o.stop = stop;
    assert_int_not_equal(aoe_hub_pull("owner/name", &o, &result, &err), 0);
}

/* Uses the library with stdout and stderr redirected to a file, and checks that nothing was written and that the state
 * of the process is the same as before. */
static void use_library(int network) {
    char model_dir[4096], path[3][64];
    aoe_error err = {0};
    struct stat written;
    for (int i = 0; i < 3; i++)
        snprintf(path[i], sizeof path[i], "%s/%d%s", dir, network, i == 0 ? "model" : i == 1 ? "cache" : "output");
    OK(aoe_default_model(model_dir, sizeof model_dir, &err));
    state before = current_state();
    fflush(NULL);
    const int out = dup(STDOUT_FILENO), messages = dup(STDERR_FILENO),
              fd = open(path[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0 && dup2(fd, STDERR_FILENO) >= 0);
    embed(model_dir);
    train(model_dir, path[0]);
    embed(path[0]);
    read_data(path[1]);
    if (network)
        use_network();
    fflush(NULL);
    assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(messages, STDERR_FILENO) >= 0);
    assert_int_equal(fstat(fd, &written), 0);
    close(out);
    close(messages);
    close(fd);
    assert_int_equal(written.st_size, 0);
    state after = current_state();
    check_equal(&before, &after);
    free_state(&before);
    free_state(&after);
}

/* ---- tests */

static void on_signal(int number) {
    (void)number;
}

/* The program has set nothing. */
static void with_defaults(void **unused) {
    (void)unused;
    sqlite3_mem_methods before, after;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &before), SQLITE_OK);
    use_library(0);
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &after), SQLITE_OK);
    assert_true(before.xMalloc == after.xMalloc && before.xFree == after.xFree && before.xRealloc == after.xRealloc);
}

static size_t discard(char *data, size_t size, size_t n, void *unused) {
    (void)data;
    (void)unused;
    return size * n;
}

/* Uses libcurl like the program, with a file URL. Returns the number of its allocations. */
static long use_curl(void) {
    char url[4200], here[4096];
    const long before = allocated;
    snprintf(url, sizeof url, "file://%s/examples/test.tsv", getcwd(here, sizeof here));
    CURL *c = curl_easy_init();
    assert_non_null(c);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, discard);
    assert_int_equal(curl_easy_perform(c), CURLE_OK);
    curl_easy_cleanup(c);
    return allocated - before;
}

/* The program has set its own allocation functions, signal handlers, locale and environment, and uses the libraries
 * before and after it uses aoe. */
static void with_own_settings(void **unused) {
    (void)unused;
    static const sqlite3_mem_methods methods = {
        sqlite_malloc, host_free, sqlite_realloc, sqlite_size, sqlite_round_up, sqlite_start, sqlite_stop, NULL,
    };
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGUSR1};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sqlite3 *db;
    sqlite3_mem_methods after;
    json_set_alloc_funcs(host_malloc, host_free);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    assert_int_equal(
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, host_malloc, host_free, host_realloc, host_strdup, host_calloc),
        CURLE_OK);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
    setenv("AOE_HOST", "unchanged", 1);
    umask(027);
    json_t *value = json_loads("{\"kept\": [1, \"two\"]}", 0, NULL);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL), SQLITE_OK);
    const long of_curl = use_curl();
    assert_true(of_curl > 0);

    const long before = allocated;
    use_library(1);
    assert_true(allocated > before); /* the libraries use the functions of the program also when aoe calls them */

    char *text = json_dumps(value, JSON_COMPACT);
    assert_string_equal(text, "{\"kept\":[1,\"two\"]}");
    host_free(text);
    json_decref(value);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_true(use_curl() > 0);
    curl_global_cleanup();
    assert_int_equal(sqlite3_shutdown(), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &after), SQLITE_OK);
    assert_true(after.xMalloc == sqlite_malloc && after.xFree == host_free);
}

/* libcurl and SQLite are initialized once per process, so the second test needs a process of its own. */
static void with_defaults_in_another_process(void **unused) {
    (void)unused;
    int status = 1;
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "host_process_test", "with_defaults", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int set_up(void **unused) {
    (void)unused;
    return mkdtemp(dir) == NULL;
}

static int tear_down(void **unused) {
    (void)unused;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

int main(int argc, char **argv) {
    (void)argv;
    const struct CMUnitTest first[] = {cmocka_unit_test(with_defaults)},
                            tests[] = {cmocka_unit_test(with_defaults_in_another_process),
                                       cmocka_unit_test(with_own_settings)};
    return argc > 1 ? cmocka_run_group_tests(first, set_up, tear_down)
                    : cmocka_run_group_tests(tests, set_up, tear_down);
}
