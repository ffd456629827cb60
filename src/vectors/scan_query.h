/* SPDX-License-Identifier: MIT
 * The rows of a scan (scan.h), their scores, and bounds of the scores for a query that is prepared for rows of codes.
 *
 * Let p be the query divided by a power of 2, so that its largest component is in [0.5, 1). Let t c be the codes of the
 * query and their scale, and s x the codes of a row and their scale. With the residuals r = p - t c and e = v - s x of
 * the values v of the row, the score is
 *     p v = t s (c x) + t c e + r v.
 * The inequality of Cauchy and Schwarz bounds the second term by |t c| |e| and the third by |r| |v|. If p itself is
 * multiplied by the codes, only p e remains. e is orthogonal to x, so |p e| <= |p'| |e|, where p' is the part of p that
 * is orthogonal to x. All bounds are increased by bounds of the rounding errors. Rows whose scores differ, but are
 * equal after rounding to float, also stay within the bounds.
 */
#pragma once

#include "kernels/kernels.h"
#include "vectors/best.h"

/* The vectors to scan. All pointers are borrowed. */
typedef struct aoei_scan {
    const unsigned char *codes; /* [n, aoei_codes_stride(D)] */
    const unsigned char *signs; /* [n, aoei_signs_stride(D)]; only for the fast scan, otherwise NULL */
    const void *values;         /* [n, D] values of `type`, or NULL if the type is AOEI_I8 */
    aoei_dtype type;            /* AOEI_F32, AOEI_BF16, or AOEI_I8: each code times the scale of its row is a value */
    size_t n, D;                /* numbers of rows, less than AOEI_NO_TEXT, and of components, 1 to AOEI_SCAN_MAX_D */
    const uint64_t *allowed;    /* [(n + 63) / 64] bitmap of the rows that may be found: bit i % 64 of word i / 64.
                                   Bits from n are ignored. NULL: all rows */
} aoei_scan;

#define AOEI_SCAN_MAX_D ((size_t)65536)

/* Returns the score of a row for the query q[D]. */
float aoei_scan_score(const aoei_scan *s, const float *q, size_t row);

typedef struct aoei_scan_query {
    const float *q; /* [D] borrowed */
    int8_t *codes;  /* [aoei_scan_query_codes(D)] codes, then zeros; borrowed */
    float scale;    /* t */
    float reach;    /* |t c|, rounded up: factor of the bound of the residual of a row */
    float slack;    /* bound of |r| |v| and of all rounding errors */
    double unit;    /* the power of 2: p = q * unit */
    double norm;    /* |p| */
    double fine;    /* bound of the rounding errors of aoei_scan_query_most */
} aoei_scan_query;

/* Number of codes of a query with zeros at its end, enough for the kernels for codes and for signs. */
size_t aoei_scan_query_codes(size_t D);
/* Prepares the finite query q[D]. The caller provides `codes`. */
void aoei_scan_query_prepare(aoei_scan_query *p, const float *q, size_t D, int8_t *codes);
/* Returns an upper bound of the score of a row, rounded to float in the same way as the score. */
float aoei_scan_query_most(const aoei_scan_query *p, const aoei_scan *s, size_t row);

/* Sets best[k] to the k best of the rows row[n], sorted. Errors: AOE_ENOMEM, without a message. */
int aoei_scan_query_best(const aoei_scan_query *p, const aoei_scan *s, const uint32_t *row, size_t n, size_t k,
                         aoei_order_fn order, void *user, aoei_neighbor *best);
