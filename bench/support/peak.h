/* SPDX-License-Identifier: MIT
 * What this machine can do at most, measured by the program that reports shares
 * of it: multiply-adds from registers, and streaming through memory. On all threads of a context,
 * fastest of several runs.
 */
#ifndef AOE_BENCH_PEAK_H
#define AOE_BENCH_PEAK_H

#include "base/context.h"

/* FLOP/s of the unit that the context's tier multiplies `dtype` with: float32 vectors (avx2, avx512), bf16 pairs (avx512bf16),
 * tiles (amx). 0 where the tier has no such unit: tier c, and bf16 below avx512bf16. */
double bench_peak(const aoe_context *ctx, aoe_dtype dtype);
/* Name of that unit: "tiles", "bf16 vectors", "float32 vectors"; "-" where there is none. */
const char *bench_peak_unit(const aoe_context *ctx, aoe_dtype dtype);
/* Bytes per second, read and written together, that pass over bytes / 2 of memory and read and write each: the faster of a
 * plain copy and an update in place. From memory or from a cache, as the size has it. 0 without memory. */
double bench_memory_rate(const aoe_context *ctx, size_t bytes);

#endif
