/* SPDX-License-Identifier: MIT
 * Implements the division of batches into shards.
 */
#include "train/shards.h"

#include "aoe_train.h"

aoei_shards aoei_shards_of(size_t n, aoei_comm *comm) {
    const size_t rank = (size_t)aoei_comm_rank(comm), ranks = (size_t)aoei_comm_ranks(comm);
    return (aoei_shards){
        .n = n, .begin = aoei_shards_first(n, rank, ranks), .end = aoei_shards_first(n, rank + 1, ranks), .comm = comm};
}

void aoei_shards_divide(size_t *first, size_t n, const uint32_t *tokens, size_t examples) {
    uint64_t total = 0, before = 0;
    size_t shard = 0;
    for (size_t i = 0; i < examples; i++)
        total += tokens[i];
    first[0] = 0;
    for (size_t i = 0; i < examples; i++) {
        const size_t own = total ? (size_t)(n * (2 * before + tokens[i]) / (2 * total)) : 0;
        while (shard < own && shard < n - 1)
            first[++shard] = i;
        before += tokens[i];
    }
    while (shard < n)
        first[++shard] = examples;
}

/* Sets offset[ranks + 1] to the bytes of the rows before those of each rank. */
static void rank_offsets(size_t *offset, const aoei_shards *s, size_t bytes, const size_t *first, size_t times) {
    const size_t ranks = (size_t)aoei_comm_ranks(s->comm);
    for (size_t r = 0; r <= ranks; r++)
        offset[r] = first[aoei_shards_first(s->n, r, ranks)] * times * bytes;
}

int aoei_shards_gather(const aoei_shards *s, void *rows, size_t bytes, const size_t *first, size_t times,
                       aoe_error *err) {
    size_t offset[AOE_MAX_SHARDS + 1];
    if (aoei_comm_ranks(s->comm) == 1)
        return AOE_OK;
    rank_offsets(offset, s, bytes, first, times);
    return aoei_comm_gather_all(s->comm, rows, offset, err);
}

uint64_t aoei_shards_gather_sent(const aoei_shards *s, size_t bytes, const size_t *first, size_t times) {
    size_t offset[AOE_MAX_SHARDS + 1];
    rank_offsets(offset, s, bytes, first, times);
    return aoei_comm_gather_all_sent((size_t)aoei_comm_rank(s->comm), (size_t)aoei_comm_ranks(s->comm), offset);
}
