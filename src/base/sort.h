/* SPDX-License-Identifier: MIT
 * Sorts indices by a key, and comparison functions for qsort().
 */
#pragma once

#include <stddef.h>

/* Comparison functions for arrays of size_t, double and char *, in ascending order. NaN is not supported. */
int aoei_compare_sizes(const void *a, const void *b);
int aoei_compare_doubles(const void *a, const void *b);
int aoei_compare_strings(const void *a, const void *b);

/* Sets index[n] to the numbers 0 to n - 1 in the order of ascending key[index[i]]. If keys are equal, the lower index
 * comes first, so the sort is stable. key must not contain NaN. scratch: [n], overwritten. Allocates no memory. */
void aoei_argsort(const double *key, size_t n, size_t *index, size_t *scratch);
