/* SPDX-License-Identifier: MIT
 * Implements the optimizer step of a run with shards.
 */
#include "train/partitioned_step.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

static size_t rank_of(const aoei_partitioned_step *s) {
    return (size_t)aoei_comm_rank(s->shards->comm);
}

static size_t ranks_of(const aoei_partitioned_step *s) {
    return (size_t)aoei_comm_ranks(s->shards->comm);
}

/* Returns the number of blocks of a window row: the number of blocks of rank 0, which has the most. */
static size_t blocks_per_rank(const aoei_share *share) {
    return (aoei_share_blocks(share) + share->ranks - 1) / share->ranks;
}

int aoei_partitioned_step_create(aoei_partitioned_step *s, const aoei_shards *shards, aoei_params *p,
                                 aoei_gradient_tree *tree, aoe_error *err) {
    *s = (aoei_partitioned_step){.shards = shards, .params = p, .tree = tree};
    const size_t ranks = ranks_of(s), block = p->share.block;
    if (ranks == 1)
        return AOE_OK;
    s->range = aoei_malloc_array(shards->n, sizeof *s->range); /* a rank has at most one node per shard */
    s->first_node = aoei_malloc_array(ranks + 1, sizeof *s->first_node);
    if (!s->range || !s->first_node)
        return aoei_fail_nomem(err, shards->n * sizeof *s->range);
    for (size_t r = 0; r < ranks; r++) {
        aoei_gradient_range range[AOEI_MAX_NODES];
        const size_t n = aoei_gradient_tree_ranges(range, aoei_shards_first(shards->n, r, ranks),
                                                   aoei_shards_first(shards->n, r + 1, ranks));
        s->first_node[r] = s->nodes;
        memcpy(s->range + s->nodes, range, n * sizeof *range);
        s->nodes += n;
    }
    s->first_node[ranks] = s->nodes;
    const size_t own = s->first_node[rank_of(s) + 1] - s->first_node[rank_of(s)];
    s->sent = aoei_malloc_array(ranks * own, block * sizeof *s->sent);
    s->received = aoei_malloc_array(s->nodes, block * sizeof *s->received);
    s->window = aoei_malloc_array(ranks, block * sizeof *s->window);
    s->squares = aoei_calloc(ranks * blocks_per_rank(&p->share), sizeof *s->squares);
    s->parts = aoei_calloc(2 * ranks, sizeof *s->parts);
    s->value = aoei_calloc(s->nodes, sizeof *s->value);
    if (!s->sent || !s->received || !s->window || !s->squares || !s->parts || !s->value)
        return aoei_fail_nomem(err, (ranks * (own + 1) + s->nodes) * block * sizeof *s->sent);
    return AOE_OK;
}

void aoei_partitioned_step_destroy(aoei_partitioned_step *s) {
    aoei_free(s->range);
    aoei_free(s->first_node);
    aoei_free(s->sent);
    aoei_free(s->received);
    aoei_free(s->window);
    aoei_free(s->squares);
    aoei_free(s->parts);
    aoei_free(s->value);
    memset(s, 0, sizeof *s);
}

/* Returns block b of a flat tensor. */
static aoei_tensor block_of(aoei_tensor flat, const aoei_share *share, size_t b) {
    return aoei_tensor_slice(flat, b * share->block, 1, aoei_share_length(share, b));
}

/* Completes the sum of the gradients for the own block of the window of blocks [first, first + ranks), and stores it in
 * the gradient. */
static int reduce_window(aoei_partitioned_step *s, const aoe_context *ctx, size_t first, aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t rank = share->rank, ranks = share->ranks, nodes = s->tree->nodes;
    const size_t own = aoei_share_length(share, first + rank);
    float *sent = s->sent;
    for (size_t r = 0; r < ranks; r++) {
        const size_t length = aoei_share_length(share, first + r);
        s->parts[r] = (aoei_comm_part){.data = sent, .bytes = nodes * length * sizeof *sent};
        for (size_t k = 0; k < nodes && length; k++, sent += length)
            aoei_tensor_read(ctx, sent, block_of(s->tree->sum[k], share, first + r));
        s->parts[ranks + r] = (aoei_comm_part){.data = s->received + s->first_node[r] * own,
                                               .bytes = (s->first_node[r + 1] - s->first_node[r]) * own * sizeof *sent};
    }
    const int code = aoei_comm_exchange_all(s->shards->comm, s->parts, s->parts + ranks, err);
    if (code || !own)
        return code;
    for (size_t k = 0; k < s->nodes; k++)
        s->value[k] = s->received + k * own;
    aoei_tensor_write(ctx, block_of(s->params->grad, share, first + rank),
                      aoei_gradient_tree_total(s->value, s->range, s->shards->n, own));
    return AOE_OK;
}

/* Computes the norm of the gradient from the blocks of all ranks. */
static int gather_norm(aoei_partitioned_step *s, const aoe_context *ctx, double *norm, aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t per_rank = blocks_per_rank(share);
    aoei_block_squares(ctx, s->squares + share->rank * per_rank, s->params->grad, share);
    const int code = aoei_comm_gather_equal(s->shards->comm, s->squares, per_rank * sizeof *s->squares, err);
    double sum = 0;
    for (size_t b = 0; b < aoei_share_blocks(share); b++)
        sum += s->squares[b % share->ranks * per_rank + b / share->ranks];
    *norm = sqrt(sum);
    return code;
}

/* Gathers the new values of the window of blocks [first, first + ranks). */
static int gather_window(aoei_partitioned_step *s, const aoe_context *ctx, size_t first, size_t *offset,
                         aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t own = first + share->rank;
    offset[0] = 0;
    for (size_t r = 0; r < share->ranks; r++)
        offset[r + 1] = offset[r] + aoei_share_length(share, first + r) * sizeof *s->window;
    if (aoei_share_length(share, own))
        aoei_tensor_read(ctx, s->window + offset[share->rank] / sizeof *s->window,
                         block_of(s->params->value, share, own));
    const int code = aoei_comm_gather_all(s->shards->comm, s->window, offset, err);
    if (!code)
        aoei_tensor_write(
            ctx, aoei_tensor_slice(s->params->value, first * share->block, 1, offset[share->ranks] / sizeof *s->window),
            s->window);
    return code;
}

/* Runs the step of several ranks. */
static int update_ranks(aoei_partitioned_step *s, const aoe_context *ctx, const aoei_optimizer *options,
                        double max_norm, double *norm, aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t blocks = aoei_share_blocks(share), ranks = share->ranks;
    aoei_optimizer o = *options;
    size_t offset[AOE_MAX_SHARDS + 1];
    int code = AOE_OK;
    aoei_comm_phase(s->shards->comm, "the gradients", o.step);
    for (size_t first = 0; first < blocks && !code; first += ranks)
        code = reduce_window(s, ctx, first, err);
    if (!code)
        code = gather_norm(s, ctx, norm, err);
    if (code || !isfinite(*norm))
        return code;
    o.segments = s->params->segments;
    o.n_segments = s->params->encoders * s->params->n_slots;
    o.n_tasks = s->params->n_tasks;
    o.share = share;
    o.grad_scale = aoei_clip_factor(*norm, max_norm);
    aoei_optimizer_step(ctx, s->params->value, s->params->grad, s->params->m, s->params->v, &o);
    aoei_comm_phase(s->shards->comm, "the weights", o.step);
    for (size_t first = 0; first < blocks && !code; first += ranks)
        code = gather_window(s, ctx, first, offset, err);
    if (!code)
        aoei_params_pack(ctx, s->params);
    return code;
}

int aoei_partitioned_step_update(aoei_partitioned_step *s, const aoe_context *ctx, const aoei_optimizer *o,
                                 double max_norm, double *norm, aoe_error *err) {
    int code = AOE_OK;
    aoei_gradient_tree_close(s->tree, ctx);
    if (ranks_of(s) == 1)
        *norm = aoei_params_update(ctx, s->params, o, max_norm);
    else
        code = update_ranks(s, ctx, o, max_norm, norm, err);
    aoei_gradient_tree_reset(s->tree);
    return code;
}
