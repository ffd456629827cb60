/* SPDX-License-Identifier: MIT
 * A list of measured times with a fixed capacity, and functions that return the fastest time and the median. The programs of
 * bench/ share it. It owns no memory.
 */
#ifndef AOE_BENCH_SERIES_H
#define AOE_BENCH_SERIES_H

#include <stddef.h>

enum { BENCH_SERIES_MAX = 128 };

typedef struct bench_series {
    double seconds[BENCH_SERIES_MAX]; /* [n], seconds in the order of measurement */
    size_t n;
} bench_series;

void bench_series_add(bench_series *s, double seconds); /* ignored if the list is full */
double bench_fastest(const bench_series *s);            /* 0 if empty */
double bench_median(const bench_series *s);             /* the larger of the two middle values; 0 if empty */

#endif
