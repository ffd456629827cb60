/* SPDX-License-Identifier: MIT
 * Bounds and exact scores of rows for one query. Exact scores are computed in descending order of the upper bounds,
 * until the k-th best score is above the next bound. The values of most candidates are therefore never read.
 */
#include "vectors/scan_query.h"
#include "aoe.h"
#include "base/alloc.h"
#include "vectors/codes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-9 /* bound of the relative error of a sum of up to AOEI_SCAN_MAX_D products in double */
/* Bound of the relative errors of the float operations on an approximate score, which are at most 12 roundings, and of
 * the rounding of two scores to float: 16 * 2^-24 < 2^-19. */
#define ROUNDING_F32 0x1p-19

enum { LANES = 8, CACHE_LINE = 64, AHEAD = 8 /* rows whose codes are loaded before they are needed */ };

/* Adds the lanes of a sum. This order is part of the definition of a score. */
static double add_lanes(const double *s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* Defines a function that returns the dot product of the float array q and an array of another type. Products are exact
 * in double. Product i is added to lane i % LANES. */
#define DEFINE_DOT(name, type, value)                                                                                  \
    static double name(const float *q, const type *x, size_t n) {                                                      \
        double s[LANES] = {0};                                                                                         \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (size_t l = 0; l < LANES; l++)                                                                         \
                s[l] += (double)q[i + l] * (double)value(x[i + l]);                                                    \
        for (size_t l = 0; i + l < n; l++)                                                                             \
            s[l] += (double)q[i + l] * (double)value(x[i + l]);                                                        \
        return add_lanes(s);                                                                                           \
    }
DEFINE_DOT(dot_f32, float, )
DEFINE_DOT(dot_bf16, aoei_bf16, aoei_bf16_to_f32)
DEFINE_DOT(dot_int8, int8_t, )

static const unsigned char *codes_of(const aoei_scan *s, size_t row) {
    return s->codes + row * aoei_codes_stride(s->D);
}

float aoei_scan_score(const aoei_scan *s, const float *q, size_t row) {
    if (s->type == AOEI_F32)
        return (float)dot_f32(q, (const float *)s->values + row * s->D, s->D);
    if (s->type == AOEI_BF16)
        return (float)dot_bf16(q, (const aoei_bf16 *)s->values + row * s->D, s->D);
    const unsigned char *codes = codes_of(s, row);
    return (float)(dot_int8(q, (const int8_t *)codes, s->D) * (double)aoei_codes_scale(codes, aoei_codes_padded(s->D)));
}

size_t aoei_scan_query_codes(size_t D) {
    const size_t codes = aoei_codes_padded(D), signs = aoei_signs_stride(D) * 8;
    return codes > signs ? codes : signs;
}

/* Returns x as a float, rounded up. */
static float round_up(double x) {
    return x > 0 ? nextafterf((float)x, INFINITY) : 0;
}

void aoei_scan_query_prepare(aoei_scan_query *p, const float *q, size_t D, int8_t *codes) {
    float most = 0;
    int exponent = 0;
    double squares = 0, code_squares = 0, residual = 0;
    *p = (aoei_scan_query){.q = q, .codes = codes};
    memset(codes, 0, aoei_scan_query_codes(D));
    for (size_t i = 0; i < D; i++)
        most = fabsf(q[i]) > most ? fabsf(q[i]) : most;
    const double largest = frexp((double)most, &exponent);
    p->unit = ldexp(1, -exponent);
    p->scale = (float)(largest / 127);
    for (size_t i = 0; i < D; i++) {
        const double x = (double)q[i] * p->unit;
        const double c = most > 0 ? rint(x * (127 / largest)) : 0, r = x - (double)p->scale * c;
        codes[i] = (int8_t)c;
        squares += x * x;
        code_squares += c * c;
        residual += r * r;
    }
    p->norm = sqrt(squares);
    p->reach = round_up((double)p->scale * sqrt(code_squares) * (1 + ROUNDING));
    /* Scores that are smaller than the smallest normal float are rounded to multiples of 2^-149, and those that are
     * larger than the largest float to infinity, so that unequal scores become equal. */
    double coarse = ldexp(1, -149) * p->unit;
    if (p->norm * AOEI_CODES_NORM * (1 + ROUNDING) >= (double)FLT_MAX * p->unit)
        coarse = INFINITY;
    p->slack = round_up(sqrt(residual) * AOEI_CODES_NORM * (1 + ROUNDING) + p->norm * ROUNDING_F32 + coarse);
    p->fine = p->norm * ROUNDING_F32 + coarse;
}

/* Returns the sum of the squares of the codes of a row. */
static double code_squares(const int8_t *codes, size_t D) {
    int64_t sum = 0;
    for (size_t i = 0; i < D; i++)
        sum += codes[i] * codes[i];
    return (double)sum;
}

float aoei_scan_query_most(const aoei_scan_query *p, const aoei_scan *s, size_t row) {
    const unsigned char *codes = codes_of(s, row);
    const double dot = dot_int8(p->q, (const int8_t *)codes, s->D) * p->unit;
    double most = dot * (double)aoei_codes_scale(codes, aoei_codes_padded(s->D)) + p->fine;
    if (s->type != AOEI_I8) {
        const double squares = code_squares((const int8_t *)codes, s->D), norm2 = p->norm * p->norm;
        const double rest = norm2 - (squares > 0 ? dot * dot / squares : 0);
        most +=
            (double)aoei_codes_error(codes, aoei_codes_padded(s->D)) * sqrt((rest > 0 ? rest : 0) + norm2 * ROUNDING);
    }
    return (float)(most / p->unit);
}

typedef struct bounded {
    float most; /* upper bound of the score */
    uint32_t row;
} bounded;

static int highest_first(const void *pa, const void *pb) {
    const bounded *a = pa, *b = pb;
    return (a->most < b->most) - (a->most > b->most);
}

/* Loads the codes of a row, which are usually not in the cache. */
static void prefetch(const aoei_scan *s, size_t row) {
    const unsigned char *codes = codes_of(s, row);
    for (size_t i = 0; i < aoei_codes_stride(s->D); i += CACHE_LINE)
        AOEI_PREFETCH_L1(codes + i);
}

int aoei_scan_query_best(const aoei_scan_query *p, const aoei_scan *s, const uint32_t *row, size_t n, size_t k,
                         aoei_order_fn order, void *user, aoei_neighbor *best) {
    size_t bounds = 0;
    aoei_best_clear(best, k);
    bounded *b = aoei_malloc_array(n ? n : 1, sizeof *b);
    if (!b)
        return AOE_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            prefetch(s, row[i + AHEAD]);
        const float most = aoei_scan_query_most(p, s, row[i]);
        if (!isnan(most))
            b[bounds++] = (bounded){most, row[i]};
    }
    qsort(b, bounds, sizeof *b, highest_first);
    for (size_t i = 0; i < bounds; i++) {
        if (best->text != AOEI_NO_TEXT && b[i].most < best->score)
            break;
        const float score = aoei_scan_score(s, p->q, b[i].row);
        if (!isnan(score))
            aoei_best_add(best, k, (aoei_neighbor){score, b[i].row}, order, user);
    }
    aoei_best_sort(best, k, order, user);
    aoei_free(b);
    return 0;
}
