/* SPDX-License-Identifier: MIT
 * The bf16 product of tier amx on emulated tiles (amx_emulation.h). The rest of it is AVX-512: only where the CPU has
 * tier avx512bf16. x86-64 only.
 */
#ifndef AOE_TESTS_EMULATED_GEMM_H
#define AOE_TESTS_EMULATED_GEMM_H

#include "kernels/kernels.h"

aoei_gemm_bf16_fn emulated_gemm_bf16;
aoei_gemm_bf16_packed_size_fn emulated_gemm_bf16_packed_size;
aoei_gemm_bf16_pack_fn emulated_gemm_bf16_pack;

#endif
