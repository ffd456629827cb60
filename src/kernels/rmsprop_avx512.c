/* SPDX-License-Identifier: MIT
 * RMSprop and SGD for AVX-512. This file instantiates rmsprop_simd.h with the vector types and operations of simd_avx512.h.
 */
#include "kernels/simd_avx512.h"
#include "kernels/rmsprop_simd.h"
