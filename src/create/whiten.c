/* SPDX-License-Identifier: MIT
 * Implements whitening ("BERT-whitening", Su et al. 2021). Computes the mean m and the covariance C = U S U^T of the
 * embeddings x of many texts. Then adds the linear layer y = S^(-1/2) U^T (x - m) after the pooling. Only the
 * components with the largest eigenvalues are kept. Sums are computed in double precision. The embeddings are processed
 * in batches and not stored.
 */
#include <math.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_convert.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/options.h"
#include "create/convert.h"
#include "model/describe.h"
#include "model/extra_layers.h"
#include "model/open.h"
#include "model/save.h"
#include "options/model.h"
#include "table/texts.h"

enum { BATCH = 4096 /* number of texts that are embedded at a time */ };
#define LOG_INTERVAL 10.0 /* seconds between progress messages */
/* Eigenvalues of at most MIN_EIGENVALUE times the largest eigenvalue are treated as rounding errors of float32. */
#define MIN_EIGENVALUE 1e-9

/* The sums over embeddings from which mean and covariance are computed. The first embedding is subtracted from each
 * embedding, because this avoids cancellation if the mean is large. */
typedef struct moments {
    size_t D;      /* embedding size */
    size_t n;      /* number of embeddings added so far */
    double *shift; /* [D] first embedding, owned */
    double *sum;   /* [D] sum of the shifted embeddings; moments_finish replaces the sum by the mean of the embeddings;
                      owned */
    /* [D, D] sums of the products of two components (lower triangle only); owned. moments_finish replaces the sums by
     * the covariance. Then aoei_eigen_symmetric replaces the covariance by the eigenvectors; each row is an
     * eigenvector. */
    double *covariance;
    double *batch; /* [BATCH, D] shifted embeddings of one batch, owned */
    size_t rows;   /* number of embeddings in `batch` */
} moments;

/* The state of one call of aoe_whiten. */
typedef struct whitening {
    aoe_context *ctx;            /* borrowed */
    const aoe_whiten_options *o; /* borrowed */
    aoe_embedder *embedder;      /* used by compute_moments only; owned */
    moments moments;
    float *vectors;      /* [BATCH, D] embeddings of a batch, owned */
    aoe_text_info *info; /* [BATCH] information about the texts of a batch, owned */
    double *eigenvalue;  /* [D] eigenvalues of the covariance in descending order, owned */
    double logged;       /* aoei_now() at the last progress message */
} whitening;

AOEI_DEFAULTS(aoe_whiten_options) {
    *o = (aoe_whiten_options){.struct_size = sizeof *o};
    aoe_table_options_defaults(&o->table);
    aoe_model_options_defaults(&o->model_options);
    o->dims = AOE_AUTO;
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
    s->covariance = aoei_calloc(cells, sizeof *s->covariance);
    s->batch = aoei_malloc_array(BATCH, D * sizeof *s->batch);
    return s->shift && s->sum && s->covariance && s->batch ? 0 : aoei_fail_nomem(err, cells * sizeof *s->covariance);
}

static void moments_free(moments *s) {
    aoei_free(s->shift);
    aoei_free(s->sum);
    aoei_free(s->covariance);
    aoei_free(s->batch);
}

/* Adds to row i of the covariance the products of component i with the components 0 to i, for all embeddings in the
 * batch. `arg` is the struct moments. */
static void add_products_task(void *arg, size_t i, size_t worker) {
    const moments *s = arg;
    double *row = s->covariance + i * s->D;
    (void)worker;
    for (size_t r = 0; r < s->rows; r++) {
        const double *x = s->batch + r * s->D, xi = x[i];
        for (size_t j = 0; j <= i; j++)
            row[j] += xi * x[j];
    }
}

/* Adds the embeddings v[n, D] to the sums. Embeddings of texts without tokens are zero vectors and are not added. */
static void moments_add(moments *s, const float *v, const aoe_text_info *info, size_t n, aoei_pool *pool) {
    s->rows = 0;
    for (size_t r = 0; r < n; r++) {
        double *x = s->batch + s->rows * s->D;
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
    aoei_parallel_for(pool, s->D, add_products_task, s);
}

/* Replaces the sums by the covariance and the mean. */
static void moments_finish(moments *s) {
    const double n = (double)s->n;
    for (size_t i = 0; i < s->D; i++)
        for (size_t j = 0; j <= i; j++) {
            const double c = s->covariance[i * s->D + j] / n - s->sum[i] / n * (s->sum[j] / n);
            s->covariance[i * s->D + j] = s->covariance[j * s->D + i] = c;
        }
    for (size_t i = 0; i < s->D; i++)
        s->sum[i] = s->shift[i] + s->sum[i] / n;
}

/* -------------------------------------------------------------- embedding */

/* Embeds the texts of a file and adds their embeddings to the moments. */
static int add_file(whitening *w, const char *path, aoe_error *err) {
    aoei_examples e;
    aoe_table_options table = w->o->table;
    table.allow_empty = 0;
    int rc = aoei_texts_load(&e, path, &table, err);
    if (!rc && e.skipped)
        aoei_log_write(&w->ctx->log, AOE_LOG_WARNING, "%s: skipped %zu bad rows", path, e.skipped);
    if (!rc && e.files)
        aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%s: %zu texts in %zu files", path, e.n_texts, e.files);
    for (size_t i = 0; i < e.n_texts && !rc; i += BATCH) {
        const size_t n = e.n_texts - i < BATCH ? e.n_texts - i : BATCH;
        aoe_error inner = {0};
        rc = aoe_embed(w->embedder, e.text + i, n, w->vectors, w->info, &inner);
        const size_t failed = rc ? aoe_embed_failed_text(w->embedder) : (size_t)-1;
        if (failed != (size_t)-1)
            aoei_fail(err, rc, "%s:%zu: %s", path, aoei_examples_line(&e, i + failed), inner.message);
        else if (rc)
            aoei_fail(err, rc, "%s", inner.message);
        else
            moments_add(&w->moments, w->vectors, w->info, n, w->ctx->pool);
        if (aoei_now() - w->logged >= LOG_INTERVAL) {
            aoei_log_write(&w->ctx->log, AOE_LOG_INFO, "%zu texts embedded", w->moments.n);
            w->logged = aoei_now();
        }
    }
    aoei_examples_free(&e);
    return rc;
}

/* Computes the mean and the covariance of the embeddings of all files. The embeddings are not normalized to unit
 * length. */
static int compute_moments(whitening *w, const char *from, aoe_error *err) {
    aoe_model *m;
    aoe_model_options options = w->o->model_options;
    const aoe_embedder_options e = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = w->o->batch_tokens, .threads = AOE_AUTO};
    options.normalize = 0;
    int rc = aoe_model_open(&m, w->ctx, from, &options, err);
    if (rc)
        return rc;
    m->settings.truncate_dim = 0; /* the statistics are those of the complete embeddings */
    const size_t D = aoe_model_dims(m);
    if (m->config.modules.n)
        rc = aoei_fail(err, AOE_EARG,
                       "%s: the model already has a %s after the pooling; start from the model without it", from,
                       aoei_settings_has_flow(&m->settings) ? "flow" : "dense layer");
    if (!rc)
        rc = aoe_embedder_create(&w->embedder, m, &e, err);
    if (!rc)
        aoei_model_log_description(m);
    if (!rc)
        rc = moments_create(&w->moments, D, err);
    w->vectors = rc ? NULL : aoei_malloc_array(BATCH, D * sizeof *w->vectors);
    w->info = rc ? NULL : aoei_malloc_array(BATCH, sizeof *w->info);
    if (!rc && !(w->vectors && w->info))
        rc = aoei_fail_nomem(err, BATCH * D * sizeof *w->vectors);
    w->logged = aoei_now();
    for (size_t i = 0; i < w->o->n_texts && !rc; i++)
        rc = add_file(w, w->o->texts[i], err);
    if (!rc && w->moments.n < 2)
        rc = aoei_fail(
            err, AOE_EFORMAT,
            "%s: whitening needs at least 2 texts, but there %s %zu; give many more texts than an embedding has "
            "components (%zu)",
            w->o->texts[0], w->moments.n == 1 ? "is" : "are", w->moments.n, D);
    aoe_embedder_destroy(w->embedder);
    aoe_model_close(m);
    if (!rc)
        moments_finish(&w->moments);
    return rc;
}

/* ------------------------------------------------------------------ layer */

/* Computes the rank of the covariance and the number of components to keep, and stores them in *r. The caller zeroes
 * *r. */
static int choose_dims(whitening *w, aoe_whiten_result *r, aoe_error *err) {
    double total = 0, kept = 0;
    for (size_t i = 0; i < w->moments.D; i++) {
        r->rank += w->eigenvalue[i] > MIN_EIGENVALUE * w->eigenvalue[0] && w->eigenvalue[i] > 0;
        total += w->eigenvalue[i] > 0 ? w->eigenvalue[i] : 0;
    }
    r->texts = w->moments.n;
    r->dims = w->o->dims == AOE_AUTO ? r->rank : w->o->dims;
    if (r->rank == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the embeddings of all %zu texts are equal; give different texts",
                         w->o->texts[0], w->moments.n);
    if (!r->dims || r->dims > w->moments.D)
        return aoei_fail(err, AOE_EARG,
                         "options.dims is %zu, but must be 1 to %zu, the number of components of an embedding", r->dims,
                         w->moments.D);
    if (r->dims > r->rank)
        return aoei_fail(
            err, AOE_EARG,
            "options.dims is %zu, but the covariance of %zu embeddings has rank %zu; give more texts or use at "
            "most %zu",
            r->dims, w->moments.n, r->rank, r->rank);
    for (size_t i = 0; i < r->dims; i++)
        kept += w->eigenvalue[i];
    r->kept = kept / total;
    return 0;
}

/* Computes the weight and the bias of the whitening layer: weight[dims, D] = S^(-1/2) U^T and bias[dims] = -weight
 * m. */
static void fill_layer(const whitening *w, size_t dims, float *weight, float *bias) {
    const size_t D = w->moments.D;
    for (size_t i = 0; i < dims; i++) {
        const double *eigenvector = w->moments.covariance + i * D, scale = 1 / sqrt(w->eigenvalue[i]);
        double product = 0; /* dot product of row i of the weight and the mean */
        for (size_t k = 0; k < D; k++) {
            weight[i * D + k] = (float)(scale * eigenvector[k]);
            product += scale * eigenvector[k] * w->moments.sum[k];
        }
        bias[i] = (float)-product;
    }
}

/* Returns a copy of the training record of the model with an additional entry about the whitening. Returns NULL if an
 * allocation fails. */
static json_t *make_record(const aoe_model *m, const aoe_whiten_options *o, const aoe_whiten_result *r) {
    json_t *record = m->files.record ? aoei_json_copy(m->files.record) : json_object(), *files = json_array();
    int bad = !record || !files;
    for (size_t i = 0; i < o->n_texts && !bad; i++)
        bad = json_array_append_new(files, aoei_name_json(o->texts[i]));
    json_t *entry = bad ? NULL
                        : json_pack("{s:O, s:I, s:I, s:f}", "data", files, "texts", (json_int_t)r->texts, "dims",
                                    (json_int_t)r->dims, "variance_kept", r->kept);
    json_decref(files);
    if (!bad && !json_object_set_new(record, "whitening", entry))
        return record;
    json_decref(record);
    return NULL;
}

/* Writes a copy of the model in `from`, with the whitening layer added, to the directory `to`. */
static int write_model(const whitening *w, const char *from, const char *to, const aoe_whiten_result *r,
                       aoe_error *err) {
    const size_t D = w->moments.D;
    aoe_model *m;
    json_t *record = NULL;
    int rc = aoei_model_open_for(&m, w->ctx, from, &w->o->model_options, &(aoei_open_mode){.rows_from_file = 1}, err);
    if (rc)
        return rc;
    m->settings.truncate_dim = 0;
    float *weight = aoei_malloc_array(r->dims, (D + 1) * sizeof *weight);
    if (!weight)
        rc = aoei_fail_nomem(err, r->dims * (D + 1) * sizeof *weight);
    if (!rc)
        rc = aoei_check_base_kept(m, to, err);
    if (!rc) {
        fill_layer(w, r->dims, weight, weight + r->dims * D);
        rc = aoei_model_add_dense(m, r->dims, 0, weight, weight + r->dims * D, 0, err);
    }
    if (!rc && !(record = make_record(m, w->o, r)))
        rc = aoei_fail_nomem(err, 1);
    if (!rc)
        rc = aoei_model_save_as(m, to, record, AOE_STORAGE_F32, err);
    json_decref(record);
    aoei_free(weight);
    aoe_model_close(m);
    return rc;
}

int aoe_whiten(aoe_context *ctx, const char *from, const char *to, const aoe_whiten_options *o,
               aoe_whiten_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, from, to);
    AOEI_RESULT(aoe_whiten_result, result, err);
    AOEI_OPTIONS(aoe_whiten_options, o, err);
    whitening w = {.ctx = ctx, .o = o};
    const aoe_convert_options output = {
        .struct_size = sizeof(aoe_convert_options), .storage = AOE_STORAGE_F32, .force = o->force};
    int rc = o->n_texts ? 0 : aoei_fail(err, AOE_EARG, "options.texts is empty; give at least one file of texts");
    if (!rc)
        rc = aoei_option_check(AOEI_ROW_OF_BATCH_TOKENS, &o->batch_tokens, err);
    if (!rc)
        rc = aoei_convert_check(from, to, &output, err);
    if (!rc)
        rc = compute_moments(&w, from, err);
    if (!rc && !(w.eigenvalue = aoei_malloc_array(w.moments.D, sizeof *w.eigenvalue)))
        rc = aoei_fail_nomem(err, w.moments.D * sizeof *w.eigenvalue);
    if (!rc)
        rc = aoei_eigen_symmetric(w.moments.covariance, w.eigenvalue, w.moments.D, ctx->pool, err);
    if (!rc)
        rc = choose_dims(&w, result, err);
    if (!rc)
        rc = write_model(&w, from, to, result, err);
    aoei_free(w.eigenvalue);
    aoei_free(w.vectors);
    aoei_free(w.info);
    moments_free(&w.moments);
    return rc;
}
