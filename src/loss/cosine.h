/* SPDX-License-Identifier: MIT
 * Scores of one pair of vectors and their gradients: the cosine and the two
 * forms of the angle. Gradients are added, scaled, to what is there, so that
 * terms can be summed without further memory. A zero vector has score 0 and
 * takes and gives no gradient.
 */
#ifndef AOEI_LOSS_PAIR_SCORE_H
#define AOEI_LOSS_PAIR_SCORE_H

#include <stddef.h>

#include "aoe.h"

/* x, y: [D]. */
double aoei_cosine_score(const double *x, const double *y, size_t D);
/* gx, gy: [D], += scale * d cosine / d x, d y. */
void aoei_cosine_grad(const double *x, const double *y, size_t D, double scale, double *gx, double *gy);

/* The angle score before the temperature, higher = more similar. D even. */
double aoei_angle_score(const double *x, const double *y, size_t D, aoe_angle_form form);
void aoei_angle_grad(const double *x, const double *y, size_t D, aoe_angle_form form, double scale, double *gx, double *gy);

/* Inner products of one pass over both vectors. */
typedef struct aoei_dots {
    double xx[4], yy[4], xy[4]; /* four partial sums each: component k goes to sum k mod 4 */
} aoei_dots;
void aoei_dots_add(aoei_dots *s, const double *x, const double *y, size_t n); /* n a multiple of 4 in all calls but the last */
double aoei_lanes(const double lane[4]);                                      /* the one order in which lanes are added */

#endif
