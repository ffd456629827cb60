/* SPDX-License-Identifier: MIT
 * Dropout of a row for NEON. This file instantiates dropout_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/dropout_simd.h"
