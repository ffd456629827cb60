/* SPDX-License-Identifier: MIT
 * Computes average ranks, and Spearman's and Pearson's correlation with error reporting. The public functions
 * aoe_pearson and aoe_spearman are declared in aoe_eval.h.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Writes the ranks of x[n], counted from 1, to rank[n]. Equal values get the mean of their ranks. x must not contain
 * NaN. order, scratch: [n] workspace. */
void aoei_ranks(const double *x, size_t n, double *rank, size_t *order, size_t *scratch);
/* Computes both correlation coefficients of x[n] and y[n]; an undefined coefficient is NaN. Errors: AOE_ENOMEM. */
int aoei_correlate(const double *x, const double *y, size_t n, double *spearman, double *pearson, aoe_error *err);
