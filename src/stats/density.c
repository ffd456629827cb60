/* SPDX-License-Identifier: MIT
 * Computes statistics of a sample: quantiles, Gaussian kernel density estimates with reflection at the bounds, and the
 * bandwidth of the kernel. Sums are computed in float64, in the order in which the values are passed. The results are
 * bit-identical on all machines except for differences in the rounding of exp() and pow(). */
#include <math.h>

#include "aoe.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/sort.h"

static double quantile_of_sorted(const double *x, const size_t *order, size_t n, double q) {
    const double position = (double)(n - 1) * q, fraction = position - floor(position);
    const size_t k = (size_t)position;
    const double below = x[order[k]], above = x[order[k + 1 < n ? k + 1 : k]];
    return fraction > 0 && above > below ? (1 - fraction) * below + fraction * above : below;
}

/* Returns the indices [n] that sort x in ascending order, owned by the caller; NULL if memory runs out. */
static size_t *sort(const double *x, size_t n) {
    size_t *order = aoei_malloc_array(n, 2 * sizeof *order);
    if (order)
        aoei_argsort(x, n, order, order + n);
    return order;
}

double aoe_quantile(const double *x, size_t n, double q) {
    if (!x)
        return (double)NAN;
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return NAN;
    if (n == 0 || !(q >= 0 && q <= 1))
        return NAN;
    size_t *order = sort(x, n);
    const double value = order ? quantile_of_sorted(x, order, n, q) : NAN;
    aoei_free(order);
    return value;
}

/* Returns the sample standard deviation of n > 1 values (divisor n - 1). */
static double deviation(const double *x, size_t n) {
    double sum = 0, squares = 0, residual = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (x[i] - mean) * (x[i] - mean);
        residual += x[i] - mean;
    }
    squares -= residual * residual / (double)n; /* corrects for the rounding of the mean */
    return sqrt(squares / (double)(n - 1));
}

double aoe_bandwidth(const double *x, size_t n) {
    if (!x)
        return (double)NAN;
    int varies = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return NAN;
        varies |= x[i] != x[0];
    }
    if (!varies)
        return NAN;
    size_t *order = sort(x, n);
    if (!order)
        return NAN;
    const double range = quantile_of_sorted(x, order, n, 0.75) - quantile_of_sorted(x, order, n, 0.25),
                 sd = deviation(x, n);
    aoei_free(order);
    const double spread = range > 0 && range / 1.34 < sd ? range / 1.34 : sd;
    return 0.9 * spread * pow((double)n, -0.2);
}

static double kernel(double distance, double bandwidth) {
    const double z = distance / bandwidth;
    return exp(-0.5 * z * z);
}

int aoe_density(const double *x, size_t n, double bandwidth, double low, double high, const double *at, size_t m,
                double *density, aoe_error *err) {
    AOEI_CHECK(err, x, at, density);
    static const double root_two_pi = 2.50662827463100050242;
    if (n == 0)
        return aoei_fail(err, AOE_EARG, "there are no values; give at least one");
    if (!(bandwidth > 0) || !isfinite(bandwidth))
        return aoei_fail(err, AOE_EARG, "bandwidth is %g; it must be a positive number", bandwidth);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) || x[i] < low || x[i] > high)
            return aoei_fail(err, AOE_EARG, "value %zu, %g, is not between %g and %g; widen the bounds", i, x[i], low,
                             high);
    for (size_t j = 0; j < m; j++) {
        double sum = 0;
        const int inside = at[j] >= low && at[j] <= high;
        for (size_t i = 0; inside && i < n; i++) {
            sum += kernel(at[j] - x[i], bandwidth);
            if (isfinite(low))
                sum += kernel(at[j] + x[i] - 2 * low, bandwidth);
            if (isfinite(high))
                sum += kernel(at[j] + x[i] - 2 * high, bandwidth);
        }
        density[j] = sum / ((double)n * bandwidth * root_two_pi);
    }
    return 0;
}
