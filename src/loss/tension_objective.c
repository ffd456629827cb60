/* SPDX-License-Identifier: MIT
 * Binary cross entropy of dot products. A batch has few pairs, so one thread computes the loss.
 */
#include "loss/tension_objective.h"

#include <math.h>

#include "base/error.h"

/* Returns component k of vector u of the batch. */
static double value(const aoei_example_batch *b, size_t u, size_t k) {
    return b->v64 ? b->v64[u * b->D + k] : (double)b->v[u * b->D + k];
}

/* Stores factor times vector `from` as the gradient of vector u. */
static void set_gradient(const aoei_example_batch *b, size_t u, size_t from, double factor) {
    for (size_t k = 0; k < b->D; k++) {
        const double g = factor * value(b, from, k);
        if (b->v64 && b->grad64)
            b->grad64[u * b->D + k] = g;
        else if (!b->v64 && b->grad)
            b->grad[u * b->D + k] = (float)g;
    }
}

int aoei_tension_objective(const double *target, const aoei_example_batch *b, aoe_objective_result *result,
                           aoe_error *err) {
    double sum = 0;
    *result = (aoe_objective_result){0};
    if (!target || !b->B || !b->D || b->arity != 2)
        return aoei_fail(err, AOE_EARG,
                         "the loss of Contrastive Tension needs targets and two vectors per example, not %zu",
                         b->arity);
    for (size_t i = 0; i < b->B; i++) {
        double s = 0;
        for (size_t k = 0; k < b->D; k++)
            s += value(b, 2 * i, k) * value(b, 2 * i + 1, k);
        if (!isfinite(s))
            return aoei_fail(
                err, AOE_ENUMERIC,
                "pair %zu: the dot product of the vectors is not finite; check the weights and the learning rate", i);
        const double small = exp(-fabs(s)); /* exp(-|s|) does not overflow */
        const double probability = s >= 0 ? 1 / (1 + small) : small / (1 + small);
        const double factor = (probability - target[i]) / (double)b->B;
        sum += (s > 0 ? s : 0) + log1p(small) - target[i] * s;
        set_gradient(b, 2 * i, 2 * i + 1, factor);
        set_gradient(b, 2 * i + 1, 2 * i, factor);
    }
    result->positive_pairs = b->B;
    result->total = result->contrastive = sum / (double)b->B;
    return AOE_OK;
}
