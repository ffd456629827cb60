/* SPDX-License-Identifier: MIT
 * The cosine of two vectors (the score in equation 1 of the AnglE paper) and its gradient, in float64. Sums are
 * accumulated in a fixed order, so float32 and float64 vectors with equal values give bit-identical results.
 */
#include "loss/cosine.h"

#include <math.h>

#include "aoe.h"

enum { CHUNK = 64 /* number of float32 values that are converted to float64 at a time; a multiple of 4 */ };

/* The inner products <x, x>, <y, y> and <x, y> of two vectors x and y. Each consists of four partial sums; the product
 * of component k is added to partial sum k mod 4. */
typedef struct dot_products {
    double xx[4], yy[4], xy[4];
} dot_products;

/* Adds the products of n components of x and y to the sums. A pair of vectors may be passed in several calls. n must
 * then be a multiple of 4 in all calls except the last one. */
static void dot_products_add(dot_products *s, const double *x, const double *y, size_t n) {
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        for (size_t l = 0; l < 4; l++) {
            s->xx[l] += x[k + l] * x[k + l];
            s->yy[l] += y[k + l] * y[k + l];
            s->xy[l] += x[k + l] * y[k + l];
        }
    }
    for (size_t l = 0; k + l < n; l++) {
        s->xx[l] += x[k + l] * x[k + l];
        s->yy[l] += y[k + l] * y[k + l];
        s->xy[l] += x[k + l] * y[k + l];
    }
}

double aoei_sum_lanes(const double lane[4]) {
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

/* Returns the cosine, <x, y> / sqrt(<x, x> <y, y>). With this divisor, the cosine of a vector with itself is exactly
 * 1. */
static double cosine_of(const dot_products *s) {
    double norms = sqrt(aoei_sum_lanes(s->xx) * aoei_sum_lanes(s->yy));
    return norms == 0.0 ? 0.0 : aoei_sum_lanes(s->xy) / norms;
}

double aoei_cosine_score(const double *x, const double *y, size_t D) {
    dot_products s = {0};
    dot_products_add(&s, x, y, D);
    return cosine_of(&s);
}

void aoei_cosine_grad(const double *x, const double *y, size_t D, double scale, double *gx, double *gy) {
    dot_products s = {0};
    dot_products_add(&s, x, y, D);
    double xx = aoei_sum_lanes(s.xx), yy = aoei_sum_lanes(s.yy), norms = sqrt(xx * yy);
    if (norms == 0.0)
        return;
    double cosine = aoei_sum_lanes(s.xy) / norms, cross = scale / norms;
    double radial_x = scale * cosine / xx, radial_y = scale * cosine / yy;
    for (size_t k = 0; k < D; k++) {
        gx[k] += cross * y[k] - radial_x * x[k];
        gy[k] += cross * x[k] - radial_y * y[k];
    }
}

double aoe_cosine(const float *x, const float *y, size_t dims) {
    if (!x || !y)
        return (double)NAN;
    dot_products s = {0};
    double a[CHUNK], b[CHUNK];
    for (size_t at = 0; at < dims; at += CHUNK) {
        size_t n = dims - at < CHUNK ? dims - at : CHUNK;
        for (size_t k = 0; k < n; k++) {
            a[k] = (double)x[at + k];
            b[k] = (double)y[at + k];
        }
        dot_products_add(&s, a, b, n);
    }
    double cosine = cosine_of(&s);
    return cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine;
}
