/* SPDX-License-Identifier: MIT
 * The AMX tile instructions in software, so that a kernel written with kernels/amx_tiles.h runs, and can be tested, on any CPU.
 * A source file that includes this header before the kernel's source compiles the kernel with these functions in place of the
 * instructions.
 *
 * The values are those of the pseudo-code of TDPBF16PS in Intel's manual. Each output element has two sums that start at 0, one
 * over the even values of k and one over the odd values, accumulated with fused multiply-adds in ascending order. The two sums
 * are added to each other, and the result is added to the accumulator. Every operation rounds to nearest even, reads subnormals
 * as zero and flushes subnormal results to zero. The manual does not specify which NaN results, or whether a result is
 * classified as subnormal before or after rounding (here: after).
 *
 * Invalid use fails the running test. Examples are using a tile before the configuration is loaded, a tile that does not exist,
 * a shape that does not match the operands, reading a tile that has no value, and accessing memory outside the regions. The
 * emulation supports only one thread.
 */
#ifndef AOE_TESTS_AMX_EMULATION_H
#define AOE_TESTS_AMX_EMULATION_H

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

void amx_emulate_configure(const tile_shapes *shapes);
void amx_emulate_release(void);
void amx_emulate_zero(int tile);
void amx_emulate_load(int tile, const void *from, size_t stride);
void amx_emulate_store(int tile, void *to, size_t stride);
void amx_emulate_dot_bf16(int sums, int left, int right);

/* A memory region that tiles may be loaded from and stored to. */
typedef struct amx_region {
    const void *start;
    size_t bytes;
} amx_region;

/* Counts of the operations since amx_emulation_begin. */
typedef struct amx_counts {
    size_t configures, releases, zeros, loads, stores, dots;
    size_t load_lines; /* cache lines that the loads touch, summed over all loads: 16 per load unless a row crosses a line */
    /* smallest number of dot instructions between a store and a load of the stored memory, over the 8 most recent stores at
     * each load; SIZE_MAX: there was no such load */
    size_t least_reuse;
    /* smallest number of dot instructions between a store and a load from another address with the same low 12 bits, over the 8
     * most recent stores at each load */
    size_t least_alias;
} amx_counts;

/* Starts an emulation that allows access to regions[n]; n is at most 4, and the array is copied. */
void amx_emulation_begin(const amx_region *regions, size_t n);
/* Returns the counts since amx_emulation_begin. Fails if tiles are still configured. */
amx_counts amx_emulation_end(void);

#endif
