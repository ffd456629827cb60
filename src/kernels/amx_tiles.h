/* SPDX-License-Identifier: MIT
 * The AMX tile instructions that the kernels use, under names that a test can redefine (AOEI_TILES_EMULATED, see
 * tests/support/amx_emulation.h). Tiles are numbered by literals 0 to 7. Strides are distances between rows in bytes. All
 * tiles have the maximum shape, 16 rows of 64 bytes.
 * Compilers do not know that a tile load reads memory (in gcc it is an asm statement without a memory clobber). Call
 * tile_fence() between ordinary stores and the tile loads that read the stored data.
 */
#ifndef AOEI_KERNELS_AMX_TILES_H
#define AOEI_KERNELS_AMX_TILES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_ROWS      16
#define TILE_ROW_BYTES 64
#define TILES          8

/* Operand of the LDTILECFG instruction. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16]; /* bytes per row of each tile */
    uint8_t rows[16];       /* rows of each tile */
} tile_shapes;

#ifndef AOEI_TILES_EMULATED
#include <immintrin.h>
#define tile_configure(shapes)           _tile_loadconfig(shapes)
#define tile_release()                   _tile_release()
#define tile_zero(tile)                  _tile_zero(tile)
#define tile_load(tile, from, stride)    _tile_loadd(tile, from, stride)
#define tile_store(tile, to, stride)     _tile_stored(tile, to, stride)
#define tile_dot_bf16(sums, left, right) _tile_dpbf16ps(sums, left, right)
#endif

/* Compiler barrier: the compiler moves no memory access across it. */
static inline void tile_fence(void) {
    atomic_signal_fence(memory_order_seq_cst);
}

#endif
