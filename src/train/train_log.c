/* SPDX-License-Identifier: MIT
 * Writes the training log OUTPUT/train-log.jsonl: losses, learning rates and scores, one JSON object per line. The file
 * is flushed after each line. A resumed run removes the lines after its checkpoint. Therefore, its log equals the log
 * of an uninterrupted run, except for the times.
 */
#include "train/train_log.h"

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/io_fault.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/path.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct aoei_train_log {
    FILE *file;         /* open log file; owned */
    char *path;         /* path of the log file for messages; owned */
    const char *metric; /* name of the evaluation score; NULL: unknown; borrowed */
};

/* Appends lines of a log to `out`: all lines whose "step" is at most `step`, except lines of "done" events and an
 * incomplete last line. data: contents of the log, size bytes. */
static void keep_lines(aoei_buffer *out, const char *data, size_t size, uint64_t step) {
    for (size_t at = 0; at < size;) {
        const char *end = memchr(data + at, '\n', size - at);
        if (!end)
            return;
        const size_t len = (size_t)(end - (data + at)) + 1;
        json_error_t error;
        int no_memory = 0;
        json_t *o = aoei_json_decode(data + at, len, 0, &error, &no_memory);
        if (no_memory)
            out->failed = 1;
        const json_t *s = json_object_get(o, "step");
        const char *event = json_string_value(json_object_get(o, "event"));
        if (json_is_integer(s) && (uint64_t)json_integer_value(s) <= step && event && strcmp(event, "done") != 0)
            aoei_buffer_append(out, data + at, len);
        json_decref(o);
        at += len;
    }
}

/* Removes all lines with a step above `step` from the log file. Does nothing if the file does not exist. */
static int remove_later_lines(const char *path, uint64_t step, aoe_error *err) {
    char *data = NULL;
    size_t size = 0;
    aoei_buffer kept = {0};
    if (!aoei_exists(path))
        return AOE_OK;
    int code = aoei_read_file(&data, &size, path, 0, err);
    if (code)
        return code;
    keep_lines(&kept, data, size, step);
    if (kept.failed)
        code = aoei_fail_nomem(err, size);
    else
        code = aoei_write_file(path, kept.data ? kept.data : "", kept.len, err);
    aoei_buffer_free(&kept);
    aoei_free(data);
    return code;
}

int aoei_train_log_open(aoei_train_log **out, const char *output, int resume, uint64_t step, const char *metric,
                        aoe_error *err) {
    *out = NULL;
    aoei_train_log *log = aoei_calloc(1, sizeof *log);
    if (!log)
        return aoei_fail_nomem(err, sizeof *log);
    int code = AOE_OK;
    log->metric = metric;
    log->path = aoei_path_join(output, "train-log.jsonl");
    if (!log->path)
        code = aoei_fail_nomem(err, 0);
    if (!code && resume && step > 0)
        code = remove_later_lines(log->path, step, err);
    if (!code) {
        log->file = aoei_io_step() ? NULL : fopen(log->path, resume && step > 0 ? "ab" : "wb");
        if (!log->file)
            code = aoei_fail_errno(err, errno, "cannot write %s", log->path);
    }
    if (code) {
        aoei_train_log_close(log);
        return code;
    }
    *out = log;
    return AOE_OK;
}

static const char *const kind_names[] = {"start", "step", "eval", "checkpoint", "done", "embed"};

static int set_real(json_t *o, const char *key, double v) {
    return isfinite(v) ? json_object_set_new(o, key, json_real(v)) : 0;
}

static int set_integer(json_t *o, const char *key, size_t v) {
    return json_object_set_new(o, key, json_integer((json_int_t)v));
}

/* Returns an event as a JSON object, or NULL if out of memory. metric: see aoei_train_log_open. */
static json_t *event_json(const aoe_train_event *e, const char *metric) {
    json_t *o = json_object();
    int bad = !o;
    bad |= json_object_set_new(o, "event", json_string(kind_names[e->kind]));
    bad |= set_integer(o, "step", e->step);
    bad |= set_integer(o, "steps", e->steps);
    bad |= set_real(o, "epoch", e->epoch);
    if (e->kind == AOE_TRAIN_START) {
        bad |= set_integer(o, "pairs", e->pairs);
        if (e->unused_rows)
            bad |= set_integer(o, "unused_rows", e->unused_rows);
        bad |= set_real(o, "ibn_threshold", e->ibn_threshold);
        if (metric)
            bad |= json_object_set_new(o, "metric", json_string(metric));
    }
    if (e->kind == AOE_TRAIN_STEP) {
        bad |= set_integer(o, "examples", e->examples);
        bad |= set_real(o, "loss", e->loss->total);
        bad |= set_real(o, "cosine", e->loss->cosine);
        bad |= set_real(o, "ibn", e->loss->ibn);
        bad |= set_real(o, "angle", e->loss->angle);
        bad |= set_real(o, "contrastive", e->loss->contrastive);
        bad |= set_real(o, "classification", e->loss->classification);
        bad |= set_real(o, "regression", e->loss->regression);
        bad |= set_real(o, "teacher", e->loss->teacher);
        if (e->loss->layers > 0)
            bad |= set_real(o, "layers", e->loss->layers);
        if (e->loss->detection > 0)
            bad |= set_real(o, "detection", e->loss->detection);
        if (e->loss->vectors > 0 || e->loss->similarities > 0) {
            bad |= set_real(o, "vectors", e->loss->vectors);
            bad |= set_real(o, "similarities", e->loss->similarities);
        }
        if (e->loss->negatives)
            bad |= set_real(o, "left_out", (double)e->loss->left_out / (double)e->loss->negatives);
        bad |= set_real(o, "accuracy", e->accuracy);
        bad |= set_real(o, "lr", e->lr);
        bad |= set_real(o, "grad_norm", e->grad_norm);
        bad |= set_real(o, "tokens_per_second", e->tokens_per_second);
    }
    if (e->kind == AOE_TRAIN_EVAL || e->kind == AOE_TRAIN_DONE) {
        bad |= set_real(o, "score", e->score);
        bad |= set_real(o, "best_score", e->best_score);
        bad |= set_integer(o, "best_step", e->best_step);
    }
    if (e->kind == AOE_TRAIN_DONE) {
        bad |= set_real(o, "start_score", e->start_score);
        bad |= set_real(o, "trained_score", e->trained_score);
    }
    bad |= set_real(o, "seconds", e->seconds);
    if (!bad)
        return o;
    json_decref(o);
    return NULL;
}

int aoei_train_log_write(aoei_train_log *log, const aoe_train_event *e, aoe_error *err) {
    json_t *o = event_json(e, log->metric);
    aoei_buffer line = {0};
    int code = AOE_OK;
    if (aoei_json_append(&line, o, JSON_COMPACT | JSON_REAL_PRECISION(9)) || aoei_buffer_putc(&line, '\n'))
        code = aoei_fail_nomem(err, line.len);
    else if (aoei_io_step() || fwrite(line.data, 1, line.len, log->file) != line.len || fflush(log->file))
        code = aoei_fail_errno(err, errno, "cannot write %s", log->path);
    aoei_buffer_free(&line);
    json_decref(o);
    return code;
}

void aoei_train_log_close(aoei_train_log *log) {
    if (!log)
        return;
    if (log->file)
        fclose(log->file);
    aoei_free(log->path);
    aoei_free(log);
}
