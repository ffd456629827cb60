/* SPDX-License-Identifier: MIT
 * Vectors for tests that compare losses with values that were computed independently.
 */
#pragma once

#include <stddef.h>

/* Returns component k of row i: multiples of 1/4 from -1.5 to 1.5. */
static inline double test_example_row(size_t i, size_t k) {
    return ((double)((5 * i + 3 * k + i * k) % 13) - 6) / 4;
}
