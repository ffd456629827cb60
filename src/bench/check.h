/* SPDX-License-Identifier: MIT
 * Compares computed values with golden cases (outputs of a reference implementation) and reports the errors.
 *
 * The error of a tensor or value is the norm of the difference divided by the norm of the reference. If the norm of the
 * reference is below 1e-6, the norm of the difference must be at most 1e-6; the reported error is this norm multiplied by
 * tolerance / 1e-6. In bf16, all tensors of a gradient are compared as one tensor, because the rounding errors of large tensors
 * exceed the values of small tensors (for example, the gradient of a key bias is 0 in exact arithmetic).
 */
#ifndef AOEI_BENCH_CHECK_H
#define AOEI_BENCH_CHECK_H

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_verify {
    aoe_context *ctx;     /* context that runs the computations; borrowed */
    aoe_dtype dtype;      /* data type of the GEMMs */
    aoe_verify_fn report; /* may be NULL */
    void *user;           /* first argument of report */
    size_t failed, done;  /* numbers of failed checks, and of all checks so far */
} aoei_verify;

/* A check: one or more comparisons, of which the report contains the largest error. */
typedef struct aoei_check {
    const char *group;              /* first part of the name, such as "bert"; borrowed */
    char name[64];                  /* second part of the name, such as "hidden.0" */
    double tolerance;               /* maximum error that passes */
    double worst;                   /* largest error so far; NaN after any NaN */
    int joined;                     /* 1: all tensors are compared as one tensor */
    double difference2, reference2; /* joined: squared norms of the difference and of the reference so far */
    size_t compared;                /* number of comparisons */
} aoei_check;

/* Starts a check, which is reported as "GROUP/NAME". group is borrowed; name is copied. */
void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance);
/* Compare got[n] with the reference want[n]. */
void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n);
void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n);
/* Ends the check and reports it. A check without comparisons fails. */
void aoei_check_end(aoei_verify *v, const aoei_check *c);

#endif
