/* SPDX-License-Identifier: MIT
 * Computes the embeddings of all training texts by the teachers in blocks, reads them from the cache or adds them to it, and
 * reports the progress.
 */
#include "train/teacher.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/dir.h"
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
    float *vector;            /* [texts, dims] embeddings; owned; NULL: there is a cache */
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
    size_t embedded, total;        /* number of texts embedded or read so far, and number of texts in all files */
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
            "options.teachers: %s: the directory contains no tokenizer; add tokenizer.json, or vocab.txt with tokenizer_config.json",
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

/* Reports an error of the embedder as "FILE:LINE: the teacher: MESSAGE". first: index of the call's first text in the file. */
static int fail_text(const teacher_job *w, const aoei_examples *e, size_t first, int code, const aoe_error *inner,
                     aoe_error *err) {
    const size_t failed = aoe_embed_failed_text(w->embedder);
    if (failed == (size_t)-1)
        return aoei_fail(err, code, "options.teachers: %s", inner->message);
    return aoei_fail(err, code, "%s:%zu: the teacher: %s", e->name, aoei_examples_line(e, first + failed), inner->message);
}

/* Adds n texts to the number of embedded texts, and reports it. Errors: AOE_ECANCELLED if the event callback requested to stop.
 */
static int count_texts(teacher_job *w, size_t n, aoe_error *err) {
    w->embedded += n;
    const double seconds = aoei_now() - w->start, computed = (double)(w->embedded - w->found);
    const aoe_train_event e = {.kind = AOE_TRAIN_EMBED,
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

/* Computes the embeddings of the texts [first, first + n) of a file. vectors: [n, dims] receives the embeddings. */
static int embed_texts(teacher_job *w, const aoei_examples *e, size_t first, size_t n, float *vectors, aoe_error *err) {
    for (size_t done = 0, texts; done < n; done += texts) {
        const size_t from = first + done;
        aoe_error inner = {0};
        texts = n - done < CALL ? n - done : CALL;
        const int code = aoe_embed(w->embedder, e->text + from, texts, vectors + done * w->model->dims, w->info, &inner);
        if (code)
            return fail_text(w, e, from, code, &inner, err);
        for (size_t i = 0; i < texts; i++)
            if (!w->info[i].tokens)
                return aoei_fail(
                    err, AOE_EFORMAT,
                    "%s:%zu: a text has no token in the teacher's vocabulary, so its embedding would be zero; remove the row",
                    e->name, aoei_examples_line(e, from + i));
        const int stopped = count_texts(w, texts, err);
        if (stopped)
            return stopped;
    }
    return AOE_OK;
}

static int embed_file(teacher_job *w, const aoei_examples *e, aoei_teacher_vectors *v, aoe_error *err) {
    const size_t dims = w->model->dims;
    v->vector = aoei_malloc_array(e->n_texts, dims * sizeof *v->vector);
    if (!v->vector)
        return aoei_fail(err, AOE_ENOMEM,
                         "%s: out of memory for the embeddings of %zu texts by the teacher; use fewer texts, or set "
                         "options.teacher_cache",
                         e->name, e->n_texts);
    const int code = embed_texts(w, e, 0, e->n_texts, v->vector, err);
    if (!code)
        w->t->fingerprint = aoei_hash(w->t->fingerprint, v->vector, e->n_texts * dims * sizeof *v->vector);
    return code;
}

/* ------------------------------------------------------------------- cache */

/* Returns the key of a block: a hash of the teacher and of the texts [first, first + n). */
static uint64_t block_key(const teacher_job *w, const aoei_examples *e, size_t first, size_t n) {
    uint64_t key = w->key;
    for (size_t i = first; i < first + n; i++) {
        key = aoei_hash(key, &e->text[i].len, sizeof e->text[i].len);
        key = aoei_hash(key, e->text[i].data, e->text[i].len);
    }
    return key;
}

static size_t block_texts(const aoei_examples *e, size_t first) {
    return e->n_texts - first < BLOCK ? e->n_texts - first : BLOCK;
}

/* Returns 1 if all blocks are in the cache. */
static int all_cached(const teacher_job *w, const aoei_examples *files) {
    for (size_t i = 0; i < w->t->files; i++)
        for (size_t first = 0; first < files[i].n_texts; first += BLOCK)
            if (!aoei_cached_block_exists(w->t->cache, block_key(w, &files[i], first, block_texts(&files[i], first))))
                return 0;
    return 1;
}

static int embed_block(teacher_job *w, const aoei_examples *e, size_t first, size_t n, aoei_cached_block *b, aoe_error *err) {
    const size_t dims = w->model->dims;
    const uint64_t key = block_key(w, e, first, n);
    w->t->fingerprint = aoei_hash(w->t->fingerprint, &key, sizeof key);
    int code = aoei_cached_block_open(b, w->t->cache, key, n, dims, err);
    if (code || b->file) {
        w->found += n;
        return code ? code : count_texts(w, n, err);
    }
    if (!w->computed)
        w->computed = aoei_malloc_array(BLOCK, dims * sizeof *w->computed);
    code =
        w->computed ? embed_texts(w, e, first, n, w->computed, err) : aoei_fail_nomem(err, BLOCK * dims * sizeof *w->computed);
    if (!code)
        code = aoei_cached_block_write(w->t->cache, key, w->computed, n, dims, err);
    return code ? code : aoei_cached_block_open(b, w->t->cache, key, n, dims, err);
}

static int embed_file_cached(teacher_job *w, const aoei_examples *e, aoei_teacher_vectors *v, aoe_error *err) {
    int code = AOE_OK;
    v->n_blocks = (e->n_texts + BLOCK - 1) / BLOCK;
    v->block = aoei_calloc(v->n_blocks, sizeof *v->block);
    if (!v->block)
        return aoei_fail_nomem(err, v->n_blocks * sizeof *v->block);
    for (size_t i = 0; i < v->n_blocks && !code; i++) {
        const size_t first = i * BLOCK;
        code = embed_block(w, e, first, block_texts(e, first), &v->block[i], err);
    }
    return code;
}

/* ------------------------------------------------------------ all teachers */

/* Computes the embeddings of all files by one teacher, and closes its model. */
static int embed_all(teacher_job *w, const aoei_examples *files, aoe_error *err) {
    const aoei_teacher *t = w->t;
    const aoe_embedder_options o = {.struct_size = sizeof(aoe_embedder_options), .batch_tokens = w->args->batch_tokens};
    int code = aoe_embedder_create(&w->embedder, w->model->model, &o, err);
    w->info = aoei_malloc_array(CALL, sizeof *w->info);
    w->model->vectors = aoei_calloc(t->files, sizeof *w->model->vectors);
    if (!code && !(w->info && w->model->vectors))
        code = aoei_fail_nomem(err, CALL * sizeof *w->info);
    if (!code && t->cache)
        code = aoei_model_hash_embedding(w->model->model, &w->key, err);
    const int reads = !code && t->cache && all_cached(w, files);
    if (!code)
        aoei_log_write(&w->ctx->log, AOE_LOG_INFO,
                       reads ? "%s: reading the teacher's embeddings of %zu texts, %zu components each, %.1f MB%s%s"
                             : "%s: embedding %zu texts with the teacher, %zu components each, %.1f MB%s%s",
                       w->model->dir, w->total, w->model->dims,
                       (double)w->total * (double)w->model->dims * (double)(t->cache ? sizeof(aoei_bf16) : sizeof(float)) / 1e6,
                       reads      ? " from "
                       : t->cache ? " in "
                                  : "",
                       t->cache ? t->cache : "");
    for (size_t i = 0; i < t->files && !code; i++)
        code = t->cache ? embed_file_cached(w, &files[i], &w->model->vectors[i], err)
                        : embed_file(w, &files[i], &w->model->vectors[i], err);
    if (!code && w->found && !reads)
        aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%s: %zu of %zu embeddings were in the cache", w->model->dir, w->found,
                       w->total);
    aoei_free(w->computed);
    aoei_free(w->info);
    aoe_embedder_destroy(w->embedder);
    aoe_model_close(w->model->model);
    w->model->model = NULL;
    return code;
}

int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoe_training_args *args, const aoei_examples *files, size_t n,
                       aoe_error *err) {
    size_t total = 0;
    t->files = n;
    int code = t->cache ? aoei_make_dir(t->cache, err) : AOE_OK;
    if (code)
        aoei_error_prefix(err, "options.teacher_cache");
    for (size_t i = 0; i < n; i++)
        total += files[i].n_texts;
    for (size_t i = 0; i < t->n && !code; i++) {
        teacher_job w = {.t = t, .model = &t->model[i], .ctx = ctx, .total = total, .args = args, .start = aoei_now()};
        code = embed_all(&w, files, err);
    }
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
    for (size_t i = 0; i < t->n; i++) {
        const aoei_teacher_model *m = &t->model[i];
        const aoei_teacher_vectors *v = &m->vectors[file];
        const aoei_bf16 *cached = v->block ? v->block[text / BLOCK].vector + text % BLOCK * m->dims : NULL;
        if (cached)
            for (size_t k = 0; k < m->dims; k++)
                out[k] = aoei_bf16_to_f32(cached[k]);
        else
            memcpy(out, v->vector + text * m->dims, m->dims * sizeof *out);
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
    *t = (aoei_teacher){0};
}
