/* SPDX-License-Identifier: MIT
 * Binary cross entropy and cross entropy of the outputs of cross-encoders.
 */
#include "loss/score_objective.h"

#include <math.h>

#include "base/error.h"

/* Returns component k of vector i of the batch. */
static double value(const aoei_example_batch *b, size_t i, size_t k) {
    return b->v64 ? b->v64[i * b->D + k] : (double)b->v[i * b->D + k];
}

/* Stores the gradient of component k of vector i. */
static void set_gradient(const aoei_example_batch *b, size_t i, size_t k, double g) {
    if (b->v64 && b->grad64)
        b->grad64[i * b->D + k] = g;
    else if (!b->v64 && b->grad)
        b->grad[i * b->D + k] = (float)g;
}

/* Returns the binary cross entropy of one output. */
static double binary_loss(const aoei_example_batch *b, size_t i, double target) {
    const double x = value(b, i, 0), small = exp(-fabs(x)); /* exp(-|x|) does not overflow */
    const double probability = x >= 0 ? 1 / (1 + small) : small / (1 + small);
    set_gradient(b, i, 0, (probability - target) / (double)b->B);
    return (x > 0 ? x : 0) + log1p(small) - target * x;
}

/* Returns the cross entropy of the softmax of several outputs. */
static double class_loss(const aoei_example_batch *b, size_t i, size_t class) {
    double highest = value(b, i, 0), sum = 0;
    for (size_t k = 1; k < b->D; k++)
        highest = fmax(highest, value(b, i, k));
    for (size_t k = 0; k < b->D; k++)
        sum += exp(value(b, i, k) - highest);
    for (size_t k = 0; k < b->D; k++)
        set_gradient(b, i, k, (exp(value(b, i, k) - highest) / sum - (k == class)) / (double)b->B);
    return log(sum) + highest - value(b, i, class);
}

int aoei_score_objective(const double *label, const aoei_example_batch *b, aoe_objective_result *result,
                         aoe_error *err) {
    double sum = 0;
    *result = (aoe_objective_result){0};
    if (!label || !b->B || !b->D || b->arity != 1)
        return aoei_fail(err, AOE_EARG, "the loss of cross-encoders needs labels and one vector per example, not %zu",
                         b->arity);
    for (size_t i = 0; i < b->B; i++) {
        for (size_t k = 0; k < b->D; k++)
            if (!isfinite(value(b, i, k)))
                return aoei_fail(err, AOE_ENUMERIC,
                                 "pair %zu: the score is not finite; check the weights and the learning rate", i);
        sum += b->D == 1 ? binary_loss(b, i, label[i]) : class_loss(b, i, (size_t)label[i]);
    }
    result->total = result->classification = sum / (double)b->B;
    return 0;
}
