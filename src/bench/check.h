/* SPDX-License-Identifier: MIT
 * Compares computed values with golden cases (outputs of a reference implementation) and reports the errors.
 *
 * The error of a tensor or of a number is the norm of the difference divided by the norm of the reference. If the norm
 * of the reference is below 1e-6, the norm of the difference must be at most 1e-6; the reported error is then the norm
 * of the difference multiplied by tolerance / 1e-6. In bf16, all gradients of a loss are compared as one tensor.
 * Otherwise the rounding errors would exceed the values of small gradients. For example, the gradient of a key bias is
 * 0 in exact arithmetic.
 */
#pragma once

#include "aoe.h"
#include "aoe_eval.h"

typedef struct aoei_verify {
    aoe_context *ctx;     /* context that runs the computations; borrowed */
    aoe_dtype dtype;      /* data type of the GEMMs */
    aoe_verify_fn report; /* called with the result of each check; may be NULL */
    void *user;           /* first argument of `report` */
    size_t failed, done;  /* done: number of checks so far; failed: number of failed checks so far */
} aoei_verify;

/* A check consists of one or more comparisons. Its error is the largest error of these comparisons. */
typedef struct aoei_check {
    const char *group;              /* first part of the name of the check, such as "bert"; borrowed */
    char name[64];                  /* second part of the name of the check, such as "hidden.0" */
    double tolerance;               /* maximum error with which the check passes */
    double worst;                   /* largest error so far; NaN after any NaN */
    int joined;                     /* 1: all compared tensors are treated as one tensor */
    double difference2, reference2; /* if joined is 1: sums of the squared norms of the differences, and of the
                                       references */
    size_t compared;                /* number of comparisons so far */
} aoei_check;

/* Starts a check with the name "GROUP/NAME". group is borrowed; name is copied. */
void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance);
/* Both functions compare n computed values `got` with the reference values `want`. */
void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n);
void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n);
/* Ends the check and reports it. A check without comparisons fails. */
void aoei_check_end(aoei_verify *v, const aoei_check *c);
