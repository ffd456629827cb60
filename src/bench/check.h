/* SPDX-License-Identifier: MIT
 * Shared by the checks of golden cases: comparing and reporting.
 *
 * Error of a tensor or value: norm of the difference over norm of the reference.
 * Where the reference's norm is under 1e-6 the difference itself must be at most 1e-6;
 * it is reported scaled by tolerance / 1e-6, so that one comparison serves both.
 * In bf16 a gradient is judged as a whole, all tensors as one: the rounding of the large
 * ones is larger than the whole of the small ones (a key bias has none in theory).
 */
#ifndef AOEI_BENCH_CHECK_H
#define AOEI_BENCH_CHECK_H

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_verify {
    aoe_context *ctx; /* borrowed */
    aoe_dtype dtype;
    aoe_verify_fn report; /* may be NULL */
    void *user;
    size_t failed, done; /* checks */
} aoei_verify;

/* One line of the report in the making: the worst of several comparisons. */
typedef struct aoei_check {
    const char *group; /* "bert" */
    char name[64];     /* "hidden" */
    double tolerance;
    double worst;                   /* NaN sticks */
    int joined;                     /* 1: all that is compared counts as one tensor */
    double difference2, reference2; /* joined: sums of squares so far */
    size_t compared;
} aoei_check;

void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance);
void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n);
void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n);
/* Reports the line; a check that compared nothing fails. */
void aoei_check_end(aoei_verify *v, const aoei_check *c);

#endif
