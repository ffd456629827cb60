/* SPDX-License-Identifier: MIT
 * Computes the fastest and the median of measured times.
 */
#include "series.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *pa, const void *pb) {
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

void bench_series_add(bench_series *s, double seconds) {
    if (s->n < BENCH_SERIES_MAX)
        s->seconds[s->n++] = seconds;
}

double bench_fastest(const bench_series *s) {
    double best = s->n ? s->seconds[0] : 0;
    for (size_t i = 1; i < s->n; i++)
        best = s->seconds[i] < best ? s->seconds[i] : best;
    return best;
}

double bench_median(const bench_series *s) {
    double sorted[BENCH_SERIES_MAX] = {0};
    memcpy(sorted, s->seconds, s->n * sizeof *sorted);
    qsort(sorted, s->n, sizeof *sorted, ascending);
    return sorted[s->n / 2];
}
