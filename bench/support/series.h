/* SPDX-License-Identifier: MIT
 * A handful of measured times, their fastest and their median. Shared by the
 * programs of bench/; fixed size, owns nothing.
 */
#ifndef AOE_BENCH_SERIES_H
#define AOE_BENCH_SERIES_H

#include <stddef.h>

enum { BENCH_SERIES_MAX = 128 };

typedef struct bench_series {
    double seconds[BENCH_SERIES_MAX]; /* [n], in the order measured */
    size_t n;
} bench_series;

void bench_series_add(bench_series *s, double seconds); /* what does not fit is dropped */
double bench_fastest(const bench_series *s);            /* 0 when empty */
double bench_median(const bench_series *s);             /* the upper one of two; 0 when empty */

#endif
