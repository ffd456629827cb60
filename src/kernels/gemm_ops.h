/* SPDX-License-Identifier: MIT
 * Defines the three kernels of a matmul op (matmul, packed size, packing) for a vector instruction set. Include this
 * file once per op, after gemm_simd.h. Define these macros first:
 * - GEMM_OP: gemm_f32 or gemm_bf16
 * - GEMM_TYPE: element type of A and B
 * - GEMM_WORD: number of elements along k per packed word
 * - GEMM_KIND: format (word_kind in gemm_words.h) of the packed words of bf16 operands
 * - GEMM_KIND_OF_F32: format (word_kind) of the packed words of float32 operands
 */
#define GEMM_PASTE2(a, b) a##b
#define GEMM_PASTE(a, b)  GEMM_PASTE2(a, b)
#define GEMM_NAME(part)   GEMM_PASTE(GEMM_OP, part)

static void GEMM_NAME(_lines_f32)(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                                  size_t K) {
    pack_lines(dst, stride, src, AOEI_F32, GEMM_KIND_OF_F32, row, col, lines, K);
}

static void GEMM_NAME(_lines_bf16)(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                                   size_t K) {
    pack_lines(dst, stride, src, AOEI_BF16, GEMM_KIND, row, col, lines, K);
}

static const aoei_gemm_tier GEMM_NAME(_tier) = {.rows = GEMM_ROWS,
                                                .panel = PANEL,
                                                .lanes = VF_LANES,
                                                .word = GEMM_WORD,
                                                .word_floats = 1,
                                                .type = GEMM_TYPE,
                                                .k_block = K_BLOCK,
                                                .m_block = M_BLOCK / GEMM_ROWS * GEMM_ROWS,
                                                .prefetch_tiles = GEMM_PREFETCH_TILES,
                                                .tiles = tiles,
                                                .pack_b = {GEMM_NAME(_lines_f32), GEMM_NAME(_lines_bf16)},
                                                .epilogue = GEMM_EPILOGUE};

size_t AOEI_SIMD(GEMM_NAME(_packed_size))(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&GEMM_NAME(_tier), K, N);
}

void AOEI_SIMD(GEMM_NAME(_pack))(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                                 size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&GEMM_NAME(_tier), packed, b, type, b_row, b_col, K, n0, n1);
}

void AOEI_SIMD(GEMM_OP)(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&GEMM_NAME(_tier), g, scratch);
}

#undef GEMM_NAME
#undef GEMM_PASTE
#undef GEMM_PASTE2
#undef GEMM_OP
#undef GEMM_TYPE
#undef GEMM_WORD
#undef GEMM_KIND
#undef GEMM_KIND_OF_F32
