/* SPDX-License-Identifier: MIT
 * Functions that emulate the AMX tile instructions, so that a kernel written with kernels/amx_tiles.h can be tested on
 * CPUs without AMX. If a source file includes this header before the kernel's source, the kernel calls these functions
 * instead of executing the instructions.
 *
 * amx_emulate_dot_int8 adds products of int8 values to int32 sums, as TDPBSSD does; the results are exact. The other
 * dot instruction follows the pseudo-code of TDPBF16PS in Intel's manual. Each output element has two sums, one over
 * the even values of k and one over the odd values. Both start at 0 and are accumulated with fused multiply-adds in
 * ascending order of k. The two sums are added, and the result is added to the accumulator. Every operation rounds to
 * nearest even, reads subnormals as zero and flushes subnormal results to zero. The manual does not specify the bits of
 * a NaN result. It also does not specify whether a result is classified as subnormal before or after rounding; the
 * emulation classifies it after rounding.
 *
 * The running test fails if a kernel uses the instructions incorrectly. Examples are:
 * - using a tile that does not exist, or any tile before the configuration is loaded
 * - operands whose shapes do not match
 * - reading a tile that was neither loaded nor zeroed
 * - accessing memory outside the regions that amx_emulation_begin allows
 * The emulation supports only one thread.
 */
#pragma once

#include <stddef.h>

#ifndef AOEI_TILES_EMULATED
#define AOEI_TILES_EMULATED
#endif
#include "kernels/amx_tiles.h"

#define tile_configure(shapes)           amx_emulate_configure(shapes)
#define tile_release()                   amx_emulate_release()
#define tile_zero(tile)                  amx_emulate_zero(tile)
#define tile_load(tile, from, stride)    amx_emulate_load(tile, from, stride)
#define tile_store(tile, to, stride)     amx_emulate_store(tile, to, stride)
#define tile_dot_bf16(sums, left, right) amx_emulate_dot_bf16(sums, left, right)
#define tile_dot_int8(sums, left, right) amx_emulate_dot_int8(sums, left, right)

/* The functions that the macros above call. Each emulates the instruction with this name. */
void amx_emulate_configure(const tile_shapes *shapes);
void amx_emulate_release(void);
void amx_emulate_zero(int tile);
void amx_emulate_load(int tile, const void *from, size_t stride);
void amx_emulate_store(int tile, void *to, size_t stride);
void amx_emulate_dot_bf16(int sums, int left, int right);
void amx_emulate_dot_int8(int sums, int left, int right);

/* A memory region that a kernel may load tiles from and store tiles to. */
typedef struct amx_region {
    const void *start;
    size_t bytes;
} amx_region;

/* Numbers of executed instructions since amx_emulation_begin. */
typedef struct amx_counts {
    size_t configures, releases, zeros, loads, stores, dots;
    /* cache lines that the loads read, summed over all loads; a load of 16 rows reads 16 lines if no row crosses a
     * line */
    size_t load_lines;
    /* smallest number of dot instructions between a store and a load of the stored memory. Each load is compared with
     * the 8 most recent stores before it. SIZE_MAX: there was no such load. */
    size_t least_reuse;
    /* smallest number of dot instructions between a store and a load from another address with the same cache line
     * offset within a page. Each load is compared with the 8 most recent stores before it. SIZE_MAX: there was no such
     * load. */
    size_t least_alias;
} amx_counts;

/* Starts an emulation in which the instructions may access only the memory in regions[n]. n is at most 4. The array is
 * copied. */
void amx_emulation_begin(const amx_region *regions, size_t n);
/* Ends the emulation and returns the counts since amx_emulation_begin. The test fails if tiles are still configured. */
amx_counts amx_emulation_end(void);
