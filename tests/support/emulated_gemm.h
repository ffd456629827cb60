/* SPDX-License-Identifier: MIT
 * The bf16 matmul of tier amx, with emulated tiles (amx_emulation.h) in place of the tile instructions. The rest of its code
 * uses AVX-512, so it runs only on x86-64 CPUs with tier avx512bf16.
 */
#ifndef AOE_TESTS_EMULATED_GEMM_H
#define AOE_TESTS_EMULATED_GEMM_H

#include "kernels/kernels.h"

aoei_gemm_bf16_fn emulated_gemm_bf16;
aoei_gemm_bf16_packed_size_fn emulated_gemm_bf16_packed_size;
aoei_gemm_bf16_pack_fn emulated_gemm_bf16_pack;

#endif
