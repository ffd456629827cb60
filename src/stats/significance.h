/* SPDX-License-Identifier: MIT
 * The regularized incomplete beta function, from which the p-values of Student's t test are computed. The functions for tests
 * and intervals are public (aoe_eval.h).
 */
#ifndef AOEI_STATS_SIGNIFICANCE_H
#define AOEI_STATS_SIGNIFICANCE_H

/* Returns I_x(a, b) for a, b > 0 and x in [0, 1]. y must be 1 - x; it is a separate argument because computing 1 - x near x =
 * 1 would lose precision. */
double aoei_incomplete_beta(double a, double b, double x, double y);

#endif
