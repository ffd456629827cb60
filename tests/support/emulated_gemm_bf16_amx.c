/* SPDX-License-Identifier: MIT
 * The amx tier's product compiled on emulated tiles, its functions under names of their own. The file's name gives it the
 * tier's compiler flags, and keeps it out of builds for other architectures: what is not a tile instruction (packing,
 * epilogue) is the same code.
 */
#include "emulated_gemm.h"

#include "amx_emulation.h"

#define aoei_gemm_bf16_amx             emulated_gemm_bf16
#define aoei_gemm_bf16_packed_size_amx emulated_gemm_bf16_packed_size
#define aoei_gemm_bf16_pack_amx        emulated_gemm_bf16_pack
#include "kernels/gemm_bf16_amx.c"
