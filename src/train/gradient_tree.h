/* SPDX-License-Identifier: MIT
 * The sum of the gradients of shards. The sum of the shards [first, first + 2 size) is the sum of [first, first + size)
 * plus the sum of [first + size, first + 2 size), in float32, for every aligned range. A process adds the shards that
 * it computes as far as this order allows, which leaves one or several partial sums (nodes). With the nodes of the
 * other processes, the whole sum is then completed in the same order (partitioned_step.h). Therefore, the bits do not
 * depend on the division of the shards among processes.
 */
#pragma once

#include "aoe_train.h"
#include "encoder/params.h"
#include "train/shards.h"

enum { AOEI_MAX_NODES = 32 /* maximum number of nodes of a process: 2 log2(AOE_MAX_SHARDS) and some more */ };

/* The range of shards [first, first + size) of a node. */
typedef struct aoei_gradient_range {
    size_t first, size;
} aoei_gradient_range;

/* The gradients of the shards of this process. */
typedef struct aoei_gradient_tree {
    size_t begin, end;   /* shards of this process */
    size_t next;         /* first shard that is not in a node yet */
    int keeps_leaves;    /* 1: the gradients of all shards are computed at the same time */
    aoei_params *params; /* parameters whose gradients are bound to the gradient of a shard; borrowed */
    aoei_tensor *free;   /* [buffers] stack of the buffers that are not in use; in the arena */
    size_t n_free, buffers;
    aoei_tensor *leaf;                         /* [end - begin] gradient of each shard; absent: not begun, or in a
                                                  node; in the arena */
    aoei_gradient_range range[AOEI_MAX_NODES]; /* [nodes] shards of each node */
    aoei_tensor sum[AOEI_MAX_NODES];           /* [nodes] sum of the gradients of these shards */
    size_t nodes;                              /* number of nodes, in ascending order of their shards */
} aoei_gradient_tree;

/* Takes the buffers from the arena. The first buffer is p->grad; with one shard, there is no other buffer.
 * keeps_leaves: 1 if the shards are not completed one after the other. */
void aoei_gradient_tree_layout(aoei_gradient_tree *t, aoei_params *p, const aoei_shards *shards, int keeps_leaves,
                               aoei_arena *arena);
/* Returns the number of buffers. */
size_t aoei_gradient_tree_buffers(size_t begin, size_t end, int keeps_leaves);
/* Writes the ranges of the nodes of the shards [begin, end) to range[AOEI_MAX_NODES]. Returns their number. */
size_t aoei_gradient_tree_ranges(aoei_gradient_range *range, size_t begin, size_t end);

/* Binds the gradients of the parameters to the gradient of a shard, which is zero when it is bound for the first time
 * in a step. */
void aoei_gradient_tree_bind(aoei_gradient_tree *t, const aoe_context *ctx, size_t shard);
/* The gradient of `shard`, the next one of this process, is complete: adds it to the nodes. Does nothing if the tree
 * keeps the leaves, until aoei_gradient_tree_close. */
void aoei_gradient_tree_done(aoei_gradient_tree *t, const aoe_context *ctx, size_t shard);
/* Adds the remaining shards to the nodes, and binds the gradients of the parameters to the sum of the first node. */
void aoei_gradient_tree_close(aoei_gradient_tree *t, const aoe_context *ctx);
/* Begins the next step: all buffers are free. */
void aoei_gradient_tree_reset(aoei_gradient_tree *t);

/* Completes the sum of all n shards from the nodes of all processes, in ascending order of their shards. value: [nodes]
 * each [length] sums of the nodes, which are overwritten. Returns the element of `value` that contains the sum. */
const float *aoei_gradient_tree_total(float *const *value, const aoei_gradient_range *range, size_t n, size_t length);
