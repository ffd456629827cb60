/* SPDX-License-Identifier: MIT
 * Computes the embeddings of the distinct training texts by the teachers in blocks, reads them from the cache or adds
 * them to it, and reports the progress.
 */
#include "train/teacher.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/distinct.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "model/fingerprint.h"
#include "train/teacher_cache.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 4096, /* texts of a block of the cache */
    CALL = 2048   /* texts per call of aoe_embed */
};

struct aoei_teacher_vectors {
    float *vector;            /* [distinct texts, dims] embeddings; owned; NULL: there is a cache */
    aoei_cached_block *block; /* [n_blocks] blocks of the cache; owned; NULL: there is no cache */
    size_t n_blocks;
};

/* State of the computation of the embeddings of one teacher. */
typedef struct teacher_job {
    aoei_teacher *t;               /* borrowed */
    aoei_teacher_model *model;     /* the teacher; borrowed */
    aoe_context *ctx;              /* context for computations and log messages; borrowed */
    aoe_embedder *embedder;        /* embedder that uses the teacher model; owned */
    aoe_text_info *info;           /* [CALL] information about each text of a call; owned */
    float *computed;               /* [BLOCK, dims] embeddings of a block that is not in the cache; owned */
    uint64_t key;                  /* hash of the teacher, with which the keys of blocks start */
    size_t embedded, total;        /* number of texts embedded or read so far, and number of texts of the job */
    size_t blocks;                 /* number of blocks so far, including those of other parts */
    size_t found;                  /* number of texts read from the cache */
    const aoe_training_args *args; /* event callback and tokens per batch; borrowed */
    double start;                  /* time of the start in seconds */
} teacher_job;

static int open_model(aoei_teacher_model *m, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err) {
    aoe_model_options o;
    m->dir = dir;
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    o.normalize = 0;
    const int code = aoe_model_open(&m->model, ctx, dir, &o, err);
    if (code) {
        aoei_error_prefix(err, "options.teachers");
        return code;
    }
    if (!aoe_model_tokenizer(m->model))
        return aoei_fail(
            err, AOE_ENOENT,
            "options.teachers: %s: the directory contains no tokenizer; add tokenizer.json, or vocab.txt with "
            "tokenizer_config.json",
            dir);
    m->dims = aoe_model_dims(m->model);
    return AOE_OK;
}

int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *const *dirs, aoe_dtype dtype, const char *cache,
                      aoe_error *err) {
    int code = AOE_OK;
    *t = (aoei_teacher){.cache = cache, .fingerprint = AOEI_HASH_START};
    for (size_t i = 0; i < AOE_MAX_TEACHERS && dirs[i] && !code; i++) {
        t->n++;
        code = open_model(&t->model[i], ctx, dirs[i], dtype, err);
        t->dims += t->model[i].dims;
    }
    /* nothing is created yet: if the path exists, aoei_make_dir only checks that it is a directory */
    if (!code && cache && (code = aoei_exists(cache) ? aoei_make_dir(cache, err) : aoei_check_writable_dir(cache, err)))
        aoei_error_prefix(err, "options.teacher_cache");
    return code;
}

/* ---------------------------------------------------------------- embedding */

/* Finds the distinct texts of a file. */
static int find_distinct(aoei_teacher_texts *t, const aoei_examples *e, aoe_error *err) {
    int code = AOE_OK;
    t->place = aoei_malloc_array(e->n_texts, sizeof *t->place);
    t->first = aoei_malloc_array(e->n_texts, sizeof *t->first);
    if (!t->place || !t->first)
        return aoei_fail_nomem(err, e->n_texts * sizeof *t->place);
    for (size_t i = 0; i < e->n_texts && !code; i++) {
        const size_t before = t->distinct.n;
        code = aoei_distinct_add(&t->distinct, e->text[i], 1, &t->place[i], err);
        if (t->distinct.n > before)
            t->first[before] = i;
    }
    return code;
}

/* Frees what is used only while the embeddings are computed. */
static void free_distinct(aoei_teacher_texts *t) {
    aoei_free(t->first);
    t->first = NULL;
    aoei_distinct_free(&t->distinct);
}

/* Reports an error of the embedder as "FILE:LINE: the teacher: MESSAGE". t: texts of the file. first: index of the
 * call's first text among the distinct texts. */
static int fail_text(const teacher_job *w, const aoei_examples *e, const aoei_teacher_texts *t, size_t first, int code,
                     const aoe_error *inner, aoe_error *err) {
    const size_t failed = aoe_embed_failed_text(w->embedder);
    if (failed == (size_t)-1)
        return aoei_fail(err, code, "options.teachers: %s", inner->message);
    return aoei_fail(err, code, "%s:%zu: the teacher: %s", e->name, aoei_examples_line(e, t->first[first + failed]),
                     inner->message);
}

/* Adds n texts to the number of embedded texts, and reports it. Errors: AOE_ECANCELLED if the event callback requested
 * to stop.
 */
static int count_texts(teacher_job *w, size_t n, aoe_error *err) {
    w->embedded += n;
    const double seconds = aoei_now() - w->start, computed = (double)(w->embedded - w->found);
    const aoe_objective_result loss = {.struct_size = sizeof loss};
    const aoe_train_event e = {.loss = &loss,
                               .struct_size = sizeof(aoe_train_event),
                               .kind = AOE_TRAIN_EMBED,
                               .accuracy = (double)NAN,
                               .score = (double)NAN,
                               .best_score = (double)NAN,
                               .texts = w->embedded,
                               .all_texts = w->total,
                               .seconds = seconds,
                               .seconds_left =
                                   computed > 0 ? seconds / computed * (double)(w->total - w->embedded) : (double)NAN,
                               .path = w->model->dir};
    return w->args->event && w->args->event(w->args->event_user, &e)
               ? aoei_fail(err, AOE_ECANCELLED, "stopped while %s embedded the training texts", w->model->dir)
               : AOE_OK;
}

/* Computes the embeddings of the distinct texts [first, first + n) of file f. vectors: [n, dims] receives the
 * embeddings. */
static int embed_texts(teacher_job *w, const aoei_examples *e, size_t f, size_t first, size_t n, float *vectors,
                       aoe_error *err) {
    const aoei_teacher_texts *t = &w->t->texts[f];
    for (size_t done = 0, texts; done < n; done += texts) {
        const size_t from = first + done;
        aoe_error inner = {0};
        texts = n - done < CALL ? n - done : CALL;
        const int code =
            aoe_embed(w->embedder, t->distinct.text + from, texts, vectors + done * w->model->dims, w->info, &inner);
        if (code)
            return fail_text(w, e, t, from, code, &inner, err);
        for (size_t i = 0; i < texts; i++)
            if (!w->info[i].tokens)
                return aoei_fail(
                    err, AOE_EFORMAT,
                    "%s:%zu: a text has no token in the teacher's vocabulary, so its embedding would be zero; "
                    "remove the row",
                    e->name, aoei_examples_line(e, t->first[from + i]));
        const int stopped = count_texts(w, texts, err);
        if (stopped)
            return stopped;
    }
    return AOE_OK;
}

/* Computes the embeddings of file f, which are kept in memory. */
static int embed_file(teacher_job *w, const aoei_examples *e, size_t f, aoe_error *err) {
    const size_t dims = w->model->dims, n = w->t->texts[f].distinct.n;
    aoei_teacher_vectors *v = &w->model->vectors[f];
    v->vector = aoei_malloc_array(n, dims * sizeof *v->vector);
    if (!v->vector)
        return aoei_fail(err, AOE_ENOMEM,
                         "%s: out of memory for the embeddings of %zu texts by the teacher; use fewer texts, or set "
                         "options.teacher_cache",
                         e->name, n);
    const int code = embed_texts(w, e, f, 0, n, v->vector, err);
    if (!code)
        w->t->fingerprint = aoei_hash(w->t->fingerprint, v->vector, n * dims * sizeof *v->vector);
    return code;
}

/* ------------------------------------------------------------------- cache */

/* Returns the key of a block: a hash of the teacher and of n texts. */
static uint64_t block_key(const teacher_job *w, const aoe_text *text, size_t n) {
    uint64_t key = w->key;
    for (size_t i = 0; i < n; i++) {
        key = aoei_hash(key, &text[i].len, sizeof text[i].len);
        key = aoei_hash(key, text[i].data, text[i].len);
    }
    return key;
}

/* Returns the number of texts in the block that starts with text `first` of n distinct texts. */
static size_t block_texts(size_t n, size_t first) {
    return n - first < BLOCK ? n - first : BLOCK;
}

/* Returns 1 if block number b of all files belongs to the part of the job, or if the work is not divided. */
static int owns_block(const teacher_job *w, size_t b) {
    return !w->t->part.n || b % w->t->part.n == w->t->part.i;
}

/* Returns the number of distinct texts of the job. */
static size_t job_texts(const teacher_job *w) {
    size_t texts = 0, b = 0;
    for (size_t f = 0; f < w->t->files; f++) {
        const size_t n = w->t->texts[f].distinct.n;
        for (size_t first = 0; first < n; first += BLOCK)
            texts += owns_block(w, b++) ? block_texts(n, first) : 0;
    }
    return texts;
}

/* Returns 1 if all blocks of the job are in the cache. */
static int all_cached(const teacher_job *w) {
    size_t b = 0;
    for (size_t f = 0; f < w->t->files; f++) {
        const aoei_distinct *d = &w->t->texts[f].distinct;
        for (size_t first = 0; first < d->n; first += BLOCK)
            if (owns_block(w, b++) &&
                !aoei_cached_block_exists(w->t->cache, block_key(w, d->text + first, block_texts(d->n, first))))
                return 0;
    }
    return 1;
}

/* Reads the block of n texts that starts with distinct text `first` of file f, or computes and writes it. */
static int embed_block(teacher_job *w, const aoei_examples *e, size_t f, size_t first, size_t n, aoe_error *err) {
    const size_t dims = w->model->dims;
    const uint64_t key = block_key(w, w->t->texts[f].distinct.text + first, n);
    aoei_cached_block *b = &w->model->vectors[f].block[first / BLOCK];
    w->t->fingerprint = aoei_hash(w->t->fingerprint, &key, sizeof key);
    int code = aoei_cached_block_open(b, w->t->cache, key, n, dims, err);
    if (code || b->file) {
        w->found += n;
        return code ? code : count_texts(w, n, err);
    }
    if (!w->computed)
        w->computed = aoei_malloc_array(BLOCK, dims * sizeof *w->computed);
    code = w->computed ? embed_texts(w, e, f, first, n, w->computed, err)
                       : aoei_fail_nomem(err, BLOCK * dims * sizeof *w->computed);
    if (!code)
        code = aoei_cached_block_write(w->t->cache, key, w->computed, n, dims, err);
    return code ? code : aoei_cached_block_open(b, w->t->cache, key, n, dims, err);
}

/* Reads or computes the embeddings of file f, which are stored in the cache. */
static int embed_file_cached(teacher_job *w, const aoei_examples *e, size_t f, aoe_error *err) {
    const size_t n = w->t->texts[f].distinct.n;
    aoei_teacher_vectors *v = &w->model->vectors[f];
    int code = AOE_OK;
    v->n_blocks = (n + BLOCK - 1) / BLOCK;
    v->block = aoei_calloc(v->n_blocks, sizeof *v->block);
    if (!v->block)
        return aoei_fail_nomem(err, v->n_blocks * sizeof *v->block);
    for (size_t first = 0; first < n && !code; first += BLOCK)
        if (owns_block(w, w->blocks++))
            code = embed_block(w, e, f, first, block_texts(n, first), err);
    return code;
}

/* ------------------------------------------------------------ all teachers */

/* Computes the embeddings of all files by one teacher, and closes its model. */
static int embed_all(teacher_job *w, const aoei_examples *files, aoe_error *err) {
    const aoei_teacher *t = w->t;
    const aoe_embedder_options o = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = w->args->batch_tokens, .threads = AOE_AUTO};
    int code = aoe_embedder_create(&w->embedder, w->model->model, &o, err);
    w->info = aoei_malloc_array(CALL, sizeof *w->info);
    w->model->vectors = aoei_calloc(t->files, sizeof *w->model->vectors);
    if (!code && !(w->info && w->model->vectors))
        code = aoei_fail_nomem(err, CALL * sizeof *w->info);
    if (!code && t->cache)
        code = aoei_model_hash_embedding(w->model->model, &w->key, err);
    const int reads = !code && t->cache && all_cached(w);
    if (!code)
        aoei_log_write(
            &w->ctx->log, AOE_LOG_INFO,
            reads ? "%s: reading the teacher's embeddings of %zu distinct texts, %zu components each, %.1f MB%s%s"
                  : "%s: embedding %zu distinct texts with the teacher, %zu components each, %.1f MB%s%s",
            w->model->dir, w->total, w->model->dims,
            (double)w->total * (double)w->model->dims * (double)(t->cache ? sizeof(aoei_bf16) : sizeof(float)) / 1e6,
            reads      ? " from "
            : t->cache ? " in "
                       : "",
            t->cache ? t->cache : "");
    for (size_t i = 0; i < t->files && !code; i++)
        code = t->cache ? embed_file_cached(w, &files[i], i, err) : embed_file(w, &files[i], i, err);
    if (!code && w->found && !reads)
        aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%s: %zu of %zu embeddings were in the cache", w->model->dir,
                       w->found, w->total);
    aoei_free(w->computed);
    aoei_free(w->info);
    aoe_embedder_destroy(w->embedder);
    aoe_model_close(w->model->model);
    w->model->model = NULL;
    return code;
}

int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoe_training_args *args, const aoei_examples *files,
                       size_t n, aoe_error *err) {
    t->files = n;
    int code = t->cache ? aoei_make_dir(t->cache, err) : AOE_OK;
    if (code)
        aoei_error_prefix(err, "options.teacher_cache");
    if (!code && !(t->texts = aoei_calloc(n, sizeof *t->texts)))
        code = aoei_fail_nomem(err, n * sizeof *t->texts);
    for (size_t i = 0; i < n && !code; i++)
        code = find_distinct(&t->texts[i], &files[i], err);
    for (size_t i = 0; i < t->n && !code; i++) {
        teacher_job w = {.t = t, .model = &t->model[i], .ctx = ctx, .args = args, .start = aoei_now()};
        w.total = job_texts(&w);
        code = embed_all(&w, files, err);
    }
    for (size_t i = 0; t->texts && i < n; i++)
        free_distinct(&t->texts[i]);
    return code;
}

/* Divides v[n] by its norm, unless the norm is 0. */
static void normalize(float *v, size_t n) {
    double square = 0;
    for (size_t k = 0; k < n; k++)
        square += (double)v[k] * (double)v[k];
    for (size_t k = 0; k < n && square > 0; k++)
        v[k] = (float)((double)v[k] / sqrt(square));
}

void aoei_teacher_read(const aoei_teacher *t, size_t file, size_t text, float *out) {
    const size_t place = t->texts[file].place[text];
    for (size_t i = 0; i < t->n; i++) {
        const aoei_teacher_model *m = &t->model[i];
        const aoei_teacher_vectors *v = &m->vectors[file];
        const aoei_bf16 *cached = v->block ? v->block[place / BLOCK].vector + place % BLOCK * m->dims : NULL;
        if (cached)
            for (size_t k = 0; k < m->dims; k++)
                out[k] = aoei_bf16_to_f32(cached[k]);
        else
            memcpy(out, v->vector + place * m->dims, m->dims * sizeof *out);
        if (t->n > 1)
            normalize(out, m->dims);
        out += m->dims;
    }
}

void aoei_teacher_destroy(aoei_teacher *t) {
    for (size_t i = 0; i < t->n; i++) {
        aoei_teacher_model *m = &t->model[i];
        aoe_model_close(m->model);
        for (size_t f = 0; m->vectors && f < t->files; f++) {
            for (size_t k = 0; m->vectors[f].block && k < m->vectors[f].n_blocks; k++)
                aoei_cached_block_close(&m->vectors[f].block[k]);
            aoei_free(m->vectors[f].block);
            aoei_free(m->vectors[f].vector);
        }
        aoei_free(m->vectors);
    }
    for (size_t f = 0; t->texts && f < t->files; f++) {
        aoei_free(t->texts[f].place);
        free_distinct(&t->texts[f]);
    }
    aoei_free(t->texts);
    *t = (aoei_teacher){0};
}
