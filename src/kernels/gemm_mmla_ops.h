/* SPDX-License-Identifier: MIT
 * Defines the three kernels of a matmul op (matmul, packed size, packing) for the instructions of gemm_mmla.h. Include
 * this file after gemm_mmla.h. Define these macros first:
 * - GEMM_SYMBOL(part): the name of the kernel for the op with the suffix `part`: empty, _packed_size or _pack
 * - GEMM_TYPE: element type of A and B
 * - GEMM_PACK: initializer of aoei_gemm_tier.pack_b
 */
static const aoei_gemm_tier mmla_tier = {.rows = ROWS,
                                         .panel = PANEL,
                                         .lanes = VF_LANES,
                                         .word = GEMM_WORD,
                                         .word_floats = WORD_FLOATS,
                                         .type = GEMM_TYPE,
                                         .k_block = K_BLOCK,
                                         .m_block = M_BLOCK,
                                         .tiles = tiles,
                                         .pack_b = GEMM_PACK,
                                         .epilogue = aoei_gemm_epilogue_neon};

size_t GEMM_SYMBOL(_packed_size)(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&mmla_tier, K, N);
}

void GEMM_SYMBOL(_pack)(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K, size_t n0,
                        size_t n1) {
    aoei_gemm_pack_columns(&mmla_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void GEMM_SYMBOL()(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&mmla_tier, g, scratch);
}
