/* SPDX-License-Identifier: MIT
 * The similarity of two embeddings (aoe_similarity_function of aoe.h).
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Returns the similarity of x[dims] and y[dims], computed in double precision in a fixed order. */
double aoei_similarity_value(aoe_similarity_function f, const float *x, const float *y, size_t dims);
