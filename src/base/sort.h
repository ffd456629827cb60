/* SPDX-License-Identifier: MIT
 * Sorts indices by a key; the sort is stable.
 */
#pragma once

#include <stddef.h>

/* Sets index[n] to the numbers 0 to n - 1 in the order of ascending key[index[i]]. If keys are equal, the lower index
 * comes first. key must not contain NaN. scratch: [n], overwritten. Allocates no memory. */
void aoei_argsort(const double *key, size_t n, size_t *index, size_t *scratch);
