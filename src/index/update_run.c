/* SPDX-License-Identifier: MIT
 * Counts, commits, budget and messages of an update.
 */
#include "index/update_run.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"

#define REPORT_SECONDS 0.05
#define FLUSH_SECONDS  1.0 /* time between two writes of the queue, so that the program can be cancelled */
#define SAFETY         1.3 /* the budget assumes this multiple of the measured time, because passages overlap */

enum {
    FIRST_QUEUE = 64, /* passages in the queue before the rate is known */
    SMALLEST_QUEUE = 16,
    LARGEST_QUEUE = 1024,
    PASSAGE_BYTES = 1024, /* estimate for the size of a passage */
    PROBE_TEXTS = 4,      /* texts with which the rate is measured */
    PROBE_BYTES = 1024,   /* bytes of each */
    MESSAGES = 5          /* messages per reason; further files are only counted */
};
#define RECENT_NS ((int64_t)2000000000) /* FAT has the coarsest times of all file systems: 2 s */

static int on_flush(void *user, size_t passages, aoe_error *err) {
    aoei_update *u = user;
    u->flushing = passages;
    const int code = aoei_update_report(u, u->progress.file, 0, err);
    return u->may_drop ? code : 0; /* otherwise, the update ends after the flush */
}

int aoei_update_begin(aoei_update *u, aoe_index *index, const aoe_index_update_options *o,
                      aoe_index_update_result *result, aoe_error *err) {
    *u = (aoei_update){.index = index,
                       .o = o,
                       .result = result,
                       .before = aoei_write_counted(index),
                       .queue_limit = FIRST_QUEUE,
                       .progress = {.struct_size = sizeof u->progress}};
    u->started = u->committed = aoei_now();
    const int code = aoei_filters_init(&u->filters, o->filter, o->n_filters, err);
    if (code == 0 && o->progress) {
        index->on_flush = on_flush;
        index->on_flush_user = u;
    }
    return code;
}

/* ---------------------------------------------------------------------- messages */

/* Logs one line per missing program, with one of the files that were left out. Several rows can have the same program;
 * the first of them stands for all. */
static void log_missing_programs(aoei_update *u) {
    char files[PATH_MAX + 64];
    aoei_filter *row = u->filters.row;
    for (size_t i = 0; i < u->filters.n; i++) {
        size_t n = row[i].left_out;
        for (size_t k = i + 1; k < u->filters.n && n; k++)
            if (strcmp(row[k].argv[0], row[i].argv[0]) == 0) {
                n += row[k].left_out;
                row[k].left_out = 0;
            }
        if (!n)
            continue;
        const char *path = row[i].left_out_path ? row[i].left_out_path : "1 file";
        if (n == 1)
            (void)snprintf(files, sizeof files, "%s was left out", path);
        else
            (void)snprintf(files, sizeof files, "%zu files were left out, such as %s", n, path);
        if (row[i].package)
            aoei_log_write(&u->index->log, AOE_LOG_WARNING,
                           "%s, because the program %s is missing; install the Debian package %s", files,
                           row[i].argv[0], row[i].package);
        else
            aoei_log_write(&u->index->log, AOE_LOG_WARNING,
                           "%s, because the program %s is missing; install it in a folder of PATH outside the indexed "
                           "folder, or give its absolute path",
                           files, row[i].argv[0]);
    }
}

void aoei_update_skip(aoei_update *u, const char *folder, const char *path, aoei_skip skip, const char *why) {
    if (skip == AOEI_SKIP_BINARY)
        u->result->skipped_binary++;
    else if (skip == AOEI_SKIP_UNREADABLE)
        u->result->skipped_unreadable++;
    else
        u->result->skipped_other++;
    if (u->skipped[skip]++ < MESSAGES && skip != AOEI_SKIP_BINARY)
        aoei_log_write(&u->index->log, AOE_LOG_WARNING, "%s/%s %s%s%s; it was left out", folder, path,
                       aoei_skip_text(skip), why ? ": " : "", why ? why : "");
}

void aoei_update_skip_program(aoei_update *u, const char *folder, const char *path, const char *why) {
    u->result->skipped_program++;
    if (u->failed_programs++ < MESSAGES)
        aoei_log_write(&u->index->log, AOE_LOG_WARNING, "%s/%s was left out: %s", folder, path, why);
}

void aoei_update_lose_fields(aoei_update *u, const char *path, size_t n, size_t line) {
    if (n && !u->lost_files)
        (void)snprintf(u->lost_place, sizeof u->lost_place, "%.220s:%zu", path, line);
    u->lost_fields += n;
    u->lost_files += n > 0;
}

static void log_lost_fields(aoei_update *u) {
    if (u->lost_files)
        aoei_log_write(&u->index->log, AOE_LOG_INFO,
                       "front matter: %zu entr%s in %zu file%s did not become metadata, first %s; docs/search.md says "
                       "which forms are read",
                       u->lost_fields, u->lost_fields == 1 ? "y" : "ies", u->lost_files, u->lost_files == 1 ? "" : "s",
                       u->lost_place);
}

void aoei_update_end(aoei_update *u) {
    u->index->on_flush = NULL;
    const aoei_write_counts now = aoei_write_counted(u->index);
    u->result->added = now.added - u->before.added;
    u->result->changed = now.changed - u->before.changed;
    u->result->removed = now.removed - u->before.removed;
    u->result->unchanged += now.unchanged - u->before.unchanged;
    u->result->passages = now.passages - u->before.passages;
    u->result->reused = now.reused - u->before.reused;
    u->result->tokens = now.tokens - u->before.tokens;
    u->result->skipped_large = u->skipped[AOEI_SKIP_LARGE];
    u->result->skipped_special = u->skipped[AOEI_SKIP_SPECIAL];
    u->result->skipped_link = u->skipped[AOEI_SKIP_LINK];
    u->result->skipped_name = u->skipped[AOEI_SKIP_NAME];
    log_missing_programs(u);
    log_lost_fields(u);
    size_t more = u->failed_programs > MESSAGES ? u->failed_programs - MESSAGES : 0;
    for (size_t i = 0; i < AOEI_SKIP_KINDS; i++)
        if (i != AOEI_SKIP_BINARY && u->skipped[i] > MESSAGES)
            more += u->skipped[i] - MESSAGES;
    if (more)
        aoei_log_write(&u->index->log, AOE_LOG_WARNING, "%zu more file%s left out for the same reasons", more,
                       more == 1 ? " was" : "s were");
    aoei_filters_free(&u->filters);
}

/* ------------------------------------------------------------- progress and commits */

int aoei_update_report(aoei_update *u, const char *file, int now, aoe_error *err) {
    if (!u->o->progress || (!u->is_cancelled && !now && aoei_now() - u->reported < REPORT_SECONDS))
        return 0;
    u->reported = aoei_now();
    u->progress.passages = aoei_write_counted(u->index).passages - u->before.passages + u->flushing;
    u->progress.file = file;
    u->is_cancelled = u->is_cancelled || u->o->progress(u->o->user, &u->progress);
    return u->is_cancelled
               ? aoei_fail(err, AOE_ECANCELLED, "the update was cancelled; the finished files are in the index")
               : 0;
}

/* Adjusts the number of passages that are written together to the measured rate. */
static void adjust_queue(aoei_update *u, size_t passages, double seconds) {
    const double limit = seconds > 0 ? (double)passages * FLUSH_SECONDS / seconds : LARGEST_QUEUE;
    u->queue_limit = limit > LARGEST_QUEUE ? LARGEST_QUEUE : limit < SMALLEST_QUEUE ? SMALLEST_QUEUE : (size_t)limit;
}

static int flush(aoei_update *u, aoe_error *err) {
    const size_t passages = aoei_write_queued(u->index);
    const double start = aoei_now();
    const int code = aoei_write_flush(u->index, err);
    u->flushing = 0;
    const double seconds = aoei_now() - start;
    u->busy += seconds;
    if (passages)
        adjust_queue(u, passages, seconds);
    u->done_bytes += u->queued_bytes;
    u->queued_bytes = 0;
    return code;
}

int aoei_update_commit(aoei_update *u, aoe_error *err) {
    if (!u->changed)
        return 0;
    const int may_drop = u->may_drop;
    u->may_drop = 0;
    int code = flush(u, err);
    u->may_drop = may_drop;
    if (code == 0)
        code = aoei_write_commit_in_search(u->index, u->o->budget > 0, err);
    u->changed = 0;
    u->committed = aoei_now();
    return code;
}

int aoei_update_is_large(const aoei_update *u, uint64_t bytes) {
    return bytes / PASSAGE_BYTES > u->queue_limit;
}

int aoei_update_begin_large(aoei_update *u, uint64_t bytes, aoe_error *err) {
    const double seconds = (double)bytes / PASSAGE_BYTES / (double)u->queue_limit * FLUSH_SECONDS;
    const int is_late = aoei_now() - u->committed + seconds > u->o->commit_seconds;
    const int code = is_late ? aoei_update_commit(u, err) : flush(u, err);
    u->may_drop = 1;
    return code;
}

int aoei_update_write(aoei_update *u, const aoe_index_document *d, int64_t file, aoe_error *err) {
    const double start = aoei_now();
    u->changed = 1;
    int code = aoei_write_document(u->index, d, file, err);
    u->busy += aoei_now() - start;
    u->queued_bytes += d->text.len;
    if (code == 0 && aoei_write_queued(u->index) >= u->queue_limit)
        code = flush(u, err);
    if (code == 0 && aoei_now() - u->committed > u->o->commit_seconds)
        code = aoei_update_commit(u, err);
    return code;
}

/* ------------------------------------------------------------------------- budget */

int aoei_update_is_late(const aoei_update *u) {
    return u->o->budget > 0 && aoei_now() - u->started > u->o->budget;
}

/* Measures the seconds per byte with a sample. Returns 0 if it cannot be embedded. */
static double measure(aoe_embedder *e, aoe_text sample) {
    aoe_text texts[PROBE_TEXTS];
    size_t n = 0, bytes = 0;
    for (; n < PROBE_TEXTS && bytes < sample.len; n++) {
        size_t end = bytes + PROBE_BYTES < sample.len ? bytes + PROBE_BYTES : sample.len;
        while (end < sample.len && ((unsigned char)sample.data[end] & 0xc0) == 0x80)
            end++; /* characters are not divided */
        texts[n] = (aoe_text){sample.data + bytes, end - bytes};
        bytes = end;
    }
    float *vectors = n ? aoei_malloc_array(n * sizeof *vectors, aoe_embedder_dims(e)) : NULL;
    const double start = aoei_now();
    const int failed = !vectors || aoe_embed_documents(e, texts, n, vectors, NULL, NULL);
    const double seconds = aoei_now() - start;
    aoei_free(vectors);
    return failed ? 0 : seconds / (double)bytes;
}

int aoei_update_fits(aoei_update *u, uint64_t bytes, aoe_text sample) {
    if (!(u->o->budget > 0))
        return 1;
    if (!u->index->embedder)
        return !aoei_update_is_late(u);
    if (u->probe <= 0 && u->done_bytes == 0)
        u->probe = measure(u->index->embedder, sample);
    const double per_byte = u->done_bytes ? u->busy / (double)u->done_bytes : u->probe;
    const double more = per_byte * SAFETY * (double)(u->queued_bytes + bytes);
    return aoei_now() - u->started + more <= u->o->budget;
}

int aoei_update_is_recent(int64_t mtime_ns) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now))
        return 1;
    const int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    return mtime_ns > now_ns - RECENT_NS && mtime_ns < now_ns + RECENT_NS;
}
