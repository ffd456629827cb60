/* SPDX-License-Identifier: MIT
 * Measures the peak speed of this machine, for programs that report percentages of it: multiply-adds with operands in
 * registers, and transfers to and from memory. Uses all threads of a context and reports the fastest of several runs.
 */
#ifndef AOE_BENCH_PEAK_H
#define AOE_BENCH_PEAK_H

#include "base/context.h"

/* FLOP/s of the unit with which the context's tier multiplies `dtype`: float32 vectors (avx2, avx512), bf16 pairs (avx512bf16),
 * tiles (amx). 0 if the tier has no such unit: tier c, and bf16 below avx512bf16. */
double bench_peak(const aoe_context *ctx, aoe_dtype dtype);
/* Name of this unit: "tiles", "bf16 vectors" or "float32 vectors"; "-" if there is none. */
const char *bench_peak_unit(const aoe_context *ctx, aoe_dtype dtype);
/* Transfer rate in bytes per second (bytes read plus bytes written): the faster of a plain copy and an update in place of
 * `bytes` transferred bytes. The size determines whether memory or a cache is measured. 0 if the allocation fails. */
double bench_memory_rate(const aoe_context *ctx, size_t bytes);

#endif
