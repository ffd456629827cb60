/* SPDX-License-Identifier: MIT
 * A list of measured times with a fixed capacity. Functions return the fastest time and the median. The list owns no
 * memory on the heap.
 */
#pragma once

#include <stddef.h>

enum { BENCH_SERIES_MAX = 128 };

typedef struct bench_series {
    double seconds[BENCH_SERIES_MAX]; /* [n] times in seconds, in the order of measurement */
    size_t n;
} bench_series;

void bench_series_add(bench_series *s, double seconds); /* does nothing if the list is full */
double bench_fastest(const bench_series *s);            /* returns 0 if the list is empty */
/* returns the larger of the two middle values if n is even; returns 0 if the list is empty */
double bench_median(const bench_series *s);
