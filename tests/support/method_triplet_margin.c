/* SPDX-License-Identifier: MIT
 * An example of a training method: the triplet margin loss, the mean of max(0, |q - p| - |q - n| + 1) over the triplets
 * of a query q, a positive p and a negative n.
 */
#include "train/method.h"

#include <math.h>

#include "base/error.h"

static double distance(const float *a, const float *b, size_t D) {
    double sum = 0;
    for (size_t k = 0; k < D; k++)
        sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
    return sqrt(sum);
}

/* Adds factor times the gradient of |a - b| to the gradients da and db. */
static void add_gradient(float *da, float *db, const float *a, const float *b, size_t D, double factor) {
    const double length = distance(a, b, D);
    for (size_t k = 0; k < D && length > 0; k++) {
        const double g = factor * ((double)a[k] - (double)b[k]) / length;
        da[k] += (float)g;
        db[k] -= (float)g;
    }
}

static int triplet_loss(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err) {
    const size_t B = b->examples.B, D = b->examples.D;
    *result = (aoe_objective_result){.positive_pairs = B};
    for (size_t i = 0; i < 3 * B * D; i++)
        b->examples.grad[i] = 0;
    for (size_t i = 0; i < B; i++) {
        const float *q = b->examples.v + 3 * i * D, *p = q + D, *n = p + D;
        float *dq = b->examples.grad + 3 * i * D, *dp = dq + D, *dn = dp + D;
        const double loss = distance(q, p, D) - distance(q, n, D) + 1, weight = loss > 0 ? 1 / (double)B : 0;
        if (!isfinite(loss))
            return aoei_fail(err, AOE_ENUMERIC, "triplet %zu: a vector is not finite; lower the learning rate", i);
        result->contrastive += weight * loss;
        add_gradient(dq, dp, q, p, D, weight);
        add_gradient(dq, dn, q, n, D, -weight);
    }
    result->total = result->contrastive;
    return AOE_OK;
}

static size_t no_workspace(const aoei_loss_shape *s) {
    return s ? 1 : 0;
}

static const aoei_step_loss loss = {.workspace = no_workspace, .compute = triplet_loss};

const aoei_method aoei_method_triplet_margin = {.name = "triplet-margin",
                                                .group = AOEI_METHODS_POSITIVES,
                                                .about = "triplet margin loss",
                                                .kinds = AOEI_KIND(TRIPLETS),
                                                .supported = "triplets",
                                                .step_loss = &loss};
