/* SPDX-License-Identifier: MIT
 * RMSprop and SGD for NEON. This file instantiates rmsprop_simd.h with the vector types and operations of simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/rmsprop_simd.h"
