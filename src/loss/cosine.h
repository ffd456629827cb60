/* SPDX-License-Identifier: MIT
 * The cosine of two vectors and its gradient. Also defines a function that adds partial sums, which the cosine and the
 * angle score use.
 */
#pragma once

#include <stddef.h>

/* Returns the cosine of x[D] and y[D]. If x or y is a zero vector, returns 0. */
double aoei_cosine_score(const double *x, const double *y, size_t D);
/* Adds `scale` times the gradient of the cosine with respect to x to gx[D], and with respect to y to gy[D]. If x or y
 * is a zero vector, adds nothing. */
void aoei_cosine_grad(const double *x, const double *y, size_t D, double scale, double *gx, double *gy);

/* Returns the sum of the four partial sums lane[0] to lane[3]. The cosine and the angle score add their partial sums
 * with this function, always in one order, so equal inputs give bit-identical results. */
double aoei_sum_lanes(const double lane[4]);
