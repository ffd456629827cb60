/* SPDX-License-Identifier: MIT
 * Compiles the bf16 matmul for AMX with emulated tile instructions. Its functions have the prefix "emulated", so that a test
 * can link both versions. The suffix "_amx" of the file name selects the compiler flags and excludes the file from builds for
 * other architectures. All code except the tile instructions is the code of the library.
 */
#include "emulated_gemm.h"

#include "amx_emulation.h"

#define aoei_gemm_bf16_amx             emulated_gemm_bf16
#define aoei_gemm_bf16_packed_size_amx emulated_gemm_bf16_packed_size
#define aoei_gemm_bf16_pack_amx        emulated_gemm_bf16_pack
#include "kernels/gemm_bf16_amx.c"
