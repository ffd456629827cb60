/* SPDX-License-Identifier: MIT
 * Average ranks, which aoe_spearman uses, and both correlation coefficients with an error
 * code. The coefficients themselves are public: aoe_pearson and aoe_spearman.
 */
#ifndef AOEI_STATS_CORRELATION_H
#define AOEI_STATS_CORRELATION_H

#include <stddef.h>

#include "aoe.h"

/* rank[n]: ranks of x[n] from 1, equal values get the mean of their ranks. x contains no NaN. order, scratch: [n]. */
void aoei_ranks(const double *x, size_t n, double *rank, size_t *order, size_t *scratch);
/* Computes both coefficients; undefined ones are NaN. Errors: AOE_ENOMEM. */
int aoei_correlate(const double *x, const double *y, size_t n, double *spearman, double *pearson, aoe_error *err);

#endif
