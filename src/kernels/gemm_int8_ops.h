/* SPDX-License-Identifier: MIT
 * Defines the three kernels of the int8 matmul (matmul, packed size, packing) for a vector instruction set. Include
 * this file after gemm_simd.h, whose macro GEMM_STEP must multiply words of the format GEMM_KIND. Define these macros
 * first:
 * - GEMM_WORD: number of elements along k per packed word
 * - GEMM_KIND: format (word_kind in gemm_words.h) of the packed words: WORD_INT16 or WORD_INT8
 * - GEMM_UNSIGNED: 1: GEMM_STEP multiplies uint8 elements of A by int8 elements of B, so 128 is added to the elements
 *   of A, and the sums start from aoei_gemm_tile.start; 0: GEMM_STEP multiplies signed elements
 */
static void pack_int8_lines(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines,
                            size_t K) {
    (void)col; /* the elements of a line are contiguous */
    pack_contiguous(dst, stride, src, AOEI_I8, GEMM_KIND, row, lines, K);
}

#if GEMM_UNSIGNED
/* Packs rows of A. stride must be `lines`. Adding 128 to an int8 element changes its highest bit. */
static void pack_int8_rows(float *dst, size_t stride, const void *src, size_t row, size_t col, size_t lines, size_t K) {
    const size_t words = words_of(GEMM_KIND, K) * stride;
    const vu high = vu_set1(0x80808080u);
    size_t i = 0;
    pack_int8_lines(dst, stride, src, row, col, lines, K);
    for (; i + VF_LANES <= words; i += VF_LANES)
        vf_store(dst + i, vf_of_bits(vu_xor(vf_bits(vf_load(dst + i)), high)));
    if (i < words)
        vf_store_part(dst + i, words - i, vf_of_bits(vu_xor(vf_bits(vf_load_part(dst + i, words - i)), high)));
}
#endif

static const aoei_gemm_tier int8_tier = {.rows = GEMM_ROWS,
                                         .panel = PANEL,
                                         .lanes = VF_LANES,
                                         .word = GEMM_WORD,
                                         .word_floats = 1,
                                         .type = AOEI_I8,
                                         .k_block = K_BLOCK,
                                         .m_block = M_BLOCK / GEMM_ROWS * GEMM_ROWS,
                                         .prefetch_tiles = GEMM_PREFETCH_TILES,
                                         .tiles = tiles,
#if GEMM_UNSIGNED
                                         .pack_a = pack_int8_rows,
#endif
                                         .pack_b = {NULL, NULL, pack_int8_lines},
                                         .start_row = GEMM_UNSIGNED,
                                         .epilogue = GEMM_EPILOGUE};

size_t AOEI_SIMD(gemm_int8_packed_size)(size_t K, size_t N) {
    return aoei_gemm_packed_bytes(&int8_tier, K, N);
}

void AOEI_SIMD(gemm_int8_pack)(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                               size_t n0, size_t n1) {
    aoei_gemm_pack_columns(&int8_tier, packed, b, type, b_row, b_col, K, n0, n1);
}

void AOEI_SIMD(gemm_int8)(const aoei_gemm_args *g, float *scratch) {
    aoei_gemm_blocked(&int8_tier, g, scratch);
}
