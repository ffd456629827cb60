/* SPDX-License-Identifier: MIT
 * Adds up what the phases of a step send.
 */
#include "train/traffic_plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "train/agreement.h"
#include "train/mlm_step.h"
#include "train/partitioned_step.h"

/* Sets the bytes of everything except the vectors. compared: number of hashes that all ranks compare. */
static void plan_update(aoei_traffic_plan *p, const aoei_shards *shards, const aoei_share *share, size_t compared) {
    const size_t rank = (size_t)aoei_comm_rank(shards->comm), ranks = (size_t)aoei_comm_ranks(shards->comm);
    aoei_partitioned_step_sent(shards, share, &p->gradients, &p->norm, &p->weights);
    /* rank 0 tells the others in one byte whether to stop */
    p->agreement = compared * aoei_comm_same_hash_sent(ranks) + aoei_comm_broadcast_sent(rank, ranks, 1);
    p->check = aoei_agree_on_weights_sent(ranks);
}

/* Divides n examples of the same size into shards. first: [shards + 1]. */
static int divide(size_t *first, size_t shards, size_t n, size_t tokens, aoe_error *err) {
    uint32_t *of = aoei_malloc_array(n, sizeof *of);
    if (!of)
        return aoei_fail_nomem(err, n * sizeof *of);
    for (size_t i = 0; i < n; i++)
        of[i] = (uint32_t)tokens;
    aoei_shards_divide(first, shards, of, n);
    aoei_free(of);
    return AOE_OK;
}

int aoei_traffic_plan_pairs(aoei_traffic_plan *p, const aoei_pair_step *s, const aoei_traffic_batch *batch,
                            aoe_error *err) {
    size_t first[AOE_MAX_SHARDS + 1], first_reference[AOE_MAX_SHARDS + 1];
    *p = (aoei_traffic_plan){0};
    int code = divide(first, s->shards.n, batch->examples, batch->arity * batch->length, err);
    if (!code)
        code = divide(first_reference, s->shards.n, batch->references, batch->length, err);
    if (code)
        return code;
    plan_update(p, &s->shards, &s->params.share, batch->batches);
    p->vectors = batch->batches * aoei_pair_step_sent(s, batch->arity, first, first_reference, batch->length);
    return AOE_OK;
}

void aoei_traffic_plan_pretraining(aoei_traffic_plan *p, const aoei_shards *shards, const aoei_share *share) {
    size_t shard[AOE_MAX_SHARDS + 1];
    for (size_t i = 0; i <= shards->n; i++)
        shard[i] = i;
    *p = (aoei_traffic_plan){0};
    plan_update(p, shards, share, 0);
    p->vectors = aoei_shards_gather_sent(shards, sizeof(aoei_mlm_sums), shard, 1);
}
