/* SPDX-License-Identifier: MIT
 * bf16 and int8 matmul kernels for AMX. A tile has 16 rows of 64 bytes. The instruction TDPBF16PS adds the products of
 * 32 elements along k to the running sum of each element of C in a tile; TDPBSSD adds the products of 64 int8 elements.
 * The groups of elements are added in ascending order of k. M, N and K are padded with zeros to whole tiles, so an
 * element of C depends only on its row of A, its column of B, and K. Between chunks of K, and between two calls that
 * accumulate into one C, running sums are stored as float32. The running sums of int8 matmuls are int32 values, which
 * are stored in the memory of floats. In the following, numbers of elements along k are those of bf16; with int8 they
 * are twice as large, because numbers of bytes are equal. The loops, from outer to inner:
 * - M-blocks: groups of up to M_BLOCKS * 32 rows of A and C. The rows of A stay in the L2 cache. If the rows of A are
 *   whole cache lines, tiles are loaded from A; otherwise, the rows are packed.
 * - Groups of panels. A panel is 32 columns of B and C. A group has one panel, or several panels if K has more than two
 *   chunks.
 * - Chunks: ranges of k of up to 384 elements. The rows of A of one chunk stay in L2 while all panels of the group use
 *   them.
 * - Panels of the group. A chunk of a panel of B stays in the L1 cache while all blocks of the M-block use it. A is
 *   read from L2.
 * - Blocks of 32 x 32 elements of C. Between chunks, the sums of a block are stored in `sums`; after the last chunk,
 *   they are stored in `staging`.
 * - Steps of 32 elements along k. A step reads two tiles of A and two tiles of B and computes four tile products.
 * Measurements on one core of Sapphire Rapids with four accumulators (2 x 2 tiles): with chunks of 384 elements along
 * k, B is in L1, A is in L2, and the tile unit reaches 98% of its peak rate. With chunks of 768 or more elements, A and
 * B are in L2, and the tile unit reaches 76%. Storing the sums of a block takes 50 cycles if A, B and the sums fit in
 * the L1 cache. It takes 200 cycles with chunks of 384 elements, and at least 900 cycles with chunks of 768. Software
 * prefetch of the operands of the current step takes more time than it saves. The following design was derived from
 * these measurements:
 * - Chunks have 384 elements. Sums are stored in memory between chunks.
 * - Accumulators are replaced one at a time. The first step of a block stores an accumulator of the previous block,
 *   initializes this accumulator for the new block, and multiplies. Then it continues with the next accumulator. While
 *   one accumulator is replaced, the tile unit works on the other three, so each result has the time of three tile
 *   products to complete.
 * - There is only one staging block, so its cache lines stay in L1. The order of the four quarters (16 x 16 elements)
 *   of a block in memory is rotated, so no load directly follows a store to an address with equal low bits (see
 *   quarter_offset).
 * - Vector instructions are interleaved with the later steps of a block. First, the epilogue processes a few rows of
 *   the previous block per step; it starts at step EPILOGUE_FIRST, so that the stores of the previous block are
 *   complete. Then, each step packs a few lines of the next chunk of B or prefetches them into L2.
 * Measurements of this file on one core of an Intel Xeon with AMX-BF16 and AMX-INT8 and 2 MB of L2 cache:
 * - A tile product takes 16 cycles: 4.3 ns, or 3.8 TFLOP/s, with operands in registers. With loads from L1 and L2 and
 *   random operands, it takes 5.6 ns (2.9 TFLOP/s). With operands of zeros, it takes only 4.7 ns.
 * - A matmul of 512 rows with bias takes 9.3 ns per tile product for K = 768 and N = 768, and 9.6 ns for K = 384 and N
 *   = 384. With GELU and K = 384, it takes 1.5 times as long as with bias only.
 * - While tile products run, the CPU executes only one 512-bit vector operation per cycle instead of two. Up to 64
 *   vector operations per step are free. Exact GELU has about 68 operations per vector of 16 elements, which would take
 *   more time than a matmul with K = 384, so the epilogue reads it from tables. Applying the epilogue to more or to
 *   fewer rows per step is slower.
 * - If A is transposed, as in the gradient of a weight, packing A takes 13 to 20% of the time. Most of this time is
 *   spent waiting for loads of A.
 */
#include <assert.h>
#include <string.h>

#include "kernels/simd_avx512.h"
#include "kernels/amx_tiles.h"
#include "kernels/gemm_block.h"
#include "kernels/transpose_avx512.h"

/* Sizes that follow from the tile shape. */
enum {
    HALF = 16,                    /* number of rows, and of columns, of C in a tile */
    BLOCK = 32,                   /* number of rows, and of columns, of C in a block */
    STEP = 32,                    /* elements along k per step, for bf16 */
    TILE_WORDS = 256,             /* 32-bit words in a tile: floats, pairs of bf16, or four int8 */
    STEP_WORDS = 2 * TILE_WORDS,  /* words of A, or of B, per step */
    BLOCK_WORDS = 4 * TILE_WORDS, /* floats of the sums of a block */
    BLOCK_ROW_BYTES = 2 * TILE_ROW_BYTES
};

/* Tuning parameters. */
enum {
    CHUNK_STEPS = 12, /* maximum number of steps per chunk, even. A chunk of B then has 24 KB, half of L1; larger chunks
                         do not stay in L1 */
    M_BLOCKS = 16,    /* maximum number of blocks in an M-block. More blocks would gain little, because a chunk of B is
                         then already used 16 times */
    A_STEPS = 768,  /* maximum of the number of steps multiplied by the number of blocks of an M-block. The packed rows
                       of A then have at most 1.5 MB, and the L2 cache has 2 MB. With 512, inference is 4 to 7%
                       slower */
    MIN_BLOCKS = 2, /* minimum number of blocks of an M-block that is limited by A_STEPS. If A_STEPS allows fewer
                       blocks, the limit is ignored, and A is packed again for each group of panels */
    SUMS_BLOCKS = 96, /* maximum number of blocks whose running sums are stored between chunks. They have 384 KB, and
                         stay in L2 together with the rows of A of one chunk */
    SPILL_STEPS = 64, /* maximum number of steps of a piece. run_pieces divides the range of k into pieces if the limit
                         A_STEPS is exceeded and running sums may be stored in C */
    EPILOGUE_FIRST = 2, /* step of the next block at which the epilogue starts reading the sums */
    EPILOGUE_ROWS = 4, /* number of rows that the epilogue processes per step; a divisor of HALF. The 32 rows of a block
                          need 8 steps. In a chunk of 12 steps, vector work is interleaved with 10 steps */
    FETCH_BLOCKS = 8,  /* minimum number of blocks in an M-block for prefetching the next chunk of B. A smaller M-block
                          has fewer steps, and would issue too many prefetches per step */
    STEP_LINES = STEP_WORDS * 4 / 64 /* cache lines of A, or of B, per step */
};

/* Offsets of the arrays of `work` in the scratch memory, in floats from the first page boundary in the scratch
 * memory. */
enum {
    PAGE = 4096,
    AT_STAGING = 0,
    AT_SUMS = AT_STAGING + BLOCK_WORDS,
    AT_B = AT_SUMS + SUMS_BLOCKS * BLOCK_WORDS,
    AT_A = AT_B + 2 * CHUNK_STEPS * STEP_WORDS,
    SCRATCH_WORDS = AT_A + A_STEPS * STEP_WORDS + PAGE / 4
};
static_assert(SCRATCH_WORDS <= AOEI_GEMM_SCRATCH, "scratch");
static_assert(M_BLOCKS * CHUNK_STEPS <= A_STEPS, "a chunk of A");
static_assert(M_BLOCKS <= SUMS_BLOCKS, "the sums of one panel");
static_assert(HALF % EPILOGUE_ROWS == 0 && CHUNK_STEPS % 2 == 0 && BLOCK == AOEI_GEMM_PANEL, "tuning");

/* Numbers of the tile registers. SUMS_00 to SUMS_11 are accumulators, one for each quarter of the sums of a block. A_0,
 * A_1, B_0 and B_1 contain the operands of a step. */
#define SUMS_00 0
#define SUMS_01 1
#define SUMS_10 2
#define SUMS_11 3
#define A_0     4
#define A_1     5
#define B_0     6
#define B_1     7

static const tile_shapes shapes = {
    .palette = 1,
    .row_bytes = {TILE_ROW_BYTES, TILE_ROW_BYTES, TILE_ROW_BYTES, TILE_ROW_BYTES, TILE_ROW_BYTES, TILE_ROW_BYTES,
                  TILE_ROW_BYTES, TILE_ROW_BYTES},
    .rows = {TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS, TILE_ROWS}};

/* An operand, A or B. A line is a row of A or a column of B. Element k of line i is data[i * line + k * k_stride]. */
typedef struct source {
    const void *data;
    aoei_dtype type;
    size_t line, k_stride; /* distances in elements: between adjacent lines; between adjacent elements of a line, 1 for
                              int8 */
    size_t K;              /* number of elements per line */
} source;

/* Returns the number of elements along k per step for operands of the type `type`, AOEI_BF16 or AOEI_I8. */
static inline size_t step_elements(aoei_dtype type) {
    return TILE_ROW_BYTES / aoei_dtype_size(type);
}

/* A block of C, which has at most 32 rows and 32 columns. */
typedef struct block {
    /* The first element is C[m][n]. rows is 0 if there is no block. */
    size_t m, n, rows, columns;
    float *sums;     /* [BLOCK_WORDS] destination of the block's running sums */
    size_t rotation; /* rotation of the positions of the quarters in `sums`; quarter_offset explains it */
} block;

/* The tiles of A for the rows of a block and for the steps of a chunk, either packed or in A itself. The members are a
 * pointer and distances in bytes. */
typedef struct block_tiles {
    const unsigned char *first; /* first tile of the first step */
    size_t row;                 /* distance between the rows of a tile */
    size_t lower;               /* distance between the two tiles of a step */
    size_t step;                /* distance between adjacent steps */
} block_tiles;

/* A pass adds the terms of one chunk to the sums of one panel, for all blocks of the M-block. The passes of a group of
 * panels are adjacent. In a group, all panels use a chunk before they use the next chunk, so that the rows of A of one
 * chunk stay in L2. */
typedef struct pass {
    size_t chunk;               /* number of the chunk */
    size_t first_panel, member; /* number of the first panel of the group; index of the panel in the group */
    size_t panel;               /* number of the panel */
    size_t first, steps;        /* first step and number of steps of the chunk; 0 steps: there are no further passes */
    int odd;                    /* 1: the number of passes before this pass is odd */
} pass;

/* State of one matmul. */
typedef struct work {
    const aoei_gemm_args *g;
    source a, b;         /* operands A and B of the matmul */
    int int8;            /* 1: A and B are int8; 0: they are bf16 */
    size_t steps;        /* number of steps for the whole K */
    size_t chunks;       /* number of chunks of K */
    const float *packed; /* B, packed by the caller; NULL: not packed */
    size_t packed_panel; /* distance between the panels of `packed` in words */
    int in_place;        /* 1: the tiles of A are loaded from A, except those of blocks with incomplete tiles */
    int keeps_a;         /* 1: A is packed once for all panels; 0: A is packed again for each group of panels */
    float *staging;      /* [BLOCK_WORDS] complete sums of the block `staged` */
    size_t group_panels; /* number of panels in a group, except the last group, which may have fewer */
    float *sums; /* [group_panels][block][BLOCK_WORDS] running sums, between two chunks, of each block of the M-block in
                    the panels of a group */
    float *b_chunks; /* [2][CHUNK_STEPS][STEP_WORDS] two packed chunks of B, which the passes use in turn; unused if the
                        caller packed B */
    float *a_chunks; /* [chunk][block][step][STEP_WORDS] packed rows of A of the M-block */
    size_t m, rows;  /* the M-block has rows [m, m + rows) of C */
    size_t panels;   /* number of panels */
    pass next;       /* the next pass of the M-block */
    size_t ready; /* number of steps of the chunk of the next pass that are already packed; used if the caller did not
                     pack B */
    const float *fetch;     /* start of the part of `packed` that remains to be prefetched */
    const float *fetch_end; /* end of the part of `packed` that is to be prefetched */
    block held;             /* block whose running sums are in the accumulators */
    block staged;           /* block whose complete sums are in `staging` */
    size_t done;            /* number of rows of `staged` that the epilogue has processed */
} work;

static size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t ceil_div(size_t n, size_t part) {
    return n / part + (n % part != 0);
}

/* Returns the offset of a quarter of a block in the memory of the block's sums, in floats. Quarters 0 and 1 are the
 * upper rows; quarters 2 and 3 are the lower rows. The CPU delays a load if a pending store has an address with the
 * same low 12 bits. The four quarters of a block together occupy 4096 bytes, so their addresses have all values of
 * these bits. The order of the quarters in memory is therefore rotated: by STAGING_ROTATION in `staging`, and by 1 or 3
 * in `sums`. A load that follows the stores of a block then has equal low bits only with the earliest of these stores,
 * or with stores that come after the load. The operands of a step start at a page boundary or in the middle of a page.
 * The operands of the second step are in the second half of a page, so their low bits are those of the first stores of
 * a block with STAGING_ROTATION. */
enum { STAGING_ROTATION = 2, SUMS_ROTATION = 1 /* the sums of odd blocks are rotated by 3 */ };

static inline size_t quarter_offset(size_t quarter, size_t rotation) {
    const size_t q = (quarter + rotation) % 4;
    return q / 2 * (HALF * BLOCK) + q % 2 * HALF;
}

static size_t sums_rotation(size_t block_number) {
    return SUMS_ROTATION + block_number % 2 * 2;
}

/* Returns row r of `staging`, which has 32 columns. */
static float *staged_row(const work *w, size_t r) {
    return w->staging + quarter_offset(r / HALF * 2, STAGING_ROTATION) + r % HALF * BLOCK;
}

static size_t chunk_start(const work *w, size_t chunk) {
    if (chunk == 0 || chunk == w->chunks) /* without a division */
        return chunk ? w->steps : 0;
    return min_size(2 * (ceil_div(w->steps, 2) * chunk / w->chunks), w->steps);
}

/* Returns the number of blocks of the M-block. */
static size_t block_count(const work *w) {
    return ceil_div(w->rows, BLOCK);
}

/* Completes the description of a pass, whose members `chunk`, `first_panel` and `member` are set. */
static void complete_pass(const work *w, pass *p) {
    p->panel = p->first_panel + p->member;
    p->first = chunk_start(w, p->chunk);
    p->steps = p->panel < w->panels ? chunk_start(w, p->chunk + 1) - p->first : 0;
}

/* Replaces the pass p by the pass after it. If p is the last pass, the result has no steps. */
static void advance(const work *w, pass *p) {
    p->odd = !p->odd;
    if (++p->member == min_size(w->panels - p->first_panel, w->group_panels)) {
        p->member = 0;
        if (++p->chunk == w->chunks) {
            p->chunk = 0;
            p->first_panel += w->group_panels;
        }
    }
    complete_pass(w, p);
}

/* ---- packing */

static const void *source_at(const source *s, size_t line, size_t k) {
    return (const unsigned char *)s->data + (line * s->line + k * s->k_stride) * aoei_dtype_size(s->type);
}

/* Loads n <= 16 adjacent elements, converts them to bf16 and fills the remaining lanes with zeros. */
static inline __m256i load_half_line(const void *p, aoei_dtype type, size_t n) {
    if (type == AOEI_BF16)
        return n == HALF ? _mm256_loadu_si256(p) : _mm256_maskz_loadu_epi16(vf_mask(n), p);
    return vf_narrow(n == HALF ? vf_load(p) : vf_load_part(p, n));
}

/* Loads elements [k, k + ks) of a line, where ks is at most the number of elements in a step, converts them to bf16
 * unless they are int8, and fills the remaining lanes with zeros. */
static inline __m512i load_line(const source *s, size_t line, size_t k, size_t ks) {
    const unsigned char *p = source_at(s, line, k);
    if (s->type == AOEI_I8)
        return _mm512_maskz_loadu_epi8(ks < 2 * STEP ? (__mmask64)(((uint64_t)1 << ks) - 1) : ~(__mmask64)0, p);
    if (s->k_stride != 1) {
        aoei_bf16 buffer[STEP] = {0};
        for (size_t j = 0; j < ks; j++) {
            const void *x = source_at(s, line, k + j);
            buffer[j] = s->type == AOEI_BF16 ? *(const aoei_bf16 *)x : aoei_bf16_from_f32(*(const float *)x);
        }
        return _mm512_loadu_si512(buffer);
    }
    if (s->type == AOEI_BF16)
        return _mm512_maskz_loadu_epi16((__mmask32)(((uint64_t)1 << ks) - 1), p);
    const size_t low = min_size(ks, HALF);
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_half_line(p, s->type, low)),
                              load_half_line(p + low * sizeof(float), s->type, ks - low), 1);
}

/* Returns 1 if the elements of adjacent lines are adjacent in memory and the elements of one line are not. */
static inline int lines_are_adjacent(const source *s) {
    return s->line == 1 && s->k_stride != 1;
}

/* Packs elements [k, k + ks) of up to 16 lines, where ks is at most 32. Elements of adjacent lines must be adjacent in
 * memory. Writes words[p][i], the elements k + 2p and k + 2p + 1 of line i, and fills the remaining words of the tile
 * with zeros. `type` is s->type as a compile-time constant. */
static inline void pair_rows(float *words, const source *s, aoei_dtype type, size_t line, size_t lines, size_t k,
                             size_t ks) {
    const __m512i mix = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const size_t row = s->k_stride * aoei_dtype_size(type);
    const int more = k + 2 * STEP <= s->K && line % BLOCK == 0;
    const unsigned char *p = source_at(s, line, k);
    for (size_t j = 0; j < STEP; j += 2, words += HALF) {
        __m512i pair = _mm512_setzero_si512();
        if (more) { /* the elements of the next step are too far apart for hardware prefetchers */
            AOEI_PREFETCH(p + (STEP + j) * row);
            AOEI_PREFETCH(p + (STEP + j + 1) * row);
        }
        if (j < ks)
            pair = _mm512_zextsi256_si512(load_half_line(p + j * row, type, lines));
        if (j + 1 < ks)
            pair = _mm512_inserti64x4(pair, load_half_line(p + (j + 1) * row, type, lines), 1);
        _mm512_storeu_si512(words, _mm512_permutexvar_epi16(mix, pair));
    }
}

/* Packs one tile from elements [k, k + ks) of up to 16 lines, where ks is at most the number of elements in a step. A
 * tile of A has one row per line and one word per pair of bf16 or per four int8 elements; a tile of B is the transpose.
 * Missing lines and elements are zeros. */
static void pack_tile(float *tile, const source *s, int is_a, size_t line, size_t lines, size_t k, size_t ks) {
    _Alignas(64) float stage[TILE_WORDS];
    const float *rows[HALF];
    const int whole = lines == HALF && ks == (s->type == AOEI_I8 ? 2 * STEP : STEP);
    float *words = lines_are_adjacent(s) == is_a ? stage : tile;
    for (size_t i = 0; i < HALF; i++)
        rows[i] = stage + i * HALF;
    if (lines_are_adjacent(s)) {
        if (s->type == AOEI_F32)
            pair_rows(words, s, AOEI_F32, line, lines, k, ks);
        else if (whole)
            pair_rows(words, s, AOEI_BF16, line, HALF, k, STEP);
        else
            pair_rows(words, s, AOEI_BF16, line, lines, k, ks);
    } else if (whole && !is_a && s->type != AOEI_F32 && s->k_stride == 1) {
        for (size_t i = 0; i < HALF; i++)
            rows[i] = source_at(s, line + i, k);
    } else {
        for (size_t i = 0; i < HALF; i++)
            _mm512_storeu_si512(words + i * HALF, i < lines ? load_line(s, line + i, k, ks) : _mm512_setzero_si512());
    }
    if (words == stage)
        transpose_lines(tile, HALF, rows, HALF);
}

/* Packs up to 32 lines, starting at line `line`, for step `step`: two tiles of A if is_a is 1, or two tiles of B if
 * is_a is
 * 0. */
static void pack_step(float *tiles, const source *s, int is_a, size_t line, size_t lines, size_t step) {
    const size_t most = s->type == AOEI_I8 ? 2 * STEP : STEP, k = step * most;
    const size_t ks = min_size(s->K - k, most), first = min_size(lines, HALF);
    pack_tile(tiles, s, is_a, line, first, k, ks);
    pack_tile(tiles + TILE_WORDS, s, is_a, line + first, lines - first, k, ks);
}

/* Returns the memory for a chunk of packed A. If keeps_a is 0, all chunks use the same memory. */
static float *a_chunk(const work *w, size_t chunk) {
    return w->a_chunks + (w->keeps_a ? chunk_start(w, chunk) * block_count(w) * STEP_WORDS : 0);
}

/* Returns 1 if the tiles of A, which has the type `type`, can be loaded from A: adjacent elements of a row are adjacent
 * in memory, K is a multiple of the elements of a step or A is padded, and the rows of all tiles are whole cache
 * lines. */
static int tiles_in_place(const aoei_gemm_args *g, aoei_dtype type) {
    return g->a_col == 1 && (g->K % step_elements(type) == 0 || g->a_padded) &&
           ((uintptr_t)g->a | g->a_row * aoei_dtype_size(type)) % TILE_ROW_BYTES == 0;
}

/* Returns 1 if the tiles of block i of the M-block are loaded from A. If the number of rows in the block is not a
 * multiple of 16, a tile contains memory after the last row of A, so the block is packed unless A is padded. */
static int block_in_place(const work *w, size_t i) {
    return w->in_place && (w->g->a_padded || min_size(w->rows - i * BLOCK, BLOCK) % HALF == 0);
}

/* Returns the tiles of A for block i of the M-block and for the steps of one chunk. */
static block_tiles a_tiles(const work *w, size_t chunk, size_t i) {
    const size_t first = chunk_start(w, chunk), steps = chunk_start(w, chunk + 1) - first;
    const size_t row = w->a.line * aoei_dtype_size(w->a.type), k = first * step_elements(w->a.type);
    if (block_in_place(w, i))
        return (block_tiles){source_at(&w->a, w->m + i * BLOCK, k), row, HALF * row, TILE_ROW_BYTES};
    return (block_tiles){(const unsigned char *)(a_chunk(w, chunk) + i * steps * STEP_WORDS), TILE_ROW_BYTES,
                         TILE_WORDS * sizeof(float), STEP_WORDS * sizeof(float)};
}

/* Packs the rows of the M-block for the steps of one chunk, except the blocks whose tiles are loaded from A. */
static void pack_a(const work *w, size_t chunk) {
    const size_t first = chunk_start(w, chunk), steps = chunk_start(w, chunk + 1) - first;
    for (size_t i = 0; i < block_count(w); i++) {
        float *to = a_chunk(w, chunk) + i * steps * STEP_WORDS;
        for (size_t step = 0; step < steps && !block_in_place(w, i); step++, to += STEP_WORDS)
            pack_step(to, &w->a, 1, w->m + i * BLOCK, min_size(w->rows - i * BLOCK, BLOCK), first + step);
    }
}

/* Returns the memory for the packed chunk of B that pass p uses. */
static float *b_chunk(const work *w, const pass *p) {
    return w->b_chunks + (p->odd ? CHUNK_STEPS * STEP_WORDS : 0);
}

/* Packs one more step of the chunk of B that the next pass uses. */
static void pack_b_step(work *w) {
    const size_t n = w->next.panel * BLOCK;
    pack_step(b_chunk(w, &w->next) + w->ready * STEP_WORDS, &w->b, 0, n, min_size(w->g->N - n, BLOCK),
              w->next.first + w->ready);
    w->ready++;
}

static const float *packed_chunk(const work *w, const pass *p) {
    return w->packed + p->panel * w->packed_panel + p->first * STEP_WORDS;
}

/* Returns the packed chunk of B that pass w->next uses, and sets w->next to the pass after it. If B was packed by the
 * caller, prepares prefetching of the chunk of the new next pass. Otherwise packs the remaining steps of the chunk. */
static const float *b_of_pass(work *w) {
    const pass p = w->next;
    while (!w->packed && w->ready < p.steps)
        pack_b_step(w);
    advance(w, &w->next);
    w->ready = 0;
    if (!w->packed)
        return b_chunk(w, &p);
    w->fetch = packed_chunk(w, w->next.steps ? &w->next : &p);
    w->fetch_end = w->fetch + w->next.steps * STEP_WORDS;
    return packed_chunk(w, &p);
}

/* ---- blocks */

/* Applies the epilogue to the next rows of the staged block: up to `most` rows, which must be in one half of the block.
 * If g->accumulate is 1, also prefetches the elements of C that are the initial sums of the panel with the same index
 * in the next group. */
static void finish_rows(work *w, size_t most) {
    const aoei_gemm_args *g = w->g;
    const block *t = &w->staged;
    const size_t m = t->m + w->done, rows = min_size(t->rows - w->done, most), next = t->n + w->group_panels * BLOCK;
    aoei_gemm_epilogue_avx512bf16(g, staged_row(w, w->done), BLOCK, m, t->n, rows, t->columns);
    for (size_t i = 0; g->accumulate && next < g->N && i < rows; i++) {
        /* the sums of the panel start from these elements of C */
        const float *c = (const float *)g->c + (m + i) * g->c_row + next;
        AOEI_PREFETCH(c);
        AOEI_PREFETCH(c + min_size(g->N - next, BLOCK) - 1);
    }
    w->done += rows;
}

static void finish_staged(work *w) {
    while (w->done < w->staged.rows)
        finish_rows(w, HALF - w->done % HALF);
}

/* Does the vector work of one step, between tile instructions. If rows of the staged block remain, applies the epilogue
 * to a few of them. Otherwise, if the caller did not pack B, packs one step of the next chunk of B. If the caller
 * packed B and the M-block has at least FETCH_BLOCKS blocks, prefetches a part of the next chunk of B. */
static void interleaved_work(work *w) {
    const size_t blocks = block_count(w);
    if (w->done < w->staged.rows)
        finish_rows(w, EPILOGUE_ROWS);
    else if (!w->packed && w->ready < w->next.steps)
        pack_b_step(w);
    if (w->packed && blocks >= FETCH_BLOCKS)
        for (size_t i = 0; w->fetch < w->fetch_end && i < ceil_div(STEP_LINES, blocks); i++, w->fetch += 16)
            AOEI_PREFETCH(w->fetch);
}

/* Stores accumulator `quarter` (0 to 3) of the held block. Does nothing if the block has no rows or no columns in this
 * quarter. */
#define STORE_QUARTER(quarter)                                                                                         \
    do {                                                                                                               \
        if (w->held.rows > (quarter) / 2 * HALF && w->held.columns > (quarter) % 2 * HALF)                             \
            tile_store(quarter, w->held.sums + quarter_offset(quarter, w->held.rotation), BLOCK_ROW_BYTES);            \
    } while (0)

/* Stores accumulator `quarter` as STORE_QUARTER does, then loads the running sums of the next block into this
 * accumulator. */
#define RELOAD_QUARTER(quarter)                                                                                        \
    do {                                                                                                               \
        STORE_QUARTER(quarter);                                                                                        \
        if (from->sums)                                                                                                \
            tile_load(quarter, from->sums + quarter_offset(quarter, from->rotation), BLOCK_ROW_BYTES);                 \
        else                                                                                                           \
            tile_zero(quarter);                                                                                        \
    } while (0)

/* Records that the sums of the held block have been stored and that the accumulators now contain the sums of block t.
 * If the sums were stored in `staging`, the held block becomes the staged block. */
static void set_held(work *w, const block *t) {
    if (w->held.rows && w->held.sums == w->staging) {
        w->staged = w->held;
        w->done = 0;
    }
    w->held = *t;
}

/* If the sums of the held block will be stored in `staging`, first completes the epilogue of the block that is in
 * `staging`. */
static void free_staging(work *w) {
    if (w->held.sums == w->staging)
        finish_staged(w);
    tile_fence();
}

/* Loads the tiles of step `step` of the chunk. The second tile of A is loaded only if `low` is 1, and the second tile
 * of B only if `right` is 1. */
static inline void load_operands(int low, int right, const block_tiles *a, size_t step, const float *b) {
    const unsigned char *upper = a->first + step * a->step;
    b += step * STEP_WORDS;
    tile_load(A_0, upper, a->row);
    tile_load(B_0, b, TILE_ROW_BYTES);
    if (right)
        tile_load(B_1, b + TILE_WORDS, TILE_ROW_BYTES);
    if (low)
        tile_load(A_1, upper + a->lower, a->row);
}

/* Adds the tile product of the registers `left` and `right` to the accumulator `sums`. */
#define DOT(int8, sums, left, right)                                                                                   \
    do {                                                                                                               \
        if (int8)                                                                                                      \
            tile_dot_int8(sums, left, right);                                                                          \
        else                                                                                                           \
            tile_dot_bf16(sums, left, right);                                                                          \
    } while (0)

/* Computes the first step of block t. The running sums of t are loaded from from->sums; if from->sums is NULL, they
 * start from
 * 0. */
static void first_step(work *w, const block *t, const block_tiles *a, const float *b, const block *from) {
    const int low = t->rows > HALF, right = t->columns > HALF;
    free_staging(w);
    load_operands(low, right, a, 0, b);
    RELOAD_QUARTER(SUMS_00);
    DOT(w->int8, SUMS_00, A_0, B_0);
    if (right) {
        RELOAD_QUARTER(SUMS_01);
        DOT(w->int8, SUMS_01, A_0, B_1);
    } else {
        STORE_QUARTER(SUMS_01);
    }
    if (low) {
        RELOAD_QUARTER(SUMS_10);
        DOT(w->int8, SUMS_10, A_1, B_0);
    } else {
        STORE_QUARTER(SUMS_10);
    }
    if (low && right) {
        RELOAD_QUARTER(SUMS_11);
        DOT(w->int8, SUMS_11, A_1, B_1);
    } else {
        STORE_QUARTER(SUMS_11);
    }
    set_held(w, t);
}

/* Computes one further step of a block and adds to the accumulators. */
static inline void next_step(int int8, int low, int right, const block_tiles *a, size_t step, const float *b) {
    load_operands(low, right, a, step, b);
    DOT(int8, SUMS_00, A_0, B_0);
    if (right)
        DOT(int8, SUMS_01, A_0, B_1);
    if (low)
        DOT(int8, SUMS_10, A_1, B_0);
    if (low && right)
        DOT(int8, SUMS_11, A_1, B_1);
}

/* Computes `steps` steps of block t. The running sums of t are loaded from from->sums; if from->sums is NULL, they
 * start from
 * 0. If the M-block has only one block, the running sums stay in the accumulators between chunks. */
static void multiply(work *w, const block *t, const block_tiles *a, const float *b, size_t steps, const block *from) {
    const int low = t->rows > HALF, right = t->columns > HALF;
    size_t step = 0;
    if (from->sums && w->held.rows && w->held.sums == from->sums) {
        w->held = *t;
        tile_fence();
    } else {
        first_step(w, t, a, b, from);
        step = 1;
    }
    for (; step < steps; step++) {
        next_step(w->int8, low, right, a, step, b);
        if (step >= EPILOGUE_FIRST)
            interleaved_work(w);
    }
}

/* Stores all accumulators, then applies the epilogue to all remaining rows of the staged block. */
static void drain(work *w) {
    const block none = {0};
    free_staging(w);
    STORE_QUARTER(SUMS_00);
    STORE_QUARTER(SUMS_01);
    STORE_QUARTER(SUMS_10);
    STORE_QUARTER(SUMS_11);
    set_held(w, &none);
    finish_staged(w);
}

/* ---- loops */

/* Sets `sums`, the running sums of all blocks of the M-block in a panel, to the stored elements of C. n is the first
 * column of the panel. */
static void load_c(const work *w, float *sums, size_t n) {
    const aoei_gemm_args *g = w->g;
    const size_t columns = min_size(g->N - n, BLOCK), left = min_size(columns, HALF);
    for (size_t i = 0; i < w->rows; i++) {
        const float *c = (const float *)g->c + (w->m + i) * g->c_row + n;
        float *to = sums + i / BLOCK * BLOCK_WORDS + i % HALF * BLOCK;
        const size_t quarter = i % BLOCK / HALF * 2, rotation = sums_rotation(i / BLOCK);
        vf_store(to + quarter_offset(quarter, rotation), vf_load_part(c, left));
        vf_store(to + quarter_offset(quarter + 1, rotation), vf_load_part(c + left, columns - left));
    }
}

/* Computes the next pass. */
static void run_pass(work *w) {
    const aoei_gemm_args *g = w->g;
    const pass p = w->next;
    const size_t n = p.panel * BLOCK;
    const int starts = p.chunk == 0 && !g->accumulate, ends = p.chunk + 1 == w->chunks;
    float *const sums = w->sums + p.member * block_count(w) * BLOCK_WORDS;
    tile_fence(); /* earlier tile loads must be complete, because the memory they read is overwritten now */
    if (p.chunk == 0 && g->accumulate)
        load_c(w, sums, n);
    if (p.member == 0 && (p.panel == 0 || !w->keeps_a))
        pack_a(w, p.chunk);
    const float *b = b_of_pass(w);
    for (size_t i = 0; i < block_count(w); i++) {
        block t = {.m = w->m + i * BLOCK,
                   .n = n,
                   .rows = min_size(w->rows - i * BLOCK, BLOCK),
                   .columns = min_size(g->N - n, BLOCK),
                   .sums = sums + i * BLOCK_WORDS,
                   .rotation = sums_rotation(i)};
        block from = t;
        if (starts)
            from.sums = NULL;
        if (ends) {
            t.sums = w->staging;
            t.rotation = STAGING_ROTATION;
        }
        const block_tiles a = a_tiles(w, p.chunk, i);
        multiply(w, &t, &a, b, p.steps, &from);
    }
}

/* Returns the number of panels in a group. If the M-block has only one block, this is 1, because the sums of the block
 * can then stay in the accumulators between chunks. With at most two chunks, the rows of A stay in L2 in any order, and
 * groups of one panel are faster. */
static size_t group_size(const work *w) {
    return block_count(w) > 1 && w->chunks > 2 ? SUMS_BLOCKS / block_count(w) : 1;
}

/* Returns the maximum number of blocks of an M-block, without the limit A_STEPS. */
static size_t wanted_blocks(const aoei_gemm_args *g) {
    return min_size(ceil_div(g->M, BLOCK), M_BLOCKS);
}

/* Returns the maximum number of blocks of an M-block for a matmul with `steps` steps. If A_STEPS allows fewer than
 * MIN_BLOCKS blocks, the function ignores this limit, and A is packed again for each group of panels. */
static size_t max_blocks(const aoei_gemm_args *g, size_t steps) {
    const size_t wanted = wanted_blocks(g), fit = A_STEPS / steps;
    return fit >= MIN_BLOCKS ? min_size(wanted, fit) : wanted;
}

/* Computes the matmul g of operands of the type `type`, where g->K is at least 1. packed_panel is the distance between
 * packed panels of B in words; it can be larger than the steps of g need, because g can be a piece of a longer
 * matmul. */
static void run(const aoei_gemm_args *g, aoei_dtype type, size_t packed_panel, float *scratch) {
    const size_t steps = ceil_div(g->K, step_elements(type)), most = max_blocks(g, steps),
                 M_blocks = ceil_div(g->M, BLOCK);
    const size_t each = ceil_div(M_blocks, ceil_div(M_blocks, most)) * BLOCK;
    work w = {.g = g,
              .a = {g->a, type, g->a_row, g->a_col, g->K},
              .b = {g->b, type, g->b_col, g->b_row, g->K},
              .int8 = type == AOEI_I8,
              .steps = steps,
              .chunks = ceil_div(steps, CHUNK_STEPS),
              .panels = ceil_div(g->N, BLOCK),
              .packed = g->packed,
              .packed_panel = packed_panel,
              .in_place = tiles_in_place(g, type),
              .keeps_a = most * steps <= A_STEPS,
              .staging = scratch + AT_STAGING,
              .sums = scratch + AT_SUMS,
              .b_chunks = scratch + AT_B,
              .a_chunks = scratch + AT_A};
    for (; w.m < g->M; w.m += each) {
        w.rows = min_size(g->M - w.m, each);
        w.group_panels = group_size(&w);
        w.next = (pass){0};
        complete_pass(&w, &w.next);
        w.ready = 0;
        while (w.next.steps)
            run_pass(&w);
    }
    drain(&w);
}

/* Returns 1 if running sums may be stored in C: C is float32, and the epilogue changes nothing. */
static int is_plain(const aoei_gemm_args *g) {
    return g->c_type == AOEI_F32 && !g->a_scale && g->scale == 1 && !g->bias && g->activation == AOEI_IDENTITY &&
           !g->gate && !g->residual;
}

/* Computes the bf16 matmul g. If an M-block would exceed the limit A_STEPS and running sums may be stored in C, divides
 * the range of k into pieces with about equal numbers of steps. */
static void run_pieces(const aoei_gemm_args *g, float *scratch) {
    const size_t steps = ceil_div(g->K, STEP), panel = steps * STEP_WORDS;
    const size_t pieces = is_plain(g) && wanted_blocks(g) * steps > A_STEPS ? ceil_div(steps, SPILL_STEPS) : 1;
    for (size_t i = 0; i < pieces; i++) {
        const size_t first = steps * i / pieces, k = first * STEP;
        aoei_gemm_args piece = *g;
        piece.K = min_size(g->K, steps * (i + 1) / pieces * STEP) - k;
        piece.a = (const aoei_bf16 *)g->a + k * g->a_col;
        piece.b = g->b ? (const aoei_bf16 *)g->b + k * g->b_row : NULL;
        piece.packed = g->packed ? (const float *)g->packed + first * STEP_WORDS : NULL;
        piece.accumulate = g->accumulate || i > 0;
        run(&piece, AOEI_BF16, panel, scratch);
    }
}

/* Computes the matmul g if g->K is 0. All sums are then 0, so C is the epilogue of 0. If g->accumulate is 1, C is
 * unchanged. */
static void finish_empty(const aoei_gemm_args *g) {
    static const float zeros[BLOCK];
    if (g->accumulate)
        return;
    for (size_t m = 0; m < g->M; m++)
        for (size_t n = 0; n < g->N; n += BLOCK)
            aoei_gemm_epilogue_avx512bf16(g, zeros, BLOCK, m, n, 1, min_size(g->N - n, BLOCK));
}

/* Returns the first page boundary in the scratch memory. */
static float *first_page(float *scratch) {
    return scratch + (0 - (uintptr_t)scratch) % PAGE / sizeof *scratch;
}

void aoei_gemm_bf16_amx(const aoei_gemm_args *g, float *scratch) {
    if (!g->M || !g->N)
        return;
    if (!g->K) {
        finish_empty(g);
        return;
    }
    tile_configure(&shapes);
    run_pieces(g, first_page(scratch));
    tile_release();
}

void aoei_gemm_int8_amx(const aoei_gemm_args *g, float *scratch) {
    assert(g->packed && g->a_col == 1 && g->a_scale && g->b_scale && !g->accumulate && g->K <= AOEI_INT8_MAX_K);
    if (!g->M || !g->N)
        return;
    if (!g->K) {
        finish_empty(g);
        return;
    }
    tile_configure(&shapes);
    run(g, AOEI_I8, ceil_div(g->K, step_elements(AOEI_I8)) * STEP_WORDS, first_page(scratch));
    tile_release();
}

static size_t packed_size(aoei_dtype type, size_t K, size_t N) {
    return ceil_div(N, BLOCK) * ceil_div(K, step_elements(type)) * STEP_WORDS * sizeof(float);
}

size_t aoei_gemm_bf16_packed_size_amx(size_t K, size_t N) {
    return packed_size(AOEI_BF16, K, N);
}

size_t aoei_gemm_int8_packed_size_amx(size_t K, size_t N) {
    return packed_size(AOEI_I8, K, N);
}

/* Packs columns [n0, n1) of B, which `s` describes. `type` is the type of the packed elements. */
static void pack_columns(void *packed, const source *s, aoei_dtype type, size_t n0, size_t n1) {
    const size_t steps = ceil_div(s->K, step_elements(type));
    float *to = (float *)packed + n0 / BLOCK * steps * STEP_WORDS;
    for (size_t n = n0; n < n1; n += BLOCK)
        for (size_t step = 0; step < steps; step++, to += STEP_WORDS)
            pack_step(to, s, 0, n, min_size(n1 - n, BLOCK), step);
}

void aoei_gemm_bf16_pack_amx(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                             size_t n0, size_t n1) {
    pack_columns(packed, &(source){b, type, b_col, b_row, K}, AOEI_BF16, n0, n1);
}

void aoei_gemm_int8_pack_amx(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K,
                             size_t n0, size_t n1) {
    assert(b_row == 1);
    pack_columns(packed, &(source){b, type, b_col, b_row, K}, AOEI_I8, n0, n1);
}
