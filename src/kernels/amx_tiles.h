/* SPDX-License-Identifier: MIT
 * Defines names for the AMX tile instructions that the kernels use. If AOEI_TILES_EMULATED is defined, this file does
 * not define them; the test that emulates the instructions then defines them (tests/support/amx_emulation.h). The tile
 * argument of an instruction is an integer literal from 0 to 7, the number of a tile register. A stride is the distance
 * in bytes between two rows of a tile in memory. All tiles have the maximum shape, 16 rows of 64 bytes. Compilers do
 * not know that a tile load reads memory: in gcc, the load is an asm statement without a memory clobber. Call
 * tile_fence() between ordinary stores and the tile loads that read the stored data.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TILE_ROWS      16
#define TILE_ROW_BYTES 64
#define TILES          8

/* Tile configuration, the operand of the LDTILECFG instruction. */
typedef struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16]; /* length of a row of each tile in bytes */
    uint8_t rows[16];       /* number of rows in each tile */
} tile_shapes;

#ifndef AOEI_TILES_EMULATED
#include <immintrin.h>
#define tile_configure(shapes)           _tile_loadconfig(shapes)
#define tile_release()                   _tile_release()
#define tile_zero(tile)                  _tile_zero(tile)
#define tile_load(tile, from, stride)    _tile_loadd(tile, from, stride)
#define tile_store(tile, to, stride)     _tile_stored(tile, to, stride)
#define tile_dot_bf16(sums, left, right) _tile_dpbf16ps(sums, left, right)
#define tile_dot_int8(sums, left, right) _tile_dpbssd(sums, left, right)
#endif

/* Prevents the compiler from moving memory accesses across this call. */
static inline void tile_fence(void) {
    atomic_signal_fence(memory_order_seq_cst);
}
