/* SPDX-License-Identifier: MIT
 * Computes the loss of replaced token detection. The first pass over the tokens computes the derivatives of the losses
 * with respect to the logits and the gradients of the vectors; a task processes one token. The second pass adds the
 * gradients of the classifier; a task processes COLUMNS components for all tokens in ascending order.
 */
#include "loss/detection_objective.h"

#include <math.h>

#include "base/error.h"
#include "base/pool.h"

enum {
    CLASSES = AOEI_DETECTION_CLASSES,
    WORK = AOEI_DETECTION_WORK,
    COLUMNS = 32 /* number of components per task of the second pass */
};

typedef struct detection_job {
    const aoei_detector *c;
    const aoei_detection_batch *b;
} detection_job;

static double component(const aoei_detection_batch *b, size_t token, size_t k) {
    return b->v64 ? b->v64[token * b->D + k] : (double)b->v[token * b->D + k];
}

/* Computes the derivatives of the loss of a token with respect to its logits, then the loss, and the gradient of its
 * vector. */
static void token_task(void *arg, size_t t, size_t worker) {
    const detection_job *j = arg;
    const aoei_detection_batch *b = j->b;
    const double *w = j->c->weight;
    const size_t D = b->D, label = b->label[t];
    double z[CLASSES] = {j->c->bias[0], j->c->bias[1]}, *error = b->work + WORK * t;
    (void)worker;
    for (size_t k = 0; k < D; k++) {
        const double v = component(b, t, k);
        z[0] += w[k] * v;
        z[1] += w[D + k] * v;
    }
    /* the derivative of log(1 + exp(other - own)) with respect to the logit of the other class */
    const double x = z[1 - label] - z[label], small = exp(-fabs(x)), p = x >= 0 ? 1 / (1 + small) : small / (1 + small);
    error[1 - label] = isfinite(x) ? p : (double)NAN;
    error[label] = -error[1 - label];
    error[CLASSES] = (x > 0 ? x : 0) + log1p(small);
    for (size_t k = 0; k < D; k++) {
        const double g = b->factor * (error[0] * w[k] + error[1] * w[D + k]);
        if (b->v64)
            b->grad64[t * D + k] = g;
        else
            b->grad[t * D + k] = (float)g;
    }
}

/* Adds the gradients of the classifier weights for one block of components. */
static void weight_task(void *arg, size_t task, size_t worker) {
    const detection_job *j = arg;
    const aoei_detection_batch *b = j->b;
    const size_t D = b->D, first = task * COLUMNS, end = first + COLUMNS < D ? first + COLUMNS : D;
    (void)worker;
    for (size_t t = 0; t < b->n; t++)
        for (size_t c = 0; c < CLASSES; c++)
            for (size_t k = first; k < end; k++)
                j->c->d_weight[c * D + k] += b->work[WORK * t + c] * component(b, t, k);
}

int aoei_detection_objective(const aoei_detector *c, const aoei_detection_batch *b, double *loss,
                             const aoe_context *ctx, aoe_error *err) {
    detection_job j = {c, b};
    aoei_parallel_for(ctx->pool, b->n, token_task, &j);
    for (size_t t = 0; t < b->n; t++) {
        const double *error = b->work + WORK * t;
        if (!isfinite(error[0]))
            return aoei_fail(
                err, AOE_ENUMERIC,
                "token %zu: a logit of the replaced token detection is not finite; lower the learning rate", t);
        *loss += error[CLASSES];
        c->d_bias[0] += error[0];
        c->d_bias[1] += error[1];
    }
    aoei_parallel_for(ctx->pool, (b->D + COLUMNS - 1) / COLUMNS, weight_task, &j);
    return AOE_OK;
}
