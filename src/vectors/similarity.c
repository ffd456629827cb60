/* SPDX-License-Identifier: MIT
 * The similarity of two embeddings. Component k is added to the partial sum k mod LANES, so that compilers can use
 * vector instructions, and the partial sums are added in a fixed order.
 */
#include "vectors/similarity.h"

#include <math.h>

enum { LANES = 8 };

/* Adds n <= LANES terms to the partial sums. */
static inline void add_terms(double sum[LANES], aoe_similarity_function f, const float *x, const float *y, size_t n) {
    for (size_t l = 0; l < n; l++) {
        const double a = (double)x[l], b = (double)y[l], difference = a - b;
        sum[l] += f == AOE_SIMILARITY_DOT         ? a * b
                  : f == AOE_SIMILARITY_EUCLIDEAN ? difference * difference
                                                  : fabs(difference);
    }
}

static inline double add_all(aoe_similarity_function f, const float *x, const float *y, size_t dims) {
    double sum[LANES] = {0};
    size_t k = 0;
    for (; k + LANES <= dims; k += LANES)
        add_terms(sum, f, x + k, y + k, LANES);
    add_terms(sum, f, x + k, y + k, dims - k);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

double aoei_similarity_value(aoe_similarity_function f, const float *x, const float *y, size_t dims) {
    switch (f) {
    case AOE_SIMILARITY_DOT:
        return add_all(AOE_SIMILARITY_DOT, x, y, dims);
    case AOE_SIMILARITY_EUCLIDEAN:
        return -sqrt(add_all(AOE_SIMILARITY_EUCLIDEAN, x, y, dims));
    case AOE_SIMILARITY_MANHATTAN:
        return -add_all(AOE_SIMILARITY_MANHATTAN, x, y, dims);
    default:
        return aoe_cosine(x, y, dims);
    }
}
