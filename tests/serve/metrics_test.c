/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the metrics: the complete text is parsed with the rules of the text format of Prometheus, histograms are
 * compared with their observations, and several threads count at the same time.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "serve/metrics.h"

static aoei_metrics m;
static aoei_buffer b;

static int tear_down(void **state) {
    (void)state;
    aoei_buffer_free(&b);
    return 0;
}

static void write_text(void) {
    aoei_buffer_clear(&b);
    aoei_metrics_text(&m, &b);
    assert_int_equal(b.failed, 0);
}

/* Returns the value of a sample, such as te_embed_count or te_request_count{method="batch"}. */
static double sample(const char *name) {
    const size_t n = strlen(name);
    for (const char *s = b.data; s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
        if (!strncmp(s, name, n) && s[n] == ' ')
            return strtod(s + n + 1, NULL);
    fail_msg("there is no sample %s", name);
    return 0;
}

static void assert_sample(const char *name, double want) {
    const double is = sample(name);
    if (is < want || is > want)
        fail_msg("%s is %.17g instead of %.17g", name, is, want);
}

static void test_counters(void **state) {
    (void)state;
    aoei_metrics_init(&m, 512);
    aoei_metrics_count(&m, AOEI_REQUEST_COUNT, AOEI_SINGLE);
    aoei_metrics_count(&m, AOEI_REQUEST_COUNT, AOEI_BATCH);
    aoei_metrics_count(&m, AOEI_REQUEST_COUNT, AOEI_BATCH);
    aoei_metrics_count(&m, AOEI_REQUEST_FAILURE, AOEI_FAILED_DROPPED);
    aoei_metrics_add(&m, AOEI_TOKENS, 0, 123456789012345);
    aoei_metrics_gauge(&m, AOEI_QUEUE_SIZE, 7);
    aoei_metrics_gauge(&m, AOEI_QUEUE_SIZE, -2);
    assert_int_equal(aoei_metrics_value(&m, AOEI_REQUEST_COUNT, AOEI_BATCH), 2);
    write_text();
    assert_sample("te_request_count{method=\"single\"}", 1);
    assert_sample("te_request_count{method=\"batch\"}", 2);
    assert_sample("te_request_success{method=\"batch\"}", 0);
    assert_sample("te_request_failure{err=\"dropped\"}", 1);
    assert_sample("te_request_failure{err=\"validation\"}", 0);
    assert_sample("te_embed_count", 0);
    assert_sample("te_queue_size", 5);
    assert_sample("aoe_tokens_total", 123456789012345);
    assert_sample("aoe_truncated_total", 0);
    assert_sample("aoe_cache_hits_total", 0);
    assert_sample("aoe_cache_misses_total", 0);
}

static void test_durations(void **state) {
    (void)state;
    aoei_metrics_init(&m, 512);
    const double seconds[] = {1e-6, 1.4e-5, 0.0015, 2, 100, -1, NAN};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        aoei_metrics_observe(&m, AOEI_REQUEST_DURATION, seconds[i]);
    write_text();
    assert_sample("te_request_duration_count", 7);
    assert_sample("te_request_duration_sum", 102.001515);
    assert_sample("te_request_duration_bucket{le=\"+Inf\"}", 7);
    double bound = 0.00001;
    static const char bucket[] = "te_request_duration_bucket{le=\"";
    const char *s = strstr(b.data, bucket);
    for (int i = 0; i < 35; i++, s = strchr(s, '\n') + 1) {
        char *end;
        double want = 0;
        bound *= 1.5;
        for (size_t j = 0; j < sizeof seconds / sizeof *seconds; j++)
            want += !(seconds[j] > bound);
        assert_memory_equal(s, bucket, sizeof bucket - 1);
        const double le = strtod(s + sizeof bucket - 1, &end), count = strtod(end + 3, NULL);
        assert_true(!memcmp(&le, &bound, sizeof le) && !memcmp(&count, &want, sizeof count));
    }
    assert_non_null(strstr(b.data, "{le=\"0.000015000000000000002\"} 4\n")); /* as text-embeddings-inference does */
    assert_sample("te_embed_duration_count", 0);
}

static void test_lengths(void **state) {
    (void)state;
    aoei_metrics_init(&m, 512);
    const double tokens[] = {1, 2, 3, 512, 513};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        aoei_metrics_observe(&m, AOEI_REQUEST_INPUT_LENGTH, tokens[i]);
        aoei_metrics_observe(&m, AOEI_BATCH_NEXT_TOKENS, tokens[i]);
    }
    write_text();
    assert_sample("te_request_input_length_bucket{le=\"1\"}", 1);
    assert_sample("te_request_input_length_bucket{le=\"2\"}", 2);
    assert_sample("te_request_input_length_bucket{le=\"4\"}", 3);
    assert_sample("te_request_input_length_bucket{le=\"512\"}", 4);
    assert_sample("te_request_input_length_bucket{le=\"+Inf\"}", 5);
    assert_sample("te_request_input_length_sum", 1031);
    assert_null(strstr(b.data, "te_request_input_length_bucket{le=\"1024\"}"));
    assert_sample("te_batch_next_tokens_bucket{le=\"1048576\"}", 5);
    assert_sample("te_batch_next_size_bucket{le=\"4096\"}", 0);
    assert_null(strstr(b.data, "te_batch_next_size_bucket{le=\"8192\"}"));
}

/* Every metric has one line HELP and one line TYPE before its samples, and every line is a valid sample. */
static void test_format(void **state) {
    (void)state;
    aoei_metrics_init(&m, 0);
    write_text();
    char metric[80] = "", type[16] = "";
    size_t metrics = 0;
    assert_int_equal(b.data[b.len - 1], '\n');
    for (char *line = b.data, *end; *line; line = end + 1) {
        char name[80] = "", word[80];
        end = strchr(line, '\n');
        *end = 0;
        if (!strncmp(line, "# HELP ", 7)) {
            assert_int_equal(sscanf(line, "# HELP %79s %79s", metric, word), 2);
            assert_int_equal(end[-1], '.');
            line = end + 1;
            end = strchr(line, '\n');
            *end = 0;
            assert_int_equal(sscanf(line, "# TYPE %79s %15s", name, type), 2);
            assert_string_equal(name, metric);
            metrics++;
            continue;
        }
        assert_int_equal(sscanf(line, "%79[a-z_]", name), 1);
        assert_true(!strncmp(name, metric, strlen(metric)));
        if (!strcmp(type, "histogram"))
            assert_true(!strcmp(name + strlen(metric), "_bucket") || !strcmp(name + strlen(metric), "_sum") ||
                        !strcmp(name + strlen(metric), "_count"));
        else
            assert_string_equal(name, metric);
        char *rest;
        assert_true(strtod(strrchr(line, ' '), &rest) >= 0 && !*rest);
    }
    assert_int_equal(metrics, AOEI_N_COUNTERS + AOEI_N_GAUGES + AOEI_N_HISTOGRAMS + 4);
}

static void test_process(void **state) {
    (void)state;
    aoei_metrics_init(&m, 0);
    write_text();
    const double files = sample("process_open_fds");
    assert_true(files >= 3);
    assert_true(sample("process_resident_memory_bytes") > 1e6 && sample("process_cpu_seconds_total") > 0);
    assert_true(sample("process_start_time_seconds") > 1.6e9);
    FILE *f = fopen("/dev/null", "r");
    assert_non_null(f);
    write_text();
    assert_sample("process_open_fds", files + 1);
    fclose(f);
}

enum { THREADS = 4, EVENTS = 20000 };

static void *count(void *arg) {
    (void)arg;
    for (int i = 0; i < EVENTS; i++) {
        aoei_metrics_count(&m, AOEI_EMBED_COUNT, 0);
        aoei_metrics_observe(&m, AOEI_EMBED_DURATION, 0.5);
        aoei_metrics_gauge(&m, AOEI_QUEUE_SIZE, i % 2 ? -1 : 1);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    aoei_metrics_init(&m, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(thread + i, NULL, count, NULL), 0);
    write_text();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    write_text();
    assert_sample("te_embed_count", THREADS * EVENTS);
    assert_sample("te_embed_duration_count", THREADS * EVENTS);
    assert_sample("te_embed_duration_sum", THREADS * EVENTS / 2.0);
    assert_sample("te_queue_size", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters), cmocka_unit_test(test_durations), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_format),   cmocka_unit_test(test_process),   cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
