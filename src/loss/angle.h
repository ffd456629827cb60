/* SPDX-License-Identifier: MIT
 * The angle score of two vectors and its gradient (equations 3 to 6 of the AnglE paper, arXiv 2309.12871).
 * docs/objectives.md contains the formulas of the reference form and of the phase form of the score.
 */
#pragma once

#include <stddef.h>

#include "aoe_objective.h"

/* Returns the angle score of x[D] and y[D]. The score is not divided by the temperature. A higher score means more
 * similar vectors. D must be even. If x or y is a zero vector, the score is 0. */
double aoei_angle_score(const double *x, const double *y, size_t D, aoe_angle_form form);
/* Adds `scale` times the gradient of the angle score with respect to x to gx[D], and with respect to y to gy[D]. If x
 * or y is a zero vector, adds nothing. */
void aoei_angle_grad(const double *x, const double *y, size_t D, aoe_angle_form form, double scale, double *gx,
                     double *gy);
