/* SPDX-License-Identifier: MIT
 * A fixed-size list of measured times, their fastest and their median. Shared by the programs of bench/. Owns no
 * memory.
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
