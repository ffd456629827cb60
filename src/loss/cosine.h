/* SPDX-License-Identifier: MIT
 * The cosine of two vectors and its gradient, and the sum of partial sums that the cosine and the angle score use.
 */
#ifndef AOEI_LOSS_COSINE_H
#define AOEI_LOSS_COSINE_H

#include <stddef.h>

/* Returns the cosine of x[D] and y[D]; 0 if x or y is a zero vector. */
double aoei_cosine_score(const double *x, const double *y, size_t D);
/* Adds scale * d cosine / d x to gx[D] and scale * d cosine / d y to gy[D]. If x or y is a zero vector, adds nothing. */
void aoei_cosine_grad(const double *x, const double *y, size_t D, double scale, double *gx, double *gy);

/* Returns the sum of the four partial sums of a score. All scores add them in this order, so that equal inputs give identical
 * bits. */
double aoei_sum_lanes(const double lane[4]);

#endif
