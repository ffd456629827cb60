/* SPDX-License-Identifier: MIT
 * Implements the optimizer step of a run with shards.
 */
#include "train/partitioned_step.h"

#include "base/alloc.h"
#include "base/error.h"

#include <math.h>
#include <string.h>

enum {
    /* A message contains so many blocks that it has about this size. With smaller messages, ranks that run ahead share
     * the link of a rank: with four ranks at 1 Gb/s, 4 MiB take 30% longer (tests/mpi/namespaces.sh). */
    MESSAGE_BYTES = 1 << 24,
    WINDOW_BYTES = 1 << 26 /* but the messages to all ranks together have at most this size, or one block per rank */
};

static size_t rank_of(const aoei_shards *shards) {
    return (size_t)aoei_comm_rank(shards->comm);
}

static size_t ranks_of(const aoei_shards *shards) {
    return (size_t)aoei_comm_ranks(shards->comm);
}

/* Returns the number of blocks of rank 0, which has the most. */
static size_t blocks_per_rank(const aoei_share *share) {
    return (aoei_share_blocks(share) + share->ranks - 1) / share->ranks;
}

/* Returns the number of blocks of each rank in a window. */
static size_t window_blocks(const aoei_share *share) {
    const size_t bytes = share->block * sizeof(float), most = blocks_per_rank(share);
    const size_t all = WINDOW_BYTES / share->ranks, n = (all < MESSAGE_BYTES ? all : MESSAGE_BYTES) / bytes;
    return n < 1 ? 1 : n < most ? n : most;
}

/* Returns the number of elements of rank r in the window whose first block is `first`. */
static size_t piece_length(const aoei_share *share, size_t first, size_t r, size_t blocks) {
    size_t n = 0;
    for (size_t k = 0; k < blocks; k++)
        n += aoei_share_length(share, first + k * share->ranks + r);
    return n;
}

/* Returns the number of nodes of the ranks [first, end). */
static size_t count_nodes(const aoei_shards *shards, size_t first, size_t end) {
    aoei_gradient_range range[AOEI_MAX_NODES];
    size_t n = 0;
    for (size_t r = first; r < end; r++)
        n += aoei_gradient_tree_ranges(range, aoei_shards_first(shards->n, r, ranks_of(shards)),
                                       aoei_shards_first(shards->n, r + 1, ranks_of(shards)));
    return n;
}

/* Returns the numbers of elements of the buffers of a step. */
static size_t sent_length(const aoei_shards *shards, const aoei_share *share) {
    const size_t rank = rank_of(shards);
    return share->ranks * count_nodes(shards, rank, rank + 1) * window_blocks(share) * share->block;
}
static size_t received_length(const aoei_shards *shards, const aoei_share *share) {
    return count_nodes(shards, 0, share->ranks) * window_blocks(share) * share->block;
}

size_t aoei_partitioned_step_bytes(const aoei_shards *shards, const aoei_share *share) {
    return ranks_of(shards) == 1 ? 0 : (sent_length(shards, share) + received_length(shards, share)) * sizeof(float);
}

void aoei_partitioned_step_sent(const aoei_shards *shards, const aoei_share *share, uint64_t *gradients, uint64_t *norm,
                                uint64_t *weights) {
    const size_t rank = rank_of(shards), ranks = ranks_of(shards), blocks = window_blocks(share),
                 nodes = count_nodes(shards, rank, rank + 1);
    size_t offset[AOE_MAX_SHARDS + 1] = {0};
    *gradients = *norm = *weights = 0;
    if (ranks == 1)
        return;
    *norm = aoei_comm_gather_equal_sent(ranks, blocks_per_rank(share) * sizeof(double));
    for (size_t first = 0; first < aoei_share_blocks(share); first += ranks * blocks) {
        for (size_t r = 0; r < ranks; r++) {
            const size_t length = piece_length(share, first, r, blocks);
            offset[r + 1] = offset[r] + length * sizeof(float);
            *gradients += r == rank ? 0 : (uint64_t)nodes * length * sizeof(float);
        }
        *weights += aoei_comm_gather_all_sent(rank, ranks, offset);
    }
}

int aoei_partitioned_step_create(aoei_partitioned_step *s, const aoei_shards *shards, aoei_params *p,
                                 aoei_gradient_tree *tree, aoe_error *err) {
    *s = (aoei_partitioned_step){.shards = shards, .params = p, .tree = tree};
    const size_t ranks = ranks_of(shards);
    if (ranks == 1)
        return AOE_OK;
    s->blocks = window_blocks(&p->share);
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
    s->sent = aoei_malloc_array(sent_length(shards, &p->share), sizeof *s->sent);
    s->received = aoei_malloc_array(received_length(shards, &p->share), sizeof *s->received);
    s->squares = aoei_calloc(ranks * blocks_per_rank(&p->share), sizeof *s->squares);
    s->parts = aoei_calloc(2 * ranks, sizeof *s->parts);
    s->value = aoei_calloc(s->nodes, sizeof *s->value);
    if (!s->sent || !s->received || !s->squares || !s->parts || !s->value)
        return aoei_fail_nomem(err, aoei_partitioned_step_bytes(shards, &p->share));
    return AOE_OK;
}

void aoei_partitioned_step_destroy(aoei_partitioned_step *s) {
    aoei_free(s->range);
    aoei_free(s->first_node);
    aoei_free(s->sent);
    aoei_free(s->received);
    aoei_free(s->squares);
    aoei_free(s->parts);
    aoei_free(s->value);
    memset(s, 0, sizeof *s);
}

/* Returns block b of a flat tensor. */
static aoei_tensor block_of(aoei_tensor flat, const aoei_share *share, size_t b) {
    return aoei_tensor_slice(flat, b * share->block, 1, aoei_share_length(share, b));
}

/* Copies the blocks of rank r in the window whose first block is `first` from a flat tensor to piece[piece_length].
 * Returns the end of the copy. */
static float *read_piece(const aoei_partitioned_step *s, const aoe_context *ctx, float *piece, aoei_tensor flat,
                         size_t first, size_t r) {
    const aoei_share *share = &s->params->share;
    for (size_t k = 0; k < s->blocks; k++) {
        const size_t b = first + k * share->ranks + r, length = aoei_share_length(share, b);
        if (length)
            aoei_tensor_read(ctx, piece, block_of(flat, share, b));
        piece += length;
    }
    return piece;
}

/* Does the opposite of read_piece. */
static const float *write_piece(const aoei_partitioned_step *s, const aoe_context *ctx, aoei_tensor flat,
                                const float *piece, size_t first, size_t r) {
    const aoei_share *share = &s->params->share;
    for (size_t k = 0; k < s->blocks; k++) {
        const size_t b = first + k * share->ranks + r, length = aoei_share_length(share, b);
        if (length)
            aoei_tensor_write(ctx, block_of(flat, share, b), piece);
        piece += length;
    }
    return piece;
}

/* Completes the sum of the gradients for the own blocks of the window whose first block is `first`, and stores it in
 * the gradient. */
static int reduce_window(aoei_partitioned_step *s, const aoe_context *ctx, size_t first, aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t rank = share->rank, ranks = share->ranks, nodes = s->tree->nodes;
    const size_t own = piece_length(share, first, rank, s->blocks);
    float *sent = s->sent;
    for (size_t r = 0; r < ranks; r++) {
        const size_t length = piece_length(share, first, r, s->blocks);
        s->parts[r] = (aoei_comm_part){.data = sent, .bytes = nodes * length * sizeof *sent};
        for (size_t k = 0; k < nodes; k++)
            sent = read_piece(s, ctx, sent, s->tree->sum[k], first, r);
        s->parts[ranks + r] = (aoei_comm_part){.data = s->received + s->first_node[r] * own,
                                               .bytes = (s->first_node[r + 1] - s->first_node[r]) * own * sizeof *sent};
    }
    const int code = aoei_comm_exchange_all(s->shards->comm, s->parts, s->parts + ranks, err);
    if (code || !own)
        return code;
    for (size_t k = 0; k < s->nodes; k++)
        s->value[k] = s->received + k * own;
    write_piece(s, ctx, s->params->grad, aoei_gradient_tree_total(s->value, s->range, s->shards->n, own), first, rank);
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

/* Gathers the new values of the window whose first block is `first`. offset: [ranks + 1] scratch. */
static int gather_window(aoei_partitioned_step *s, const aoe_context *ctx, size_t first, size_t *offset,
                         aoe_error *err) {
    const aoei_share *share = &s->params->share;
    offset[0] = 0;
    for (size_t r = 0; r < share->ranks; r++)
        offset[r + 1] = offset[r] + piece_length(share, first, r, s->blocks) * sizeof *s->sent;
    read_piece(s, ctx, s->sent + offset[share->rank] / sizeof *s->sent, s->params->value, first, share->rank);
    const int code = aoei_comm_gather_all(s->shards->comm, s->sent, offset, err);
    const float *piece = s->sent;
    for (size_t r = 0; r < share->ranks && !code; r++)
        piece = write_piece(s, ctx, s->params->value, piece, first, r);
    return code;
}

/* Runs the step of several ranks. */
static int update_ranks(aoei_partitioned_step *s, const aoe_context *ctx, const aoei_optimizer *options,
                        double max_norm, double *norm, aoe_error *err) {
    const aoei_share *share = &s->params->share;
    const size_t blocks = aoei_share_blocks(share), step = share->ranks * s->blocks;
    aoei_optimizer o = *options;
    size_t offset[AOE_MAX_SHARDS + 1];
    int code = AOE_OK;
    aoei_comm_phase(s->shards->comm, "the gradients", o.step);
    aoei_comm_count(s->shards->comm, AOEI_TRAFFIC_GRADIENTS);
    for (size_t first = 0; first < blocks && !code; first += step)
        code = reduce_window(s, ctx, first, err);
    aoei_comm_count(s->shards->comm, AOEI_TRAFFIC_NORM);
    if (!code)
        code = gather_norm(s, ctx, norm, err);
    aoei_comm_count(s->shards->comm, AOEI_TRAFFIC_WEIGHTS);
    if (code || !isfinite(*norm))
        return code;
    o.segments = s->params->segments;
    o.n_segments = s->params->encoders * s->params->n_slots;
    o.n_tasks = s->params->n_tasks;
    o.share = share;
    o.grad_scale = aoei_clip_factor(*norm, max_norm);
    aoei_optimizer_step(ctx, s->params->value, s->params->grad, s->params->m, s->params->v, &o);
    aoei_comm_phase(s->shards->comm, "the weights", o.step);
    for (size_t first = 0; first < blocks && !code; first += step)
        code = gather_window(s, ctx, first, offset, err);
    if (!code)
        aoei_params_pack(ctx, s->params);
    return code;
}

int aoei_partitioned_step_update(aoei_partitioned_step *s, const aoe_context *ctx, const aoei_optimizer *o,
                                 double max_norm, double *norm, aoe_error *err) {
    int code = AOE_OK;
    aoei_gradient_tree_close(s->tree, ctx);
    if (ranks_of(s->shards) == 1)
        *norm = aoei_params_update(ctx, s->params, o, max_norm);
    else
        code = update_ranks(s, ctx, o, max_norm, norm, err);
    aoei_gradient_tree_reset(s->tree);
    return code;
}
