/* SPDX-License-Identifier: MIT
 * The cosine of two vectors and its gradient, and the sums that pair scores share.
 */
#ifndef AOEI_LOSS_COSINE_H
#define AOEI_LOSS_COSINE_H

#include <stddef.h>

/* The cosine of x[D] and y[D]; 0 if one of them is a zero vector. */
double aoei_cosine_score(const double *x, const double *y, size_t D);
/* Adds scale * d cosine / d x to gx[D] and scale * d cosine / d y to gy[D]. Zero vectors neither receive nor cause a gradient.
 */
void aoei_cosine_grad(const double *x, const double *y, size_t D, double scale, double *gx, double *gy);

/* Sum of the four partial sums of a score, in the one order that every score uses. */
double aoei_lanes(const double lane[4]);

#endif
