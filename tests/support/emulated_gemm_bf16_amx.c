/* SPDX-License-Identifier: MIT
 * Compiles the bf16 matmul of tier amx with emulated tiles, under function names of its own. The name of this file selects the
 * compiler flags of the tier, and excludes the file from builds for other architectures. All code except the tile instructions
 * (packing, epilogue) is the code of the library.
 */
#include "emulated_gemm.h"

#include "amx_emulation.h"

#define aoei_gemm_bf16_amx             emulated_gemm_bf16
#define aoei_gemm_bf16_packed_size_amx emulated_gemm_bf16_packed_size
#define aoei_gemm_bf16_pack_amx        emulated_gemm_bf16_pack
#include "kernels/gemm_bf16_amx.c"
