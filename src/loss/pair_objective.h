/* SPDX-License-Identifier: MIT
 * The training objectives for callers inside the library: value and gradient
 * over a batch of pairs of vectors (equations 1 to 8), or of queries with positives
 * and negatives, in memory the caller has laid out. Nothing here allocates, and the result is a pure function of
 * the arguments and the CPU tier: neither threads nor earlier calls can change a bit of it.
 * docs/objectives.md has the formulas.
 */
#ifndef AOEI_LOSS_OBJECTIVE_H
#define AOEI_LOSS_OBJECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/context.h"

/* B pairs (x_i, y_i). Exactly one of x and x64 is set, and y, grad_x, grad_y are of the same type. All borrowed. */
typedef struct aoei_pair_batch {
    size_t B, D;
    size_t stride;           /* elements between rows, of vectors and gradients alike; >= D */
    const float *x, *y;      /* [B, D] */
    float *grad_x, *grad_y;  /* [B, D], overwritten; both NULL: values only; no overlap with x and y */
    const double *x64, *y64; /* [B, D]: the same in double, for callers that need more than float's precision */
    double *grad_x64, *grad_y64;
    const double *label;   /* [B] */
    const uint32_t *group; /* [2B] identity classes of the texts x0 y0 x1 y1 ..., or NULL: all differ */
} aoei_pair_batch;

/* Bytes of workspace for batches of up to B pairs of size D; 0 when the size overflows. Grows with B and with D. */
size_t aoei_objective_workspace(size_t B, size_t D);

/* As aoe_objective, with memory from workspace (AOEI_ALIGN-aligned). ctx NULL: serial, on the kernels that AOE_CPU allows.
 * Errors: AOE_EARG (also a workspace that is too small), AOE_ENUMERIC with the index of the pair. */
int aoei_objective(const aoe_objective_options *o, const aoei_pair_batch *batch, void *workspace, size_t workspace_bytes,
                   const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

/* B examples, each a query and a positive (arity 2), or these and a negative (arity 3), interleaved: q0 p0 q1 p1 ... or
 * q0 p0 n0 q1 p1 n1 ... Exactly one of v and v64 is set, and the gradient is of the same type. All borrowed. */
typedef struct aoei_example_batch {
    size_t B, D, arity;
    const float *v;    /* [arity B, D] */
    float *grad;       /* [arity B, D], overwritten; NULL: values only; no overlap with v */
    const double *v64; /* [arity B, D] */
    double *grad64;
} aoei_example_batch;

/* Bytes of workspace for batches of up to B examples; 0 when the size overflows or the arity is neither. Grows with all. */
size_t aoei_contrastive_workspace(size_t B, size_t D, size_t arity);

/* As aoe_contrastive, with memory from workspace (AOEI_ALIGN-aligned). ctx NULL: as aoei_objective.
 * Errors: AOE_EARG (also a workspace that is too small), AOE_ENUMERIC with the index of the example. */
int aoei_contrastive_objective(const aoe_objective_options *o, const aoei_example_batch *batch, void *workspace,
                               size_t workspace_bytes, const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);

/* Checks weights, temperatures and the angle's form, and that it can be had of vectors of size D. D 0: no pair is ranked.
 * Errors: AOE_EARG. */
int aoei_objective_check(const aoe_objective_options *o, size_t D, aoe_error *err);

#endif
