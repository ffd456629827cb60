/* SPDX-License-Identifier: MIT
 * Monotonic time and peak memory of this process, for progress reports and benchmarks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

double aoei_now(void);            /* seconds since an arbitrary start; monotonic */
uint64_t aoei_now_ns(void);       /* the same clock in nanoseconds */
size_t aoei_peak_rss_bytes(void); /* peak resident memory (VmHWM) in bytes; 0 if unknown */
