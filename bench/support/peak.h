/* SPDX-License-Identifier: MIT
 * Measures the peak speed of this machine, for programs that report speeds as a percentage of the peak. Measures multiply-adds
 * whose operands are in registers, and transfers to and from memory. All threads of a context are used, and the fastest of
 * several runs is reported.
 */
#ifndef AOE_BENCH_PEAK_H
#define AOE_BENCH_PEAK_H

#include "base/context.h"

/* Returns the FLOP/s of the unit with which the context's tier multiplies `dtype`. The unit is float32 vectors (avx2, avx512),
 * bf16 pairs (avx512bf16) or tiles (amx). Returns 0 if the tier has no such unit, which is the case for tier c, and for bf16
 * below avx512bf16. */
double bench_peak(const aoe_context *ctx, aoe_dtype dtype);
/* Returns the name of the unit that bench_peak measures: "tiles", "bf16 vectors" or "float32 vectors"; "-" if there is none. */
const char *bench_peak_unit(const aoe_context *ctx, aoe_dtype dtype);
/* Returns the transfer rate in bytes per second, where bytes read and bytes written both count. Measures a plain copy and an
 * update in place, each of which transfers `bytes` bytes, and returns the higher rate. The size determines whether the rate of
 * memory or of a cache is measured. Returns 0 if the allocation fails. */
double bench_memory_rate(const aoe_context *ctx, size_t bytes);

#endif
