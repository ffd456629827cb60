/* SPDX-License-Identifier: MIT
 * Counts events and writes the counts. All atomic operations are relaxed, because no number protects other memory. Sums
 * of durations are integers of nanoseconds, so that they can be added atomically; they overflow after 584 years.
 */
#include "serve/metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "serve/float_text.h"

#define NANOSECONDS 1e9

enum { INPUT_BUCKETS = 20, SIZE_BUCKETS = 13, TOKEN_BUCKETS = 21 }; /* buckets of powers of two */

typedef struct counter_info {
    const char *name, *help;
    const char *label;                      /* name of the label; NULL: none */
    const char *values[AOEI_METRIC_LABELS]; /* values of the label, until NULL */
} counter_info;

static const counter_info counters[AOEI_N_COUNTERS] = {
    [AOEI_REQUEST_COUNT] = {"te_request_count", "Requests for embeddings or scores.", "method", {"single", "batch"}},
    [AOEI_REQUEST_SUCCESS] = {"te_request_success", "Requests that were answered.", "method", {"single", "batch"}},
    [AOEI_REQUEST_FAILURE] = {"te_request_failure",
                              "Requests that failed.",
                              "err",
                              {"validation", "batch_size", "overloaded", "tokenization", "inference", "model_type",
                               "dropped"}},
    [AOEI_EMBED_COUNT] = {"te_embed_count", "Texts to embed.", NULL, {0}},
    [AOEI_EMBED_SUCCESS] = {"te_embed_success", "Texts that were embedded.", NULL, {0}},
    [AOEI_PREDICT_COUNT] = {"te_predict_count", "Texts or pairs to score.", NULL, {0}},
    [AOEI_PREDICT_SUCCESS] = {"te_predict_success", "Texts or pairs that were scored.", NULL, {0}},
    [AOEI_TOKENS] = {"aoe_tokens_total", "Tokens that the models computed.", NULL, {0}},
    [AOEI_TRUNCATED] = {"aoe_truncated_total", "Texts that were truncated.", NULL, {0}},
    [AOEI_CACHE_HITS] = {"aoe_cache_hits_total", "Texts whose embedding was in the cache.", NULL, {0}},
    [AOEI_CACHE_MISSES] = {"aoe_cache_misses_total", "Texts whose embedding was not in the cache.", NULL, {0}},
};

/* Histograms without buckets of their own are durations. */
static const struct {
    const char *name, *help;
    size_t powers; /* number of buckets 1, 2, 4, ...; 0: the buckets of durations */
} histograms[AOEI_N_HISTOGRAMS] = {
    [AOEI_REQUEST_DURATION] = {"te_request_duration", "Seconds from a request to its answer.", 0},
    [AOEI_REQUEST_TOKENIZATION_DURATION] = {"te_request_tokenization_duration",
                                            "Seconds in which the texts of a request were tokenized.", 0},
    [AOEI_REQUEST_QUEUE_DURATION] = {"te_request_queue_duration", "Seconds in which a request waited for a model.", 0},
    [AOEI_REQUEST_INFERENCE_DURATION] = {"te_request_inference_duration",
                                         "Seconds in which a model computed a request.", 0},
    [AOEI_EMBED_DURATION] = {"te_embed_duration", "Seconds from a text to its embedding.", 0},
    [AOEI_EMBED_TOKENIZATION_DURATION] = {"te_embed_tokenization_duration",
                                          "Seconds in which a text to embed was tokenized.", 0},
    [AOEI_EMBED_QUEUE_DURATION] = {"te_embed_queue_duration", "Seconds in which a text to embed waited for a model.",
                                   0},
    [AOEI_EMBED_INFERENCE_DURATION] = {"te_embed_inference_duration", "Seconds in which a model embedded a text.", 0},
    [AOEI_PREDICT_DURATION] = {"te_predict_duration", "Seconds from a text or pair to its score.", 0},
    [AOEI_PREDICT_TOKENIZATION_DURATION] = {"te_predict_tokenization_duration",
                                            "Seconds in which a text or pair to score was tokenized.", 0},
    [AOEI_PREDICT_QUEUE_DURATION] = {"te_predict_queue_duration",
                                     "Seconds in which a text or pair to score waited for a model.", 0},
    [AOEI_PREDICT_INFERENCE_DURATION] = {"te_predict_inference_duration",
                                         "Seconds in which a model scored a text or pair.", 0},
    [AOEI_REQUEST_INPUT_LENGTH] = {"te_request_input_length", "Tokens of a text.", INPUT_BUCKETS},
    [AOEI_BATCH_NEXT_SIZE] = {"te_batch_next_size", "Texts of a batch.", SIZE_BUCKETS},
    [AOEI_BATCH_NEXT_TOKENS] = {"te_batch_next_tokens", "Tokens of a batch.", TOKEN_BUCKETS},
};

static const struct {
    const char *name, *help;
} gauges[AOEI_N_GAUGES] = {[AOEI_QUEUE_SIZE] = {"te_queue_size", "Texts that wait for a model."}};

static void add(_Atomic uint64_t *to, uint64_t amount) {
    atomic_fetch_add_explicit(to, amount, memory_order_relaxed);
}

static uint64_t value(const _Atomic uint64_t *from) {
    return atomic_load_explicit(from, memory_order_relaxed);
}

/* --------------------------------------------------------------- counting */

void aoei_metrics_init(aoei_metrics *m, size_t longest) {
    struct timespec now;
    double bound = 1e-5;
    memset(m, 0, sizeof *m);
    m->longest = longest;
    for (size_t i = 0; i < AOEI_METRIC_BUCKETS; i++)
        m->duration[i] = bound *= 1.5;
    clock_gettime(CLOCK_REALTIME, &now);
    m->start = (double)now.tv_sec + (double)now.tv_nsec / NANOSECONDS;
}

void aoei_metrics_add(aoei_metrics *m, aoei_counter counter, int label, uint64_t amount) {
    add(&m->counter[counter][label], amount);
}

void aoei_metrics_count(aoei_metrics *m, aoei_counter counter, int label) {
    add(&m->counter[counter][label], 1);
}

uint64_t aoei_metrics_value(const aoei_metrics *m, aoei_counter counter, int label) {
    return value(&m->counter[counter][label]);
}

void aoei_metrics_gauge(aoei_metrics *m, aoei_gauge gauge, int64_t change) {
    atomic_fetch_add_explicit(&m->gauge[gauge], change, memory_order_relaxed);
}

/* Returns the number of finite buckets of a histogram. */
static size_t n_buckets(const aoei_metrics *m, aoei_histogram h) {
    size_t n = histograms[h].powers;
    if (!n)
        return AOEI_METRIC_BUCKETS;
    while (h == AOEI_REQUEST_INPUT_LENGTH && m->longest && n > 1 && (size_t)1 << (n - 1) > m->longest)
        n--;
    return n;
}

void aoei_metrics_observe(aoei_metrics *m, aoei_histogram h, double observed) {
    const int is_duration = !histograms[h].powers;
    const size_t n = n_buckets(m, h);
    const double x = observed > 0 && observed < 1e9 ? observed : observed > 0 ? 1e9 : 0;
    size_t i = 0;
    while (i < n && x > (is_duration ? m->duration[i] : (double)((uint64_t)1 << i)))
        i++;
    add(&m->bucket[h][i], 1);
    add(&m->sum[h], (uint64_t)llrint(is_duration ? x * NANOSECONDS : x));
}

/* ------------------------------------------------------------------- text */

static void put_head(aoei_buffer *b, const char *name, const char *help, const char *type) {
    (void)aoei_buffer_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_number(aoei_buffer *b, double number) {
    char text[AOEI_DOUBLE_BYTES];
    (void)aoei_buffer_append(b, text, aoei_double_text(text, number));
}

static void put_counter(const aoei_metrics *m, aoei_counter c, aoei_buffer *b) {
    const counter_info *info = counters + c;
    put_head(b, info->name, info->help, "counter");
    if (!info->label)
        (void)aoei_buffer_printf(b, "%s %llu\n", info->name, (unsigned long long)value(&m->counter[c][0]));
    for (size_t i = 0; info->label && i < AOEI_METRIC_LABELS && info->values[i]; i++)
        (void)aoei_buffer_printf(b, "%s{%s=\"%s\"} %llu\n", info->name, info->label, info->values[i],
                                 (unsigned long long)value(&m->counter[c][i]));
}

static void put_histogram(const aoei_metrics *m, aoei_histogram h, aoei_buffer *b) {
    const char *name = histograms[h].name;
    const int is_duration = !histograms[h].powers;
    const size_t n = n_buckets(m, h);
    const uint64_t sum = value(&m->sum[h]);
    uint64_t count = 0;
    put_head(b, name, histograms[h].help, "histogram");
    for (size_t i = 0; i < n; i++) {
        count += value(&m->bucket[h][i]);
        (void)aoei_buffer_printf(b, "%s_bucket{le=\"", name);
        if (is_duration)
            put_number(b, m->duration[i]);
        else
            (void)aoei_buffer_printf(b, "%llu", 1ULL << i);
        (void)aoei_buffer_printf(b, "\"} %llu\n", (unsigned long long)count);
    }
    count += value(&m->bucket[h][n]);
    (void)aoei_buffer_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", name, (unsigned long long)count, name);
    if (is_duration)
        (void)aoei_buffer_printf(b, "%llu.%09llu", (unsigned long long)(sum / 1000000000),
                                 (unsigned long long)(sum % 1000000000));
    else
        (void)aoei_buffer_printf(b, "%llu", (unsigned long long)sum);
    (void)aoei_buffer_printf(b, "\n%s_count %llu\n", name, (unsigned long long)count);
}

/* Returns the resident memory of this process in bytes, or 0 if it is unknown. */
static uint64_t resident_bytes(void) {
    char *text = NULL;
    size_t size = 0;
    uint64_t bytes = 0;
    if (!aoei_read_file(&text, &size, "/proc/self/statm", 0, NULL)) {
        char *end = NULL;
        (void)strtoull(text, &end, 10); /* virtual pages */
        bytes = strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    aoei_free(text);
    return bytes;
}

/* Returns the number of open files of this process, or 0 if it is unknown. */
static uint64_t open_files(void) {
    DIR *dir = opendir("/proc/self/fd");
    uint64_t n = 0;
    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n > 3 ? n - 3 : 0; /* without ".", ".." and the directory itself */
}

static void put_process(const aoei_metrics *m, aoei_buffer *b) {
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    put_head(b, "process_cpu_seconds_total", "CPU time of the process in seconds.", "counter");
    (void)aoei_buffer_printf(b, "process_cpu_seconds_total %lld.%09ld\n", (long long)cpu.tv_sec, cpu.tv_nsec);
    put_head(b, "process_open_fds", "Open file descriptors of the process.", "gauge");
    (void)aoei_buffer_printf(b, "process_open_fds %llu\n", (unsigned long long)open_files());
    put_head(b, "process_resident_memory_bytes", "Resident memory of the process in bytes.", "gauge");
    (void)aoei_buffer_printf(b, "process_resident_memory_bytes %llu\n", (unsigned long long)resident_bytes());
    put_head(b, "process_start_time_seconds", "Start of the server in seconds since 1970.", "gauge");
    (void)aoei_buffer_printf(b, "process_start_time_seconds ");
    put_number(b, m->start);
    (void)aoei_buffer_putc(b, '\n');
}

void aoei_metrics_text(const aoei_metrics *m, aoei_buffer *b) {
    for (size_t i = 0; i < AOEI_N_COUNTERS; i++)
        put_counter(m, (aoei_counter)i, b);
    for (size_t i = 0; i < AOEI_N_GAUGES; i++) {
        put_head(b, gauges[i].name, gauges[i].help, "gauge");
        (void)aoei_buffer_printf(b, "%s %lld\n", gauges[i].name,
                                 (long long)atomic_load_explicit(&m->gauge[i], memory_order_relaxed));
    }
    for (size_t i = 0; i < AOEI_N_HISTOGRAMS; i++)
        put_histogram(m, (aoei_histogram)i, b);
    put_process(m, b);
}
