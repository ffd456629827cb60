/* SPDX-License-Identifier: MIT
 * Comparison with golden cases and its report.
 *
 * The error of a tensor or value is the norm of the difference divided by the norm of the
 * reference. If the norm of the reference is below 1e-6, the difference itself must be at most
 * 1e-6; it is reported times tolerance / 1e-6. In bf16 all tensors of a gradient are compared
 * as one, because the rounding errors of large tensors exceed the values of small ones (the
 * gradient of a key bias is 0 in theory).
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

/* One line of the report: the largest error of several comparisons. */
typedef struct aoei_check {
    const char *group; /* "bert" */
    char name[64];     /* "hidden" */
    double tolerance;
    double worst;                   /* largest error; stays NaN after a NaN */
    int joined;                     /* 1: all tensors are compared as one */
    double difference2, reference2; /* joined: sums of squares so far */
    size_t compared;
} aoei_check;

void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance);
void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n);
void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n);
/* Reports the line; a check that compared nothing fails. */
void aoei_check_end(aoei_verify *v, const aoei_check *c);

#endif
