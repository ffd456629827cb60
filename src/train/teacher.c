/* SPDX-License-Identifier: MIT
 * Computes the teacher's embeddings of all training texts in blocks, and logs the progress.
 */
#include "train/teacher.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"

#include <string.h>

enum { BLOCK = 4096 /* number of texts per call of aoe_embed */ };
#define LOG_EVERY 10.0 /* seconds between progress messages */

/* State of aoei_teacher_embed. */
typedef struct teacher_job {
    aoei_teacher *t;        /* teacher; borrowed */
    aoe_context *ctx;       /* context for computations and log messages; borrowed */
    aoe_embedder *embedder; /* embedder that uses the teacher model; owned */
    aoe_text_info *info;    /* [BLOCK] information about each text of a block; owned */
    size_t embedded, total; /* number of texts embedded so far, and number of texts in all files */
    double logged;          /* time of the last progress message in seconds */
} teacher_job;

int aoei_teacher_open(aoei_teacher *t, aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_error *err) {
    aoe_model_options o;
    *t = (aoei_teacher){.dir = dir, .fingerprint = AOEI_HASH_START};
    aoe_model_options_defaults(&o);
    o.dtype = dtype;
    o.normalize = 0;
    const int code = aoe_model_open(&t->model, ctx, dir, &o, err);
    if (code) {
        aoei_error_prefix(err, "options.teacher");
        return code;
    }
    if (!aoe_model_tokenizer(t->model))
        return aoei_fail(
            err, AOE_ENOENT,
            "options.teacher: %s: the directory contains no tokenizer; add tokenizer.json, or vocab.txt with tokenizer_config.json",
            dir);
    t->dims = aoe_model_dims(t->model);
    return AOE_OK;
}

/* Reports an error of the embedder as "FILE:LINE: the teacher: MESSAGE". first: index of the block's first text in the file. */
static int fail_text(const teacher_job *w, const aoei_examples *e, size_t first, int code, const aoe_error *inner,
                     aoe_error *err) {
    const size_t failed = aoe_embed_failed_text(w->embedder);
    if (failed == (size_t)-1)
        return aoei_fail(err, code, "options.teacher: %s", inner->message);
    return aoei_fail(err, code, "%s:%zu: the teacher: %s", e->name, aoei_examples_line(e, first + failed), inner->message);
}

/* Computes the embeddings of the texts [first, first + n) of a file. vectors: [n, dims] receives the embeddings. */
static int embed_block(teacher_job *w, const aoei_examples *e, size_t first, size_t n, float *vectors, aoe_error *err) {
    aoei_teacher *t = w->t;
    aoe_error inner = {0};
    const int code = aoe_embed(w->embedder, e->text + first, n, vectors, w->info, &inner);
    if (code)
        return fail_text(w, e, first, code, &inner, err);
    for (size_t i = 0; i < n; i++)
        if (!w->info[i].tokens)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: a text has no token in the teacher's vocabulary, so its embedding would be zero; remove the row",
                e->name, aoei_examples_line(e, first + i));
    t->fingerprint = aoei_hash(t->fingerprint, vectors, n * t->dims * sizeof *vectors);
    w->embedded += n;
    if (aoei_now() - w->logged >= LOG_EVERY) {
        aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%s: %zu of %zu texts embedded", t->dir, w->embedded, w->total);
        w->logged = aoei_now();
    }
    return AOE_OK;
}

static int embed_file(teacher_job *w, const aoei_examples *e, float **vectors, aoe_error *err) {
    const size_t dims = w->t->dims;
    int code = AOE_OK;
    *vectors = aoei_malloc_array(e->n_texts, dims * sizeof **vectors);
    if (!*vectors)
        return aoei_fail(err, AOE_ENOMEM, "%s: out of memory for the embeddings of %zu texts by the teacher; use fewer texts",
                         e->name, e->n_texts);
    for (size_t i = 0; i < e->n_texts && !code; i += BLOCK) {
        const size_t n = e->n_texts - i < BLOCK ? e->n_texts - i : BLOCK;
        code = embed_block(w, e, i, n, *vectors + i * dims, err);
    }
    return code;
}

int aoei_teacher_embed(aoei_teacher *t, aoe_context *ctx, const aoei_examples *files, size_t n, size_t batch_tokens,
                       aoe_error *err) {
    teacher_job w = {.t = t, .ctx = ctx, .logged = aoei_now()};
    const aoe_embedder_options o = {.struct_size = sizeof(aoe_embedder_options), .batch_tokens = batch_tokens};
    int code = aoe_embedder_create(&w.embedder, t->model, &o, err);
    for (size_t i = 0; i < n; i++)
        w.total += files[i].n_texts;
    w.info = aoei_malloc_array(BLOCK, sizeof *w.info);
    t->vectors = aoei_calloc(n, sizeof *t->vectors);
    t->n = n;
    if (!code && !(w.info && t->vectors))
        code = aoei_fail_nomem(err, BLOCK * sizeof *w.info);
    if (!code)
        aoei_log_write(&ctx->log, AOE_LOG_INFO, "%s: embedding %zu texts with the teacher, %zu components each, %.1f MB",
                       t->dir, w.total, t->dims, (double)w.total * (double)(t->dims * sizeof **t->vectors) / 1e6);
    for (size_t i = 0; i < n && !code; i++)
        code = embed_file(&w, &files[i], &t->vectors[i], err);
    aoei_free(w.info);
    aoe_embedder_destroy(w.embedder);
    aoe_model_close(t->model);
    t->model = NULL;
    return code;
}

void aoei_teacher_destroy(aoei_teacher *t) {
    aoe_model_close(t->model);
    for (size_t i = 0; t->vectors && i < t->n; i++)
        aoei_free(t->vectors[i]);
    aoei_free(t->vectors);
    *t = (aoei_teacher){0};
}
