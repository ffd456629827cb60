/* SPDX-License-Identifier: MIT
 * Whitening (Su et al. 2021, "BERT-whitening"): computes the mean m and the covariance C = U S U^T of the vectors x of many
 * texts and adds the layer y = S^(-1/2) U^T (x - m) after the pooling, of which the first rows are kept. Sums are in double
 * precision; memory does not grow with the number of texts.
 */
#include <math.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "create/convert.h"
#include "model/extra_layers.h"
#include "model/open.h"
#include "model/save.h"
#include "table/texts.h"

enum { BLOCK = 4096 /* texts embedded at a time */ };
#define LOG_EVERY 10.0 /* seconds */
#define LEAST     1e-9 /* of the largest variance: below is the rounding of floats */

/* Sums over vectors minus the first vector, which avoids cancellation when the mean is far from zero. */
typedef struct moments {
    size_t D, n;
    double *shift; /* owned [D] the first vector */
    double *sum;   /* owned [D] */
    double *outer; /* owned [D, D], the lower triangle */
    double *block; /* owned [BLOCK, D] vectors of a block less the shift */
    size_t rows;   /* of it */
} moments;

typedef struct work {
    aoe_context *ctx;
    const aoe_whiten_options *o;
    aoe_embedder *embedder; /* owned */
    moments s;
    float *vectors;      /* owned [BLOCK, D] */
    aoe_text_info *info; /* owned [BLOCK] */
    double *value;       /* owned [D] eigenvalues */
    double logged;       /* seconds: when progress was last told */
} work;

void aoe_whiten_options_defaults(aoe_whiten_options *o) {
    if (!o)
        return;
    *o = (aoe_whiten_options){.struct_size = sizeof *o};
    aoe_table_options_defaults(&o->table);
    aoe_model_options_defaults(&o->model_options);
    o->batch_tokens = 4096;
}

/* ---------------------------------------------------------------- moments */

static int moments_create(moments *s, size_t D, aoe_error *err) {
    size_t cells = 0;
    *s = (moments){.D = D};
    if (aoei_mul_size(D, D, &cells))
        return aoei_fail_nomem(err, SIZE_MAX);
    s->shift = aoei_calloc(D, sizeof *s->shift);
    s->sum = aoei_calloc(D, sizeof *s->sum);
    s->outer = aoei_calloc(cells, sizeof *s->outer);
    s->block = aoei_malloc_array(BLOCK, D * sizeof *s->block);
    return s->shift && s->sum && s->outer && s->block ? 0 : aoei_fail_nomem(err, cells * sizeof *s->outer);
}

static void moments_free(moments *s) {
    aoei_free(s->shift);
    aoei_free(s->sum);
    aoei_free(s->outer);
    aoei_free(s->block);
}

/* Row i of the products. */
static void outer_task(void *arg, size_t i, size_t worker) {
    const moments *s = arg;
    double *row = s->outer + i * s->D;
    (void)worker;
    for (size_t r = 0; r < s->rows; r++) {
        const double *x = s->block + r * s->D, xi = x[i];
        for (size_t j = 0; j <= i; j++)
            row[j] += xi * x[j];
    }
}

/* Adds n vectors [n, D]; those of texts without tokens, which are zero, are no vectors of anything. */
static void moments_add(moments *s, const float *v, const aoe_text_info *info, size_t n, aoei_pool *pool) {
    s->rows = 0;
    for (size_t r = 0; r < n; r++) {
        double *x = s->block + s->rows * s->D;
        if (!info[r].tokens)
            continue;
        for (size_t k = 0; k < s->D && s->n == 0; k++)
            s->shift[k] = (double)v[r * s->D + k];
        for (size_t k = 0; k < s->D; k++) {
            x[k] = (double)v[r * s->D + k] - s->shift[k];
            s->sum[k] += x[k];
        }
        s->n++;
        s->rows++;
    }
    aoei_parallel_for(pool, s->D, outer_task, s);
}

/* outer becomes the covariance, sum the mean. */
static void moments_finish(moments *s) {
    const double n = (double)s->n;
    for (size_t i = 0; i < s->D; i++)
        for (size_t j = 0; j <= i; j++) {
            const double c = s->outer[i * s->D + j] / n - s->sum[i] / n * (s->sum[j] / n);
            s->outer[i * s->D + j] = s->outer[j * s->D + i] = c;
        }
    for (size_t i = 0; i < s->D; i++)
        s->sum[i] = s->shift[i] + s->sum[i] / n;
}

/* -------------------------------------------------------------- embedding */

static int add_file(work *w, const char *path, aoe_error *err) {
    aoei_examples e;
    aoe_table_options table = w->o->table;
    table.allow_empty = 0;
    int rc = aoei_texts_load(&e, path, &table, err);
    if (!rc && e.skipped)
        aoei_log_write(&w->ctx->log, AOE_LOG_WARNING, "%s: %zu bad rows were left out", path, e.skipped);
    for (size_t i = 0; i < e.n_texts && !rc; i += BLOCK) {
        const size_t n = e.n_texts - i < BLOCK ? e.n_texts - i : BLOCK;
        aoe_error inner = {0};
        rc = aoe_embed(w->embedder, e.text + i, n, w->vectors, w->info, &inner);
        const size_t failed = rc ? aoe_embed_failed_text(w->embedder) : (size_t)-1;
        if (failed != (size_t)-1)
            aoei_fail(err, rc, "%s:%zu: %s", path, aoei_examples_line(&e, i + failed), inner.message);
        else if (rc)
            aoei_fail(err, rc, "%s", inner.message);
        else
            moments_add(&w->s, w->vectors, w->info, n, w->ctx->pool);
        if (aoei_now() - w->logged >= LOG_EVERY) {
            aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%zu texts are embedded", w->s.n);
            w->logged = aoei_now();
        }
    }
    aoei_examples_free(&e);
    return rc;
}

/* Mean and covariance of the vectors of all files, as pooled. */
static int fit(work *w, const char *from, aoe_error *err) {
    aoe_model *m;
    aoe_model_options options = w->o->model_options;
    const aoe_embedder_options e = {.struct_size = sizeof(aoe_embedder_options), .batch_tokens = w->o->batch_tokens};
    options.normalize = 0;
    int rc = aoe_model_open(&m, w->ctx, from, &options, err);
    if (rc)
        return rc;
    const size_t D = aoe_model_dims(m);
    if (m->config.dense)
        rc = aoei_fail(err, AOE_EARG,
                       "%s: the model already has a dense layer after the pooling; start from the model without it", from);
    if (!rc)
        rc = aoe_embedder_create(&w->embedder, m, &e, err);
    if (!rc)
        rc = moments_create(&w->s, D, err);
    w->vectors = rc ? NULL : aoei_malloc_array(BLOCK, D * sizeof *w->vectors);
    w->info = rc ? NULL : aoei_malloc_array(BLOCK, sizeof *w->info);
    if (!rc && !(w->vectors && w->info))
        rc = aoei_fail_nomem(err, BLOCK * D * sizeof *w->vectors);
    w->logged = aoei_now();
    for (size_t i = 0; i < w->o->n_texts && !rc; i++)
        rc = add_file(w, w->o->texts[i], err);
    if (!rc && w->s.n < 2)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: %zu texts have no covariance; give many more than the %zu components of a vector",
                       w->o->texts[0], w->s.n, D);
    aoe_embedder_destroy(w->embedder);
    aoe_model_close(m);
    if (!rc)
        moments_finish(&w->s);
    return rc;
}

/* ------------------------------------------------------------------ layer */

/* Components that vary, and how many of them are kept. */
static int choose(work *w, aoe_whiten_result *r, aoe_error *err) {
    double all = 0, kept = 0;
    for (size_t i = 0; i < w->s.D; i++) {
        r->rank += w->value[i] > LEAST * w->value[0] && w->value[i] > 0;
        all += w->value[i] > 0 ? w->value[i] : 0;
    }
    r->texts = w->s.n;
    r->dims = w->o->dims ? w->o->dims : r->rank;
    if (r->rank == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the vectors of all %zu texts are equal; give different ones", w->o->texts[0],
                         w->s.n);
    if (r->dims > w->s.D)
        return aoei_fail(err, AOE_EARG, "options.dims is %zu, but must be at most %zu, the components of a vector", r->dims,
                         w->s.D);
    if (r->dims > r->rank)
        return aoei_fail(
            err, AOE_EARG,
            "options.dims is %zu, but the vectors of %zu texts vary in only %zu of %zu components; give more texts or fewer dims",
            r->dims, w->s.n, r->rank, w->s.D);
    for (size_t i = 0; i < r->dims; i++)
        kept += w->value[i];
    r->kept = kept / all;
    return 0;
}

/* weight: [dims, D], bias: [dims]. */
static void fill_layer(const work *w, size_t dims, float *weight, float *bias) {
    const size_t D = w->s.D;
    for (size_t i = 0; i < dims; i++) {
        const double *u = w->s.outer + i * D, scale = 1 / sqrt(w->value[i]);
        double along = 0;
        for (size_t k = 0; k < D; k++) {
            weight[i * D + k] = (float)(scale * u[k]);
            along += scale * u[k] * w->s.sum[k];
        }
        bias[i] = (float)-along;
    }
}

/* The training record of the model, and what this was. NULL: no memory. */
static json_t *record_of(const aoe_model *m, const aoe_whiten_options *o, const aoe_whiten_result *r) {
    json_t *record = m->files.record ? json_deep_copy(m->files.record) : json_object(), *files = json_array();
    int bad = !record || !files;
    for (size_t i = 0; i < o->n_texts && !bad; i++)
        bad = json_array_append_new(files, aoei_name_json(o->texts[i]));
    json_t *whitening = bad ? NULL
                            : json_pack("{s:O, s:I, s:I, s:f}", "data", files, "texts", (json_int_t)r->texts, "dims",
                                        (json_int_t)r->dims, "variance_kept", r->kept);
    json_decref(files);
    if (!bad && !json_object_set_new(record, "whitening", whitening))
        return record;
    json_decref(record);
    return NULL;
}

static int write_model(const work *w, const char *from, const char *to, const aoe_whiten_result *r, aoe_error *err) {
    const size_t D = w->s.D;
    aoe_model *m;
    json_t *record = NULL;
    int rc = aoei_model_open_for(&m, w->ctx, from, &w->o->model_options, &(aoei_open_mode){.rows_from_file = 1}, err);
    if (rc)
        return rc;
    float *weight = aoei_malloc_array(r->dims, (D + 1) * sizeof *weight);
    if (!weight)
        rc = aoei_fail_nomem(err, r->dims * (D + 1) * sizeof *weight);
    if (!rc && m->files.base_dir && aoei_path_within(m->files.base_dir, to))
        rc = aoei_fail(err, AOE_EARG, "%s: the model that the adapters are for is there; choose another output", to);
    if (!rc) {
        fill_layer(w, r->dims, weight, weight + r->dims * D);
        rc = aoei_model_add_dense(m, r->dims, 0, weight, weight + r->dims * D, 0, err);
    }
    if (!rc && !(record = record_of(m, w->o, r)))
        rc = aoei_fail_nomem(err, 1);
    if (!rc)
        rc = aoei_model_save_as(m, to, record, AOE_STORAGE_F32, err);
    json_decref(record);
    aoei_free(weight);
    aoe_model_close(m);
    return rc;
}

int aoe_whiten(aoe_context *ctx, const char *from, const char *to, const aoe_whiten_options *o, aoe_whiten_result *result,
               aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_OPTIONS(aoe_whiten_options, o, err);
    aoe_whiten_result local;
    work w = {.ctx = ctx, .o = o};
    const aoe_convert_options output = {
        .struct_size = sizeof(aoe_convert_options), .storage = AOE_STORAGE_F32, .force = o->force};
    result = result ? result : &local;
    *result = (aoe_whiten_result){0};
    int rc = o->n_texts ? 0 : aoei_fail(err, AOE_EARG, "whitening needs texts: name a file");
    if (!rc && o->batch_tokens == 0)
        rc = aoei_fail(err, AOE_EARG, "options.batch_tokens must be at least 1");
    if (!rc)
        rc = aoei_convert_check(from, to, &output, err);
    if (!rc)
        rc = fit(&w, from, err);
    if (!rc && !(w.value = aoei_malloc_array(w.s.D, sizeof *w.value)))
        rc = aoei_fail_nomem(err, w.s.D * sizeof *w.value);
    if (!rc)
        rc = aoei_eigen_symmetric(w.s.outer, w.value, w.s.D, ctx->pool, err);
    if (!rc)
        rc = choose(&w, result, err);
    if (!rc)
        rc = write_model(&w, from, to, result, err);
    aoei_free(w.value);
    aoei_free(w.vectors);
    aoei_free(w.info);
    moments_free(&w.s);
    return rc;
}
