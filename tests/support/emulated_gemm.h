/* SPDX-License-Identifier: MIT
 * The bf16 and int8 matmuls for AMX, compiled with emulated tile instructions (amx_emulation.h). The other instructions
 * of the kernel are AVX-512 instructions, so the kernel runs only on x86-64 CPUs with AVX512-BF16.
 */
#pragma once

#include "kernels/kernels.h"

aoei_gemm_bf16_fn emulated_gemm_bf16;
aoei_gemm_bf16_packed_size_fn emulated_gemm_bf16_packed_size;
aoei_gemm_bf16_pack_fn emulated_gemm_bf16_pack;
aoei_gemm_int8_fn emulated_gemm_int8;
aoei_gemm_int8_packed_size_fn emulated_gemm_int8_packed_size;
aoei_gemm_int8_pack_fn emulated_gemm_int8_pack;
