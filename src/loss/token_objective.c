/* SPDX-License-Identifier: MIT
 * Computes the loss of IS-BERT. A task processes one text or one token. Inner loops run over adjacent elements of a
 * row, so that every sum has a fixed order and the compiler can vectorize the loops.
 */
#include "loss/token_objective.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/pool.h"

#define LN2 0.69314718055994530942

/* Arrays of the workspace, and the batch. */
typedef struct token_job {
    const aoei_token_vectors *b;
    double *mean;       /* [B, D] mean vectors g_i */
    double *transposed; /* [D, B] the same values */
    double *d_mean;     /* [B, D] gradients of the mean vectors */
    double *factor;     /* [N, B] dot products x_ji, then their gradients */
    double *loss;       /* [N] contribution of each token to the loss */
    size_t *own;        /* [N] text of each token */
} token_job;

static void lay_out(token_job *j, aoei_arena *a, size_t B, size_t N, size_t D) {
    j->mean = aoei_arena_take_array(a, B, D * sizeof *j->mean);
    j->transposed = aoei_arena_take_array(a, B, D * sizeof *j->transposed);
    j->d_mean = aoei_arena_take_array(a, B, D * sizeof *j->d_mean);
    j->factor = aoei_arena_take_array(a, N, B * sizeof *j->factor);
    j->loss = aoei_arena_take_array(a, N, sizeof *j->loss);
    j->own = aoei_arena_take_array(a, N, sizeof *j->own);
}

size_t aoei_token_objective_workspace(size_t texts, size_t tokens, size_t D) {
    aoei_arena a;
    token_job j;
    aoei_arena_measure(&a);
    lay_out(&j, &a, texts, tokens, D);
    return a.overflow ? 0 : a.used;
}

static double component(const aoei_token_vectors *b, size_t token, size_t k) {
    return b->v64 ? b->v64[token * b->D + k] : (double)b->v[token * b->D + k];
}

/* Adds factor times the vector of a token to to[D]. */
static void add_token(double *to, const aoei_token_vectors *b, size_t token, double factor) {
    if (b->v64)
        for (size_t k = 0; k < b->D; k++)
            to[k] += factor * b->v64[token * b->D + k];
    else
        for (size_t k = 0; k < b->D; k++)
            to[k] += factor * (double)b->v[token * b->D + k];
}

/* Computes the mean of the token vectors of a text, and sets j->own for its tokens. */
static void mean_task(void *arg, size_t text, size_t worker) {
    (void)worker;
    const token_job *j = arg;
    const aoei_token_vectors *b = j->b;
    const size_t first = b->offsets[text], end = b->offsets[text + 1];
    double *mean = j->mean + text * b->D;
    memset(mean, 0, b->D * sizeof *mean);
    for (size_t t = first; t < end; t++) {
        add_token(mean, b, t, 1);
        j->own[t] = text;
    }
    for (size_t k = 0; k < b->D; k++)
        mean[k] /= (double)(end - first);
    for (size_t k = 0; k < b->D; k++)
        j->transposed[k * b->texts + text] = mean[k];
}

/* Computes the dot products of a token, its contribution to the loss, and the gradients of the dot products. */
static void product_task(void *arg, size_t token, size_t worker) {
    (void)worker;
    const token_job *j = arg;
    const size_t B = j->b->texts, D = j->b->D;
    const double positive = 1 / (double)j->b->tokens, negative = positive / (double)(B - 1);
    double *x = j->factor + token * B, loss = 0;
    memset(x, 0, B * sizeof *x);
    for (size_t k = 0; k < D; k++) {
        const double c = component(j->b, token, k), *g = j->transposed + k * B;
        for (size_t i = 0; i < B; i++)
            x[i] += c * g[i];
    }
    for (size_t i = 0; i < B; i++) {
        const double small = exp(-fabs(x[i])), sigmoid = x[i] >= 0 ? 1 / (1 + small) : small / (1 + small);
        const double softplus = (x[i] > 0 ? x[i] : 0) + log1p(small);
        const int own = i == j->own[token];
        loss += own ? positive * (softplus - x[i] - LN2) : negative * (softplus - LN2);
        x[i] = isfinite(x[i]) ? own ? positive * (sigmoid - 1) : negative * sigmoid : (double)NAN;
    }
    j->loss[token] = loss;
}

static void mean_gradient_task(void *arg, size_t text, size_t worker) {
    (void)worker;
    const token_job *j = arg;
    double *d = j->d_mean + text * j->b->D;
    memset(d, 0, j->b->D * sizeof *d);
    for (size_t t = 0; t < j->b->tokens; t++)
        add_token(d, j->b, t, j->factor[t * j->b->texts + text]);
}

enum { BLOCK = 64 /* components that a task sums at a time */ };

/* Computes the gradient of one token: the gradient of the mean of its text divided by the number of tokens, plus the
 * means of all texts, each multiplied by the factor of its pair with the token. */
static void gradient_task(void *arg, size_t token, size_t worker) {
    (void)worker;
    const token_job *j = arg;
    const aoei_token_vectors *b = j->b;
    const size_t text = j->own[token], D = b->D;
    const double n = (double)(b->offsets[text + 1] - b->offsets[text]);
    for (size_t first = 0; first < D; first += BLOCK) {
        const size_t count = D - first < BLOCK ? D - first : BLOCK;
        double sum[BLOCK];
        for (size_t k = 0; k < count; k++)
            sum[k] = j->d_mean[text * D + first + k] / n;
        for (size_t i = 0; i < b->texts; i++) {
            const double factor = j->factor[token * b->texts + i], *g = j->mean + i * D + first;
            for (size_t k = 0; k < count; k++)
                sum[k] += factor * g[k];
        }
        for (size_t k = 0; k < count; k++) {
            if (b->v64)
                b->grad64[token * D + first + k] = sum[k];
            else
                b->grad[token * D + first + k] = (float)sum[k];
        }
    }
}

int aoei_token_objective(const aoei_token_vectors *b, void *workspace, size_t workspace_bytes, aoe_context *ctx,
                         aoe_objective_result *result, aoe_error *err) {
    aoei_arena arena = {.base = workspace, .size = workspace_bytes};
    token_job j = {.b = b};
    double sum = 0;
    *result = (aoe_objective_result){0};
    if (b->texts < 2 || !b->tokens || !b->D)
        return aoei_fail(err, AOE_EARG,
                         "the loss of IS-BERT compares the texts of a batch, so it needs at least two texts, not %zu",
                         b->texts);
    lay_out(&j, &arena, b->texts, b->tokens, b->D);
    aoei_parallel_for(ctx->pool, b->texts, mean_task, &j);
    aoei_parallel_for(ctx->pool, b->tokens, product_task, &j);
    for (size_t t = 0; t < b->tokens; t++) {
        if (!isfinite(j.loss[t]))
            return aoei_fail(
                err, AOE_ENUMERIC,
                "token %zu of text %zu: a dot product of token vectors is not finite; check the weights and "
                "the learning rate",
                t - b->offsets[j.own[t]], j.own[t]);
        sum += j.loss[t];
    }
    aoei_parallel_for(ctx->pool, b->texts, mean_gradient_task, &j);
    aoei_parallel_for(ctx->pool, b->tokens, gradient_task, &j);
    result->positive_pairs = b->texts;
    result->total = result->contrastive = sum;
    return AOE_OK;
}
