/* SPDX-License-Identifier: MIT
 * Fits the linear map to the teacher embeddings. With the covariance matrices G = E[v v^T] of the embeddings and C =
 * E[v t^T] of embeddings and teacher embeddings, the solution is W^T = (G + r I)^(-1) C and b = E[t] - W E[v]. The
 * inverse is computed from the eigenvalues and eigenvectors of G. All sums are computed in double precision.
 */
#include "train/teacher_map_fit.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/context.h"
#include "base/eigen.h"
#include "base/error.h"
#include "base/log.h"
#include "encoder/slots.h"

enum {
    MOST_TEXTS = 4096,
    LEAST_TEXTS_PER_COMPONENT = 4,
    BAND = 4 /* rows of the matrix of covariances that a task computes */
};
#define RIDGE 1e-3 /* r, as a fraction of the mean variance of a component */

/* The arrays of a fit. D, T: number of components of v and of t. A row of `rows` contains v_i and t_i. */
typedef struct fit {
    size_t n, D, T;
    float *rows;        /* [n, D + T]; owned */
    double *mean;       /* [D + T] means of the columns of `rows`; owned */
    double *covariance; /* [D, D + T] G and C; owned */
    double *g;          /* [D, D] eigenvectors of G, one per row; owned */
    double *eigenvalue; /* [D] eigenvalues of G; owned */
    double *solution;   /* [D, T] W^T in the basis of the eigenvectors; owned */
    float *weight;      /* [T, D] W; owned */
    float *bias;        /* [T] b; owned */
} fit;

static int fit_create(fit *f, size_t n, size_t dims, size_t teacher_dims, aoe_error *err) {
    const size_t width = dims + teacher_dims;
    *f = (fit){.n = n, .D = dims, .T = teacher_dims};
    f->rows = aoei_malloc_array(n, width * sizeof *f->rows);
    f->mean = aoei_calloc(width, sizeof *f->mean);
    f->covariance = aoei_malloc_array(dims, width * sizeof *f->covariance);
    f->g = aoei_malloc_array(dims, dims * sizeof *f->g);
    f->eigenvalue = aoei_malloc_array(dims, sizeof *f->eigenvalue);
    f->solution = aoei_malloc_array(dims, teacher_dims * sizeof *f->solution);
    f->weight = aoei_malloc_array(teacher_dims, dims * sizeof *f->weight);
    f->bias = aoei_malloc_array(teacher_dims, sizeof *f->bias);
    return f->rows && f->mean && f->covariance && f->g && f->eigenvalue && f->solution && f->weight && f->bias
               ? AOE_OK
               : aoei_fail_nomem(err, n * width * sizeof *f->rows);
}

static void fit_free(fit *f) {
    aoei_free(f->rows);
    aoei_free(f->mean);
    aoei_free(f->covariance);
    aoei_free(f->g);
    aoei_free(f->eigenvalue);
    aoei_free(f->solution);
    aoei_free(f->weight);
    aoei_free(f->bias);
}

/* ------------------------------------------------------------------- texts */

/* Embeds the selected texts with the start model, and reads the teacher embeddings. texts: [f->n] receives the
 * texts. */
static int embed(fit *f, aoe_context *ctx, const aoe_training_args *args, const aoei_teacher *t,
                 const aoei_examples *files, size_t total, aoe_error *err) {
    const aoe_embedder_options e = {
        .struct_size = sizeof(aoe_embedder_options), .batch_tokens = args->batch_tokens, .threads = AOE_AUTO};
    aoe_model_options options = args->model_options;
    aoe_text *text = aoei_malloc_array(f->n, sizeof *text);
    float *vector = aoei_malloc_array(f->n, f->D * sizeof *vector);
    aoe_embedder *embedder = NULL;
    aoe_model *m = NULL;
    options.normalize = 0;
    int code = text && vector ? AOE_OK : aoei_fail_nomem(err, f->n * f->D * sizeof *vector);
    for (size_t i = 0, file = 0, before = 0; i < f->n && !code; i++) {
        const size_t at = i * total / f->n;
        while (at >= before + files[file].n_texts)
            before += files[file++].n_texts;
        text[i] = files[file].text[at - before];
        aoei_teacher_read(t, file, at - before, f->rows + i * (f->D + f->T) + f->D);
    }
    if (!code)
        code = aoe_model_open(&m, ctx, args->model, &options, err);
    if (!code)
        m->settings.truncate_dim = 0; /* training uses complete embeddings */
    if (!code)
        code = aoe_embedder_create(&embedder, m, &e, err);
    if (!code)
        code = aoe_embed(embedder, text, f->n, vector, NULL, err);
    for (size_t i = 0; i < f->n && !code; i++)
        memcpy(f->rows + i * (f->D + f->T), vector + i * f->D, f->D * sizeof *vector);
    aoe_embedder_destroy(embedder);
    aoe_model_close(m);
    aoei_free(vector);
    aoei_free(text);
    return code;
}

/* ---------------------------------------------------------------- solution */

/* Computes BAND rows of the covariances. */
static void covariance_task(void *arg, size_t task, size_t worker) {
    const fit *f = arg;
    const size_t width = f->D + f->T, first = task * BAND, end = first + BAND < f->D ? first + BAND : f->D;
    (void)worker;
    memset(f->covariance + first * width, 0, (end - first) * width * sizeof *f->covariance);
    for (size_t i = 0; i < f->n; i++) {
        const float *row = f->rows + i * width;
        for (size_t c = first; c < end; c++) {
            const double v = (double)row[c];
            double *sum = f->covariance + c * width;
            for (size_t k = 0; k < width; k++)
                sum[k] += v * (double)row[k];
        }
    }
    for (size_t c = first; c < end; c++)
        for (size_t k = 0; k < width; k++)
            f->covariance[c * width + k] = f->covariance[c * width + k] / (double)f->n - f->mean[c] * f->mean[k];
}

/* Computes BAND rows of the solution in the basis of the eigenvectors. */
static void solution_task(void *arg, size_t task, size_t worker) {
    const fit *f = arg;
    const size_t width = f->D + f->T, first = task * BAND, end = first + BAND < f->D ? first + BAND : f->D;
    double mean_variance = 0;
    (void)worker;
    for (size_t i = 0; i < f->D; i++)
        mean_variance += f->eigenvalue[i] / (double)f->D;
    for (size_t e = first; e < end; e++) {
        double *row = f->solution + e * f->T;
        const double divisor = fmax(f->eigenvalue[e], 0) + RIDGE * mean_variance;
        memset(row, 0, f->T * sizeof *row);
        for (size_t d = 0; d < f->D; d++)
            for (size_t k = 0; k < f->T; k++)
                row[k] += f->g[e * f->D + d] * f->covariance[d * width + f->D + k];
        for (size_t k = 0; k < f->T; k++)
            row[k] = divisor > 0 ? row[k] / divisor : 0;
    }
}

/* Computes BAND rows of W, and their elements of b. */
static void weight_task(void *arg, size_t task, size_t worker) {
    const fit *f = arg;
    const size_t first = task * BAND, end = first + BAND < f->T ? first + BAND : f->T;
    (void)worker;
    for (size_t k = first; k < end; k++) {
        double bias = f->mean[f->D + k];
        for (size_t d = 0; d < f->D; d++) {
            double sum = 0;
            for (size_t e = 0; e < f->D; e++)
                sum += f->g[e * f->D + d] * f->solution[e * f->T + k];
            f->weight[k * f->D + d] = (float)sum;
            bias -= sum * f->mean[d];
        }
        f->bias[k] = (float)bias;
    }
}

/* Solves the least squares problem: the means, the covariances, the eigenvectors of the covariance of v, and with them
 * W and b. */
static int solve(fit *f, aoe_context *ctx, aoe_error *err) {
    const size_t width = f->D + f->T;
    for (size_t i = 0; i < f->n; i++)
        for (size_t k = 0; k < width; k++)
            f->mean[k] += (double)f->rows[i * width + k];
    for (size_t k = 0; k < width; k++)
        f->mean[k] /= (double)f->n;
    aoei_parallel_for(ctx->pool, (f->D + BAND - 1) / BAND, covariance_task, f);
    for (size_t c = 0; c < f->D; c++)
        memcpy(f->g + c * f->D, f->covariance + c * width, f->D * sizeof *f->g);
    const int code = aoei_eigen_symmetric(f->g, f->eigenvalue, f->D, ctx->pool, err);
    if (code)
        return code;
    aoei_parallel_for(ctx->pool, (f->D + BAND - 1) / BAND, solution_task, f);
    aoei_parallel_for(ctx->pool, (f->T + BAND - 1) / BAND, weight_task, f);
    return AOE_OK;
}

/* Returns the mean cosine of W v_i + b and t_i over the texts, for the log. */
static double mean_cosine(const fit *f) {
    const size_t width = f->D + f->T;
    double mean = 0;
    for (size_t i = 0; i < f->n; i++) {
        const float *v = f->rows + i * width, *t = v + f->D;
        double yt = 0, yy = 0, tt = 0;
        for (size_t k = 0; k < f->T; k++) {
            double y = (double)f->bias[k];
            for (size_t d = 0; d < f->D; d++)
                y += (double)f->weight[k * f->D + d] * (double)v[d];
            yt += y * (double)t[k];
            yy += y * y;
            tt += (double)t[k] * (double)t[k];
        }
        mean += yy * tt > 0 ? yt / sqrt(yy * tt) / (double)f->n : 0;
    }
    return mean;
}

int aoei_teacher_map_fit(aoe_model *m, const aoe_training_args *args, const aoei_teacher *t, const aoei_examples *files,
                         size_t n, aoe_error *err) {
    const size_t dims = aoei_training_layers_of(&m->config)->head_cols;
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += files[i].n_texts;
    if (total / LEAST_TEXTS_PER_COMPONENT < dims)
        return AOE_OK;
    fit f;
    int code = fit_create(&f, total < MOST_TEXTS ? total : MOST_TEXTS, dims, t->dims, err);
    if (!code)
        code = embed(&f, m->ctx, args, t, files, total, err);
    if (!code)
        code = solve(&f, m->ctx, err);
    if (!code) {
        const size_t slot = aoei_pooled_slot(&m->config, AOEI_PW_HEAD);
        aoei_tensor_write(m->ctx, m->weights[slot], f.weight);
        aoei_tensor_write(m->ctx, m->weights[slot + 1], f.bias);
        aoei_log_write(
            &m->ctx->log, AOE_LOG_INFO,
            "the linear map to the teacher embeddings starts with a mean cosine of %.4f, fitted to %zu texts",
            mean_cosine(&f), f.n);
    }
    fit_free(&f);
    return code;
}
