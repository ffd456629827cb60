/* SPDX-License-Identifier: MIT
 * The bf16 matrix product of tier amx, compiled with emulated tiles under function names of its own. The file name
 * selects the compiler flags of the tier and excludes the file from builds for other architectures. The code around
 * the tile instructions (packing, epilogue) is the code of the library.
 */
#include "emulated_gemm.h"

#include "amx_emulation.h"

#define aoei_gemm_bf16_amx             emulated_gemm_bf16
#define aoei_gemm_bf16_packed_size_amx emulated_gemm_bf16_packed_size
#define aoei_gemm_bf16_pack_amx        emulated_gemm_bf16_pack
#include "kernels/gemm_bf16_amx.c"
