/* SPDX-License-Identifier: MIT
 * The metrics of a server in the text format of Prometheus. Names, labels and buckets that begin with te_ are those of
 * text-embeddings-inference, so that its dashboards and alerts work. Any number of threads may count at the same time
 * without waiting. The numbers of one text are read one after another, so they may differ by the requests that end
 * meanwhile; the count of a histogram always equals its last bucket.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { AOEI_METRIC_LABELS = 7, AOEI_METRIC_BUCKETS = 35 }; /* maximum numbers of labels and of finite buckets */

typedef enum aoei_counter {
    AOEI_REQUEST_COUNT,   /* requests for embeddings or scores; label: aoei_method */
    AOEI_REQUEST_SUCCESS, /* answered without an error; label: aoei_method */
    AOEI_REQUEST_FAILURE, /* label: aoei_failure */
    AOEI_EMBED_COUNT,     /* texts to embed; the counters after the first three have the label 0 */
    AOEI_EMBED_SUCCESS,   /* embedded texts */
    AOEI_PREDICT_COUNT,   /* texts or pairs to score */
    AOEI_PREDICT_SUCCESS, /* scored texts or pairs */
    AOEI_TOKENS,          /* tokens computed by a model, with special tokens */
    AOEI_TRUNCATED,       /* truncated texts */
    AOEI_CACHE_HITS,      /* texts whose embedding was in the cache */
    AOEI_CACHE_MISSES,    /* texts whose embedding was computed */
    AOEI_N_COUNTERS
} aoei_counter;

/* Labels "method": the request has one text, or a list. */
typedef enum aoei_method { AOEI_SINGLE, AOEI_BATCH } aoei_method;

/* Labels "err" */
typedef enum aoei_failure {
    AOEI_FAILED_VALIDATION,
    AOEI_FAILED_BATCH_SIZE, /* too many texts */
    AOEI_FAILED_OVERLOADED,
    AOEI_FAILED_TOKENIZATION,
    AOEI_FAILED_INFERENCE,
    AOEI_FAILED_MODEL_TYPE,
    AOEI_FAILED_DROPPED /* the client closed the connection */
} aoei_failure;

/* Histograms. Durations are in seconds. */
typedef enum aoei_histogram {
    AOEI_REQUEST_DURATION, /* per request, until the answer is written; the next three are parts of it */
    AOEI_REQUEST_TOKENIZATION_DURATION,
    AOEI_REQUEST_QUEUE_DURATION,
    AOEI_REQUEST_INFERENCE_DURATION,
    AOEI_EMBED_DURATION, /* per text */
    AOEI_EMBED_TOKENIZATION_DURATION,
    AOEI_EMBED_QUEUE_DURATION,
    AOEI_EMBED_INFERENCE_DURATION,
    AOEI_PREDICT_DURATION, /* per text or pair */
    AOEI_PREDICT_TOKENIZATION_DURATION,
    AOEI_PREDICT_QUEUE_DURATION,
    AOEI_PREDICT_INFERENCE_DURATION,
    AOEI_REQUEST_INPUT_LENGTH, /* tokens of a text */
    AOEI_BATCH_NEXT_SIZE,      /* texts of a batch */
    AOEI_BATCH_NEXT_TOKENS,    /* tokens of a batch */
    AOEI_N_HISTOGRAMS
} aoei_histogram;

typedef enum aoei_gauge {
    AOEI_QUEUE_SIZE, /* texts that wait for a model */
    AOEI_N_GAUGES
} aoei_gauge;

typedef struct aoei_metrics {
    _Atomic uint64_t counter[AOEI_N_COUNTERS][AOEI_METRIC_LABELS];
    _Atomic uint64_t bucket[AOEI_N_HISTOGRAMS][AOEI_METRIC_BUCKETS + 1]; /* observations per bucket, not cumulated; the
                                                                            element after the finite buckets counts
                                                                            larger values */
    _Atomic uint64_t sum[AOEI_N_HISTOGRAMS]; /* sums of the observations: nanoseconds, tokens or texts */
    _Atomic int64_t gauge[AOEI_N_GAUGES];
    double duration[AOEI_METRIC_BUCKETS]; /* upper bounds of the buckets of durations, in seconds */
    size_t longest;                       /* maximum number of tokens of a text: AOEI_REQUEST_INPUT_LENGTH has no
                                             buckets above it; 0: unlimited */
    double start;                         /* time of aoei_metrics_init in seconds since 1970 */
} aoei_metrics;

/* Sets all numbers to 0. longest: maximum number of tokens of a text; 0: unlimited */
void aoei_metrics_init(aoei_metrics *m, size_t longest);
/* Adds 1 to a counter. label: an aoei_method or aoei_failure, or 0 for a counter without labels */
void aoei_metrics_count(aoei_metrics *m, aoei_counter counter, int label);
void aoei_metrics_add(aoei_metrics *m, aoei_counter counter, int label, uint64_t amount);
uint64_t aoei_metrics_value(const aoei_metrics *m, aoei_counter counter, int label);
/* Adds an observation to a histogram. value: seconds, tokens or texts; a negative value counts as 0 */
void aoei_metrics_observe(aoei_metrics *m, aoei_histogram histogram, double value);
/* Adds to a gauge, which may decrease. */
void aoei_metrics_gauge(aoei_metrics *m, aoei_gauge gauge, int64_t change);
/* Appends all metrics, and those of the process: memory, CPU time, open files and start. */
void aoei_metrics_text(const aoei_metrics *m, aoei_buffer *b);
