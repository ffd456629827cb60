/* SPDX-License-Identifier: MIT
 * The regularised incomplete beta function, from which the p-values of Student's t test are
 * computed. The tests and intervals are public (aoe_eval.h).
 */
#ifndef AOEI_STATS_SIGNIFICANCE_H
#define AOEI_STATS_SIGNIFICANCE_H

/* I_x(a, b) for a, b > 0 and x in [0, 1]; y: 1 - x, passed separately because near x = 1 the difference would lose precision.
 */
double aoei_incomplete_beta(double a, double b, double x, double y);

#endif
