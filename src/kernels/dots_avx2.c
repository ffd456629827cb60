/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for AVX2.
 */
#include "kernels/dots_256.h"

#define VNNI 0
#include "kernels/dots_x86.h"
