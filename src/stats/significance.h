/* SPDX-License-Identifier: MIT
 * The function behind Student's t: the regularised incomplete beta function. The
 * tests and intervals that stand on it are public (aoe.h).
 */
#ifndef AOEI_STATS_SIGNIFICANCE_H
#define AOEI_STATS_SIGNIFICANCE_H

/* I_x(a, b) for a, b > 0 and x in [0, 1]; y = 1 - x, given apart since near x = 1 the difference would lose its digits. */
double aoei_incomplete_beta(double a, double b, double x, double y);

#endif
