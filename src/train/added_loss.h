/* SPDX-License-Identifier: MIT
 * A loss that a method adds to the loss of the embeddings of a batch, and that has an encoder of its own, the second
 * encoder of the parameters. A training step (pair_step.h) calls its functions.
 */
#pragma once

#include "aoe_objective.h"
#include "encoder/encoder.h"
#include "encoder/params.h"

typedef struct aoei_added_loss aoei_added_loss;

/* Functions of an added loss. ctx and c are the context and the configuration of the step. */
typedef struct aoei_added_loss_ops {
    /* Takes the memory of the tensors for a chunk of at most this many tokens and texts from the arena. longest:
     * maximum number of tokens in a text. Errors: AOE_ENOMEM. */
    int (*layout)(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                  size_t tokens, size_t texts, size_t longest, aoei_encoder_mode mode, aoe_error *err);
    /* Allocates the buffers in main memory for a chunk of at most this many tokens. Errors: AOE_ENOMEM. */
    int (*create)(aoei_added_loss *l, const aoei_encoder_config *c, size_t tokens, aoe_error *err);
    /* Begins a shard of a batch that has `tokens` tokens in all shards: sets all sums to zero. */
    void (*begin)(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                  size_t tokens);
    /* Runs the forward and the backward pass for a chunk of the shard. z: [n_texts, D] vectors from which the loss of
     * the embeddings is computed; their gradients are added to dz. All gradients are multiplied by scale. drop: dropout
     * of the step, or NULL for none. The order of the chunks determines the order of all sums. Errors: AOE_ENUMERIC. */
    int (*chunk)(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                 const aoei_batch *chunk, aoei_tensor z, aoei_tensor dz, const aoei_encoder_dropout *drop, double scale,
                 aoe_error *err);
    /* Ends the shard: adds the remaining gradients to those of the parameters. Returns the sum of the loss over the
     * tokens of the shard. */
    double (*end)(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                  double scale);
    /* Adds the loss of a batch of `tokens` tokens to *result. sum: sum of the results of `end`. */
    void (*report)(const aoei_added_loss *l, double sum, size_t tokens, aoe_objective_result *result);
} aoei_added_loss_ops;

/* The first field of a struct with the buffers of the loss, which the method owns. */
struct aoei_added_loss {
    const aoei_added_loss_ops *ops;
};
