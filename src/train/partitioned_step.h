/* SPDX-License-Identifier: MIT
 * The optimizer step of a run with shards. Each rank adds the gradients of its shards (gradient_tree.h). Then the ranks
 * exchange the partial sums: every rank completes the sum for its share of the elements, updates these elements, and
 * has only their moments (ZeRO-1, Rajbhandari et al. 2020, section 5). Finally, all ranks gather the new values. The
 * norm of the gradient is added from the sums of the blocks in their order, as in one process.
 */
#pragma once

#include "train/gradient_tree.h"

typedef struct aoei_partitioned_step {
    const aoei_shards *shards; /* borrowed */
    aoei_params *params;       /* borrowed */
    aoei_gradient_tree *tree;  /* borrowed */
    /* The following fields are set if there are several ranks. Elements are exchanged in windows of `blocks` blocks per
     * rank. */
    size_t blocks;              /* number of blocks of each rank in a window */
    size_t nodes;               /* number of nodes of all ranks */
    aoei_gradient_range *range; /* [nodes] nodes of all ranks in ascending order; owned */
    size_t *first_node;         /* [ranks + 1] index of the first node of each rank; owned */
    /* [ranks, nodes of this rank, blocks, block] partial sums that are sent, and later [ranks, blocks, block] new
     * values; owned */
    float *sent;
    float *received;       /* [nodes, blocks, block] partial sums of the own blocks; owned */
    double *squares;       /* [ranks, blocks per rank] sums of squares; owned */
    aoei_comm_part *parts; /* [2 ranks] arguments of an exchange; owned */
    float **value;         /* [nodes] elements of `received`; owned */
} aoei_partitioned_step;

/* Returns the bytes of the buffers that aoei_partitioned_step_create allocates. share: share of this process in the
 * parameters. */
size_t aoei_partitioned_step_bytes(const aoei_shards *shards, const aoei_share *share);
/* Sets *gradients, *norm and *weights to the bytes that this rank sends in a step: partial sums of the gradient, sums
 * of squares, and new values. */
void aoei_partitioned_step_sent(const aoei_shards *shards, const aoei_share *share, uint64_t *gradients, uint64_t *norm,
                                uint64_t *weights);
/* Allocates the buffers. Errors: AOE_ENOMEM. On failure, the caller calls aoei_partitioned_step_destroy. */
int aoei_partitioned_step_create(aoei_partitioned_step *s, const aoei_shards *shards, aoei_params *p,
                                 aoei_gradient_tree *tree, aoe_error *err);
void aoei_partitioned_step_destroy(aoei_partitioned_step *s); /* accepts a zeroed struct */

/* Runs one optimizer step, as aoei_params_update does, with the sum of the gradients of all shards, and begins the next
 * step of the tree. *norm receives the norm of the whole gradient before clipping; if it is not finite, the values do
 * not change. All ranks have the same values and the same norm afterwards. Errors: AOE_ECOMM. */
int aoei_partitioned_step_update(aoei_partitioned_step *s, const aoe_context *ctx, const aoei_optimizer *o,
                                 double max_norm, double *norm, aoe_error *err);
