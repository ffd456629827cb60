/* SPDX-License-Identifier: MIT
 * Compiles src/kernels/gemm_amx.c with emulated tile instructions. The functions get the prefix "emulated", so that a
 * test can link them together with the functions of the library. The suffix "_amx" of the file name selects the
 * compiler flags and excludes the file from builds for other architectures.
 */
#include "emulated_gemm.h"

#include "amx_emulation.h"

#define aoei_gemm_bf16_amx             emulated_gemm_bf16
#define aoei_gemm_bf16_packed_size_amx emulated_gemm_bf16_packed_size
#define aoei_gemm_bf16_pack_amx        emulated_gemm_bf16_pack
#define aoei_gemm_int8_amx             emulated_gemm_int8
#define aoei_gemm_int8_packed_size_amx emulated_gemm_int8_packed_size
#define aoei_gemm_int8_pack_amx        emulated_gemm_int8_pack
#define aoei_gemm_epilogue_avx512bf16  aoei_gemm_epilogue_avx512
#include "kernels/gemm_amx.c"
