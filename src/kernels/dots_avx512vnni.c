/* SPDX-License-Identifier: MIT
 * Dot products of one query with rows of codes and of signs for AVX512-VNNI.
 */
#include "kernels/dots_512.h"

#define VNNI              1
#define DPBUSD(sum, v, w) _mm512_dpbusd_epi32(sum, v, w)
#include "kernels/dots_x86.h"
