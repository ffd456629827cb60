/* SPDX-License-Identifier: MIT
 * Measures the peak speed of this machine, for programs that report speeds as a percentage of the peak. The measured
 * peaks are the rate of multiply-adds whose operands are in registers, and the transfer rate of memory. All threads of
 * a context run at the same time, and the fastest of several runs is reported.
 */
#pragma once

#include "base/context.h"

/* Returns the peak in FLOP/s of multiply-adds of `dtype`, measured with the fastest instructions of the CPU that
 * AOE_CPU allows. For float32, the instructions operate on float32 vectors (avx2, avx512). For bf16, they operate on
 * bf16 vectors (avx512bf16) or on tiles (amx). Returns 0 if the CPU has no instructions for `dtype`, or if the tier of
 * the context is c. */
double bench_peak(const aoe_context *ctx, aoe_dtype dtype);
/* Returns the name of the instructions that bench_peak measures: "tiles", "bf16 vectors" or "float32 vectors". Returns
 * "-" if bench_peak returns 0. */
const char *bench_peak_unit(const aoe_context *ctx, aoe_dtype dtype);
/* Returns the transfer rate of memory in bytes per second. A byte that is read and a byte that is written both count.
 * Measures a copy and an update in place, each of which transfers `bytes` bytes, and returns the higher rate. If
 * `bytes` is small, the rate of a cache is measured. Returns 0 if memory allocation fails. */
double bench_memory_rate(const aoe_context *ctx, size_t bytes);
