/* SPDX-License-Identifier: MIT
 * Computes Pearson's and Spearman's correlation in float64. The means are subtracted before the products are summed, so
 * that a large offset common to all values does not reduce the precision. Spearman's correlation is computed as
 * Pearson's correlation of the average ranks, which is also correct if values are equal. */
#include "stats/correlation.h"

#include <math.h>

#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"

void aoei_ranks(const double *x, size_t n, double *rank, size_t *order, size_t *scratch) {
    aoei_argsort(x, n, order, scratch);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && x[order[end]] == x[order[first]]; end++)
            ;
        for (size_t i = first; i < end; i++)
            rank[order[i]] = 0.5 * (double)(first + 1 + end);
    }
}

static double mean_of(const double *x, size_t n, double scale) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += scale * x[i];
    return sum / (double)n;
}

static int is_constant(const double *x, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0])
            return 0;
    return 1;
}

/* Returns a power of two that scales the largest |x| below 1. Squares of scaled values do not overflow, and multiplying
 * by a power of two is exact. */
static double scale_of(const double *x, size_t n) {
    double largest = 0.0;
    int exponent;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(x[i]));
    frexp(largest, &exponent);
    return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

double aoe_pearson(const double *x, const double *y, size_t n) {
    if (!x || !y)
        return (double)NAN;
    /* is_constant compares the values with each other. Comparing the variance with 0 would not be reliable, because the
     * rounded mean of equal values may differ from these values */
    if (n < 2 || is_constant(x, n) || is_constant(y, n))
        return NAN;
    const double ax = scale_of(x, n), ay = scale_of(y, n), mx = mean_of(x, n, ax), my = mean_of(y, n, ay);
    double sx = 0.0, sy = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (size_t i = 0; i < n; i++) {
        double dx = ax * x[i] - mx, dy = ay * y[i] - my;
        sx += dx;
        sy += dy;
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    /* corrects for the rounding of the means */
    xx -= sx * sx / (double)n;
    yy -= sy * sy / (double)n;
    xy -= sx * sy / (double)n;
    double r = xy / (sqrt(xx) * sqrt(yy));
    return r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
}

double aoe_spearman(const double *x, const double *y, size_t n) {
    if (!x || !y)
        return (double)NAN;
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]) || isnan(y[i]))
            return NAN;
    if (n < 2)
        return NAN;
    double *rank = aoei_malloc_array(n, 2 * sizeof *rank);
    size_t *order = aoei_malloc_array(n, 2 * sizeof *order);
    double r = NAN;
    if (rank && order) {
        aoei_ranks(x, n, rank, order, order + n);
        aoei_ranks(y, n, rank + n, order, order + n);
        r = aoe_pearson(rank, rank + n, n);
    }
    aoei_free(order);
    aoei_free(rank);
    return r;
}

int aoei_correlate(const double *x, const double *y, size_t n, double *spearman, double *pearson, aoe_error *err) {
    *pearson = aoe_pearson(x, y, n);
    *spearman = aoe_spearman(x, y, n);
    if (isnan(*spearman) && !isnan(*pearson)) /* Spearman's correlation is defined whenever Pearson's is, so NaN means
                                                 that memory ran out */
        return aoei_fail_nomem(err, n * sizeof *x);
    return 0;
}
