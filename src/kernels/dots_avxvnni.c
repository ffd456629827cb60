/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for AVX-VNNI.
 */
#include "kernels/dots_256.h"

#define VNNI              1
#define DPBUSD(sum, v, w) _mm256_dpbusd_avx_epi32(sum, v, w)
#include "kernels/dots_x86.h"
