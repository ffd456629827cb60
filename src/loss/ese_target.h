/* SPDX-License-Identifier: MIT
 * The targets of Espresso sentence embeddings (ESE, Li et al. 2024; AngleESETrainer in angle_emb). For vectors m [N,
 * D]:
 *     A = rowsoftmax(m^T m / sqrt(D)) [D, D],     A ~ U diag(S) V^T truncated to c components,
 *     K = m U diag(S) [N, c]
 * The singular value decomposition is that of a randomized range finder with 2 power iterations (Halko et al. 2011,
 * algorithms 4.4 and 5.1) and a few additional columns. Its random numbers are a function of (seed, step, layer). The
 * component of largest magnitude of each column of U is positive; if several components have this magnitude, it is the
 * first one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "base/context.h"

/* Vectors and their target. All pointers are borrowed. */
typedef struct aoei_ese_target {
    size_t N, D, c;         /* number of vectors, of their components, and of components of the target; c <= D */
    const double *m;        /* [N, D] vectors */
    double *k;              /* [N, c] receives the target */
    uint64_t seed, step;    /* seed and step of the training run */
    uint32_t layer;         /* index of the hidden state */
    void *workspace;        /* aoei_ese_target_workspace(N, D, c) bytes, aligned to AOEI_ALIGN */
    const aoe_context *ctx; /* threads and kernels */
} aoei_ese_target;

/* Returns the size of the workspace in bytes, or 0 if it overflows. The size does not decrease if an argument
 * increases. */
size_t aoei_ese_target_workspace(size_t N, size_t D, size_t c);
/* Computes the target. If S has fewer than c values above the rounding error, the columns of the other values are 0.
 * Errors: AOE_ENOMEM, AOE_ENUMERIC (a vector is not finite, or too large). */
int aoei_ese_target_compute(const aoei_ese_target *p, aoe_error *err);
