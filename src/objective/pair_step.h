/* SPDX-License-Identifier: MIT
 * One training step on pairs: encoder forward, pooling, the objectives, encoder
 * backward, AdamW. The trainer and the benchmark drive it; it knows no files,
 * no epochs and no schedule. Everything it needs is laid out at creation.
 *
 * Texts of a batch are interleaved: x0 y0 x1 y1 ...
 */
#ifndef AOEI_OBJECTIVE_PAIR_STEP_H
#define AOEI_OBJECTIVE_PAIR_STEP_H

#include "model/encode.h"
#include "model/encoder.h"
#include "model/params.h"
#include "objective/objective.h"

typedef struct aoei_pair_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_arena arena;
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer; /* the caller fills it: aoei_batch_clear, aoei_batch_add */
    aoei_tensor pooled;       /* [2B, D]; its gradient afterwards */
    float *host, *host_grad;  /* [2B, D] for the objectives, owned */
    void *workspace;          /* of the objectives, owned */
    size_t workspace_bytes;
    size_t max_pairs;
} aoei_pair_step;

/* Bounds: pairs of a batch, tokens of a batch, tokens of a text. The parameters are not set: aoei_params_load.
 * Errors: AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, size_t max_pairs,
                          size_t max_tokens, size_t longest, aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed one */

/* Forward and backward of the batch in s->buffer (2B texts): adds scale * gradient of the weighted sum to the gradients.
 * label: [B]; group: [2B] or NULL (aoe_objective). drop NULL: none. Errors: those of aoe_objective. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err);

/* Clips the gradient to max_norm (0: not), takes one AdamW step and zeroes the gradient. Returns the global norm before
 * clipping; when it is not finite nothing is updated. */
double aoei_pair_step_update(aoei_pair_step *s, const aoei_adamw *o, double max_norm);

#endif
