/* SPDX-License-Identifier: MIT
 * Tier amx of the bf16 product, on tiles of 16 rows of 64 bytes. An element's chain adds, for every 32 k's in ascending
 * order, the sum that one TDPBF16PS makes of their products; lines and k's are padded with zeros to whole tiles. So its
 * bits depend on its row, its column and K alone. Between chunks of K, and between calls, a chain waits as float32.
 *
 * The walk: M-blocks of A, packed into L2; panels of 32 columns; chunks of K; blocks of 32 x 32. A step is 32 k's of a block:
 * two tiles of A, two of B, four products. The chunk of B stays in L1 and every block of the M-block uses it; A streams
 * from L2. The chains of a block wait in `sums` from chunk to chunk; the last chunk leaves them in `staging`.
 *
 * Measured on one core of Sapphire Rapids with 2 x 2 accumulators: 98% of the tile unit's rate with a chunk of 384 of B in
 * L1 and A from L2, 76% with both from L2 (K of 768 and more); storing a block's sums cost 50 cycles while A, B and sums
 * fit L1, 200 at chunks of 384, 900 and more at 768; software prefetch of the operands at hand cost more than it gained.
 * From this follow, reasoned and not measured:
 * - chunks of 384, the sums kept in memory between them;
 * - accumulators handed over one at a time: the first step of a block stores what one holds of the block before, starts
 *   it anew and multiplies, then goes on to the next, so three others are busy and every result has had three products' time;
 * - one staging block, read again and again, so that its lines stay in L1; sums turned so that no load meets a fresh store;
 * - vector work between the later steps: the epilogue of the block before, a few rows a step and never just after its stores;
 *   then packing the next chunk of B, or asking L2 for it, a few lines a step.
 */
#include <assert.h>
#include <string.h>

#include "kernels/simd_avx512.h"
#include "kernels/amx_tiles.h"
#include "kernels/gemm_block.h"
#include "kernels/transpose_avx512.h"

/* Sizes that the tiles give. */
enum {
    HALF = 16,                    /* lines of a tile */
    BLOCK = 32,                   /* lines of a block */
    STEP = 32,                    /* k's of a step */
    TILE_WORDS = 256,             /* floats, or pairs of bf16, in a tile */
    STEP_WORDS = 2 * TILE_WORDS,  /* of one operand */
    BLOCK_WORDS = 4 * TILE_WORDS, /* sums of a block */
    BLOCK_ROW_BYTES = 2 * TILE_ROW_BYTES
};

/* Tuning. */
enum {
    CHUNK_STEPS = 12,   /* a chunk of B is 24 KB: half of L1, the largest that stays while A streams past it. Even */
    M_BLOCKS = 16,      /* blocks of an M-block at most: more uses of a chunk of B than 16 repay little */
    A_STEPS = 768,      /* steps of all blocks of an M-block: 1.5 MB of A in a 2 MB L2 */
    LEAST_BLOCKS = 2,   /* a longer K packs A again for each panel */
    SPILL_STEPS = 64,   /* K's that A_STEPS does not hold whole are cut here where chains may wait in C */
    EPILOGUE_FIRST = 2, /* step of the next block from which on a block's sums are read: not just after their store */
    EPILOGUE_ROWS = 4,  /* rows a step, so that a chunk of 10 steps has room for all; divides HALF */
    FETCH_BLOCKS = 8,   /* smaller M-blocks do not ask for the next chunk of B: too many requests a step */
    STEP_LINES = STEP_WORDS * 4 / 64
};

/* Scratch, in floats from its first page boundary on. */
enum {
    PAGE = 4096,
    AT_STAGING = 0,
    AT_SUMS = AT_STAGING + BLOCK_WORDS,
    AT_B = AT_SUMS + M_BLOCKS * BLOCK_WORDS,
    AT_A = AT_B + 2 * CHUNK_STEPS * STEP_WORDS,
    SCRATCH_WORDS = AT_A + A_STEPS * STEP_WORDS + PAGE / 4
};
static_assert(SCRATCH_WORDS <= AOEI_GEMM_SCRATCH, "scratch");
static_assert(M_BLOCKS * CHUNK_STEPS <= A_STEPS, "a chunk of A");
static_assert(HALF % EPILOGUE_ROWS == 0 && CHUNK_STEPS % 2 == 0 && BLOCK == AOEI_GEMM_PANEL, "tuning");

/* Tile registers: the sums of a block, by quarters, and the operands of a step. */
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

/* One operand: element k of line i (a row of A, a column of B) is data[i * line + k * k_stride]. */
typedef struct source {
    const void *data;
    aoei_dtype type;
    size_t line, k_stride;
    size_t K;
} source;

/* A block of C: up to 32 x 32. */
typedef struct block {
    size_t m, n, rows, columns; /* rows 0: none */
    float *sums;                /* [BLOCK_WORDS] where its chains go next, */
    size_t turn;                /* in this order: place() */
} block;

/* One product on its way. */
typedef struct walk {
    const aoei_product *g;
    source a, b;
    size_t steps;        /* of K */
    size_t chunks;       /* of steps */
    const float *packed; /* B packed, or NULL */
    size_t packed_panel; /* words of a panel of it: all its K */
    int keeps_a;         /* A is packed once for all panels */
    float *staging;      /* [BLOCK_WORDS] */
    float *sums;         /* [M_BLOCKS][BLOCK_WORDS] */
    float *b_chunk;      /* [2][CHUNK_STEPS][STEP_WORDS], by pass */
    float *a_chunks;     /* [chunk][block][step][STEP_WORDS] */
    size_t m, rows;      /* the M-block */
    size_t passes;       /* panels x chunks of the M-block */
    size_t ahead, ready; /* the pass whose chunk of B is being packed, and its steps that are */
    const float *fetch;  /* packed B still to be asked for, up to fetch_end */
    const float *fetch_end;
    block held;   /* its chains are in the accumulators */
    block staged; /* its chains are complete in staging, */
    size_t done;  /* and these of its rows are finished */
} walk;

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static size_t parts(size_t n, size_t part) {
    return n / part + (n % part != 0);
}

/* Where a quarter (0 and 1: the upper half of the rows) is in a block of sums. A load whose low twelve address bits are those
 * of a store still pending waits for it, and a block of sums has all there are. So quarters turn: what is loaded next after
 * the stores of a block is at the places of those that came first, or are yet to come. Operands begin a page or half
 * a page; the second step's, in the page's second half, meet the first stores of a block at the staging's turn. */
enum { STAGING_TURN = 2, SUMS_TURN = 1 /* and 3, every other block */ };

static inline size_t place(size_t quarter, size_t turn) {
    const size_t q = (quarter + turn) % 4;
    return q / 2 * (HALF * BLOCK) + q % 2 * HALF;
}

static size_t sums_turn(size_t block_number) {
    return SUMS_TURN + block_number % 2 * 2;
}

/* Row r of the staging: 32 columns. */
static float *staged_row(const walk *w, size_t r) {
    return w->staging + place(r / HALF * 2, STAGING_TURN) + r % HALF * BLOCK;
}

static size_t chunk_start(const walk *w, size_t chunk) {
    return least(2 * (parts(w->steps, 2) * chunk / w->chunks), w->steps);
}

static size_t block_count(const walk *w) {
    return parts(w->rows, BLOCK);
}

/* ---- packing */

static const void *source_at(const source *s, size_t line, size_t k) {
    return (const unsigned char *)s->data + (line * s->line + k * s->k_stride) * aoei_dtype_size(s->type);
}

/* n <= 16 neighbours as bf16, zeros behind them. */
static inline __m256i load_half_line(const void *p, aoei_dtype type, size_t n) {
    if (type == AOEI_BF16)
        return n == HALF ? _mm256_loadu_si256(p) : _mm256_maskz_loadu_epi16(vf_mask(n), p);
    return vf_narrow(n == HALF ? vf_load(p) : vf_load_part(p, n));
}

/* ks <= 32 k's of a line, zeros behind them. */
static inline __m512i load_line(const source *s, size_t line, size_t k, size_t ks) {
    const unsigned char *p = source_at(s, line, k);
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
    const size_t low = least(ks, HALF);
    return _mm512_inserti64x4(_mm512_castsi256_si512(load_half_line(p, s->type, low)),
                              load_half_line(p + low * sizeof(float), s->type, ks - low), 1);
}

/* 1: neighbours in memory are neighbouring lines. */
static inline int is_across(const source *s) {
    return s->line == 1 && s->k_stride != 1;
}

/* words[k pair][line] of up to 16 neighbouring lines and ks <= 32 k's, zeros elsewhere; type is the source's. */
static inline void pair_rows(float *words, const source *s, aoei_dtype type, size_t line, size_t lines, size_t k, size_t ks) {
    const __m512i mix = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20,
                                         4, 19, 3, 18, 2, 17, 1, 16, 0);
    const size_t row = s->k_stride * aoei_dtype_size(type);
    const int more = k + 2 * STEP <= s->K && line % BLOCK == 0;
    const unsigned char *p = source_at(s, line, k);
    for (size_t j = 0; j < STEP; j += 2, words += HALF) {
        __m512i pair = _mm512_setzero_si512();
        if (more) { /* the next step's rows are too far apart for the hardware to foresee */
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

/* A tile of operand A, [line][k pair], or B, [k pair][line], from ks <= 32 k's of up to 16 lines; zeros elsewhere. */
static void pack_tile(float *tile, const source *s, int is_a, size_t line, size_t lines, size_t k, size_t ks) {
    _Alignas(64) float stage[TILE_WORDS];
    const float *rows[HALF];
    const int whole = lines == HALF && ks == STEP;
    float *words = is_across(s) == is_a ? stage : tile;
    for (size_t i = 0; i < HALF; i++)
        rows[i] = stage + i * HALF;
    if (is_across(s)) {
        if (s->type == AOEI_F32)
            pair_rows(words, s, AOEI_F32, line, lines, k, ks);
        else if (whole)
            pair_rows(words, s, AOEI_BF16, line, HALF, k, STEP);
        else
            pair_rows(words, s, AOEI_BF16, line, lines, k, ks);
    } else if (whole && !is_a && s->type == AOEI_BF16 && s->k_stride == 1) {
        for (size_t i = 0; i < HALF; i++)
            rows[i] = source_at(s, line + i, k);
    } else {
        for (size_t i = 0; i < HALF; i++)
            _mm512_storeu_si512(words + i * HALF, i < lines ? load_line(s, line + i, k, ks) : _mm512_setzero_si512());
    }
    if (words == stage)
        transpose_lines(tile, HALF, rows, HALF);
}

/* Both tiles of step `step` of a block or a panel. */
static void pack_step(float *tiles, const source *s, int is_a, size_t line, size_t lines, size_t step) {
    const size_t k = step * STEP, ks = least(s->K - k, STEP), first = least(lines, HALF);
    pack_tile(tiles, s, is_a, line, first, k, ks);
    pack_tile(tiles + TILE_WORDS, s, is_a, line + first, lines - first, k, ks);
}

static float *a_chunk(const walk *w, size_t chunk) {
    return w->a_chunks + (w->keeps_a ? chunk_start(w, chunk) * block_count(w) * STEP_WORDS : 0);
}

static void pack_a(const walk *w, size_t chunk) {
    const size_t first = chunk_start(w, chunk), end = chunk_start(w, chunk + 1);
    float *to = a_chunk(w, chunk);
    for (size_t i = 0; i < w->rows; i += BLOCK)
        for (size_t step = first; step < end; step++, to += STEP_WORDS)
            pack_step(to, &w->a, 1, w->m + i, least(w->rows - i, BLOCK), step);
}

/* Packs one step more of the chunk of B that pass `ahead` will use. */
static void pack_b_step(walk *w) {
    const size_t n = w->ahead / w->chunks * BLOCK, first = chunk_start(w, w->ahead % w->chunks);
    pack_step(w->b_chunk + (w->ahead % 2 * CHUNK_STEPS + w->ready) * STEP_WORDS, &w->b, 0, n, least(w->g->N - n, BLOCK),
              first + w->ready);
    w->ready++;
}

static size_t pass_steps(const walk *w, size_t pass) {
    const size_t chunk = pass % w->chunks;
    return chunk_start(w, chunk + 1) - chunk_start(w, chunk);
}

static const float *packed_chunk(const walk *w, size_t pass) {
    return w->packed + pass / w->chunks * w->packed_panel + chunk_start(w, pass % w->chunks) * STEP_WORDS;
}

/* Where the chunk of B of a pass is, complete; the next one is to be made ready beside it. */
static const float *b_of_pass(walk *w, size_t pass) {
    if (w->packed) {
        const size_t next = pass + 1 < w->passes ? pass + 1 : pass;
        w->fetch = packed_chunk(w, next);
        w->fetch_end = w->fetch + (next > pass ? pass_steps(w, next) * STEP_WORDS : 0);
        return packed_chunk(w, pass);
    }
    while (w->ready < pass_steps(w, pass))
        pack_b_step(w);
    w->ahead = pass + 1;
    w->ready = 0;
    return w->b_chunk + pass % 2 * CHUNK_STEPS * STEP_WORDS;
}

/* ---- blocks */

/* The next rows of the staged block go through the epilogue. */
static void finish_rows(walk *w) {
    const aoei_product *g = w->g;
    const block *t = &w->staged;
    const size_t m = t->m + w->done, rows = least(t->rows - w->done, EPILOGUE_ROWS), next = t->n + BLOCK;
    aoei_gemm_epilogue_avx512(g, staged_row(w, w->done), BLOCK, m, t->n, rows, t->columns);
    for (size_t i = 0; g->accumulate && next < g->N && i < rows; i++) {
        const float *c = (const float *)g->c + (m + i) * g->c_row + next; /* the next panel starts from these */
        AOEI_PREFETCH(c);
        AOEI_PREFETCH(c + least(g->N - next, BLOCK) - 1);
    }
    w->done += rows;
}

static void finish_staged(walk *w) {
    while (w->done < w->staged.rows)
        finish_rows(w);
}

/* Vector work beside the tile unit's, a step's worth. */
static void work_beside(walk *w) {
    const size_t blocks = block_count(w);
    if (w->done < w->staged.rows)
        finish_rows(w);
    else if (!w->packed && w->ahead < w->passes && w->ready < pass_steps(w, w->ahead))
        pack_b_step(w);
    if (w->packed && blocks >= FETCH_BLOCKS)
        for (size_t i = 0; w->fetch < w->fetch_end && i < parts(STEP_LINES, blocks); i++, w->fetch += 16)
            AOEI_PREFETCH(w->fetch);
}

/* Stores accumulator 0 to 3, which is the quarter of that number, if the held block has any of it. */
#define HAND_OVER(quarter)                                                                                                     \
    do {                                                                                                                       \
        if (w->held.rows > (quarter) / 2 * HALF && w->held.columns > (quarter) % 2 * HALF)                                     \
            tile_store(quarter, w->held.sums + place(quarter, w->held.turn), BLOCK_ROW_BYTES);                                 \
    } while (0)

/* The same; then the accumulator starts from what the next block has so far. */
#define START_ANEW(quarter)                                                                                                    \
    do {                                                                                                                       \
        HAND_OVER(quarter);                                                                                                    \
        if (from->sums)                                                                                                        \
            tile_load(quarter, from->sums + place(quarter, from->turn), BLOCK_ROW_BYTES);                                      \
        else                                                                                                                   \
            tile_zero(quarter);                                                                                                \
    } while (0)

/* What was held has been stored; the accumulators hold t now. */
static void turn_to(walk *w, const block *t) {
    if (w->held.rows && w->held.sums == w->staging) {
        w->staged = w->held;
        w->done = 0;
    }
    w->held = *t;
}

/* Before the accumulators of a complete block are handed over, the staging has to be free. */
static void make_room(walk *w) {
    if (w->held.sums == w->staging)
        finish_staged(w);
    tile_fence();
}

/* Tiles of a step. */
static inline void load_operands(int low, int right, const float *a, const float *b) {
    tile_load(A_0, a, TILE_ROW_BYTES);
    tile_load(B_0, b, TILE_ROW_BYTES);
    if (right)
        tile_load(B_1, b + TILE_WORDS, TILE_ROW_BYTES);
    if (low)
        tile_load(A_1, a + TILE_WORDS, TILE_ROW_BYTES);
}

/* First step of block t; `from` has its sums so far. */
static void first_step(walk *w, const block *t, const float *a, const float *b, const block *from) {
    const int low = t->rows > HALF, right = t->columns > HALF;
    make_room(w);
    load_operands(low, right, a, b);
    START_ANEW(SUMS_00);
    tile_dot_bf16(SUMS_00, A_0, B_0);
    if (right) {
        START_ANEW(SUMS_01);
        tile_dot_bf16(SUMS_01, A_0, B_1);
    } else {
        HAND_OVER(SUMS_01);
    }
    if (low) {
        START_ANEW(SUMS_10);
        tile_dot_bf16(SUMS_10, A_1, B_0);
    } else {
        HAND_OVER(SUMS_10);
    }
    if (low && right) {
        START_ANEW(SUMS_11);
        tile_dot_bf16(SUMS_11, A_1, B_1);
    } else {
        HAND_OVER(SUMS_11);
    }
    turn_to(w, t);
}

/* A step that goes on with the sums in the accumulators. */
static inline void next_step(int low, int right, const float *a, const float *b) {
    load_operands(low, right, a, b);
    tile_dot_bf16(SUMS_00, A_0, B_0);
    if (right)
        tile_dot_bf16(SUMS_01, A_0, B_1);
    if (low)
        tile_dot_bf16(SUMS_10, A_1, B_0);
    if (low && right)
        tile_dot_bf16(SUMS_11, A_1, B_1);
}

/* `steps` steps of block t, whose sums so far are where `from` says (sums NULL: none). The only block of an M-block stays
 * in the accumulators from chunk to chunk. */
static void multiply(walk *w, const block *t, const float *a, const float *b, size_t steps, const block *from) {
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
        next_step(low, right, a + step * STEP_WORDS, b + step * STEP_WORDS);
        if (step >= EPILOGUE_FIRST)
            work_beside(w);
    }
}

/* Empties the accumulators and the staging. */
static void drain(walk *w) {
    const block none = {0};
    make_room(w);
    HAND_OVER(SUMS_00);
    HAND_OVER(SUMS_01);
    HAND_OVER(SUMS_10);
    HAND_OVER(SUMS_11);
    turn_to(w, &none);
    finish_staged(w);
}

/* ---- the walk */

/* The chains of a panel start from the stored C. */
static void load_c(const walk *w, size_t n) {
    const aoei_product *g = w->g;
    const size_t columns = least(g->N - n, BLOCK), left = least(columns, HALF);
    for (size_t i = 0; i < w->rows; i++) {
        const float *c = (const float *)g->c + (w->m + i) * g->c_row + n;
        float *to = w->sums + i / BLOCK * BLOCK_WORDS + i % HALF * BLOCK;
        const size_t quarter = i % BLOCK / HALF * 2, turn = sums_turn(i / BLOCK);
        vf_store(to + place(quarter, turn), vf_load_part(c, left));
        vf_store(to + place(quarter + 1, turn), vf_load_part(c + left, columns - left));
    }
}

/* One chunk of one panel for all blocks of the M-block. */
static void run_pass(walk *w, size_t pass) {
    const aoei_product *g = w->g;
    const size_t n = pass / w->chunks * BLOCK, chunk = pass % w->chunks, steps = pass_steps(w, pass);
    const int starts = chunk == 0 && !g->accumulate, ends = chunk + 1 == w->chunks;
    tile_fence(); /* what is overwritten now was read by tile loads */
    if (chunk == 0 && g->accumulate)
        load_c(w, n);
    if (pass < w->chunks || !w->keeps_a)
        pack_a(w, chunk);
    const float *b = b_of_pass(w, pass), *a = a_chunk(w, chunk);
    for (size_t i = 0; i < block_count(w); i++) {
        block t = {.m = w->m + i * BLOCK,
                   .n = n,
                   .rows = least(w->rows - i * BLOCK, BLOCK),
                   .columns = least(g->N - n, BLOCK),
                   .sums = w->sums + i * BLOCK_WORDS,
                   .turn = sums_turn(i)};
        block from = t;
        if (starts)
            from.sums = NULL;
        if (ends) {
            t.sums = w->staging;
            t.turn = STAGING_TURN;
        }
        multiply(w, &t, a + i * steps * STEP_WORDS, b, steps, &from);
    }
}

/* Blocks that an M-block would have if A fitted. */
static size_t wanted_blocks(const aoei_product *g) {
    return least(parts(g->M, BLOCK), M_BLOCKS);
}

/* Blocks of an M-block at most; so many that A does not fit where it would be too few. */
static size_t most_blocks(const aoei_product *g, size_t steps) {
    const size_t wanted = wanted_blocks(g), fit = A_STEPS / steps;
    return fit >= LEAST_BLOCKS ? least(wanted, fit) : wanted;
}

/* All of g, K >= 1. packed_panel: words of a panel of its packed B, which may be of a longer K. */
static void run(const aoei_product *g, size_t packed_panel, float *scratch) {
    const size_t steps = parts(g->K, STEP), most = most_blocks(g, steps), M_blocks = parts(g->M, BLOCK);
    const size_t each = parts(M_blocks, parts(M_blocks, most)) * BLOCK;
    walk w = {.g = g,
              .a = {g->a, AOEI_BF16, g->a_row, g->a_col, g->K},
              .b = {g->b, AOEI_BF16, g->b_col, g->b_row, g->K},
              .steps = steps,
              .chunks = parts(steps, CHUNK_STEPS),
              .packed = g->packed,
              .packed_panel = packed_panel,
              .keeps_a = most * steps <= A_STEPS,
              .staging = scratch + AT_STAGING,
              .sums = scratch + AT_SUMS,
              .b_chunk = scratch + AT_B,
              .a_chunks = scratch + AT_A};
    for (; w.m < g->M; w.m += each) {
        w.rows = least(g->M - w.m, each);
        w.passes = parts(g->N, BLOCK) * w.chunks;
        w.ahead = w.ready = 0;
        for (size_t pass = 0; pass < w.passes; pass++)
            run_pass(&w, pass);
    }
    drain(&w);
}

/* 1 when chains may wait in C. */
static int is_plain(const aoei_product *g) {
    return g->c_type == AOEI_F32 && g->scale == 1 && !g->bias && g->activation == AOEI_IDENTITY && !g->gate && !g->residual;
}

/* In pieces of K, equal in steps. */
static void run_pieces(const aoei_product *g, float *scratch) {
    const size_t steps = parts(g->K, STEP), panel = steps * STEP_WORDS;
    const size_t pieces = is_plain(g) && wanted_blocks(g) * steps > A_STEPS ? parts(steps, SPILL_STEPS) : 1;
    for (size_t i = 0; i < pieces; i++) {
        const size_t first = steps * i / pieces, k = first * STEP;
        aoei_product piece = *g;
        piece.K = least(g->K, steps * (i + 1) / pieces * STEP) - k;
        piece.a = (const aoei_bf16 *)g->a + k * g->a_col;
        piece.b = g->b ? (const aoei_bf16 *)g->b + k * g->b_row : NULL;
        piece.packed = g->packed ? (const float *)g->packed + first * STEP_WORDS : NULL;
        piece.accumulate = g->accumulate || i > 0;
        run(&piece, panel, scratch);
    }
}

/* K = 0: empty chains. */
static void finish_empty(const aoei_product *g) {
    static const float zeros[BLOCK];
    if (g->accumulate)
        return;
    for (size_t m = 0; m < g->M; m++)
        for (size_t n = 0; n < g->N; n += BLOCK)
            aoei_gemm_epilogue_avx512(g, zeros, BLOCK, m, n, 1, least(g->N - n, BLOCK));
}

void aoei_gemm_bf16_amx(const aoei_product *g, float *scratch) {
    if (!g->M || !g->N)
        return;
    if (!g->K) {
        finish_empty(g);
        return;
    }
    tile_configure(&shapes);
    run_pieces(g, scratch + (0 - (uintptr_t)scratch) % PAGE / sizeof *scratch);
    tile_release();
}

size_t aoei_gemm_bf16_packed_size_amx(size_t K, size_t N) {
    return parts(N, BLOCK) * parts(K, STEP) * STEP_WORDS * sizeof(float);
}

void aoei_gemm_bf16_pack_amx(void *packed, const void *b, aoei_dtype type, size_t b_row, size_t b_col, size_t K, size_t n0,
                             size_t n1) {
    const source s = {b, type, b_col, b_row, K};
    const size_t steps = parts(K, STEP);
    float *to = (float *)packed + n0 / BLOCK * steps * STEP_WORDS;
    for (size_t n = n0; n < n1; n += BLOCK)
        for (size_t step = 0; step < steps; step++, to += STEP_WORDS)
            pack_step(to, &s, 0, n, least(n1 - n, BLOCK), step);
}
