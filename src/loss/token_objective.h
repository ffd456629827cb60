/* SPDX-License-Identifier: MIT
 * The loss of IS-BERT (Zhang et al. 2020): a lower bound of the mutual information, in the form of Jensen and Shannon,
 * between the token vectors c_j of a text and its mean vector g_i. The token vectors of the other texts are the
 * negatives. With N tokens and B texts, where own(j) is the text of token j:
 *
 *     x_ji = <c_j, g_i>,   g_i = mean of c_j over the tokens of text i
 *     E+ = 1/N sum_j (ln 2 - log(1 + exp(-x_j,own(j)))),
 *     E- = 1/(N (B - 1)) sum_j sum_{i != own(j)} (log(1 + exp(x_ji)) - ln 2),   loss = E- - E+
 *
 * Gradients pass through the token vectors and through the mean vectors.
 */
#pragma once

#include <stdint.h>

#include "aoe_objective.h"
#include "base/context.h"

/* Token vectors of a batch. The gradient is overwritten. Either v and grad, or v64 and grad64, are used. */
typedef struct aoei_token_vectors {
    size_t texts, tokens, D; /* B, N and the number of components of a vector */
    const uint32_t *offsets; /* [B + 1] index of the first token of each text; every text has at least one token */
    const float *v;          /* [N, D] token vectors */
    float *grad;             /* [N, D] gradient of the loss */
    const double *v64;       /* NULL: v is used */
    double *grad64;
} aoei_token_vectors;

/* Returns the size in bytes of the workspace, or 0 if it overflows. */
size_t aoei_token_objective_workspace(size_t texts, size_t tokens, size_t D);
/* Computes the loss and its gradient. Sums have a fixed order, so the result does not depend on the number of threads.
 * workspace: aoei_token_objective_workspace bytes, aligned to AOEI_ALIGN. Sets result->contrastive and result->total to
 * the loss. Errors: AOE_EARG (fewer than two texts), AOE_ENUMERIC (a dot product is not finite). */
int aoei_token_objective(const aoei_token_vectors *b, void *workspace, size_t workspace_bytes, aoe_context *ctx,
                         aoe_objective_result *result, aoe_error *err);
