/* SPDX-License-Identifier: MIT
 * Vector types and operations of the CPU tier for which a file NAME_simd.c is compiled. The Makefile compiles these
 * files once per tier.
 */
#pragma once

#include "kernels/tier.h"

#if defined(__AVX512F__)
#ifdef __AVX512BF16__
#define AOEI_CVTNEPS2BF16 1
#endif
#include "kernels/simd_avx512.h"
#include "kernels/simd_f64_avx512.h"
#elif defined(__AVX2__)
#include "kernels/simd_avx2.h"
#include "kernels/simd_f64_avx2.h"
#else
#include "kernels/simd_f64_neon.h"
#include "kernels/simd_neon.h"
#endif
