/* SPDX-License-Identifier: MIT
 * Average ranks, on which aoe_spearman stands. The coefficients themselves are
 * public (aoe.h): aoe_pearson and aoe_spearman.
 */
#ifndef AOEI_STATS_CORRELATION_H
#define AOEI_STATS_CORRELATION_H

#include <stddef.h>

#include "aoe.h"

/* rank[n]: ranks of x[n] from 1, equal values with the mean of theirs. x without NaN. order, scratch: [n]. */
void aoei_ranks(const double *x, size_t n, double *rank, size_t *order, size_t *scratch);
/* Both coefficients, telling undefined ones (NaN) from AOE_ENOMEM. */
int aoei_correlate(const double *x, const double *y, size_t n, double *spearman, double *pearson, aoe_error *err);

#endif
