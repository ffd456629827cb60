/* SPDX-License-Identifier: MIT
 * Principal component analysis with two axes, for a map of vectors.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/pool.h"

/* Computes the coordinates of vectors [n, d] on the two axes of their largest variance: out [n, 2], relative to their
 * mean. The component of largest magnitude of each axis is positive. If the vectors differ in fewer than two
 * directions, the other coordinates are 0. share [2] or NULL: receives the part of the total variance on each axis, in
 * [0, 1]. pool: may be NULL; the result does not depend on the number of threads. Errors: AOE_ENUMERIC (a component is
 * not finite), AOE_ENOMEM. */
int aoei_pca(const float *vectors, size_t n, size_t d, float *out, double *share, aoei_pool *pool, aoe_error *err);
