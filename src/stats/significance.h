/* SPDX-License-Identifier: MIT
 * Declares the regularized incomplete beta function, which is used to compute the p-values of Student's t test. The
 * functions for tests and intervals are declared in aoe_eval.h.
 */
#pragma once

/* Returns I_x(a, b) for a, b > 0 and x in [0, 1]. y must be 1 - x; it is a separate argument because computing 1 - x
 * near x = 1 would lose precision. */
double aoei_incomplete_beta(double a, double b, double x, double y);
