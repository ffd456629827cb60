/* SPDX-License-Identifier: MIT
 * The tile instructions in software, so that a kernel written on kernels/amx_tiles.h runs, and is checked, on any CPU:
 * a source file that includes this one before the kernel's gets these functions for its tiles.
 *
 * Values are those of the pseudo-code in Intel's manual (TDPBF16PS): for each row and column two sums from 0, one over the
 * even k's and one over the odd, by fused multiply-adds in ascending order; then their sum; then the accumulator plus
 * that; each rounded to nearest even, subnormals read as zero and written as zero. The manual leaves open which NaN
 * comes out, and whether a result is called subnormal before or after its rounding (here: after).
 *
 * Wrong use fails the running test: no configuration, an unknown tile, a shape that does not fit the operands, a tile
 * that holds nothing, memory outside of the regions. One thread only.
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

/* Memory that tiles may be loaded from and stored to. */
typedef struct amx_region {
    const void *start;
    size_t bytes;
} amx_region;

/* What has been done since amx_emulation_begin. */
typedef struct amx_counts {
    size_t configures, releases, zeros, loads, stores, dots;
    size_t load_lines;  /* different cache lines, summed over loads: 16 a load unless a row crosses one */
    size_t least_reuse; /* fewest dots from one of the last 8 stores to a load of what it stored; SIZE_MAX: none */
    size_t least_alias; /* the same to a load elsewhere whose address has the same low 12 bits */
} amx_counts;

void amx_emulation_begin(const amx_region *regions, size_t n); /* at most 4; copied */
/* The counts so far. Fails when tiles are still configured. */
amx_counts amx_emulation_end(void);

#endif
