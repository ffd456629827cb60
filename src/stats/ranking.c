/* SPDX-License-Identifier: MIT
 * Computes metrics of the ranked list of one query.
 */
#include "stats/ranking.h"

#include <math.h>

double aoei_recall(const double *gain, size_t n, size_t k, size_t relevant) {
    size_t found = 0;
    for (size_t i = 0; i < n && i < k; i++)
        found += gain[i] > 0;
    return relevant ? (double)found / (double)relevant : 0;
}

double aoei_reciprocal_rank(const double *gain, size_t n, size_t k) {
    for (size_t i = 0; i < n && i < k; i++)
        if (gain[i] > 0)
            return 1.0 / (double)(i + 1);
    return 0;
}

static double dcg(const double *gain, size_t n, size_t k) {
    double sum = 0;
    for (size_t i = 0; i < n && i < k; i++)
        sum += gain[i] / log2((double)(i + 2));
    return sum;
}

double aoei_ndcg(const double *gain, size_t n, size_t k, const double *ideal, size_t relevant) {
    return relevant ? dcg(gain, n, k) / dcg(ideal, relevant, k) : 0;
}
